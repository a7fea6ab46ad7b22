"""Workers of `groundwire serve` as real processes: they die and are restarted, and a reload is all or nothing."""

import asyncio
import os
import signal
from functools import partial

import httpx2 as httpx
import pytest

from tests.gateway.test_signals import (
    configure,
    ended,
    eventually,
    is_ready,
    is_there,
    served,
    start,
    two_workers_of,
    workers_of,
)
from tests.gateway.worker_tools import DIE, write_project, write_tool

LIMIT = 60


@pytest.fixture
def project(tmp_path):
    return write_project(tmp_path, die=DIE)


async def call(client, tool):
    return await client.post("/api/calls", json={"tool": tool, "arguments": {}})


async def next_line(process, word):
    return await asyncio.to_thread(lambda: next(line for line in process.stdout if word in line))


def break_jobs(project):
    """Add a tool that runs in the background, and make the file of the jobs impossible to open."""
    write_tool(project, "scan", "def execute():\n    return {}\n", policy={"background": True})
    (project / "groundwire.jobs.db").mkdir()


def rest_of_output(process):
    return process.stdout.read().decode()


@pytest.mark.parametrize("workers", ["1", "2"])
async def test_a_tool_that_kills_its_worker_six_times_in_a_row_leaves_the_server_answering(project, workers):
    async with served(project, "--workers", workers) as (client, process):
        for _ in range(6):
            with pytest.raises(httpx.TransportError):
                await call(client, "die")
            assert await eventually(lambda: is_ready(client, process))
        assert (await client.post("/api/calls", json={"tool": "send_note", "arguments": {"text": "hi"}})).json()["ok"]


async def test_the_other_worker_is_not_restarted_when_one_is_killed_again_and_again(project):
    async with served(project, "--workers", "2") as (client, process):
        survivor, victim = sorted(await eventually(lambda: two_workers(process)))
        for _ in range(4):
            os.kill(victim, signal.SIGKILL)
            (victim,) = (await eventually(partial(two_workers, process, without=victim))) - {survivor}
        assert is_there(survivor)
        assert await eventually(lambda: is_ready(client, process))


async def two_workers(process, without=0):
    return set(await two_workers_of(process, without))


async def test_the_server_gives_up_at_the_last_death_that_settings_allow_and_not_before(project):
    configure(project, server={"maxWorkerDeaths": 3, "workerDeathWindow": 600})
    async with served(project) as (client, process):
        for _ in range(2):
            with pytest.raises(httpx.TransportError):
                await call(client, "die")
            assert await eventually(lambda: is_ready(client, process))
        with pytest.raises(httpx.TransportError):
            await call(client, "die")
        assert await ended(process) == 1
        last = rest_of_output(process).splitlines()[-1]
    assert last.startswith("error: ")
    assert "3 workers died within 600 seconds" in last
    assert "maxWorkerDeaths" in last


async def test_a_reload_by_a_signal_to_the_whole_process_group_is_reported_once_and_by_nobody_else(project):
    async with served(project, "--workers", "2") as (_client, process):
        before = await eventually(lambda: two_workers(process))
        os.killpg(process.pid, signal.SIGHUP)
        said = [await next_line(process, b"eload")]
        assert not before & await eventually(lambda: two_workers(process, without=next(iter(before))))
        process.terminate()
        assert await ended(process) == 0
        said += [line for line in rest_of_output(process).splitlines() if line]
    assert said == [b"Reloaded: 2 workers run the new configuration.\n"]


async def test_a_reload_that_is_asked_for_during_another_is_made_after_it(project):
    async with served(project, "--workers", "2") as (_, process):
        first = await eventually(lambda: two_workers(process))
        process.send_signal(signal.SIGHUP)
        assert await eventually(lambda: more_than_two_workers(process))
        process.send_signal(signal.SIGHUP)
        for _ in range(2):
            assert await next_line(process, b"eload") == b"Reloaded: 2 workers run the new configuration.\n"
        assert not first & await eventually(lambda: two_workers(process))


async def more_than_two_workers(process):
    return await workers_of(process, 3) or await workers_of(process, 4)


async def test_a_reload_whose_new_workers_cannot_start_says_why_and_changes_nothing(project):
    """What the main process can check is in order, but no worker can open the store of the jobs."""
    async with served(project, "--workers", "2") as (client, process):
        before = await eventually(lambda: two_workers(process))
        break_jobs(project)
        process.send_signal(signal.SIGHUP)
        line = await next_line(process, b"eload")
        assert line.startswith(b"error: Not reloaded: ")
        assert await eventually(lambda: two_workers(process)) == before
        assert await is_ready(client, process)


async def test_a_worker_that_dies_after_a_failed_reload_is_restarted_with_the_old_configuration(project):
    async with served(project) as (client, process):
        configure(project, server={"worker": 1})
        process.send_signal(signal.SIGHUP)
        assert b"server.worker" in await next_line(process, b"Not reloaded")
        with pytest.raises(httpx.TransportError):
            await call(client, "die")
        assert await eventually(lambda: is_ready(client, process))


def test_a_server_whose_workers_cannot_start_ends_with_the_reason(project):
    break_jobs(project)
    process = start(project, "serve", "--port", "0")
    try:
        out, _ = process.communicate(timeout=LIMIT)
    finally:
        process.kill()
    assert process.returncode == 1
    assert out.splitlines()[-1].startswith(b"error: ")
    assert b"jobs" in out.splitlines()[-1]


async def test_a_reload_applies_the_number_of_workers_and_says_what_needs_a_restart(project):
    async with served(project) as (client, process):
        configure(project, server={"workers": 2, "host": "127.0.0.2"})
        process.send_signal(signal.SIGHUP)
        assert b"server.host" in await next_line(process, b"restart")
        assert await next_line(process, b"Reloaded") == b"Reloaded: 2 workers run the new configuration.\n"
        assert await eventually(lambda: two_workers(process))
        assert await is_ready(client, process)
