import asyncio

import pytest

from groundwire.contracts.errors import AlreadyDecided, ConfigError, NotFound
from groundwire.jobs import Job, JobFailed, JobSettings, JobStatus, RetryLater, RetrySchedule, open_jobs
from groundwire.jobs.engine import Engine
from groundwire.jobs.opening import place_of
from tests.jobs.conftest import SETTINGS

AT_ONCE = RetrySchedule(delays=(10.0, 20.0), jitter=0)


class Worked:
    """A handler that notes what it was given, and fails as often as it is told."""

    def __init__(self, *failures: Exception) -> None:
        self.jobs: list[Job] = []
        self._failures = list(failures)

    async def __call__(self, job):
        self.jobs.append(job)
        if self._failures:
            raise self._failures.pop(0)
        return {"attempt": job.attempt}

    @property
    def payloads(self):
        return [job.payload for job in self.jobs]


class Stuck:
    """A handler that does not come back unless it is interrupted."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.interrupted = asyncio.Event()

    async def __call__(self, job):
        self.began.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.interrupted.set()


async def test_a_job_that_is_due_is_done_and_keeps_its_result(jobs, clock):
    worked = Worked()
    await jobs.start({"greet": worked})
    submitted = await jobs.submit("greet", {"name": "Ada"}, tenant="acme")
    assert (submitted.status, submitted.attempt, submitted.due_at) == (JobStatus.WAITING, 0, clock.now())
    done = await jobs.wait(submitted.job_id, tenant="acme")
    assert (done.status, done.result, done.error, done.attempt) == (JobStatus.DONE, {"attempt": 1}, "", 1)
    assert worked.payloads == [{"name": "Ada"}]


async def test_a_job_runs_when_the_clock_has_reached_its_time_and_not_before(jobs, clock):
    worked = Worked()
    await jobs.start({"greet": worked})
    await jobs.submit("greet", {}, due_at=clock.now() + 3600)
    clock.advance(3599)
    await jobs.idle()
    assert worked.jobs == []
    clock.advance(1)
    await jobs.idle()
    assert [job.attempt for job in worked.jobs] == [1]


async def test_failed_attempts_are_repeated_by_the_schedule_until_it_is_used_up(jobs, clock):
    worked = Worked(ValueError("first"), JobFailed("second"), JobFailed("third"))
    await jobs.start({"greet": worked})
    job = await jobs.submit("greet", {}, schedule=AT_ONCE)
    await jobs.idle()
    waiting = await jobs.find(job.job_id)
    assert (waiting.status, waiting.error, waiting.due_at) == ("waiting", "ValueError: first", clock.now() + 10)
    clock.advance(10)
    await jobs.idle()
    waiting = await jobs.find(job.job_id)
    assert (waiting.status, waiting.error, waiting.due_at) == ("waiting", "second", clock.now() + 20)
    clock.advance(20)
    await jobs.idle()
    dead = await jobs.find(job.job_id)
    assert (dead.status, dead.error, dead.attempt, dead.max_attempts) == (JobStatus.FAILED, "third", 3, 3)
    clock.advance(3600)
    await jobs.idle()
    assert len(worked.jobs) == 3


async def test_a_dead_letter_that_is_retried_has_its_whole_schedule_again(jobs, clock):
    worked = Worked(JobFailed("no", retry=False), JobFailed("again"))
    await jobs.start({"greet": worked})
    job = await jobs.submit("greet", {}, schedule=AT_ONCE)
    await jobs.idle()
    assert (await jobs.find(job.job_id)).status == JobStatus.FAILED
    assert (await jobs.retry(job.job_id)).status == JobStatus.WAITING
    await jobs.idle()
    assert (await jobs.find(job.job_id)).due_at == clock.now() + 10
    clock.advance(10)
    await jobs.idle()
    done = await jobs.find(job.job_id)
    assert (done.status, done.attempt, done.error) == (JobStatus.DONE, 2, "")


async def test_a_handler_can_say_when_to_try_again(jobs, clock):
    worked = Worked(RetryLater(77, "busy"))
    await jobs.start({"greet": worked})
    job = await jobs.submit("greet", {}, schedule=AT_ONCE)
    await jobs.idle()
    waiting = await jobs.find(job.job_id)
    assert (waiting.due_at, waiting.error) == (clock.now() + 77, "busy")


async def test_waits_are_longer_or_shorter_by_the_jitter_at_most(sqlite_jobs, clock):
    worked = Worked(*[JobFailed("no")] * 20)
    await sqlite_jobs.start({"greet": worked})
    submitted = [
        await sqlite_jobs.submit("greet", {}, schedule=RetrySchedule(delays=(100,), jitter=0.5)) for _ in range(20)
    ]
    await sqlite_jobs.idle()
    waits = [(await sqlite_jobs.find(job.job_id)).due_at - clock.now() for job in submitted]
    assert all(50 <= wait <= 150 for wait in waits)
    assert len(set(waits)) > 1


async def test_the_same_key_is_the_same_job_also_when_that_is_done(jobs):
    worked = Worked()
    first = await jobs.submit("greet", {"n": 1}, key="k")
    assert await jobs.submit("greet", {"n": 2}, key="k") == first
    await jobs.start({"greet": worked})
    done = await jobs.wait(first.job_id)
    assert await jobs.submit("greet", {"n": 3}, key="k") == done
    await jobs.idle()
    assert worked.payloads == [{"n": 1}]


async def test_a_key_names_a_job_within_its_tenant_and_kind(jobs):
    submitted = [
        await jobs.submit("greet", {}, key="k"),
        await jobs.submit("greet", {}, key="k", tenant="acme"),
        await jobs.submit("part", {}, key="k"),
        await jobs.submit("greet", {}, key="other"),
        await jobs.submit("greet", {}),
        await jobs.submit("greet", {}),
    ]
    assert len({job.job_id for job in submitted}) == 6


async def test_many_who_submit_one_key_at_once_get_one_job(jobs):
    submitted = await asyncio.gather(*(jobs.submit("greet", {"n": n}, key="k") for n in range(20)))
    assert len({job.job_id for job in submitted}) == 1
    assert len(await jobs.list()) == 1


async def test_a_cancelled_job_is_never_run_and_its_key_is_free_again(jobs, clock):
    worked = Worked()
    await jobs.start({"greet": worked})
    job = await jobs.submit("greet", {"n": 1}, key="k", due_at=clock.now() + 10)
    assert (await jobs.cancel(job.job_id)).status == JobStatus.CANCELLED
    again = await jobs.submit("greet", {"n": 2}, key="k", due_at=clock.now() + 10)
    assert again.job_id != job.job_id
    clock.advance(10)
    await jobs.idle()
    assert worked.payloads == [{"n": 2}]


async def test_cancelling_interrupts_a_running_attempt(jobs):
    stuck = Stuck()
    await jobs.start({"greet": stuck})
    job = await jobs.submit("greet", {})
    await stuck.began.wait()
    await jobs.cancel(job.job_id)
    await stuck.interrupted.wait()
    await jobs.idle()
    assert (await jobs.find(job.job_id)).status == JobStatus.CANCELLED


async def test_cancelling_elsewhere_interrupts_a_running_attempt(shared_url):
    worker, elsewhere = open_jobs(shared_url, settings=SETTINGS), open_jobs(shared_url)
    try:
        stuck = Stuck()
        await worker.start({"greet": stuck})
        job = await elsewhere.submit("greet", {})
        await stuck.began.wait()
        await elsewhere.cancel(job.job_id)
        await stuck.interrupted.wait()
        await worker.idle()
        assert (await elsewhere.find(job.job_id)).status == JobStatus.CANCELLED
    finally:
        await worker.close()
        await elsewhere.close()


async def test_what_has_ended_cannot_be_cancelled_and_what_has_not_failed_cannot_be_retried(jobs):
    await jobs.start({"greet": Worked()})
    job = await jobs.submit("greet", {})
    await jobs.wait(job.job_id)
    with pytest.raises(AlreadyDecided):
        await jobs.cancel(job.job_id)
    with pytest.raises(AlreadyDecided):
        await jobs.retry(job.job_id)


@pytest.mark.parametrize("ask", ["find", "cancel", "retry", "wait"])
async def test_a_job_of_nobody_or_of_another_tenant_is_not_found(sqlite_jobs, ask):
    job = await sqlite_jobs.submit("greet", {}, tenant="acme")
    for job_id in (job.job_id, "job_unheard_of"):
        with pytest.raises(NotFound):
            await getattr(sqlite_jobs, ask)(job_id)


async def test_jobs_are_listed_newest_first_in_pages_by_kind_and_status(jobs, clock):
    submitted = [await jobs.submit("ab"[n % 2], {"n": n}, due_at=clock.now() + 1) for n in range(6)]
    await jobs.submit("a", {"n": 99}, tenant="acme")
    await jobs.cancel(submitted[0].job_id)

    async def numbers(**filters):
        return [job.payload["n"] for job in await jobs.list(**filters)]

    assert await numbers() == [5, 4, 3, 2, 1, 0]
    assert await numbers(limit=2) == [5, 4]
    assert await numbers(limit=2, before=submitted[4].job_id) == [3, 2]
    assert await numbers(kind="a") == [4, 2, 0]
    assert await numbers(status=JobStatus.WAITING, kind="a") == [4, 2]
    assert await numbers(tenant="acme") == [99]
    assert (await jobs.count())[JobStatus.WAITING] == 6
    assert await jobs.count(tenant="acme") == {status: int(status == "waiting") for status in JobStatus}


async def test_who_only_submits_can_wait_for_what_another_does(shared_url):
    client, worker = open_jobs(shared_url), open_jobs(shared_url, settings=SETTINGS)
    try:
        await worker.start({"greet": Worked()})
        job = await client.submit("greet", {})
        assert (await client.wait(job.job_id)).result == {"attempt": 1}
    finally:
        await worker.close()
        await client.close()


async def test_a_worker_leaves_alone_what_it_has_no_handler_for(sqlite_jobs):
    worked = Worked()
    await sqlite_jobs.start({"greet": worked})
    other = await sqlite_jobs.submit("part", {})
    await sqlite_jobs.wait((await sqlite_jobs.submit("greet", {})).job_id)
    await sqlite_jobs.idle()
    assert (await sqlite_jobs.find(other.job_id)).status == JobStatus.WAITING


async def test_what_a_closed_worker_had_begun_is_begun_again_by_the_next(shared_url, clock):
    first = open_jobs(shared_url, clock=clock, settings=SETTINGS)
    stuck = Stuck()
    await first.start({"greet": stuck})
    job = await first.submit("greet", {})
    await stuck.began.wait()
    await first.close()
    assert stuck.interrupted.is_set()
    engine = Engine(place_of(shared_url))
    assert engine.workers_with_runs() == set()  # else the next would take it for dead
    engine.close()
    second = open_jobs(shared_url, clock=clock, settings=SETTINGS)
    try:
        assert (await second.find(job.job_id)).status == JobStatus.WAITING
        await second.start({"greet": Worked()})
        assert (await second.wait(job.job_id)).attempt == 1
    finally:
        await second.close()


async def test_a_worker_that_is_closed_lets_what_it_has_begun_come_to_its_end(tmp_path):
    url = f"sqlite:///{tmp_path}/store.db"
    began, may_end = asyncio.Event(), asyncio.Event()

    async def work(job):
        began.set()
        await may_end.wait()

    first = open_jobs(url, settings=JobSettings(poll_seconds=0.02, grace_seconds=60))
    await first.start({"greet": work})
    job = await first.submit("greet", {})
    await began.wait()
    closing = asyncio.create_task(first.close())
    await asyncio.sleep(0)
    may_end.set()
    await closing
    second = open_jobs(url)
    assert (await second.find(job.job_id)).status == JobStatus.DONE
    await second.close()


async def test_what_a_dead_letter_left_behind_is_gone_when_it_is_retried(sqlite_jobs):
    await sqlite_jobs.start({"greet": Worked(JobFailed("no", retry=False, result={"why": 1}))})
    job = await sqlite_jobs.submit("greet", {})
    assert (await sqlite_jobs.wait(job.job_id)).result == {"why": 1}
    assert (await sqlite_jobs.retry(job.job_id)).result is None


async def test_progress_is_seen_while_a_job_runs(sqlite_jobs):
    reported, may_end = asyncio.Event(), asyncio.Event()

    async def work(job):
        await sqlite_jobs.report(job.job_id, {"percent": 50})
        reported.set()
        await may_end.wait()

    await sqlite_jobs.start({"greet": work})
    job = await sqlite_jobs.submit("greet", {})
    await reported.wait()
    assert (await sqlite_jobs.find(job.job_id)).progress == {"percent": 50}
    may_end.set()
    await sqlite_jobs.wait(job.job_id)


async def test_a_process_has_one_worker(sqlite_jobs, tmp_path):
    await sqlite_jobs.start({"greet": Worked()})
    with pytest.raises(ConfigError, match="already"):
        await sqlite_jobs.start({})
    other = open_jobs(f"sqlite:///{tmp_path}/other.db")
    with pytest.raises(ConfigError, match="already"):
        await other.start({"greet": Worked()})
    await other.close()
    assert (await sqlite_jobs.wait((await sqlite_jobs.submit("greet", {})).job_id)).status == JobStatus.DONE
