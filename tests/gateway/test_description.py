"""/openapi.json lists what is served, and what is served is as it says; and no bytes whatever give a 500."""

import asyncio
import json
import re
import socket
import subprocess
import sys
import threading
from urllib.parse import quote, urlencode

import httpx2 as httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundwire import Registry, tool
from groundwire.assembly import Settings, StoreSettings
from groundwire.cli.doors import make_application
from groundwire.serving.application import methods_of
from groundwire.serving.running import serving

EXAMPLES = 5
"""Of each operation; `make fuzz` takes 1000."""


@tool(category="utility")
def get_weather(city: str) -> dict:
    """The weather of a city."""
    return {"city": city}


def make():
    return make_application(Settings(store=StoreSettings(url="memory://")), {}, registry=Registry([get_weather]))


@pytest.fixture(scope="module")
def client():
    """A gateway on a loop of its own, for tests that have none."""
    found, done = [], threading.Event()

    async def serve():
        stop = asyncio.Event()
        async with serving(make(), "127.0.0.1") as url:
            found.extend([url, asyncio.get_running_loop(), stop])
            done.set()
            await stop.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert done.wait(60)
    url, loop, stop = found
    with httpx.Client(base_url=url, timeout=60) as client:
        yield client
    loop.call_soon_threadsafe(stop.set)
    thread.join(60)


@pytest.fixture(scope="module")
def operations(client):
    document = client.get("/openapi.json").json()
    return sorted((method.upper(), path) for path, methods in document["paths"].items() for method in methods)


def covers(route, path):
    return route.path == path or (route.path.endswith("*") and path.startswith(route.path[:-1]))


async def test_every_route_is_described_and_everything_described_is_served(operations):
    application = make()
    async with application:
        pass
    doors, found = application.doors, set(operations)
    others = {
        (method, route.path.replace(":path}", "}")) for route in doors.other.routes for method in route.endpoint.methods
    }
    for route in doors.routes:
        assert any(route.method == method and covers(route, path) for method, path in found), route.label
    assert others <= found
    for method, path in found - others:
        filled = path.replace("{model}", "sim").replace("{responseId}", "resp_1").replace("{session}", "desk")
        assert method in methods_of(doors.routes, filled), (method, path)


def test_every_operation_has_a_name_of_its_own(client):
    document = client.get("/openapi.json").json()
    names = [operation["operationId"] for methods in document["paths"].values() for operation in methods.values()]
    assert len(names) == len(set(names)) > 30
    assert document["openapi"] == "3.1.0"


def test_schemathesis_finds_no_violation():
    command = [sys.executable, "-m", "scripts.fuzz", "-n", str(EXAMPLES), "--seed", "1", "--no-color"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


NAMES = (
    b"content-type", b"accept", b"authorization", b"x-api-key", b"anthropic-version", b"idempotency-key", b"traceparent",
    b"x-groundwire-session-id", b"x-groundwire-call-id", b"x-groundwire-tools",
)  # fmt: skip
VALUES = st.binary(max_size=20).map(lambda value: value.translate(None, b"\r\n"))
HEADERS = st.dictionaries(st.sampled_from(NAMES), VALUES | st.sampled_from([b"0", b"*/*", b"get_weather"]), max_size=3)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)
MEMBERS = st.sampled_from((
    "model", "messages", "input", "contents", "tools", "tool_choice", "stream", "conversation", "tool", "arguments",
    "previous_response_id", "max_tokens", "system", "instructions", "toolConfig", "by", "happened", "include",
))  # fmt: skip
USUAL = st.sampled_from(["sim", "user", True, [{"role": "user", "content": "x"}], [{"parts": [{"text": "x"}]}]])
BODIES = st.binary(max_size=200) | (JSON | st.dictionaries(MEMBERS, JSON | USUAL, max_size=6)).map(
    lambda value: json.dumps(value).encode()
)
PLACES = st.text(max_size=12) | st.sampled_from(["sim", "resp_1", "..", "a/b", "x:generateContent"])
QUERIES = st.dictionaries(
    st.sampled_from(["limit", "before", "key", "alt", "session"]) | st.text(max_size=6), st.text()
)


@given(data=st.data())
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_bytes_give_an_error_of_the_server(client, operations, data):
    method, path = data.draw(st.sampled_from(operations))
    path = re.sub(r"{\w+}", lambda _: quote(data.draw(PLACES), errors="replace"), path)
    query = urlencode(data.draw(QUERIES), errors="replace")
    status = sent(client.base_url, method, f"{path}?{query}", data.draw(HEADERS), data.draw(BODIES))
    assert 200 <= status < 500


def sent(url, method, target, headers, body):
    """The status that is answered to these very bytes; 0 where the server only closes."""
    given = {b"host": b"x", b"connection": b"close", b"content-length": b"%d" % len(body), **headers}
    lines = [f"{method} {target} HTTP/1.1".encode(), *(b"%b: %b" % header for header in given.items())]
    with socket.create_connection((url.host, url.port), timeout=60) as connection:
        connection.sendall(b"\r\n".join(lines) + b"\r\n\r\n" + body)
        with connection.makefile("rb") as answer:
            first = answer.readline().split()
            answer.read()
    return int(first[1]) if first else 0
