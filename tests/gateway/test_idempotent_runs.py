"""A request with a key and with tools of the server has one run: what it did is not done again, whatever went wrong."""

import asyncio
import json

import httpx2 as httpx
import pytest

from groundwire import Registry, tool
from groundwire.providers.retries import RetryPolicy
from groundwire.store import open_url
from groundwire.testing import Answer, Ask, Fault, FaultKind, ModelFaults, ScriptedModel
from tests.gateway.conftest import another_gateway

SCRIPT = (Answer(calls=(Ask("send_note", {"text": "hello"}),)), Answer("It is sent."))
AT_ONCE = RetryPolicy(attempts=1)
both = pytest.mark.parametrize("stream", [False, True], ids=["unary", "streamed"])


def notes():
    sent = []

    @tool(category="action")
    async def send_note(text: str) -> dict:
        """Send a note."""
        sent.append(text)
        return {"number": len(sent)}

    return Registry([send_note]), sent


def body_of(running, *, stream=False, text="Send hello"):
    return {
        "model": running.model,
        "messages": [{"role": "user", "content": text}],
        "tools": [{"type": "groundwire", "name": "send_note"}],
        "stream": stream,
    }


async def send(running, key="k1", **options):
    async with httpx.AsyncClient(timeout=30) as http:
        headers = {"idempotency-key": key}
        return await http.post(
            f"{running.openai_url}/chat/completions", json=body_of(running, **options), headers=headers
        )


def text_of(response, *, stream):
    if not stream:
        return response.json()["choices"][0]["message"]["content"]
    events = [line[6:] for line in response.text.splitlines() if line.startswith("data: {")]
    choices = [choice for event in events for choice in json.loads(event)["choices"]]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


@both
@pytest.mark.requirement("X-19")
async def test_a_run_whose_model_failed_after_the_effect_goes_on_when_the_request_is_sent_again(gateway, stream):
    registry, sent = notes()
    model = ScriptedModel(*SCRIPT, faults=ModelFaults(at={1: Fault(kind=FaultKind.STATUS, status=500)}))
    async with gateway(model=model, registry=registry, retry=AT_ONCE) as running:
        failed = await send(running, stream=stream)
        again = await send(running, stream=stream)
        replayed = await send(running, stream=stream)
    assert failed.status_code >= 500 or "error" in failed.text
    assert text_of(again, stream=stream) == text_of(replayed, stream=stream) == "It is sent."
    assert sent == ["hello"]
    assert replayed.headers["idempotent-replayed"] == "true"


async def test_whoever_leaves_after_the_effect_and_asks_again_gets_the_end_of_the_same_run(gateway, tmp_path):
    registry, sent = notes()
    model = ScriptedModel(*SCRIPT, faults=ModelFaults(at={1: Fault(kind=FaultKind.TIMEOUT)}))
    store = f"sqlite:///{tmp_path}/store.db"
    async with gateway(model=model, registry=registry, store=store) as running, asyncio.timeout(30):
        leaving = asyncio.create_task(send(running))
        while len(running.upstream.requests) < 2:  # noqa: ASYNC110 - the simulator has nothing to wait for
            await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.wait((leaving,))
        while (again := await send(running)).status_code == 409:  # until the server has noticed
            pass
        assert text_of(again, stream=False) == "It is sent."
    assert sent == ["hello"]


@both
async def test_an_answer_that_was_lost_after_the_run_is_given_again_by_another_process(gateway, tmp_path, stream):
    registry, sent = notes()
    store = f"sqlite:///{tmp_path}/store.db"
    async with gateway(*SCRIPT, registry=registry, store=store) as running:
        first = await send(running, stream=stream)
        opened = open_url(store)
        await opened.open()
        await opened.database.execute("DELETE FROM gateway_answers")
        await opened.shut()
        async with another_gateway(running, registry) as other:
            again = await send(other, stream=stream)
        asked = len(running.upstream.requests)
    assert text_of(first, stream=stream) == text_of(again, stream=stream) == "It is sent."
    assert (sent, asked) == (["hello"], 2)
    assert "idempotent-replayed" not in again.headers


async def test_other_keys_and_other_requests_have_runs_of_their_own(gateway):
    registry, sent = notes()
    async with gateway(*SCRIPT, registry=registry) as running:
        await send(running, key="k1")
        await send(running, key="k2")
        refused = await send(running, key="k1", text="Send hello, please")
    assert refused.status_code == 409
    assert sent == ["hello", "hello"]
