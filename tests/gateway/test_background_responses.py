"""Responses in the background: stored at once, executed by a worker, paused for approvals, and read by their id."""

import asyncio

import httpx2 as httpx
import openai
import pytest

from groundwire import Registry, Runtime, tool
from groundwire.contracts.keys import ApiKey
from groundwire.contracts.servers import ServerSettings
from groundwire.serving.keys import digest_of, new_secret
from groundwire.testing import Answer, Ask, Fault, FaultKind, ModelFaults
from tests.gateway.conftest import another_gateway

PAY = Answer(calls=(Ask("pay", {"amount": 5}),))
ASKED = {"background": True, "input": "Pay five.", "tools": [{"type": "groundwire", "name": "pay"}]}


class Till:
    def __init__(self) -> None:
        self.paid: list[int] = []

        @tool(category="action", confirm=True)
        async def pay(amount: int) -> dict[str, int]:
            """Pay."""
            self.paid.append(amount)
            return {"paid": amount}

        self.registry = Registry([pay])


async def poll(client, url, path, is_done):
    """Ask until it is so: what changes is made by another process, which nobody here can wait for."""
    async with asyncio.timeout(60):
        while True:
            body = (await client.get(f"{url}{path}")).json()
            if is_done(body):
                return body


@pytest.fixture
async def client():
    async with httpx.AsyncClient(timeout=30) as client:
        yield client


async def test_a_response_in_the_background_waits_for_its_approval_and_completes(gateway, client, shared_store):
    till = Till()
    async with gateway(PAY, "Paid.", store=shared_store, registry=till.registry) as up:
        created = (await client.post(f"{up.url}/v1/responses", json={**ASKED, "model": up.model})).json()
        assert (created["status"], created["background"], created["output"]) == ("queued", True, [])
        path = f"/v1/responses/{created['id']}"
        waiting = await poll(client, up.url, path, lambda body: body["groundwire"].get("approvals"))
        assert (waiting["status"], till.paid) == ("in_progress", [])
        approval_id = waiting["groundwire"]["approvals"][0]["id"]
        approved = await client.post(f"{up.url}/api/approvals/{approval_id}/approve", json={})
        assert approved.status_code == 200
        done = await poll(client, up.url, path, lambda body: body["status"] == "completed")
        assert (done["output"][0]["content"][0]["text"], till.paid) == ("Paid.", [5])
        follow_up = {"model": up.model, "input": "Thanks.", "previous_response_id": created["id"]}
        assert (await client.post(f"{up.url}/v1/responses", json=follow_up)).status_code == 200
        assert "Paid." in str(up.upstream.requests[-1].body)


async def test_the_official_client_polls_a_response_until_it_is_done(gateway, shared_store):
    async with (
        gateway("Hello.", store=shared_store) as up,
        openai.AsyncOpenAI(base_url=up.openai_url, api_key="none") as client,
    ):
        response = await client.responses.create(model=up.model, input="Hi.", background=True)
        async with asyncio.timeout(60):
            while response.status in ("queued", "in_progress"):
                response = await client.responses.retrieve(response.id)
        assert (response.status, response.output_text, response.background) == ("completed", "Hello.", True)


async def test_a_response_in_the_background_can_be_cancelled_while_it_waits(gateway, client):
    till = Till()
    async with gateway(PAY, "Paid.", registry=till.registry) as up:
        created = (await client.post(f"{up.url}/v1/responses", json={**ASKED, "model": up.model})).json()
        path = f"/v1/responses/{created['id']}"
        await poll(client, up.url, path, lambda body: body["groundwire"].get("approvals"))
        cancelled = (await client.post(f"{up.url}{path}/cancel")).json()
        assert cancelled["status"] == "cancelled"
        assert (await client.get(f"{up.url}{path}")).json()["status"] == "cancelled"
        assert (await client.post(f"{up.url}{path}/cancel")).json()["status"] == "cancelled"
        assert (await client.post(f"{up.url}/v1/responses/resp_none/cancel")).status_code == 404
    assert till.paid == []


async def test_another_server_completes_a_response_whose_server_is_gone(gateway, client, shared_store):
    till = Till()
    async with gateway(PAY, "Paid.", store=shared_store, registry=till.registry) as up:
        created = (await client.post(f"{up.url}/v1/responses", json={**ASKED, "model": up.model})).json()
        path = f"/v1/responses/{created['id']}"
        waiting = await poll(client, up.url, path, lambda body: body["groundwire"].get("approvals"))
        async with another_gateway(up, till.registry) as second:
            approval_id = waiting["groundwire"]["approvals"][0]["id"]
            await client.post(f"{second.url}/api/approvals/{approval_id}/approve", json={})
            done = await poll(client, second.url, path, lambda body: body["status"] == "completed")
    assert (done["output"][0]["content"][0]["text"], till.paid) == ("Paid.", [5])


async def test_a_model_that_fails_in_the_background_is_a_failed_response(gateway, client):
    broken = ModelFaults(rate=1.0, faults=[Fault(kind=FaultKind.STATUS, status=400)])
    async with gateway("Hello.", faults=broken) as up:
        body = {"model": up.model, "input": "x", "background": True}
        created = await client.post(f"{up.url}/v1/responses", json=body)
        path = f"/v1/responses/{created.json()['id']}"
        failed = await poll(client, up.url, path, lambda body: body["status"] not in ("queued", "in_progress"))
    assert (failed["status"], set(failed["error"])) == ("failed", {"code", "message"})


@pytest.mark.parametrize(
    ("members", "path"),
    [
        ({"store": False}, "background"),
        ({"stream": True}, "background"),
        ({"tools": [{"type": "web_search"}]}, "tools[0]"),
    ],
)
async def test_what_cannot_be_done_in_the_background_is_refused_by_name(gateway, client, members, path):
    async with gateway("Hello.") as up:
        body = {"model": up.model, "input": "x", "background": True, **members}
        refused = await client.post(f"{up.url}/v1/responses", json=body)
    assert (refused.status_code, path in refused.text) == (400, True)


async def test_a_request_that_pauses_is_completed_later_and_read_by_its_id(gateway, client, shared_store):
    till = Till()
    async with gateway(PAY, "Paid.", store=shared_store, registry=till.registry) as up:
        body = {**ASKED, "model": up.model, "background": False}
        paused = await client.post(f"{up.url}/v1/responses", json=body, headers={"x-groundwire-approvals": "pause"})
        assert (paused.json()["status"], till.paid) == ("in_progress", [])
        approval_id = paused.json()["groundwire"]["approvals"][0]["id"]
        await client.post(f"{up.url}/api/approvals/{approval_id}/approve", json={})
        path = f"/v1/responses/{paused.json()['id']}"
        done = await poll(client, up.url, path, lambda body: body["status"] == "completed")
        assert (done["output"][0]["content"][0]["text"], till.paid) == ("Paid.", [5])


async def test_an_unknown_word_for_approvals_is_refused(gateway, client):
    async with gateway("Hello.", registry=Till().registry) as up:
        body = {**ASKED, "model": up.model}
        refused = await client.post(f"{up.url}/v1/responses", json=body, headers={"x-groundwire-approvals": "perhaps"})
    assert refused.status_code == 400


async def test_a_paused_request_sent_again_with_its_key_gives_the_end_once_it_is_there(gateway, client):
    till = Till()
    async with gateway(PAY, "Paid.", registry=till.registry) as up:
        body = {"model": up.model, "messages": [{"role": "user", "content": "Pay five."}]}
        headers = {"x-groundwire-approvals": "pause", "x-groundwire-tools": "pay", "idempotency-key": "k"}
        path = f"{up.url}/v1/chat/completions"
        paused = await client.post(path, json=body, headers=headers)
        assert (paused.status_code, till.paid) == (200, [])
        approval_id = paused.headers["x-groundwire-approval-id"]
        again = await client.post(path, json=body, headers=headers)
        assert again.headers["x-groundwire-approval-id"] == approval_id
        await client.post(f"{up.url}/api/approvals/{approval_id}/approve", json={})
        for _ in range(2):
            done = await client.post(path, json=body, headers=headers)
            assert done.json()["choices"][0]["message"]["content"] == "Paid."
    assert till.paid == [5]


@pytest.mark.parametrize(("settings", "key", "header", "is_paused"), [
    ("answer", "", "", False),
    ("pause", "", "", True),
    ("answer", "pause", "", True),
    ("pause", "answer", "", False),
    ("answer", "answer", "pause", True),
    ("pause", "pause", "answer", False),
])  # fmt: skip
async def test_the_request_then_the_key_then_the_settings_say_whether_a_run_pauses(
    gateway, client, tmp_path, settings, key, header, is_paused
):
    store, secret = f"sqlite:///{tmp_path}/store.db", new_secret().reveal()
    async with Runtime(Registry(), store) as runtime:
        await runtime.create_key(
            ApiKey(
                key_id="key_1", tenant="default", name="ann", digest=digest_of(secret), prefix="x",
                scopes=("models", "tools", "view"), approvals=key,
            ),
            by="ann",
        )  # fmt: skip
    server = ServerSettings(approvals=settings)
    async with gateway(PAY, "Told.", store=store, registry=Till().registry, server=server) as up:
        headers = {"authorization": f"Bearer {secret}", "x-groundwire-tools": "pay"}
        if header:
            headers["x-groundwire-approvals"] = header
        body = {"model": up.model, "messages": [{"role": "user", "content": "Pay five."}]}
        answer = await client.post(f"{up.url}/v1/chat/completions", json=body, headers=headers)
        assert answer.headers["x-groundwire-approval-id"]
        (run,) = (await client.get(f"{up.url}/api/runs", headers=headers)).json()["items"]
    assert run["status"] == ("waiting" if is_paused else "ended")
