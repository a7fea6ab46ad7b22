"""Several processes on one store, and processes that die."""

import asyncio
import os
import signal
import subprocess
import sys

import pytest

from groundwire.contracts.errors import ConfigError
from groundwire.contracts.keys import KeyLimit
from groundwire.contracts.records import EffectStatus
from groundwire.store.postgres import PostgresStore
from tests.conformance.builders import api_key, run, run_entries, verify
from tests.conformance.child import LIMITED


@pytest.fixture
def start(repository, shared_url):
    """Start a process that waits to be told to go."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(repository), *sys.path]))}
    started = []

    def run(command, name="child"):
        arguments = [sys.executable, "-m", "tests.conformance.child", command, shared_url, name]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        started.append(subprocess.Popen(arguments, cwd=repository, env=environment, **pipes))
        return started[-1]

    yield run
    for child in started:
        child.kill()
        child.communicate()


@pytest.fixture
def children(start):
    """Let processes go together; what each said, and how it ended."""

    def run(command, count=1):
        started = [start(command, f"child{number}") for number in range(count)]
        for child in started:
            child.stdin.write("go\n")
            child.stdin.flush()
        said = [child.communicate(timeout=120)[0].strip() for child in started]
        return said, [child.returncode for child in started]

    return run


def test_a_thousand_from_four_processes_reserve_one_key_once(children):
    said, ended = children("reserve", 4)
    assert ended == [0, 0, 0, 0]
    assert sorted(said) == ["0", "0", "0", "1"]


def test_charges_of_three_processes_stop_exactly_at_the_limit(children):
    said, ended = children("charge", 3)
    assert ended == [0, 0, 0]
    assert sum(map(int, said)) == 70


async def test_requests_of_three_processes_with_one_key_stop_exactly_at_its_limit(children, shared):
    await shared.create_key(LIMITED)
    said, ended = children("spend", 3)
    assert ended == [0, 0, 0]
    assert sum(map(int, said)) == 70
    assert await shared.key_usage(LIMITED, now=1.0) == [70, 70]


async def test_answers_of_two_processes_are_all_counted_whatever_their_order(children, shared):
    keys = [api_key(str(number), limits=(KeyLimit("money", 1, "month"),)) for number in range(10)]
    for key in keys:
        await shared.create_key(key)
    assert children("charge-key", 2)[1] == [0, 0]
    assert [await shared.key_usage(key, now=1.0) for key in keys] == [[2.0]] * 10


async def test_a_key_that_another_process_revokes_moves_the_version_on_and_is_revoked_here(children, shared):
    await shared.create_key(api_key())
    before = await shared.keys_version()
    assert children("revoke", 2)[0].count("True") == 1
    async with asyncio.timeout(10):
        while await shared.keys_version() == before:  # noqa: ASYNC110 - a server tells of it when the loop next listens
            await asyncio.sleep(0)
    assert (await shared.find_key("digest_1")).revoked_at == 5.0


async def test_records_of_three_processes_form_one_chain(children, shared):
    _, ended = children("write", 3)
    assert ended == [0, 0, 0]
    report = await verify(shared)
    assert (report.ok, report.records) == (True, 600)
    assert len(await shared.list_effects("acme", status=EffectStatus.SETTLED, limit=1000)) == 300


async def test_what_was_closed_survives_the_death_of_the_process(children, shared):
    assert children("die-after-close")[1] == [-signal.SIGKILL]
    assert await shared.find_call("acme", "ses_1", "call_closed") is not None
    assert await shared.find_call("acme", "ses_1", "call_deferred") is not None
    assert (await shared.get_effect("acme", "eff_key_1")).status is EffectStatus.SETTLED
    report = await verify(shared)
    assert (report.ok, report.records) == (True, 2)


async def test_entries_of_three_processes_stand_in_one_order(children, shared):
    await shared.create_run(run(), [])
    _, ended = children("append", 3)
    assert ended == [0, 0, 0]
    entries = await shared.run_entries("acme", "run_1")
    assert [entry.seq for entry in entries] == list(range(1, 91))
    bodies = [entry.body.decode() for entry in entries]
    for name in ("child0", "child1", "child2"):
        own = [body for body in bodies if body.startswith(name)]
        assert own == [f"{name} {number}" for number in range(30)]
    assert await shared.load_run("acme", "run_1") == run(entries=90)


async def test_what_was_appended_survives_the_death_of_the_process(children, shared):
    assert children("die-after-append")[1] == [-signal.SIGKILL]
    assert await shared.load_run("acme", "run_1") == run(entries=3, outcome="completed")
    assert await shared.run_entries("acme", "run_1") == run_entries(1, b"one", b"two", b"three")


async def test_what_was_flushed_survives_the_death_of_the_process(children, shared):
    assert children("die-after-flush")[1] == [-signal.SIGKILL]
    assert len(await shared.list_calls("acme")) == 10
    report = await verify(shared)
    assert (report.ok, report.records) == (True, 10)


async def test_a_reservation_of_a_dead_process_becomes_unknown(children, shared):
    assert children("die-after-reserve")[1] == [-signal.SIGKILL]
    held = await shared.find_effect("acme", "create_order", "key_1", now=9.0)
    assert held.status is EffectStatus.RESERVED
    assert (await shared.find_effect("acme", "create_order", "key_1", now=10.0)).status is EffectStatus.UNKNOWN


async def test_whatever_was_acknowledged_before_the_kill_is_there(start, shared):
    child = start("write-until-killed")
    child.stdin.write("go\n")
    child.stdin.flush()
    acknowledged = [child.stdout.readline().strip() for _ in range(200)]
    child.send_signal(signal.SIGKILL)
    acknowledged += [line.strip() for line in child.stdout if line.endswith("\n")]
    for key in acknowledged:
        found = await shared.find_effect("acme", "create_order", key, now=5.0)
        assert found is not None, key
        assert found.status is EffectStatus.SETTLED, key
        assert await shared.find_call("acme", "ses_1", f"call_{key}") is not None
    report = await verify(shared)
    assert report.ok
    assert report.records >= len(acknowledged)


async def test_a_postgres_store_says_so_when_two_running_loops_want_it(postgres_url):
    store = PostgresStore(postgres_url)
    await store.open()

    async def elsewhere():
        with pytest.raises(ConfigError):
            await store.flush()
        with pytest.raises(ConfigError):
            await store.load_session("default", "s")

    await asyncio.to_thread(asyncio.run, elsewhere())
    assert await store.load_session("default", "s") is None
    await store.shut()
