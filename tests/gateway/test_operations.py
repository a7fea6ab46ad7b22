"""What an operator sees of a gateway: health, metrics, the access log, and answers where nobody is."""

import asyncio
import json
from contextlib import asynccontextmanager

import httpx2 as httpx
import pytest

from groundwire import Registry, tool
from groundwire.assembly import Settings, StoreSettings
from groundwire.assembly.settings import SimulatorSettings
from groundwire.cli.doors import make_application
from groundwire.contracts.errors import StoreUnavailable
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.servers import ServerSettings
from groundwire.gateway import Health
from groundwire.serving.access_log import AccessLog
from groundwire.serving.running import serving
from groundwire.serving.tallies import BOUNDS_MS, Tally
from groundwire.testing import Answer, FakeClock

ASK = {"model": "sim", "messages": [{"role": "user", "content": "Hello"}]}


@tool(category="utility")
def get_weather(city: str) -> dict:
    """The weather of a city."""
    return {"city": city}


@asynccontextmanager
async def client_of(application):
    async with serving(application, "127.0.0.1") as url, httpx.AsyncClient(base_url=url, timeout=30) as client:
        yield client


def make(**server):
    settings = Settings(store=StoreSettings(url="memory://"), server=ServerSettings(**server))
    return make_application(settings, {}, registry=Registry([get_weather]))


async def metrics_of(client):
    return (await client.get("/metrics", headers={"accept": "application/json"})).json()


def counts(metrics):
    return {(row["route"], row["dialect"], row["status"]): row["count"] for row in metrics["gateway"]["requests"]}


@pytest.mark.requirement("B-161", "B-162", "B-163", "B-164", "B-165", "OQ-15")
async def test_metrics_are_served_as_json_and_as_prometheus_text():
    async with client_of(make()) as client:
        await client.post("/api/calls", json={"tool": "get_weather", "arguments": {"city": "Oslo"}})
        snapshot = await metrics_of(client)
        text = await client.get("/metrics")
    assert snapshot["responseSizes"]["get_weather"].keys() == {"p50", "p95", "p99"}
    assert snapshot["responseTokens"]["get_weather"].keys() == {"avg", "p95"}
    assert snapshot["context"].keys() >= {"sessionInitTokens", "systemPromptTokens", "toolDeclTokens"}
    assert snapshot["loopDetection"].keys() == {"activeSessions", "totalTurnsTracked"}
    assert text.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = text.text.splitlines()
    assert 'groundwire_calls_total{tool="get_weather",outcome="ok"} 1' in lines
    assert 'groundwire_http_requests_total{route="POST /api/calls",dialect="",status="200"} 1' in lines
    assert 'groundwire_http_request_seconds_count{route="POST /api/calls",dialect=""} 1' in lines
    assert 'groundwire_http_request_seconds_bucket{route="POST /api/calls",dialect="",le="+Inf"} 1' in lines
    assert "groundwire_http_in_flight 1" in lines


async def test_requests_are_counted_by_route_dialect_and_status():
    async with client_of(make()) as client:
        for _ in range(3):
            await client.post("/v1/chat/completions", json=ASK)
        await client.post("/v1/chat/completions", content=b"{")
        await client.post("/v1beta/models/sim:generateContent", json={"contents": [{"parts": [{"text": "Hi"}]}]})
        await client.post("/v1/models/sim:generateContent", json={"contents": [{"parts": [{"text": "Hi"}]}]})
        await client.get("/api/runs/run_9")
        await client.get("/nobody/7")
        await client.request("BREW", "/")
        found = counts(await metrics_of(client))
    assert found == {
        ("POST /v1/chat/completions", "openai-chat", 200): 3,
        ("POST /v1/chat/completions", "openai-chat", 400): 1,
        ("POST /v1beta/models/*", "gemini", 200): 1,
        ("POST /v1/models/*", "gemini", 200): 1,
        ("GET /api/runs/{runId}", "", 404): 1,
        ("other /", "", 405): 1,
        ("other", "", 404): 1,
    }


def test_a_latency_falls_into_the_bucket_whose_bound_it_does_not_pass():
    tally = Tally()
    for milliseconds in (BOUNDS_MS[0], BOUNDS_MS[0] + 0.001, BOUNDS_MS[-1], BOUNDS_MS[-1] + 0.001):
        tally.count("GET /", "", 200, int(milliseconds * 1_000_000))
    charges = {(charge.name, charge.scope): charge.amount for charge in tally.take()}
    buckets = {scope: amount for (name, scope), amount in charges.items() if name == "http_buckets"}
    last = len(BOUNDS_MS) - 1
    assert buckets == {"GET /||0": 1, "GET /||1": 1, f"GET /||{last}": 1, f"GET /||{last + 1}": 1}
    assert charges["http_requests", "GET /||200"] == 4
    assert tally.take() == []


@pytest.mark.requirement("OQ-15")
async def test_failures_of_providers_are_counted_by_kind_and_unknown_models_are_not(gateway):
    failing = Answer(failure=Failure(kind=FailureKind.AUTHENTICATION, message="no", status=401))
    async with gateway(failing) as running, httpx.AsyncClient(base_url=running.url, timeout=30) as client:
        failed = await client.post("/v1/messages", json={**ASK, "model": running.model, "max_tokens": 9})
        unknown = await client.post("/v1/messages", json={**ASK, "model": "nobody/x", "max_tokens": 9})
        found = (await metrics_of(client))["gateway"]["upstreamFailures"]
    assert (failed.status_code, unknown.status_code) == (401, 404)
    assert found == {"authentication": 1}


@pytest.mark.requirement("OQ-15")
async def test_a_gateway_that_lives_is_ready_until_it_is_told_to_stop():
    application = make()
    async with client_of(application) as client:
        live, ready = await client.get("/health/live"), await client.get("/health/ready")
        application.drain()
        draining = await client.get("/health/ready")
        served = await client.post("/v1/chat/completions", json=ASK)
    assert (live.status_code, live.json()) == (200, {"status": "ok"})
    assert (ready.status_code, ready.json()) == (
        200,
        {"status": "ready", "store": "ok", "providers": ["sim"], "mcpServers": {}, "draining": False},
    )
    assert (draining.status_code, draining.json()["status"], draining.json()["draining"]) == (503, "unready", True)
    assert served.status_code == 200


class NoDatabase:
    async def fetch(self, sql, *values):
        raise StoreUnavailable("the database is down")


class NoModels:
    class catalogue:  # noqa: N801 - stands for an object
        providers = ("openai",)


@pytest.mark.requirement("OQ-15")
async def test_a_gateway_without_its_store_is_not_ready():
    answer = await Health(NoDatabase(), NoModels(), lambda: False, servers=dict).ready(None)
    assert answer.status_code == 503
    assert json.loads(answer.body) == {
        "status": "unready",
        "store": "unreachable",
        "providers": ["openai"],
        "mcpServers": {},
        "draining": False,
    }


@pytest.mark.requirement("OQ-15")
async def test_a_line_of_json_is_written_for_each_request_and_holds_no_secret(capfdbinary):
    secret = "gw_this-is-a-secret"
    headers = {"authorization": f"Bearer {secret}", "x-api-key": secret, "x-goog-api-key": secret}
    async with client_of(make(access_log=True)) as client:
        await client.post(f"/v1/chat/completions?key={secret}", json=ASK, headers=headers)
        await client.get(f"/api/runs?key={secret}", headers=headers)
        await client.get(f"/nobody?key={secret}", headers=headers)
    out, err = capfdbinary.readouterr()
    assert secret.encode() not in out + err
    lines = [json.loads(line) for line in out.splitlines()]
    seen = [(line["method"], line["path"], line["route"], line["status"]) for line in lines]
    assert seen == [
        ("POST", "/v1/chat/completions", "POST /v1/chat/completions", 200),
        ("GET", "/api/runs", "GET /api/runs", 200),
        ("GET", "/nobody", "other", 404),
    ]
    assert all(line["requestId"].startswith("req_") and line["ms"] > 0 for line in lines)


def test_a_path_cannot_write_a_second_line():
    written = []
    AccessLog(written.append, FakeClock()).note("req_1", "GET", '/a\n{"status":1}' + "x" * 600, "other", 404, 1_500_000)
    (line,) = written
    assert (line.count(b"\n"), line[-1:]) == (1, b"\n")
    assert (json.loads(line)["path"][:4], len(json.loads(line)["path"]), json.loads(line)["ms"]) == ("/a\n{", 500, 1.5)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/v1/nothing", lambda body: body["error"]["code"]),
        ("/v1/responses/a/b/c", lambda body: body["error"]["type"]),
        ("/v1/responses/resp_1/input_items", lambda body: body["error"]["message"].partition(" (did")[0]),
        ("/v1/messages/nothing", lambda body: body["error"]["type"]),
        ("/v1beta/nothing", lambda body: body["error"]["status"]),
        ("/nothing", lambda body: body["error"]["code"]),
    ],
)
async def test_a_path_that_is_not_served_answers_in_the_nearest_form(path, kind):
    expected = {
        "/v1/nothing": "no_such_path",
        "/v1/responses/a/b/c": "invalid_request_error",
        "/v1/responses/resp_1/input_items": "Nothing is served at /v1/responses/resp_1/input_items.",
        "/v1/messages/nothing": "not_found_error",
        "/v1beta/nothing": "NOT_FOUND",
        "/nothing": "no_such_path",
    }
    async with client_of(make()) as client:
        answer = await client.get(path)
    assert (answer.status_code, kind(answer.json())) == (404, expected[path])
    assert answer.headers["x-request-id"].startswith("req_")


@pytest.mark.parametrize(("status", "logged"), [(401, ["provider sim, status 401: "]), (400, [])])
@pytest.mark.requirement("OQ-15")
async def test_a_provider_that_refuses_the_servers_own_key_is_told_to_the_operator(status, logged, caplog):
    settings = Settings(store=StoreSettings(url="memory://"), simulator=SimulatorSettings(kinds=(f"status:{status}",)))
    async with client_of(make_application(settings, {})) as client:
        answer = await client.post("/v1/chat/completions", json=ASK)
    assert answer.status_code == status
    lines = [record.getMessage() for record in caplog.records if record.name == "groundwire.gateway"]
    assert [line[: line.index(": ") + 2] for line in lines] == logged


async def test_what_is_perhaps_meant_is_a_path_that_is_served():
    async with client_of(make()) as client:
        message = (await client.get("/v1/model")).json()["error"]["message"]
        meant = message.partition("did you mean ")[2].rstrip("?)").split(" or ")
        found = [await client.options(path) for path in meant]
    assert meant[0] == "/v1/models"
    assert {answer.status_code for answer in found} == {405}


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("DELETE", "/v1/chat/completions", "POST"),
        ("GET", "/v1/messages", "POST"),
        ("GET", "/v1/responses/input_tokens", "POST"),
        ("POST", "/v1/models", "GET, HEAD"),
        ("POST", "/v1beta/models/sim", "GET, HEAD"),
        ("GET", "/v1beta/models/sim:generateContent", "POST"),
        ("PUT", "/v1/responses/resp_1", "DELETE, GET, HEAD"),
        ("DELETE", "/api/calls", "GET, HEAD, POST"),
        ("GET", "/api/sessions/s1/end", "POST"),
        ("POST", "/metrics", "GET, HEAD"),
    ],
)
async def test_a_method_that_a_path_does_not_take_is_told_which_ones_it_does(method, path, allow):
    async with client_of(make()) as client:
        answer = await client.request(method, path)
    assert (answer.status_code, answer.headers["allow"]) == (405, allow)


async def test_the_root_says_what_is_served_and_head_is_get_without_a_body():
    async with client_of(make()) as client:
        root, head = await client.get("/"), await client.head("/")
        models, without = await client.get("/v1/models"), await client.head("/v1/models")
    assert (root.status_code, root.json()["name"]) == (200, "groundwire")
    assert (head.status_code, head.content) == (200, b"")
    assert (models.status_code, without.status_code, without.content) == (200, 200, b"")


async def test_what_is_counted_survives_a_restart(tmp_path):
    settings = Settings(store=StoreSettings(url=f"sqlite:///{tmp_path}/groundwire.db"))
    for _ in range(2):
        async with client_of(make_application(settings, {})) as client:
            await client.get("/health/live")
            found = counts(await metrics_of(client))
    assert found["GET /health/live", "", 200] == 2
    assert found["GET /metrics", "", 200] == 1


async def test_a_client_that_goes_away_in_the_middle_of_its_body_is_no_failure_of_ours(caplog):
    application = make()
    async with client_of(application) as client, asyncio.timeout(20):
        _, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
        writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{")
        while not application.tally.in_flight:  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(0)
        writer.close()
        while application.tally.in_flight:  # noqa: ASYNC110 - the same
            await asyncio.sleep(0)
        found = counts(await metrics_of(client))
    assert found == {("POST /v1/chat/completions", "openai-chat", 499): 1}
    assert caplog.records == []


async def in_flight_after(client, earlier):
    """Each process tells it once a second: ask until it is another number."""
    while (found := (await metrics_of(client))["gateway"]["inFlight"]) == earlier:  # noqa: ASYNC110 - nothing to wait for
        await asyncio.sleep(0.05)
    return found


async def test_requests_in_flight_are_told_of_all_processes(tmp_path):
    settings = Settings(store=StoreSettings(url=f"sqlite:///{tmp_path}/groundwire.db"))
    busy = make_application(settings, {})
    async with client_of(busy), client_of(make_application(settings, {})) as client, asyncio.timeout(30):
        busy.tally.in_flight += 2
        assert await in_flight_after(client, 1) == 3
        busy.tally.in_flight -= 2
        assert await in_flight_after(client, 3) == 1
