"""What only operators may read: texts of exceptions, bodies of providers' errors, and counts of other tenants."""

import asyncio
import json
from contextlib import asynccontextmanager

import httpx2 as httpx
import pytest

from groundwire import Registry, tool
from groundwire.assembly import Runtime, Settings, StoreSettings
from groundwire.contracts.jobs import JobSettings, RetrySchedule
from groundwire.runtime.clock import SystemClock
from groundwire.serving.tallies import Tally, TallyKeeper
from tests.gateway.raw_upstream import LIMIT, gateway_before_raw
from tests.gateway.test_access import key_for
from tests.gateway.test_model_limits import ask, body_of

MARK = "internal-text-of-an-operator"


@tool(category="action")
def break_down(how: str) -> str:
    """Break down."""
    raise RuntimeError(f"{MARK} {how}")


@tool(category="retrieval")
def kb_search(query: str) -> str:
    """Search."""
    return query


async def fail_a_job(store):
    """A job that is a dead letter, because its handler raised."""

    async def handler(job):
        raise RuntimeError(MARK)

    settings = Settings(store=StoreSettings(url=store), jobs=JobSettings(poll_seconds=0.02))
    async with Runtime(Registry(), settings=settings) as runtime:
        await runtime.jobs.start({"boom": handler})
        job = await runtime.jobs.submit("boom", {}, schedule=RetrySchedule(delays=()))
        await runtime.jobs.wait(job.job_id)
        return job.job_id


async def fail_a_run(running, headers):
    """A run whose provider answered with an error that says more than its message."""
    question = json.loads(body_of("openai-chat", {"tools": [{"type": "groundwire", "name": "kb_*"}]}, is_direct=True))
    async with httpx.AsyncClient(base_url=running.url, headers=headers, timeout=LIMIT) as client:
        asking = asyncio.ensure_future(client.post("/v1/chat/completions", json=question))
        call = await running.upstream.next_call()
        await call.answer(400, json.dumps({"error": {"message": "no"}, "trace": MARK}).encode())
        assert (await asking).status_code == 400


@asynccontextmanager
async def failures(store, headers):
    """A gateway on which everything has failed once; the value is it, with the addresses at which that can be read."""
    registry = Registry([break_down, kb_search])
    async with (
        asyncio.timeout(60),
        gateway_before_raw("openai-chat", store, registry) as running,
        httpx.AsyncClient(base_url=running.url, headers=headers) as client,
    ):
        called = await client.post("/api/calls", json={"tool": "break_down", "arguments": {"how": "now"}})
        assert called.json()["error"]["detail"] == "HANDLER_RAISED"
        await fail_a_run(running, headers)
        job_id = await fail_a_job(store)
        (effect,) = (await client.get("/api/effects")).json()["items"]
        (run,) = (await client.get("/api/runs")).json()["items"]
        (record, *_) = (await client.get("/api/audit")).json()["items"]
        yield (
            running,
            {
                "effects": "/api/effects",
                "effect": f"/api/effects/{effect['effectId']}",
                "audit": "/api/audit",
                "record": f"/api/audit/records/{record['seq']}",
                "run": f"/api/runs/{run['runId']}",
                "jobs": "/api/jobs",
                "job": f"/api/jobs/{job_id}",
                "calls": "/api/calls",
                "approvals": "/api/approvals?status=all",
                "sessions": "/api/sessions",
                "metrics": "/metrics",
            },
        )


async def marked(running, places, headers):
    """The places at which the text can be read."""
    async with httpx.AsyncClient(base_url=running.url, headers=headers, timeout=LIMIT) as client:
        answers = {name: await client.get(path) for name, path in places.items()}
    assert {name: answer.status_code for name, answer in answers.items()} == dict.fromkeys(places, 200)
    return {name for name, answer in answers.items() if MARK in answer.text}


@pytest.fixture
def store(tmp_path):
    return f"sqlite:///{tmp_path}/groundwire.db"


TOLD = {"effects", "effect", "audit", "record", "run", "jobs", "job"}


async def test_texts_of_exceptions_are_for_admins_only(store):
    (_, admin), (_, api) = await key_for(store, scopes=("admin",)), await key_for(store, scopes=("api",))
    async with failures(store, {"x-api-key": admin}) as (running, places):
        assert await marked(running, places, {"x-api-key": admin}) == TOLD
        assert await marked(running, places, {"x-api-key": api}) == set()


async def test_on_a_server_without_keys_they_are_for_everybody(store):
    async with failures(store, {}) as (running, places):
        assert await marked(running, places, {}) == TOLD


async def test_without_them_an_answer_has_all_its_members_and_says_what_failed(store):
    (_, admin), (_, api) = await key_for(store, scopes=("admin",)), await key_for(store, scopes=("api",))
    async with failures(store, {"x-api-key": admin}) as (running, places):
        shown = {}
        for secret in (admin, api):
            async with httpx.AsyncClient(base_url=running.url, headers={"x-api-key": secret}) as client:
                shown[secret] = {name: (await client.get(places[name])).json() for name in ("effect", "job", "record")}
                run = (await client.get(places["run"])).json()
                shown[secret]["failure"] = next(entry for entry in run["entries"] if entry["kind"] == "failed")[
                    "failure"
                ]
    for name in ("effect", "job", "record"):
        assert shown[api][name].keys() == shown[admin][name].keys()
    assert (shown[api]["effect"]["status"], shown[api]["effect"]["note"]) == ("unknown", "")
    assert (shown[api]["job"]["status"], shown[api]["job"]["error"]) == ("failed", "")
    assert shown[admin]["record"]["reason"].startswith(f"{shown[api]['record']['reason']}: ")
    assert (shown[api]["failure"]["message"], shown[api]["failure"]["status"]) == ("no", 400)


async def test_what_a_person_noted_about_an_effect_is_for_everybody_who_may_decide(store):
    (_, admin), (_, api) = await key_for(store, scopes=("admin",)), await key_for(store, scopes=("api",))
    async with (
        failures(store, {"x-api-key": admin}) as (running, places),
        httpx.AsyncClient(base_url=running.url, headers={"x-api-key": api}) as client,
    ):
        decided = {"happened": True, "note": "looked it up"}
        answer = await client.post(f"{places['effect']}/reconcile", json=decided)
        shown = (await client.get(places["effect"])).json()
    assert (answer.status_code, shown["note"]) == (200, "looked it up")


async def requests_of(running, secret):
    """The gateway's part of the metrics in both forms."""
    async with httpx.AsyncClient(base_url=running.url, headers={"x-api-key": secret}) as client:
        told = (await client.get("/metrics", headers={"accept": "application/json"})).json()["gateway"]
        return told, (await client.get("/metrics")).text


def count_of(gateway, route, status=200):
    return sum(row["count"] for row in gateway["requests"] if (row["route"], row["status"]) == (route, status))


async def test_a_tenants_key_sees_its_own_requests_and_an_admin_all(store):
    both = ("models", "api")
    (_, one), (_, two) = (
        await key_for(store, tenant="one", scopes=both),
        await key_for(store, tenant="two", scopes=both),
    )
    _, admin = await key_for(store, tenant="one", scopes=("admin",))
    chat = "POST /v1/chat/completions"
    async with gateway_before_raw("openai-chat", store) as running:
        for secret, times in ((one, 2), (two, 3)):
            for _ in range(times):
                await ask(running, "openai-chat", secret, body_of("openai-chat", {}, is_direct=True))
        async with httpx.AsyncClient(base_url=running.url, headers={"x-api-key": two}) as client:
            await client.get("/api/runs")
            await client.post("/mcp", json={})
            asking = asyncio.ensure_future(
                client.post("/v1/chat/completions", content=body_of("openai-chat", {}, is_direct=True))
            )
            await (await running.upstream.next_call()).answer(503, b"{}")
            await asking
        async with httpx.AsyncClient(base_url=running.url, headers={"x-api-key": "nobody's"}) as client:
            await client.post("/v1/chat/completions", json={})
        first, second, whole = [await requests_of(running, secret) for secret in (one, two, admin)]
    assert [count_of(told, chat) for told, _ in (first, second, whole)] == [2, 3, 5]
    assert [count_of(told, chat, 401) for told, _ in (first, second, whole)] == [0, 0, 1]
    assert [count_of(told, "GET /api/runs") for told, _ in (first, second, whole)] == [0, 1, 1]
    assert [count_of(told, "POST /mcp", 403) for told, _ in (first, second, whole)] == [0, 1, 1]
    assert [sum(told["upstreamFailures"].values()) for told, _ in (first, second, whole)] == [0, 1, 1]
    assert [
        sum(row["count"] for row in told["latencyMs"] if row["route"] == chat) for told, _ in (first, second, whole)
    ] == [2, 4, 7]
    assert ["inFlight" in told for told, _ in (first, second, whole)] == [False, False, True]
    assert ["groundwire_http_in_flight" in text for _, text in (first, second, whole)] == [False, False, True]
    labels = 'route="POST /v1/chat/completions",dialect="openai-chat",status="200"'
    assert [f"{{{labels}}} {count}" in text for count, (_, text) in ((2, first), (3, second), (5, whole))] == [True] * 3


async def test_counts_of_a_tenant_are_added_up_over_processes_and_never_mixed(store):
    async with Runtime(Registry(), store) as runtime:
        keepers = []
        for worker in ("a", "b"):
            tally = Tally()
            keeper = TallyKeeper(tally, runtime.store, SystemClock(), worker=worker)
            await keeper.open()
            keepers.append(keeper)
            for tenant in ("one", "one:http_requests", ""):
                tally.count("GET /x", "", 200, 1_000_000, tenant)
                tally.count_failure("server", tenant)
            await keeper.flush()
        told = {tenant: await keepers[0].read(tenant) for tenant in ("one", "one:http_requests", "none", None)}
        for keeper in keepers:
            await keeper.close()
    assert {tenant: count_of(found, "GET /x") for tenant, found in told.items()} == {
        "one": 2, "one:http_requests": 2, "none": 0, None: 6,
    }  # fmt: skip
    assert told["one"]["upstreamFailures"] == {"server": 2}
