"""Processes that handlers start: they end with the server, or with the worker that started them."""

import os
import signal
import sys

import pytest

from tests.gateway.test_signals import ended, eventually, is_ready, is_there, served, workers_of
from tests.gateway.worker_tools import START, write_project

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell a process its orphans")
each_kind = pytest.mark.parametrize("kind", START)
each_attached_kind = pytest.mark.parametrize("kind", sorted(START.keys() - {"daemon"}))
"""A daemon has left its parent: the kernel does not tell which worker it came from."""


@pytest.fixture
def project(tmp_path):
    return write_project(tmp_path, **START)


async def start_child(client, kind):
    answer = await client.post("/api/calls", json={"tool": kind, "arguments": {}})
    child = answer.json()["data"]["pid"]
    assert is_there(child)
    return child


def gone(*processes):
    async def are_gone():
        return not any(map(is_there, processes))

    return eventually(are_gone)


@each_kind
async def test_a_process_that_a_handler_started_ends_with_the_server(project, kind):
    async with served(project) as (client, process):
        child = await start_child(client, kind)
        process.terminate()
        assert await ended(process) == 0
        assert not is_there(child)


@each_attached_kind
async def test_a_process_that_a_handler_started_ends_when_its_worker_is_killed(project, kind):
    async with served(project) as (client, process):
        child = await start_child(client, kind)
        (worker,) = await eventually(lambda: workers_of(process, 1))
        os.kill(worker, signal.SIGKILL)
        assert await gone(worker, child)
        assert await eventually(lambda: is_ready(client, process))


@each_attached_kind
async def test_a_process_that_a_handler_started_ends_when_the_main_process_is_killed(project, kind):
    async with served(project) as (client, process):
        child = await start_child(client, kind)
        process.kill()
        assert await gone(child)


async def test_a_reload_ends_what_the_old_workers_started_and_a_running_server_does_not(project):
    async with served(project) as (client, process):
        child = await start_child(client, "session")
        assert await eventually(lambda: is_ready(client, process))
        assert is_there(child)
        process.send_signal(signal.SIGHUP)
        assert await gone(child)
        assert await eventually(lambda: is_ready(client, process))
