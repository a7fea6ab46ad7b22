"""Handlers that do what no handler should: the attempt ends all the same, and is not lost."""

import asyncio
import math

import pytest

from groundwire.jobs import JobFailed, JobStatus, RetryLater, RetrySchedule
from groundwire.jobs.checks import MAX_BYTES

ONCE_AGAIN = RetrySchedule(delays=(10.0,), jitter=0)


class Wordless(Exception):
    def __str__(self):
        raise ValueError("no words")


class Odd(BaseException):
    pass


async def cancel_itself(job):
    task = asyncio.ensure_future(asyncio.Event().wait())
    task.cancel()
    await task


async def raise_wordless(job):
    raise Wordless


async def raise_odd(job):
    raise Odd("odd")


async def leave(job):
    raise SystemExit(3)


async def interrupt(job):
    await asyncio.sleep(0)
    raise KeyboardInterrupt


async def close(job):
    raise GeneratorExit


async def wait_for_nothing(job):
    raise RetryLater(math.nan)


async def wait_for_ever(job):
    raise RetryLater(math.inf)


@pytest.mark.parametrize(
    ("handler", "error"),
    [
        (cancel_itself, "its handler was cancelled, and not by us"),
        (raise_wordless, "Wordless"),
        (raise_odd, "Odd: odd"),
        (leave, "SystemExit: 3"),
        (interrupt, "KeyboardInterrupt: "),
        (close, "GeneratorExit: "),
        (wait_for_nothing, "ConfigError: a job cannot be tried again in nan s (from 0 s to ten years)"),
        (wait_for_ever, "ConfigError: a job cannot be tried again in inf s (from 0 s to ten years)"),
    ],
)
async def test_whatever_a_handler_raises_is_a_failed_attempt(jobs, clock, handler, error):
    await jobs.start({"greet": handler})
    job = await jobs.submit("greet", {}, schedule=ONCE_AGAIN)
    await jobs.idle()
    waiting = await jobs.find(job.job_id)
    assert (waiting.status, waiting.attempt, waiting.error) == (JobStatus.WAITING, 1, error)
    clock.advance(10)
    dead = await jobs.wait(job.job_id)
    assert (dead.status, dead.attempt, dead.error) == (JobStatus.FAILED, 2, error)


@pytest.mark.parametrize(
    ("result", "error"),
    [
        (math.nan, "InvalidJson"),
        ("\ud800", "InvalidJson"),
        ("x" * (MAX_BYTES - 1), "ConfigError"),
    ],
    ids=["no number", "no text", "too much"],
)
async def test_work_whose_result_cannot_be_kept_is_not_done_again(jobs, result, error):
    begun = []

    async def work(job):
        begun.append(job.attempt)
        return result

    await jobs.start({"greet": work})
    dead = await jobs.wait((await jobs.submit("greet", {}, schedule=ONCE_AGAIN)).job_id)
    assert (dead.status, dead.error.split(":")[0]) == (JobStatus.FAILED, error)
    assert begun == [1]


async def test_the_largest_result_is_kept(jobs):
    async def work(job):
        return "x" * (MAX_BYTES - 2)

    await jobs.start({"greet": work})
    done = await jobs.wait((await jobs.submit("greet", {})).job_id)
    assert (done.status, len(done.result)) == (JobStatus.DONE, MAX_BYTES - 2)


async def test_a_handler_that_is_not_async_has_run_once_and_is_a_dead_letter(sqlite_jobs):
    begun = []
    await sqlite_jobs.start({"greet": begun.append})
    dead = await sqlite_jobs.wait((await sqlite_jobs.submit("greet", {}, schedule=ONCE_AGAIN)).job_id)
    assert (dead.status, dead.error) == (JobStatus.FAILED, "the handler of greet has run, but is no async function")
    assert len(begun) == 1


async def test_an_error_that_no_database_could_keep_is_kept_all_the_same(jobs):
    failed = JobFailed("\x00\ud800" + "x" * 5000, retry=False, result={"value": math.nan})

    async def work(job):
        raise failed

    await jobs.start({"greet": work})
    dead = await jobs.wait((await jobs.submit("greet", {})).job_id)
    assert (dead.status, dead.error, dead.result) == (JobStatus.FAILED, "\ufffd?" + "x" * 3998, None)
