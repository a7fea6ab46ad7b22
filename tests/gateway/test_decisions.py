"""Who decides over HTTP: under the name of the key, with the scope for it, and not on calls of the same key."""

import asyncio
from contextlib import asynccontextmanager

import httpx2 as httpx
import pytest

from groundwire import Agent, Registry, Runtime, tool
from groundwire.assembly import Settings, StoreSettings
from groundwire.cli.doors import make_application
from groundwire.contracts.keys import ApiKey
from groundwire.runtime.clock import SystemClock
from groundwire.runtime.policies.self_approval import ApprovalRule, ApprovalSettings
from groundwire.serving.keys import digest_of, new_secret, shown_part
from groundwire.serving.running import serving
from groundwire.testing import Answer, Ask, ScriptedModel, ScriptedProvider
from tests.gateway.raw_upstream import LIMIT

TOOLS = "editor.wipe"


def disk():
    wiped = []

    @tool(name=TOOLS, category="action", confirm=True)
    def wipe(name: str) -> dict:
        """Wipe a disk."""
        wiped.append(name)
        return {"wiped": name}

    @tool(category="action")
    def send_note(text: str) -> dict:
        """Send a note, and lose the line."""
        raise OSError("the line is dead")

    return Registry([wipe, send_note]), wiped


@pytest.fixture
def store(tmp_path):
    return f"sqlite:///{tmp_path}/groundwire.db"


@asynccontextmanager
async def api(store, registry=None, environ=None, **settings):
    registry = registry or disk()[0]
    application = make_application(
        Settings(store=StoreSettings(url=store), **settings), environ or {}, registry=registry
    )
    async with serving(application, "127.0.0.1") as url, httpx.AsyncClient(base_url=url, timeout=LIMIT) as client:
        yield client


async def add_key(store, *scopes, key_id="", name="agent", tenant="default"):
    secret = new_secret().reveal()
    key = ApiKey(
        key_id=key_id or f"key_{secret[3:12]}",
        tenant=tenant,
        name=name,
        digest=digest_of(secret),
        prefix=shown_part(secret),
        scopes=scopes,
    )
    async with Runtime(Registry(), store) as runtime:
        await runtime.store.create_key(key)
    return {"authorization": f"Bearer {secret}"}


async def request_wipe(client, headers=None, name="sda", **more):
    body = {"tool": TOOLS, "arguments": {"name": name}, **more}
    answer = await client.post("/api/calls", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return f"/api/approvals/{answer.json()['meta']['confirmation']['id']}"


def code(answer):
    return answer.status_code, answer.json()["error"]["code"]


async def audited(store, kind):
    async with Runtime(Registry(), store) as runtime:
        return [record.entry for record in await runtime.store.list_audit("default") if record.entry.kind == kind]


async def test_a_decision_is_recorded_under_the_name_of_its_key_with_its_id_in_the_audit_chain(store):
    agent = await add_key(store, "tools")
    operator = await add_key(store, "decide", key_id="key_op", name="Ada")
    async with api(store) as client:
        approved = await client.post(f"{await request_wipe(client, agent)}/approve", headers=operator)
        denied = await client.post(f"{await request_wipe(client, agent, 'sdb')}/deny", headers=operator)
    assert (approved.json()["decidedBy"], denied.json()["decidedBy"]) == ("Ada", "Ada")
    assert [(entry.actor, entry.approver) for entry in await audited(store, "approval")] == [("key_op", "Ada")] * 2


async def test_a_key_without_a_name_decides_under_its_id(store):
    agent = await add_key(store, "tools")
    operator = await add_key(store, "decide", key_id="key_op", name="")
    async with api(store) as client:
        approved = await client.post(f"{await request_wipe(client, agent)}/approve", headers=operator)
    assert approved.json()["decidedBy"] == "key_op"


@pytest.mark.parametrize("action", ["approve", "deny"])
async def test_a_request_cannot_say_who_decides(store, action):
    agent, operator = await add_key(store, "tools"), await add_key(store, "api", name="Ada")
    async with api(store) as client:
        path = await request_wipe(client, agent)
        forged = await client.post(f"{path}/{action}", json={"by": "The Owner"}, headers=operator)
        shown = (await client.get(path, headers=operator)).json()
    assert code(forged) == (400, "invalid_body")
    assert "name of the key" in forged.json()["error"]["message"]
    assert (shown["status"], shown["decidedBy"]) == ("pending", "")


async def test_an_effect_is_reconciled_under_the_name_of_the_key(store):
    operator = await add_key(store, "api", "tools", key_id="key_op", name="Ada")
    async with api(store) as client:
        note = {"tool": "send_note", "arguments": {"text": "hi"}}
        await client.post("/api/calls", json=note, headers={**operator, "idempotency-key": "k"})
        [effect] = (await client.get("/api/effects?status=unknown", headers=operator)).json()["items"]
        path = f"/api/effects/{effect['effectId']}"
        forged = await client.post(f"{path}/reconcile", json={"happened": True, "by": "eve"}, headers=operator)
        await client.post(f"{path}/reconcile", json={"happened": True}, headers=operator)
        shown = (await client.get(path, headers=operator)).json()
    assert code(forged) == (400, "invalid_body")
    assert shown["decidedBy"] == "Ada"
    assert [(entry.actor, entry.approver) for entry in await audited(store, "reconcile")] == [("key_op", "Ada")]


async def test_the_key_that_made_a_call_cannot_approve_it_but_can_take_it_back(store):
    registry, wiped = disk()
    agent = await add_key(store, "api", "tools", key_id="key_1")
    async with api(store, registry) as client:
        path = await request_wipe(client, agent)
        refused = await client.post(f"{path}/approve", headers=agent)
        edited = await client.post(f"{path}/approve", json={"arguments": {"name": "sdb"}}, headers=agent)
        shown = (await client.get(path, headers=agent)).json()
        denied = await client.post(f"{path}/deny", headers=agent)
    assert [code(answer) for answer in (refused, edited)] == [(403, "self_approval")] * 2
    assert (shown["status"], shown["keyId"], wiped) == ("pending", "key_1", [])
    assert (denied.status_code, denied.json()["status"]) == (200, "denied")
    taken_back, *attempts = await audited(store, "approval")
    assert (taken_back.decision, taken_back.success) == ("denied", True)
    tried = [(entry.decision, entry.success, entry.error, entry.actor, entry.approver) for entry in attempts]
    assert tried == [("refused", False, "self_approval", "key_1", "")] * 2


async def test_another_key_of_the_same_name_is_another_key(store):
    agent, other = await add_key(store, "tools", name="shop"), await add_key(store, "api", name="shop")
    async with api(store) as client:
        approved = await client.post(f"{await request_wipe(client, agent)}/approve", headers=other)
    assert approved.status_code == 200


async def test_a_key_that_may_decide_cannot_have_its_call_pass_on_what_another_key_requested(store):
    """Else it would wait until an agent asks, approve that, and make the call itself."""
    registry, wiped = disk()
    agent, other = await add_key(store, "tools"), await add_key(store, "api", "tools")
    session = {"x-groundwire-session-id": "s1"}
    async with api(store, registry) as client:
        for more in ({}, session):
            path = await request_wipe(client, {**agent, **more})
            assert await request_wipe(client, {**other, **more}) != path
            assert (await client.post(f"{path}/approve", headers=other)).status_code == 200
            assert await request_wipe(client, {**other, **more}) != path
    assert wiped == []


@pytest.mark.parametrize(
    ("settings", "allowed"),
    [
        ({"self_approval": True}, True),
        ({"rules": (ApprovalRule(keys=("key_1",), self_approval=True),)}, True),
        ({"rules": (ApprovalRule(keys=("key_2",), self_approval=True),)}, False),
        ({"rules": (ApprovalRule(tools=("editor.*",), self_approval=True),)}, True),
        ({"rules": (ApprovalRule(tools=("mail.*",), self_approval=True),)}, False),
    ],
)
async def test_settings_allow_a_key_to_approve_its_own_calls(store, settings, allowed):
    registry, wiped = disk()
    agent = await add_key(store, "api", "tools", key_id="key_1")
    async with api(store, registry, approvals=ApprovalSettings(**settings)) as client:
        path = await request_wipe(client, agent)
        answer = await client.post(f"{path}/approve", headers=agent)
        await client.post("/api/calls", json={"tool": TOOLS, "arguments": {"name": "sda"}}, headers=agent)
    assert (answer.status_code, wiped) == ((200, ["sda"]) if allowed else (403, []))


async def test_on_a_server_without_keys_the_one_local_person_approves_what_they_asked_for(store):
    registry, wiped = disk()
    async with api(store, registry) as client:
        path = await request_wipe(client)
        approved = await client.post(f"{path}/approve")
        await client.post("/api/calls", json={"tool": TOOLS, "arguments": {"name": "sda"}})
    assert (approved.json()["decidedBy"], approved.json()["keyId"], wiped) == ("local", "local", ["sda"])


async def test_the_master_key_is_a_key_like_others(store):
    agent = await add_key(store, "tools")
    master = {"authorization": "Bearer m"}
    async with api(store, environ={"GROUNDWIRE_MASTER_KEY": "m"}) as client:
        own = await client.post(f"{await request_wipe(client, master)}/approve", headers=master)
        other = await client.post(f"{await request_wipe(client, agent)}/approve", headers=master)
    assert code(own) == (403, "self_approval")
    assert other.json()["decidedBy"] == "master"


@pytest.mark.parametrize(
    ("scopes", "viewed", "decided"),
    [
        (("view",), 200, 403),
        (("decide",), 403, 200),
        (("view", "decide"), 200, 200),
        (("api",), 200, 200),
        (("admin",), 200, 200),
        (("tools", "models"), 403, 403),
    ],
)
async def test_viewing_and_deciding_take_scopes_of_their_own(store, scopes, viewed, decided):
    agent, operator = await add_key(store, "tools"), await add_key(store, *scopes)
    async with api(store) as client:
        path = await request_wipe(client, {**agent, "x-groundwire-session-id": "s1"})
        views = [
            (await client.get(view, headers=operator)).status_code
            for view in ("/api/approvals", path, "/api/runs", "/api/calls", "/api/jobs", "/api/audit", "/metrics")
        ]
        decisions = [
            (await client.post(f"{path}/approve", headers=operator)).status_code,
            (await client.post("/api/sessions/s1/end", headers=operator)).status_code,
        ]
        missing = [
            (await client.post(path, json=body, headers=operator)).status_code
            for path, body in (
                ("/api/effects/eff_1/reconcile", {"happened": True}),
                ("/api/jobs/job_1/retry", None),
                ("/api/jobs/job_1/cancel", None),
                ("/api/approvals/cnf_1/deny", {}),
            )
        ]
    assert views == [viewed] * 7
    assert decisions == [decided] * 2
    assert missing == [404 if decided == 200 else 403] * 4


async def test_a_model_s_call_belongs_to_the_key_that_started_the_run_also_when_another_process_resumes_it(store):
    registry, wiped = disk()
    calls = [Answer(calls=(Ask("editor__wipe", {"name": name}),)) for name in ("sda", "sdb")]
    models = ScriptedProvider(ScriptedModel(*calls, Answer("Done.")), clock=SystemClock())
    own, other = await add_key(store, "api", key_id="key_1"), await add_key(store, "api", key_id="key_2")
    async with Agent("sim/x", tools=registry, models=models, store=store) as agent:
        waiting = await agent.run("Wipe both.", key_id="key_1")
        await agent.runtime.approve(waiting.approvals[0], by="ada")
    async with Agent("sim/x", tools=registry, models=models, store=store) as agent:
        [approval_id] = (await agent.resume(waiting.run_id)).approvals
        async with api(store, registry) as client:
            path = f"/api/approvals/{approval_id}"
            row = (await client.get(path, headers=own)).json()
            refused = await client.post(f"{path}/approve", headers=own)
            approved = await client.post(f"{path}/approve", headers=other)
        done = await agent.resume(waiting.run_id)
    assert (row["keyId"], row["runId"], row["arguments"]) == ("key_1", waiting.run_id, {"name": "sdb"})
    assert (code(refused), approved.status_code) == ((403, "self_approval"), 200)
    assert (done.text, wiped) == ("Done.", ["sda", "sdb"])


async def test_a_call_over_mcp_belongs_to_the_key_that_made_it(store):
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    registry, _ = disk()
    agent = await add_key(store, "api", "tools", key_id="key_1")
    async with (
        api(store, registry) as client,
        httpx.AsyncClient(headers=agent, timeout=LIMIT) as http,
        asyncio.timeout(LIMIT),
    ):
        async with (
            streamable_http_client(f"{client.base_url}/mcp", http_client=http) as (read, write, *_),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            await session.call_tool("editor__wipe", {"name": "sda"})
        [row] = (await client.get("/api/approvals", headers=agent)).json()["items"]
        refused = await client.post(f"/api/approvals/{row['confirmationId']}/approve", headers=agent)
    assert (row["keyId"], code(refused)) == ("key_1", (403, "self_approval"))


async def test_calls_of_python_programs_are_not_restricted(store):
    registry, wiped = disk()
    operator = await add_key(store, "decide")
    async with Runtime(registry, store) as runtime, api(store, registry) as client:
        for name in ("sda", "sdb"):
            asked = await runtime.call(TOOLS, {"name": name}, session="s")
            if name == "sda":
                await runtime.approve(asked.meta.confirmation.id, by="me")
            else:
                path = f"/api/approvals/{asked.meta.confirmation.id}/approve"
                assert (await client.post(path, headers=operator)).status_code == 200
            assert (await runtime.call(TOOLS, {"name": name}, session="s")).ok
    assert wiped == ["sda", "sdb"]


@pytest.mark.parametrize("stream", [False, True], ids=["unary", "streamed"])
async def test_a_call_in_a_gateway_request_belongs_to_the_key_that_sent_it(gateway, store, stream):
    registry, _ = disk()
    agent = await add_key(store, "api", "models", "tools", key_id="key_1")
    script = (Answer(calls=(Ask("editor__wipe", {"name": "sda"}),)), Answer("Asked."))
    async with (
        gateway(*script, registry=registry, store=store) as running,
        httpx.AsyncClient(base_url=running.url, headers=agent, timeout=LIMIT) as client,
    ):
        body = {"model": running.model, "messages": [{"role": "user", "content": "Wipe it."}], "stream": stream}
        await client.post("/v1/chat/completions", json=body, headers={"x-groundwire-tools": "*"})
        [row] = (await client.get("/api/approvals")).json()["items"]
        refused = await client.post(f"/api/approvals/{row['confirmationId']}/approve")
    assert (row["keyId"], code(refused)) == ("key_1", (403, "self_approval"))
