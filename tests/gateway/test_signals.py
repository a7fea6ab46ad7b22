"""`groundwire serve` as real processes: workers that count together, and signals that let requests finish."""

import asyncio
import itertools
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx2 as httpx
import pytest

import groundwire as package
from groundwire.registry.build import build
from groundwire.registry.sample import write_sample

LIMIT = 60
SOURCES = str(Path(package.__file__).resolve().parent.parent)
ASK = {"model": "sim", "messages": [{"role": "user", "content": "Hello"}]}
SLOW = {"simulator": {"kinds": ["slow_drip:0.4"]}}
STREAMED = {**ASK, "stream": True}


@pytest.fixture
def project(tmp_path):
    write_sample(tmp_path)
    build(tmp_path / "tools", tmp_path)
    return tmp_path


def configure(project, **sections):
    lines = []
    for name, values in sections.items():
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    Path(project, "groundwire.toml").write_text("\n".join(lines))


def start(project, *arguments, path=SOURCES, files=None):
    """`files` is how many the process may have open, where it is not as many as here."""
    foreign = ("GROUNDWIRE_", "OPENAI_", "ANTHROPIC_", "GEMINI_", "GOOGLE_", "DATABASE_URL")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return subprocess.Popen(
        [sys.executable, "-m", "groundwire", *arguments],
        env={**environ, "PYTHONPATH": path},
        cwd=project,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=files and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))),  # noqa: PLW1509 - no threads here
    )


@asynccontextmanager
async def served(project, *arguments, **options):
    """The main process, and a client that opens a connection of its own for each request."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = start(project, "serve", "--port", str(port), *arguments, **options)
    limits = httpx.Limits(max_keepalive_connections=0)
    try:
        async with (
            asyncio.timeout(LIMIT),
            httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=LIMIT, limits=limits) as client,
        ):
            await eventually(lambda: is_ready(client, process))
            yield client, process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


async def eventually(check):
    """What a process does can only be seen from outside: look again until it has."""
    while not (found := await check()):  # noqa: ASYNC110 - there is no event to wait for
        await asyncio.sleep(0.05)
    return found


async def is_ready(client, process):
    assert process.poll() is None, process.stdout.read().decode()
    try:
        return (await client.get("/health/ready")).status_code == 200
    except httpx.TransportError:
        return False


async def is_closed(client):
    try:
        await client.get("/health/live")
    except httpx.ConnectError:
        return True
    except httpx.RemoteProtocolError:  # it was let in just before, and hung up on
        pass
    return False


async def rest_of(chunks, first):
    return first + b"".join([chunk async for chunk in chunks])


async def ended(process):
    return await asyncio.to_thread(process.wait, LIMIT)


async def test_a_stream_that_runs_when_the_gateway_is_stopped_is_finished_and_nothing_new_is_taken(project):
    configure(project, **SLOW)
    async with served(project) as (client, process):
        async with client.stream("POST", "/v1/chat/completions", json=STREAMED) as answer:
            chunks = answer.aiter_raw()
            first = await anext(chunks)
            process.send_signal(signal.SIGTERM)
            assert await eventually(lambda: is_closed(client))
            assert process.poll() is None
            body = await rest_of(chunks, first)
        assert body.endswith(b"data: [DONE]\n\n")
        assert await ended(process) == 0


async def test_a_stream_that_takes_longer_than_allowed_is_cut(project):
    configure(project, simulator={"kinds": ["slow_drip:3"]}, server={"shutdownSeconds": 1})
    async with served(project) as (client, process):
        async with client.stream("POST", "/v1/chat/completions", json=STREAMED) as answer:
            chunks = answer.aiter_raw()
            first = await anext(chunks)
            process.send_signal(signal.SIGTERM)
            with pytest.raises(httpx.TransportError):
                await rest_of(chunks, first)
        assert await ended(process) == 0


async def test_a_gateway_that_drains_says_so_and_still_serves_until_it_is_told_again(project):
    configure(project, server={"drainSeconds": 600})
    async with served(project) as (client, process):
        process.send_signal(signal.SIGTERM)

        async def drains():
            answer = await client.get("/health/ready")
            return answer.status_code == 503 and answer.json()["draining"]

        assert await eventually(drains)
        assert (await client.post("/v1/chat/completions", json=ASK)).status_code == 200
        process.send_signal(signal.SIGTERM)
        assert await ended(process) == 0


@pytest.mark.requirement("B-161")
async def test_any_of_several_workers_tells_the_metrics_of_all(project):
    async with served(project, "--workers", "2") as (client, _):
        for _ in range(30):
            assert (await client.post("/v1/chat/completions", json=ASK)).status_code == 200

        async def counted():
            answer = await client.get("/metrics", headers={"accept": "application/json"})
            rows = answer.json()["gateway"]["requests"]
            return next((row["count"] for row in rows if row["route"] == "POST /v1/chat/completions"), 0)

        async def all_counted():
            return [await counted() for _ in range(10)] == [30] * 10

        assert await eventually(all_counted)


async def test_a_reload_brings_new_tools_and_settings_without_dropping_a_request(project):
    configure(project, **SLOW)
    async with served(project) as (client, process):
        async with client.stream("POST", "/v1/chat/completions", json=STREAMED) as answer:
            chunks = answer.aiter_raw()
            first = await anext(chunks)
            (project / "tools" / "send_note").rename(project / "tools" / "send_letter")
            schema = project / "tools" / "send_letter" / "schema.json"
            schema.write_text(schema.read_text().replace("send_note", "send_letter"))
            build(project / "tools", project)
            configure(project, server={"maxBody": 2048})
            process.send_signal(signal.SIGHUP)
            body = await rest_of(chunks, first)
        assert body.endswith(b"data: [DONE]\n\n")

        async def has_new_tool():
            answer = await client.post("/api/calls", json={"tool": "send_letter", "arguments": {"text": "hi"}})
            assert answer.status_code == 200
            return answer.json()["ok"]

        assert await eventually(has_new_tool)

        async def has_new_limit():
            answer = await client.post("/v1/chat/completions", json={**ASK, "user": "x" * 2048})
            assert answer.status_code in (200, 413)
            return answer.status_code == 413

        assert await eventually(has_new_limit)


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"server": {"worker": 1}}, b"server.worker"),
        ({"store": {"url": "nobody://here"}}, b"no store has a URL of that form"),
        ({"store": {"url": "postgresql://127.0.0.1:1/nobody"}}, b"cannot be reached"),
        ({"store": {"url": "sqlite:///no/such/folder/groundwire.db"}}, b"cannot be used"),
    ],
)
async def test_settings_that_cannot_be_used_are_not_taken(project, settings, fault):
    async with served(project) as (client, process):
        configure(project, **settings)
        process.send_signal(signal.SIGHUP)
        line = await asyncio.to_thread(_line_with, process, b"Not reloaded")
        assert fault in line
        assert await is_ready(client, process)


async def test_a_worker_that_dies_is_replaced_and_the_others_serve_on(project):
    async with served(project, "--workers", "2") as (client, process):
        before = await eventually(lambda: two_workers_of(process))
        os.kill(before[0], signal.SIGKILL)
        after = await eventually(lambda: two_workers_of(process, without=before[0]))
        assert before[1] in after
        assert await eventually(lambda: is_ready(client, process))
        assert b"It is restarted at once." in await asyncio.to_thread(_line_with, process, b"Worker")


async def two_workers_of(process, without=0):
    found = await workers_of(process, 2)
    return found if without not in found else []


async def workers_of(process, count):
    listed = await asyncio.to_thread(
        subprocess.run, ["pgrep", "-P", str(process.pid)], capture_output=True, check=False
    )
    found = [int(line) for line in listed.stdout.split()]
    return found if len(found) == count else []


def _line_with(process, word):
    return next(line for line in process.stdout if word in line)


def test_settings_that_cannot_be_used_end_the_start_with_one_line(project):
    configure(project, **{"providers.house": {"baseUrl": "http://x", "keyEnv": "NOBODY_HAS_THIS"}})
    process = start(project, "serve", "--port", "0")
    out, _ = process.communicate(timeout=LIMIT)
    assert (process.returncode, out.count(b"\n")) == (1, 1)
    assert b"NOBODY_HAS_THIS" in out


async def test_workers_start_where_processes_are_not_forked_by_default(project, tmp_path_factory):
    """As on Python 3.14: what workers are made of cannot be sent to them."""
    site = tmp_path_factory.mktemp("site")
    (site / "sitecustomize.py").write_text("import multiprocessing\nmultiprocessing.set_start_method('forkserver')\n")
    async with served(project, "--workers", "2", path=f"{site}{os.pathsep}{SOURCES}") as (client, process):
        assert await eventually(lambda: two_workers_of(process))
        assert (await client.post("/v1/chat/completions", json=ASK)).status_code == 200


async def test_a_gateway_that_is_told_to_stop_again_and_again_in_every_way_ends_at_once(project):
    """A terminal's Ctrl-C reaches all processes of it, and then the workers hear it from the main one, too."""
    configure(project, server={"shutdownSeconds": 300})
    async with served(project, "--workers", "2") as (_, process):
        workers = await eventually(lambda: two_workers_of(process))
        process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + 15
        while process.poll() is None and workers and time.monotonic() < deadline:
            for worker, sent in itertools.product(workers, (signal.SIGINT, signal.SIGTERM)):
                with suppress(ProcessLookupError):
                    os.kill(worker, sent)
            workers = [worker for worker in workers if is_there(worker)]
        assert await asyncio.wait_for(ended(process), 15) == 0


async def test_the_workers_of_a_main_process_that_is_killed_finish_and_end(project):
    configure(project, **SLOW)
    async with served(project, "--workers", "2") as (client, process):
        workers = await eventually(lambda: two_workers_of(process))
        async with client.stream("POST", "/v1/chat/completions", json=STREAMED) as answer:
            chunks = answer.aiter_raw()
            first = await anext(chunks)
            process.kill()
            body = await rest_of(chunks, first)
        assert body.endswith(b"data: [DONE]\n\n")

        async def all_gone():
            return not any(map(is_there, workers))

        assert await eventually(all_gone)
        assert await is_closed(client)


async def test_a_worker_without_a_main_process_ends_when_its_time_is_up_whatever_it_is_doing(project):
    configure(project, simulator={"kinds": ["slow_drip:3"]}, server={"shutdownSeconds": 1})
    async with served(project, "--workers", "1") as (client, process):
        (worker,) = await eventually(lambda: workers_of(process, 1))
        async with client.stream("POST", "/v1/chat/completions", json=STREAMED) as answer:
            chunks = answer.aiter_raw()
            first = await anext(chunks)
            process.kill()
            with pytest.raises(httpx.TransportError):
                await rest_of(chunks, first)

        async def is_gone():
            return not is_there(worker)

        assert await eventually(is_gone)


def is_there(process_id):
    try:
        return "Z" not in Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # it may go while it is looked at
        return False


@pytest.mark.parametrize("_time", range(4))
def test_a_gateway_that_is_stopped_while_its_workers_start_ends_at_once(project, _time):
    """It used to wait for `shutdownSeconds`, half a minute, where a worker had missed the signal."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = start(project, "serve", "--port", str(port), "--workers", "2")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    try:
        while len(children.read_text().split()) < 2 and process.poll() is None:
            pass
        process.send_signal(signal.SIGTERM)
        assert process.wait(15) == 0
    finally:
        with suppress(ProcessLookupError):  # nobody is left
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
