"""Workers are killed with SIGKILL. What they had begun is done by others, and each effect happens once."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from groundwire.jobs import JobStatus, open_jobs
from groundwire.jobs.engine import Engine
from groundwire.jobs.opening import place_of
from tests.jobs.child import SCHEDULE, effects
from tests.jobs.test_liveness import end_sessions

CHILD = Path(__file__).with_name("child.py")


@pytest.fixture(params=["sqlite", "postgres"])
def store(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/store.db"
    return request.getfixturevalue("postgres_url")


@pytest.fixture
def worker(store, tmp_path):
    """Start a worker, and wait until it works."""
    started = []

    def launch(*arguments):
        command = [sys.executable, str(CHILD), store, str(tmp_path), *arguments]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    async def start(*arguments):
        process = launch(*arguments)
        started.append(process)
        await told(process, "ready")
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
async def jobs(store):
    """A client: it submits and looks, and works on nothing."""
    opened = open_jobs(store)
    yield opened
    await opened.close()


async def told(process, line):
    assert await asyncio.to_thread(process.stdout.readline) == f"{line}\n"


async def paused(process):
    _, status = await asyncio.to_thread(os.waitpid, process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)


async def killed_at(process, signal_number=signal.SIGKILL):
    assert await asyncio.to_thread(process.wait) == -signal_number


@pytest.mark.requirement("OQ-20")
@pytest.mark.parametrize("moment", ["die before", "die after"])
async def test_a_restarted_worker_does_what_a_killed_one_had_begun(jobs, worker, tmp_path, moment):
    job = await jobs.submit("write", {}, schedule=SCHEDULE)
    await killed_at(await worker(moment))
    assert (await jobs.find(job.job_id)).status == JobStatus.RUNNING
    await worker()
    done = await jobs.wait(job.job_id)
    assert (done.status, done.attempt) == (JobStatus.DONE, 1)
    assert effects(tmp_path) == [job.job_id]


async def test_a_survivor_does_what_was_due_after_its_worker_was_killed(jobs, worker, tmp_path):
    first, _ = await worker(), await worker()
    job = await jobs.submit("write", {}, due_at=time.time() + 1.5, schedule=SCHEDULE)
    first.kill()
    await killed_at(first)
    done = await jobs.wait(job.job_id)
    assert done.status == JobStatus.DONE
    assert done.updated_at >= job.due_at
    assert effects(tmp_path) == [job.job_id]


async def test_of_two_workers_one_is_killed_in_the_middle_and_each_effect_happens_once(jobs, worker, tmp_path):
    first, second = await worker(), await worker()
    submitted = [await jobs.submit("write", {"n": n}, key=str(n), schedule=SCHEDULE) for n in range(50)]
    for _ in range(8):
        assert (await asyncio.to_thread(first.stdout.readline)).startswith("job_")
    first.kill()
    await killed_at(first)
    drain = asyncio.create_task(asyncio.to_thread(second.stdout.read))
    await jobs.idle()
    assert [job.status for job in await jobs.list(limit=100)] == ["done"] * 50
    assert Counter(effects(tmp_path)) == {job.job_id: 1 for job in submitted}
    second.kill()
    await drain


async def test_a_worker_that_only_pauses_is_not_taken_for_dead(jobs, worker, tmp_path):
    pausing = await worker("pause")
    first = await jobs.submit("write", {}, schedule=SCHEDULE)
    await paused(pausing)
    dying = await worker("die before")
    second = await jobs.submit("write", {}, schedule=SCHEDULE)
    await killed_at(dying)
    await worker()
    await jobs.wait(second.job_id)  # so somebody has looked who is dead, and left the other alone
    assert (await jobs.find(first.job_id)).status == JobStatus.RUNNING
    pausing.send_signal(signal.SIGCONT)
    done = await jobs.wait(first.job_id)
    assert (done.status, done.attempt) == (JobStatus.DONE, 1)
    assert Counter(effects(tmp_path)) == {first.job_id: 1, second.job_id: 1}


@pytest.mark.parametrize("store", ["postgres"], indirect=True)
async def test_a_worker_that_lost_its_lock_while_it_paused_repeats_nothing_and_works_again(
    jobs, worker, store, tmp_path
):
    pausing = await worker("pause")
    first = await jobs.submit("write", {}, schedule=SCHEDULE)
    await paused(pausing)
    assert await asyncio.to_thread(end_sessions, store) >= 1  # the engine's own threads may hold a lock as well
    other = await worker()
    assert (await jobs.wait(first.job_id)).status == JobStatus.DONE
    other.kill()
    await killed_at(other)
    pausing.send_signal(signal.SIGCONT)
    second = await jobs.submit("write", {}, schedule=SCHEDULE)
    assert (await jobs.wait(second.job_id)).status == JobStatus.DONE
    assert Counter(effects(tmp_path)) == {first.job_id: 1, second.job_id: 1}


async def test_a_survivor_without_a_handler_leaves_the_work_to_one_that_has_it(jobs, worker, store, tmp_path):
    job = await jobs.submit("write", {}, schedule=SCHEDULE)
    await killed_at(await worker("die before"))

    async def nothing(other):
        return None

    survivor, engine = open_jobs(store), Engine(place_of(store))
    await survivor.start({"other": nothing})
    while await asyncio.to_thread(engine.workers_with_runs):
        pass
    assert (await jobs.find(job.job_id)).status == JobStatus.RUNNING
    await worker()
    assert (await jobs.wait(job.job_id)).status == JobStatus.DONE
    await survivor.close()
    engine.close()
    assert effects(tmp_path) == [job.job_id]


SUBMIT = """
import asyncio, sys
from groundwire.jobs import open_jobs

async def main():
    jobs = open_jobs(sys.argv[1])
    await jobs.count()
    print("ready", flush=True)
    sys.stdin.readline()
    print((await jobs.submit("write", {"n": sys.argv[2]}, key="k")).job_id)
    await jobs.close()

asyncio.run(main())
"""


def submitting(*arguments):
    command = [sys.executable, "-c", SUBMIT, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


async def test_eight_processes_that_submit_one_key_at_once_make_one_job(jobs, store):
    processes = [submitting(store, str(n)) for n in range(8)]
    for process in processes:
        await told(process, "ready")
    said = await asyncio.gather(*(asyncio.to_thread(process.communicate, "\n") for process in processes))
    (job,) = await jobs.list(kind="write")
    assert {out.strip() for out, _ in said} == {job.job_id}
