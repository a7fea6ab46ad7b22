"""What can be a job, and what is refused before it is kept."""

import math
from datetime import UTC, datetime

import pytest

from groundwire.contracts.errors import ConfigError, InvalidJson, NotFound
from groundwire.contracts.jobs import LONGEST_WAIT
from groundwire.jobs import RetryLater, RetrySchedule
from groundwire.jobs.checks import LAST_MOMENT, MAX_BYTES, MAX_PAGE


def nested(levels):
    value = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": ""},
        {"kind": "with space"},
        {"kind": "line\n"},
        {"kind": "x" * 101},
        {"kind": None},
        {"payload": [1]},
        {"payload": None},
        {"payload": {"a": "x" * (MAX_BYTES - 7)}},
        {"due_at": math.inf},
        {"due_at": math.nan},
        {"due_at": LAST_MOMENT + 1},
        {"due_at": -1},
        {"due_at": 10**400},
        {"due_at": "2030-01-01"},
        {"due_at": datetime(2030, 1, 1)},  # noqa: DTZ001 - that nobody knows its zone is the point
        {"due_at": datetime(2030, 1, 1, tzinfo=UTC)},
        {"key": "k" * 1025},
        {"key": "\x00"},
        {"key": 5},
        {"tenant": "\ud800"},
        {"tenant": "t" * 257},
        {"tenant": None},
        {"schedule": 5},
        {"schedule": RetrySchedule(delays=(-1.0,))},
        {"schedule": RetrySchedule(delays=(math.nan,))},
        {"schedule": RetrySchedule(delays=("1",))},
        {"schedule": RetrySchedule(delays=(LONGEST_WAIT + 1,))},
        {"schedule": RetrySchedule(delays=(1.0,) * 1000)},
        {"schedule": RetrySchedule(jitter=1.5)},
        {"schedule": RetrySchedule(jitter=math.nan)},
    ],
)
async def test_what_cannot_be_a_job_is_refused(sqlite_jobs, wrong):
    with pytest.raises(ConfigError):
        await sqlite_jobs.submit(**{"kind": "greet", "payload": {}} | wrong)
    assert await sqlite_jobs.list() == []


@pytest.mark.parametrize(
    "edge",
    [
        {"kind": "x" * 100, "key": "k" * 1024, "tenant": "t" * 256},
        {"schedule": RetrySchedule(delays=(0.0,) * 999, jitter=1.0)},
        {"schedule": RetrySchedule(delays=(LONGEST_WAIT,))},
        {"due_at": LAST_MOMENT},
        {"due_at": 0},
        {"payload": {"a": "x" * (MAX_BYTES - 8)}},
        {"payload": {"a\x00": "\x00", "b": 10**400}},
    ],
)
async def test_a_job_at_the_edge_of_what_is_allowed_is_kept_as_it_was_given(jobs, edge):
    given = {"kind": "greet", "payload": {}} | edge
    job = await jobs.submit(**given)
    assert await jobs.find(job.job_id, tenant=job.tenant) == job
    assert {name: getattr(job, name) for name in given if name != "schedule"} == {
        name: value for name, value in given.items() if name != "schedule"
    }


@pytest.mark.parametrize(
    "value", [math.nan, "\ud800", b"bytes", {1}, nested(100_000)], ids=lambda value: type(value).__name__
)
async def test_a_payload_that_is_no_json_is_refused(sqlite_jobs, value):
    with pytest.raises(InvalidJson):
        await sqlite_jobs.submit("greet", {"value": value})
    assert await sqlite_jobs.list() == []


@pytest.mark.parametrize("ask", ["find", "cancel", "retry", "wait"])
@pytest.mark.parametrize("text", ["\x00", "\ud800"])
async def test_a_name_that_no_database_can_keep_names_no_job(jobs, ask, text):
    await jobs.submit("greet", {}, tenant="a\ufffd")
    for job_id, tenant in ((text, "default"), ("job_9", f"a{text}")):
        with pytest.raises(NotFound):
            await getattr(jobs, ask)(job_id, tenant=tenant)
    assert await jobs.list(kind=text) == []
    with pytest.raises(NotFound):
        await jobs.list(before=text)
    with pytest.raises(ConfigError):
        await jobs.list(tenant=f"a{text}")


@pytest.mark.parametrize("limit", [-1, 0, MAX_PAGE + 1, 10**30])
async def test_a_page_of_an_odd_size_is_refused(jobs, limit):
    with pytest.raises(ConfigError):
        await jobs.list(limit=limit)


async def test_the_longest_page_is_given(sqlite_jobs):
    job = await sqlite_jobs.submit("greet", {})
    assert await sqlite_jobs.list(limit=MAX_PAGE) == [job]


@pytest.mark.parametrize("seconds", [math.nan, math.inf, -1, LONGEST_WAIT + 1])
def test_a_wait_that_nobody_can_wait_is_refused(seconds):
    with pytest.raises(ConfigError):
        RetryLater(seconds)


async def test_a_worker_for_what_cannot_be_a_kind_is_refused(sqlite_jobs):
    with pytest.raises(ConfigError, match="kind"):
        await sqlite_jobs.start({"with space": print})
