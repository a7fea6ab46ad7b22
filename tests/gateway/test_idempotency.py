"""`Idempotency-Key` on the model endpoints: asked once, answered as often as it is sent."""

import asyncio

import httpx2
import pytest

from groundwire import Registry, tool
from groundwire.gateway import AnswerTable, Tables
from groundwire.gateway.answer_tables import AnswerRow
from groundwire.providers.retries import RetryPolicy
from groundwire.providers.transport import Timeouts
from groundwire.store import open_url
from groundwire.testing import Fault, FaultKind, ModelFaults
from tests.gateway.conftest import another_gateway

USER = {"role": "user", "content": "Hi"}
CONTENTS = [{"role": "user", "parts": [{"text": "Hi"}]}]
ENDPOINTS = {
    "chat": ("/v1/chat/completions", {"messages": [USER]}),
    "responses": ("/v1/responses", {"input": "Hi"}),
    "anthropic": ("/v1/messages", {"messages": [USER], "max_tokens": 50}),
    "gemini_sessions": ("/v1/gemini", {"input": "Hi"}),
    "gemini": ("/v1beta/models/{model}:generateContent", {"contents": CONTENTS}),
    "relay": ("/relay/desk/v1beta/models/{model}:generateContent", {"contents": CONTENTS}),
}
both = pytest.mark.parametrize("stream", [False, True], ids=["unary", "streamed"])


def request_of(running, endpoint, *, stream=False):
    path, body = ENDPOINTS[endpoint]
    path = path.format(model=running.model)
    if "{model}" not in ENDPOINTS[endpoint][0]:
        return path, {"model": running.model, "stream": stream, **body}
    return (path.replace(":generate", ":streamGenerate") + "?alt=sse" if stream else path), body


async def send(running, endpoint, key="k1", *, stream=False, headers=None, **more):
    path, body = request_of(running, endpoint, stream=stream)
    if headers is None:
        headers = {"idempotency-key": key} if key else {}
    async with httpx2.AsyncClient(timeout=30) as http:
        return await http.post(f"{running.url}{path}", json={**body, **more}, headers=headers)


def is_replayed(response):
    return response.headers.get("idempotent-replayed") == "true"


@both
@pytest.mark.parametrize("endpoint", ENDPOINTS)
@pytest.mark.parametrize("upstream", ["openai-chat", "gemini"])
async def test_the_same_request_gets_the_same_bytes_and_nobody_is_asked_again(gateway, endpoint, upstream, stream):
    async with gateway("Hello.", upstream=upstream) as running:
        one = await send(running, endpoint, stream=stream)
        two = await send(running, endpoint, stream=stream)
        assert len(running.upstream.requests) == 1
    assert (one.status_code, two.status_code) == (200, 200)
    assert (is_replayed(one), is_replayed(two)) == (False, True)
    assert two.content == one.content
    assert two.headers["content-type"] == one.headers["content-type"]
    assert "Hello." in one.text


async def test_long_requests_and_answers_are_repeated_and_told_apart_as_short_ones_are(gateway):
    long = "a" * 2_000_000
    async with gateway(long, long) as running:
        one = await send(running, "chat", user=long)
        two = await send(running, "chat", user=long)
        other = await send(running, "chat", user=f"{long[1:]}b")
        assert len(running.upstream.requests) == 1
    assert (is_replayed(one), is_replayed(two)) == (False, True)
    assert two.content == one.content
    assert other.status_code == 409


async def test_without_a_key_every_request_is_a_new_one(gateway):
    async with gateway("Hello.") as running:
        answers = [await send(running, "chat", key="") for _ in range(2)]
        assert len(running.upstream.requests) == 2
    assert not any(map(is_replayed, answers))


@pytest.mark.parametrize("endpoint", ENDPOINTS)
async def test_another_body_under_the_same_key_is_a_conflict_in_the_callers_dialect(gateway, endpoint):
    async with gateway("Hello.", "Hello.") as running:
        await send(running, endpoint)
        refused = await send(running, endpoint, metadata={"a": "b"})
        assert len(running.upstream.requests) == 1
    message = "This Idempotency-Key was used for another request."
    assert refused.status_code == 409
    assert refused.json()["error"]["message"] == message
    assert refused.headers["x-should-retry"] == "false"
    assert ("type" in refused.json()) == (endpoint == "anthropic")


async def test_the_same_key_at_another_endpoint_is_another_request(gateway):
    async with gateway("Hello.") as running:
        await send(running, "gemini")
        refused = await send(running, "gemini", stream=True)
    assert refused.status_code == 409


async def test_two_requests_at_once_are_one(gateway, shared_store):
    async with gateway("Hello.", store=shared_store) as running, another_gateway(running) as other:
        answers = await asyncio.gather(*[send(place, "chat") for place in (running, other, running, other)])
        assert len(running.upstream.requests) == 1
    assert [answer.status_code for answer in answers] == [200] * 4
    assert sorted(map(is_replayed, answers)) == [False, True, True, True]
    assert len({answer.content for answer in answers}) == 1


@both
async def test_another_process_repeats_the_answer(gateway, shared_store, stream):
    async with gateway("Hello.", store=shared_store) as running, another_gateway(running) as other:
        one = await send(running, "responses", stream=stream)
        two = await send(other, "responses", stream=stream)
        assert len(running.upstream.requests) == 1
    assert is_replayed(two)
    assert two.content == one.content


async def test_a_request_that_is_still_being_answered_is_a_conflict_that_says_when_to_come_back(gateway):
    faults = ModelFaults(at={0: Fault(kind=FaultKind.TIMEOUT)})
    options = {"timeouts": Timeouts(total=4), "retry": RetryPolicy(attempts=1)}
    async with gateway("Hello.", faults=faults, **options) as running:
        answers = await asyncio.gather(*[send(running, "chat") for _ in range(2)])
    refused, failed = sorted(answers, key=lambda answer: answer.status_code)
    assert (refused.status_code, failed.status_code) == (409, 504)
    assert refused.headers["retry-after"] == "1"
    assert refused.headers["x-should-retry"] == "true"
    assert refused.json()["error"]["message"] == "The request with this Idempotency-Key is still being answered."


@both
@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_failure_that_may_pass_is_not_kept(gateway, status, stream):
    faults = ModelFaults(at={0: Fault(kind=FaultKind.STATUS, status=status)})
    async with gateway("Hello.", faults=faults, retry=RetryPolicy(attempts=1)) as running:
        failed = await send(running, "responses", stream=stream)
        answered = await send(running, "responses", stream=stream)
    assert failed.status_code >= 429
    assert answered.status_code == 200
    assert not is_replayed(answered)


async def test_a_refusal_that_will_not_pass_is_kept(gateway):
    async with gateway("Hello.") as running:
        one = await send(running, "chat", model="nobody/knows-it")
        two = await send(running, "chat", model="nobody/knows-it")
    assert (one.status_code, two.status_code, is_replayed(two)) == (404, 404, True)
    assert two.content == one.content


@pytest.mark.parametrize("upstream", ["openai-chat", "anthropic"], ids=["passed on", "translated"])
async def test_a_stream_that_broke_off_is_not_kept(gateway, upstream):
    faults = ModelFaults(at={0: Fault(kind=FaultKind.CUT, at_byte=1000)})
    text = "A long answer that is told in many pieces. " * 10
    async with gateway(text, upstream=upstream, faults=faults, retry=RetryPolicy(attempts=1)) as running:
        broken = await send(running, "chat", stream=True)
        answered = await send(running, "chat", stream=True)
        assert len(running.upstream.requests) == 2
    assert not is_replayed(answered)
    assert broken.text != answered.text
    assert "[DONE]" in answered.text
    assert "error" not in answered.text


@pytest.mark.parametrize(("length", "status"), [(0, 400), (1, 200), (255, 200), (256, 400)])
async def test_a_key_has_1_to_255_characters(gateway, length, status):
    async with gateway("Hello.") as running:
        answer = await send(running, "chat", headers={"idempotency-key": "k" * length})
        assert len(running.upstream.requests) == (status == 200)
    assert answer.status_code == status
    assert status == 200 or "idempotency-key: has 1 to 255" in answer.text


@pytest.mark.parametrize("name", ["idempotency-key", "x-groundwire-tools"])
@pytest.mark.parametrize("endpoint", ENDPOINTS)
async def test_a_header_that_cannot_be_read_is_not_overlooked(gateway, endpoint, name):
    async with gateway("Hello.") as running:
        answer = await send(running, endpoint, headers={name: "clé".encode()})
        asked = len(running.upstream.requests)
    if endpoint == "relay" and name == "x-groundwire-tools":  # where it means nothing
        assert (answer.status_code, asked) == (200, 1)
    else:
        assert (answer.status_code, asked) == (400, 0)
        assert f"{name}: must be ASCII" in answer.text


@pytest.mark.parametrize("name", ["x-groundwire-tools", "x-groundwire-session-id"])
async def test_a_key_with_other_tools_or_another_session_is_a_conflict(gateway, name):
    @tool
    def look() -> str:
        """Look."""
        return "seen"

    async with gateway("Hello.", "Hello.", registry=Registry([look])) as running:
        statuses = [
            (await send(running, "chat", headers={"idempotency-key": "k", **more})).status_code
            for more in ({}, {name: "look"}, {})
        ]
        assert len(running.upstream.requests) == 1
    assert statuses == [200, 409, 200]


async def test_a_key_is_free_again_when_its_holder_died_or_its_day_is_over(shared_store):
    store = open_url(shared_store)
    await store.open()
    try:
        await Tables(store.database).open()
        table = AnswerTable(store.database)
        first = AnswerRow(digest="d", holder="one", held_until=30, expires=100)
        second = AnswerRow(digest="d", holder="two", held_until=60, expires=100)
        assert await table.take("default", "k", first, 0) is None
        assert await table.take("default", "k", second, 29) == first
        assert await table.take("other", "k", second, 29) is None
        assert await table.take("default", "k", second, 30) is None
        await table.give_up("default", "k", "one")
        kept = AnswerRow(digest="d", holder="two", held_until=60, expires=100, status=200, body="b")
        await table.keep("default", "k", kept)
        assert await table.take("default", "k", first, 99) == kept
        assert await table.take("default", "k", first, 100) is None
    finally:
        await store.shut()
