"""A lock that lives as long as its worker."""

import asyncio
import os
import time

import pytest
import sqlalchemy as sa

from groundwire.jobs import open_jobs
from groundwire.jobs.engine import Engine
from groundwire.jobs.liveness import BEING_MADE_SECONDS
from groundwire.jobs.opening import place_of
from tests.jobs.conftest import SETTINGS


@pytest.fixture
def engines(shared_url):
    opened = [Engine(place_of(shared_url)) for _ in range(2)]
    yield opened
    for engine in opened:
        engine.close()


def test_a_living_worker_is_not_taken_for_dead_and_a_dead_one_is(engines):
    ann, bob = (engine.liveness for engine in engines)
    ann.hold("ann")
    assert ann.is_held()
    with bob.seize("ann") as is_dead:
        assert not is_dead
    ann.let_go()
    assert not ann.is_held()
    with bob.seize("ann") as is_dead:
        assert is_dead


def test_only_one_finds_out_at_a_time(engines):
    ann, bob = (engine.liveness for engine in engines)
    with ann.seize("gone") as is_dead:
        assert is_dead
        with bob.seize("gone") as found_by_another:
            assert not found_by_another
    with bob.seize("gone") as is_dead:
        assert is_dead


def test_what_the_dead_have_left_behind_is_removed_and_the_living_are_left_alone(tmp_path):
    ann, bob = (Engine(place_of(f"sqlite:///{tmp_path}/store.db")) for _ in range(2))
    ann.liveness.hold("ann")
    for name in ("gone", "just-begun"):
        (tmp_path / f"store.jobs.db-worker-{name}").touch()
    for name in ("gone", "ann"):
        os.utime(tmp_path / f"store.jobs.db-worker-{name}", (0, time.time() - BEING_MADE_SECONDS - 1))
    bob.liveness.tidy()
    left = sorted(path.name for path in tmp_path.glob("*-worker-*"))
    assert left == ["store.jobs.db-worker-ann", "store.jobs.db-worker-just-begun"]
    assert ann.liveness.is_held()
    ann.liveness.let_go()
    (tmp_path / "store.jobs.db-worker-just-begun").unlink()
    for engine in (ann, bob):
        engine.close()
    assert [path.name for path in tmp_path.iterdir()] == ["store.jobs.db"]


def end_sessions(url):
    """Have the server end every session that holds a lock of a worker, as when it restarts."""
    held = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1"
    engine = Engine(place_of(url))
    with engine.transact() as connection:
        mine = connection.execute(sa.text("SELECT pg_backend_pid()")).scalar_one()
        pids = {row.pid for row in connection.execute(sa.text(held)) if row.pid != mine}
        for pid in pids:
            connection.execute(sa.text("SELECT pg_terminate_backend(:pid)"), {"pid": pid})
    engine.close()
    return len(pids)


def test_a_lock_whose_session_was_ended_by_the_server_is_lost(postgres_url):
    engine = Engine(place_of(postgres_url))
    engine.liveness.hold("ann")
    assert end_sessions(postgres_url) == 1
    assert not engine.liveness.is_held()
    engine.liveness.let_go()
    engine.close()


async def test_a_worker_that_has_lost_its_lock_stops_and_begins_again_under_another_name(postgres_url):
    begun = asyncio.Queue()
    interrupted = asyncio.Event()

    async def work(job):
        begun.put_nowait(job.attempt)
        if begun.qsize() == 1 and not interrupted.is_set():
            try:
                await asyncio.Event().wait()
            finally:
                interrupted.set()
        return "done"

    jobs = open_jobs(postgres_url, settings=SETTINGS)
    await jobs.start({"greet": work})
    job = await jobs.submit("greet", {})
    assert await begun.get() == 1
    await asyncio.to_thread(end_sessions, postgres_url)
    await interrupted.wait()
    assert (await jobs.wait(job.job_id)).result == "done"
    assert await begun.get() == 1
    await jobs.close()
