"""What is relied on of DBOS: a release that fails here must not be taken. `test_dbos_internals.py` has the private names."""

import signal
import sqlite3
import subprocess
import sys
import threading
import time

import pytest
from dbos import error as dbos_errors

from groundwire.contracts.errors import ConfigError
from groundwire.jobs import rows
from groundwire.jobs.engine import Engine, RunNotRecorded
from groundwire.jobs.opening import place_of

DYING = """
import os, signal, sys, threading
from groundwire.jobs.engine import Engine
from groundwire.jobs.opening import place_of

engine = Engine(place_of(sys.argv[1]))
with engine.transact() as connection:
    engine.enqueue(connection, "begun", 1, "greet", 0.0)
engine.launch("ann", ["greet"], lambda job_id, run: os.kill(os.getpid(), signal.SIGKILL), concurrency=8, poll=0.02)
threading.Event().wait()
"""


class Runs:
    """What an engine handed out, and whether it comes to an end."""

    def __init__(self) -> None:
        self.begun: list[tuple[str, int]] = []
        self.changed = threading.Condition()
        self.may_end = threading.Event()

    def __call__(self, job_id, run):
        with self.changed:
            self.begun.append((job_id, run))
            self.changed.notify_all()
        self.may_end.wait()

    def until(self, *begun):
        with self.changed:
            assert self.changed.wait_for(lambda: sorted(self.begun) == sorted(begun), timeout=30), self.begun


@pytest.fixture
def runs():
    handed_out = Runs()
    yield handed_out
    handed_out.may_end.set()


@pytest.fixture
def engine(store_url):
    opened = Engine(place_of(store_url))
    yield opened
    opened.close()


def enqueue(engine, job_id, delay=0.0):
    with engine.transact() as connection:
        engine.enqueue(connection, job_id, 1, "greet", delay)


def launch(engine, worker, runs):
    engine.launch(worker, ["greet"], runs, concurrency=8, poll=0.02)


def test_a_worker_that_takes_no_more_waits_for_what_it_is_being_handed(engine, runs):
    """What it gives back while it stops was handed to it again, and looked like the work of a dead one."""
    being_handed, may_be = threading.Event(), threading.Event()
    launch(engine, "worker", runs)
    notes = engine._instance._sys_db
    take = notes.start_queued_workflows

    def take_slowly(*args, **options):
        being_handed.set()
        may_be.wait(30)
        return take(*args, **options)

    notes.start_queued_workflows = take_slowly
    enqueue(engine, "job_1")
    assert being_handed.wait(30)
    stopping = threading.Thread(target=engine.take_no_more)
    stopping.start()
    stopping.join(0.2)
    assert stopping.is_alive()
    may_be.set()
    stopping.join(30)
    enqueue(engine, "job_2")
    runs.may_end.set()
    engine.stop()
    assert ("job_2", 1) not in runs.begun
    assert engine.workers_with_runs() == set()


def test_a_worker_may_be_stopped_while_it_starts(engine, runs):
    """Its threads are counted among those of the process before they have begun, and cannot be waited for then."""
    kinds = [f"kind_{number}" for number in range(20)]
    for _ in range(10):
        engine.launch("worker", kinds, runs, concurrency=8, poll=0.02)
        while not any(thread.name.startswith("queue-worker-jobs.kind") for thread in threading.enumerate()):
            pass
        engine.stop()
    assert not any(thread.name.startswith("queue-worker-jobs.kind") for thread in threading.enumerate())


def test_an_application_may_name_its_threads_as_the_engine_does(engine, runs):
    launch(engine, "worker", runs)
    its_own = threading.Thread(target=runs.may_end.wait, name="queue-worker-1", daemon=True)
    its_own.start()
    engine.stop()
    assert its_own.is_alive()


def test_nobody_changes_what_a_transaction_has_only_read_so_far(tmp_path):
    engine = Engine(place_of(f"sqlite:///{tmp_path}/store.db"))
    other = sqlite3.connect(tmp_path / "store.jobs.db", timeout=0, isolation_level=None)
    with engine.look() as connection:
        rows.find(connection, "job_1")
        other.execute("BEGIN IMMEDIATE")
        other.rollback()
    with engine.transact() as connection:
        rows.lock(connection, "job_1")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
    other.close()
    engine.close()


def test_what_is_enqueued_in_a_transaction_that_fails_is_never_handed_out(engine, runs):
    def enqueue_in_vain():
        with engine.transact() as connection:
            engine.enqueue(connection, "undone", 1, "greet", 0.0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        enqueue_in_vain()
    enqueue(engine, "kept")
    launch(engine, "ann", runs)
    runs.may_end.set()
    runs.until(("kept", 1))
    engine.stop()


def test_a_delayed_run_is_handed_out_after_its_delay_and_a_withdrawn_one_never(engine, runs):
    begun = time.time()
    enqueue(engine, "withdrawn", 0.2)
    enqueue(engine, "delayed", 0.3)
    enqueue(engine, "much later", 3600.0)
    engine.withdraw("withdrawn", 1)
    engine.withdraw("never enqueued", 1)
    launch(engine, "ann", runs)
    runs.may_end.set()
    runs.until(("delayed", 1))
    engine.stop()
    assert time.time() - begun >= 0.3


def test_a_run_that_is_enqueued_again_is_handed_out_once(engine, runs):
    for _ in range(2):
        enqueue(engine, "begun")
    launch(engine, "ann", runs)
    runs.until(("begun", 1))
    enqueue(engine, "begun")
    runs.may_end.set()
    engine.stop()
    enqueue(engine, "begun")
    launch(engine, "bob", runs)
    enqueue(engine, "last")
    runs.until(("begun", 1), ("last", 1))
    engine.stop()


def test_every_connection_knows_the_time_in_milliseconds_whatever_sqlite_there_is(tmp_path):
    """SQLite before 3.42 answers NULL, and jobs could then not be enqueued on Python 3.12 and newer."""
    engine = Engine(place_of(f"sqlite:///{tmp_path}/store.db"))
    with engine.look() as connection:
        now = connection.exec_driver_sql("SELECT unixepoch('subsec')").scalar_one()
    engine.close()
    assert abs(now - time.time()) < 60
    assert isinstance(now, float)


def test_a_worker_that_cannot_be_launched_leaves_room_for_another(store_url, runs):
    failing, working = Engine(place_of(store_url)), Engine(place_of("memory://"))
    with failing.transact() as connection:
        schema = connection.get_execution_options()["schema_translate_map"][None]
        migrations = f"{schema}.dbos_migrations" if schema else "dbos_migrations"
        connection.exec_driver_sql(f"UPDATE {migrations} SET version = 1")
    with pytest.raises(dbos_errors.DBOSException):
        launch(failing, "ann", runs)
    enqueue(working, "begun")
    launch(working, "bob", runs)
    runs.may_end.set()
    runs.until(("begun", 1))
    working.stop()
    working.close()
    failing.close()


def test_a_process_has_one_worker(engine, runs):
    other = Engine(place_of("memory://"))
    launch(engine, "ann", runs)
    with pytest.raises(ConfigError):
        launch(other, "bob", runs)
    enqueue(engine, "begun")
    runs.may_end.set()
    runs.until(("begun", 1))
    engine.stop()
    launch(other, "bob", runs)
    other.stop()
    other.close()


def test_what_a_dead_worker_had_begun_is_handed_out_again_once(shared_url, runs):
    killed = subprocess.run([sys.executable, "-c", DYING, shared_url], check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    engine = Engine(place_of(shared_url))
    assert engine.workers_with_runs() == {"ann"}
    launch(engine, "bob", runs)
    for _ in range(3):
        engine.recover("ann")
    runs.until(("begun", 1))
    assert engine.workers_with_runs() == {"bob"}
    engine.recover("ann")
    runs.may_end.set()
    engine.stop()
    assert runs.begun == [("begun", 1)]
    assert engine.workers_with_runs() == set()
    engine.close()


def test_a_run_that_was_taken_over_is_not_waited_for(engine, runs):
    enqueue(engine, "taken")
    engine.launch("ann", ["greet"], runs, concurrency=1, poll=0.02)
    runs.until(("taken", 1))
    engine.recover("ann")
    stopping = threading.Thread(target=engine.stop, daemon=True)
    stopping.start()
    runs.may_end.set()
    stopping.join(timeout=30)
    assert not stopping.is_alive()


@pytest.mark.parametrize("error", [RunNotRecorded("cannot be recorded"), None], ids=["not recorded", "ended"])
def test_a_run_is_its_workers_until_it_has_ended(shared_url, runs, error):
    begun = threading.Event()

    def carry_out(job_id, run):
        begun.set()
        if error is not None:
            raise error

    engine = Engine(place_of(shared_url))
    enqueue(engine, "begun")
    launch(engine, "ann", carry_out)
    assert begun.wait(30)
    engine.stop()
    assert engine.workers_with_runs() == (set() if error is None else {"ann"})
    engine.close()


def test_notes_of_ended_runs_are_removed_and_others_kept(engine, runs):
    enqueue(engine, "ended")
    enqueue(engine, "waiting", 3600.0)
    launch(engine, "ann", runs)
    runs.may_end.set()
    runs.until(("ended", 1))
    engine.stop()
    assert engine.forget_runs("2000-01-01T00:00:00+00:00") == 0
    assert engine.forget_runs("9999-01-01T00:00:00+00:00") == 1
    assert engine.forget_runs("9999-01-01T00:00:00+00:00") == 0


def test_while_nothing_is_expected_the_database_is_seldom_asked_and_what_others_enqueue_is_found(shared_url, runs):
    engine, other = Engine(place_of(shared_url)), Engine(place_of(shared_url))
    launch(engine, "ann", runs)
    notes = engine._instance._sys_db
    engine._polling._expected_until = 0.0
    enqueue(other, "elsewhere")
    runs.may_end.set()
    runs.until(("elsewhere", 1))
    assert notes.get_queue("jobs.greet") is notes.get_queue("jobs.greet")
    engine.stop()
    other.close()
    engine.close()
