"""/api over a real socket: lists, details and actions, in the form that the command line shows too."""

import asyncio
import json
from contextlib import asynccontextmanager

import httpx2 as httpx
import pytest

from groundwire import Agent, Registry, Runtime, tool
from groundwire.assembly import AuditSettings, Settings, StoreSettings
from groundwire.cli.doors import make_application
from groundwire.contracts.keys import ApiKey, KeyLimit
from groundwire.contracts.schemas import envelope_problems
from groundwire.serving.keys import digest_of, new_secret, shown_part
from groundwire.serving.running import serving
from groundwire.testing import Answer, Ask, FakeClock, ScriptedModel, ScriptedProvider

SESSION = {"x-groundwire-session-id": "s1"}


@tool(category="utility")
def get_weather(city: str) -> dict:
    """The weather of a city."""
    return {"city": city, "sky": "clear"}


@tool(category="action", confirm=True)
def wipe_disk(name: str) -> dict:
    """Wipe a disk."""
    return {"wiped": name}


@tool(category="action")
def send_note(text: str) -> dict:
    """Send a note."""
    if text == "lost":
        raise OSError("the line is dead")
    return {"sent": text}


@pytest.fixture
def store(tmp_path):
    return f"sqlite:///{tmp_path}/groundwire.db"


@asynccontextmanager
async def api(store, **settings):
    registry = Registry([get_weather, wipe_disk, send_note])
    application = make_application(Settings(store=StoreSettings(url=store), **settings), {}, registry=registry)
    async with serving(application, "127.0.0.1") as url, httpx.AsyncClient(base_url=url, timeout=30) as client:
        yield client


async def call(client, name, arguments, headers=None, **more):
    answer = await client.post("/api/calls", json={"tool": name, "arguments": arguments, **more}, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def fetch(client, path, **parameters):
    answer = await client.get(path, params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def failure(answer):
    error = answer.json()["error"]
    assert answer.headers["x-request-id"].startswith("req_")
    assert error["message"]
    return answer.status_code, error["code"]


async def test_a_call_answers_with_its_envelope(store):
    async with api(store) as client:
        answer = await client.post(
            "/api/calls",
            json={"tool": "get_weather", "arguments": {"city": "Oslo"}},
            headers={**SESSION, "x-groundwire-call-id": "call_a"},
        )
    envelope = answer.json()
    assert envelope_problems(envelope) == []
    assert (envelope["data"], envelope["meta"]["sessionId"]) == ({"city": "Oslo", "sky": "clear"}, "s1")
    assert answer.headers["x-groundwire-call-id"] == envelope["meta"]["callId"] == "call_a"


async def test_a_call_that_is_refused_is_an_envelope_too(store):
    async with api(store) as client:
        envelope = await call(client, "no_such_tool", {})
    assert (envelope["ok"], envelope["error"]["type"]) == (False, "NOT_FOUND")


async def test_the_same_idempotency_key_gives_the_stored_result_and_other_arguments_conflict(store):
    key = {"idempotency-key": "k1"}
    async with api(store) as client:
        first = await call(client, "send_note", {"text": "hi"}, key)
        again = await call(client, "send_note", {"text": "hi"}, key)
        other = await call(client, "send_note", {"text": "ho"}, key)
    assert (first["meta"]["replayed"], again["meta"]["replayed"]) == (False, True)
    assert again["data"] == {"sent": "hi"}
    assert (other["error"]["type"], other["error"]["detail"]) == ("CONFLICT", "KEY_REUSED")


async def test_calls_are_listed_page_by_page_and_shown_one_by_one(store):
    async with api(store) as client:
        for number in range(5):
            await call(client, "get_weather", {"city": f"c{number}"}, {"x-groundwire-call-id": f"call_{number}"})
        await call(client, "get_weather", {"city": "Bonn"}, {**SESSION, "x-groundwire-call-id": "call_0"})
        found, parameters = [], {"limit": 4}
        while True:
            page = await fetch(client, "/api/calls", **parameters)
            found.append([(row["sessionId"], row["callId"]) for row in page["items"]])
            if page["next"] is None:
                break
            parameters["before"] = page["next"]
        only = await fetch(client, "/api/calls", session="s1")
        outside = await fetch(client, "/api/calls/call_0")
        inside = await fetch(client, "/api/calls/call_0", session="s1")
    rest = [("", f"call_{number}") for number in (4, 3, 2, 1, 0)]
    assert found == [[("s1", "call_0"), *rest[:3]], rest[3:]]
    assert [row["callId"] for row in only["items"]] == ["call_0"]
    assert (outside["raw"], inside["raw"]) == ('{"city":"c0"}', '{"city":"Bonn"}')


async def test_a_page_that_ends_exactly_has_no_next_one(store):
    async with api(store) as client:
        for _ in range(2):
            await call(client, "get_weather", {"city": "Oslo"})
        pages = [await fetch(client, "/api/calls", limit=limit) for limit in (1, 2, 3)]
    assert [(len(page["items"]), page["next"] is None) for page in pages] == [(1, False), (2, True), (2, True)]


async def test_an_approval_with_other_arguments_lets_just_that_call_pass(store):
    async with api(store) as client:
        waiting = await call(client, "wipe_disk", {"name": "sda"}, SESSION)
        (question,) = (await fetch(client, "/api/approvals"))["items"]
        path = f"/api/approvals/{question['confirmationId']}"
        agreed = await client.post(f"{path}/approve", json={"note": "ok", "arguments": {"name": "sdb"}})
        shown = await fetch(client, path)
        refused = await call(client, "wipe_disk", {"name": "sda"}, SESSION)
        done = await call(client, "wipe_disk", {"name": "sdb"}, SESSION)
        twice = await client.post(f"{path}/deny")
        spent = await fetch(client, "/api/approvals", status="spent")
    assert waiting["meta"]["confirmation"]["id"] == question["confirmationId"]
    assert (question["status"], question["expired"], question["arguments"]) == ("pending", False, {"name": "sda"})
    assert agreed.json() == shown
    assert (shown["status"], shown["decidedBy"], shown["edited"]) == ("approved", "local", True)
    assert refused["error"]["type"] == "CONFIRMATION_REQUIRED"
    assert done["data"] == {"wiped": "sdb"}
    assert failure(twice) == (409, "already_decided")
    assert [row["confirmationId"] for row in spent["items"]] == [question["confirmationId"]]


async def test_a_denied_call_stays_refused(store):
    async with api(store) as client:
        waiting = await call(client, "wipe_disk", {"name": "sda"}, SESSION)
        path = f"/api/approvals/{waiting['meta']['confirmation']['id']}"
        denied = await client.post(f"{path}/deny", json={"note": "no"})
        again = await call(client, "wipe_disk", {"name": "sda"}, SESSION)
    assert (denied.json()["status"], denied.json()["note"]) == ("denied", "no")
    assert again["error"]["detail"] == "DENIED"


async def test_an_unknown_effect_is_reconciled_once(store):
    async with api(store) as client:
        lost = await call(client, "send_note", {"text": "lost"}, {"idempotency-key": "k"})
        (effect,) = (await fetch(client, "/api/effects", status="unknown"))["items"]
        path = f"/api/effects/{effect['effectId']}"
        decided = await client.post(f"{path}/reconcile", json={"happened": True, "result": {"sent": "lost"}})
        shown = await fetch(client, path)
        replayed = await call(client, "send_note", {"text": "lost"}, {"idempotency-key": "k"})
        twice = await client.post(f"{path}/reconcile", json={"happened": False})
        wrong = await client.post(f"{path}/reconcile", json={"happened": False, "result": 1})
    assert lost["error"]["partialSideEffects"] is True
    assert decided.json() == {"effectId": effect["effectId"], "status": "settled"}
    assert (shown["status"], shown["decidedBy"], shown["key"]) == ("settled", "local", effect["key"])
    assert (replayed["ok"], replayed["data"]) == (True, {"sent": "lost"})
    assert failure(twice) == (409, "already_decided")
    assert failure(wrong) == (400, "invalid_body")


async def test_a_session_is_shown_and_ended(store):
    odd = "a/b c"
    async with api(store) as client:
        await call(client, "get_weather", {"city": "Oslo"}, {"x-groundwire-session-id": odd})
        (listed,) = (await fetch(client, "/api/sessions"))["items"]
        shown = await fetch(client, "/api/sessions/a%2Fb%20c")
        ended = await client.post("/api/sessions/a%2Fb%20c/end")
        again = await client.post("/api/sessions/a%2Fb%20c/end")
        refused = await call(client, "get_weather", {"city": "Oslo"}, {"x-groundwire-session-id": odd})
    assert listed == shown
    assert (shown["sessionId"], shown["status"], shown["calls"]) == (odd, "active", 1)
    assert (ended.json()["status"], failure(again)) == ("ended", (409, "already_decided"))
    assert refused["error"]["type"] == "SESSION_INACTIVE"


async def test_runs_are_listed_and_told_entry_by_entry(store):
    models = ScriptedProvider(
        ScriptedModel(Answer(calls=(Ask("get_weather", {"city": "Oslo"}),)), Answer("Clear.")), clock=FakeClock()
    )
    async with Agent("sim/x", tools=Registry([get_weather]), models=models, store=store) as agent:
        done = await agent.run("How is Oslo?", session="s1")
    async with api(store) as client:
        (run,) = (await fetch(client, "/api/runs", session="s1"))["items"]
        none = await fetch(client, "/api/runs", session="s2")
        shown = await fetch(client, f"/api/runs/{done.run_id}")
    assert (run["runId"], run["outcome"], run["text"]) == (done.run_id, "completed", "Clear.")
    assert none == {"items": [], "next": None}
    assert shown["run"] == run
    assert (shown["entries"][0]["kind"], shown["entries"][-1]["kind"]) == ("started", "ended")
    assert [row["tool"] for row in shown["calls"]] == ["get_weather"]
    assert [entry["seq"] for entry in shown["entries"]] == [*range(1, len(shown["entries"]) + 1)]
    times = [entry["createdAt"] for entry in shown["entries"]]
    assert times == sorted(times)
    assert run["createdAt"] <= times[0] <= times[-1] <= run["updatedAt"]


async def test_the_audit_chain_is_listed_verified_and_exported(store, tmp_path):
    async with api(store, audit=AuditSettings(checkpoint=str(tmp_path / "heads"))) as client:
        for number in range(3):
            await call(client, "get_weather", {"city": f"c{number}"})
        first = await fetch(client, "/api/audit", limit=2)
        second = await fetch(client, "/api/audit", limit=2, before=first["next"])
        one = await fetch(client, "/api/audit/records/2")
        report = await fetch(client, "/api/audit/verify", checkpoint="true")
        export = await client.get("/api/audit/export")
    assert [row["seq"] for row in (*first["items"], *second["items"])] == [3, 2, 1]
    assert (first["next"], second["next"]) == ("2", None)
    assert one == first["items"][1]
    assert (report["ok"], report["records"], report["checkpoint"]) == (True, 3, "checked")
    assert export.headers["content-type"] == "application/x-ndjson"
    assert [json.loads(line)["seq"] for line in export.text.splitlines()] == [1, 2, 3]


async def test_the_command_line_shows_the_same_as_the_api(store, tmp_path, monkeypatch):
    from click.testing import CliRunner

    from groundwire.cli import main

    monkeypatch.chdir(tmp_path)
    async with api(store) as client:
        await call(client, "wipe_disk", {"name": "sda"}, SESSION)
        await call(client, "send_note", {"text": "hi"}, SESSION)
        for what in ("calls", "sessions", "approvals", "effects", "jobs", "audit", "runs"):
            listed = await asyncio.to_thread(CliRunner().invoke, main, [what, "list", "--json", "--store", store])
            assert json.loads(listed.stdout) == (await fetch(client, f"/api/{what}"))["items"], what


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/api/calls?limit=0", 400, "invalid_body"),
        ("/api/calls?limit=1001", 400, "invalid_body"),
        ("/api/calls?limit=1&limit=2", 400, "invalid_body"),
        ("/api/calls?limits=1", 400, "invalid_body"),
        ("/api/calls?before=call_9", 404, "not_found"),
        ("/api/approvals?status=open", 400, "invalid_body"),
        ("/api/calls/call_9", 404, "not_found"),
        ("/api/runs/run_9", 404, "not_found"),
        ("/api/runs/%00", 404, "not_found"),
        ("/api/audit/records/9", 404, "not_found"),
        ("/api/audit/verify?checkpoint=true", 404, "not_found"),
        ("/api/nothing", 404, "no_such_path"),
    ],
)
async def test_what_cannot_be_answered_says_why(path, status, code):
    async with api("memory://") as client:
        assert failure(await client.get(path)) == (status, code)


async def test_a_parameter_out_of_range_is_told_its_range():
    async with api("memory://") as client:
        error = (await client.get("/api/calls?limit=0")).json()["error"]
    assert error["message"] == "limit: it must be a whole number at least 1, at most 1 000"


async def test_the_largest_page_is_allowed(store):
    async with api(store) as client:
        assert await fetch(client, "/api/calls", limit=1000) == {"items": [], "next": None}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "invalid_json"),
        (b"{", "invalid_json"),
        (b"[" * 5000, "invalid_json"),
        (b'{"tool": "x", "argument": {}}', "invalid_body"),
        (b'{"tool": "x", "arguments": []}', "invalid_body"),
        (b'{"arguments": {}}', "invalid_body"),
    ],
)
async def test_a_call_with_a_bad_body_is_refused(body, code):
    async with api("memory://") as client:
        assert failure(await client.post("/api/calls", content=body)) == (400, code)


@pytest.mark.parametrize("name", ["idempotency-key", "x-groundwire-session-id", "x-groundwire-call-id"])
@pytest.mark.parametrize("value", [b"", b"x" * 257, b"\xc3\xa9"])
async def test_an_id_that_cannot_be_kept_is_not_overlooked(name, value):
    async with api("memory://") as client:
        answer = await client.post("/api/calls", json={"tool": "get_weather"}, headers=[(name.encode(), value)])
    assert failure(answer) == (400, "invalid_body")


async def test_an_id_of_256_characters_is_taken():
    async with api("memory://") as client:
        answer = await call(client, "get_weather", {"city": "Oslo"}, {"x-groundwire-call-id": "x" * 256})
    assert answer["meta"]["callId"] == "x" * 256


async def test_expired_questions_do_not_shorten_a_page():
    clock = FakeClock()
    async with Runtime(Registry([wipe_disk]), clock=clock) as runtime:
        for name in ("a", "b"):
            await runtime.call("wipe_disk", {"name": name}, session="s")
        clock.advance(10_000_000)
        for name in ("c", "d", "e"):
            await runtime.call("wipe_disk", {"name": name}, session="s")
        newest = await runtime.approvals(limit=2)
        rest = await runtime.approvals(limit=2, before=newest[-1].confirmation_id)
    assert [item.arguments["name"] for item in (*newest, *rest)] == ["e", "d", "c"]


async def key_for(store, *scopes, **options):
    secret = new_secret().reveal()
    key = ApiKey(
        key_id=f"key_{secret[3:12]}",
        digest=digest_of(secret),
        prefix=shown_part(secret),
        scopes=scopes,
        **{"tenant": "default", "name": "test", **options},
    )
    async with Runtime(Registry(), store) as runtime:
        await runtime.store.create_key(key)
    return key.key_id, {"authorization": f"Bearer {secret}"}


async def test_once_there_is_a_key_the_api_wants_one_of_the_right_scope_and_health_wants_none(store):
    _, looking = await key_for(store, "api")
    _, calling = await key_for(store, "tools", tools=("get_*",))
    async with api(store) as client:
        missing = await client.get("/api/calls")
        listed = await client.get("/api/calls", headers=looking)
        wrong = await client.get("/api/calls", headers=calling)
        verified = await client.get("/api/audit/verify", headers=looking)
        weather = {"tool": "get_weather", "arguments": {"city": "Oslo"}}
        called = await client.post("/api/calls", json=weather, headers=calling)
        refused = await client.post("/api/calls", json={"tool": "send_note"}, headers=calling)
        measured = await client.get("/metrics")
        alive = [(await client.get(path)).status_code for path in ("/", "/health/live", "/health/ready")]
        described = await client.get("/openapi.json")
    assert failure(missing) == (401, "key_missing")
    assert missing.headers["www-authenticate"] == "Bearer"
    assert (listed.status_code, called.json()["ok"]) == (200, True)
    assert [failure(answer) for answer in (wrong, verified, refused)] == [(403, "not_allowed")] * 3
    assert failure(measured) == (401, "key_missing")
    assert (alive, described.status_code) == ([200, 200, 200], 200)


async def test_a_key_sees_and_decides_only_what_is_its_tenants(store):
    _, own = await key_for(store, "api", "tools", tenant="acme")
    _, operator = await key_for(store, "decide", tenant="acme", name="ann")
    _, other = await key_for(store, "api", "tools", tenant="umbrella")
    async with api(store) as client:
        waiting = await call(client, "wipe_disk", {"name": "sda"}, {**own, **SESSION})
        path = f"/api/approvals/{waiting['meta']['confirmation']['id']}"
        unseen = [
            (await client.get(f"/api/{what}", headers=other)).json()["items"]
            for what in ("calls", "sessions", "approvals", "audit")
        ]
        foreign = await client.post(f"{path}/approve", headers=other)
        decided = await client.post(f"{path}/approve", headers=operator)
    assert unseen == [[], [], [], []]
    assert failure(foreign) == (404, "not_found")
    assert decided.json()["decidedBy"] == "ann"


async def test_a_key_that_has_used_its_limit_is_told_when_to_come_back(store):
    _, limited = await key_for(store, "api", limits=(KeyLimit("requests", 1, "day"),))
    async with api(store) as client:
        first = await client.get("/api/runs", headers=limited)
        second = await client.get("/api/runs", headers=limited)
    assert (first.status_code, failure(second)) == (200, (429, "rate_limited"))
    assert 1 <= int(second.headers["retry-after"]) <= 86_400
