"""Durable work that happens later: follow-ups, deliveries, background tools, expiries.

    jobs = open_jobs("sqlite:///groundwire.db")
    await jobs.submit("greet", {"name": "Ada"}, due_at=time.time() + 3600)
    await jobs.start({"greet": greet})

An existing engine (DBOS) keeps the time, hands out the work and moves it when a worker dies; it is imported when jobs are
first used. This package stays off the path of a tool call and does not know what a job's effect means; the ledger
guards that.
"""

from groundwire.contracts.jobs import (
    Job,
    JobFailed,
    JobHandler,
    Jobs,
    JobSettings,
    JobStatus,
    RetryLater,
    RetrySchedule,
)
from groundwire.jobs.opening import open_jobs

__all__ = [
    "Job",
    "JobFailed",
    "JobHandler",
    "JobSettings",
    "JobStatus",
    "Jobs",
    "RetryLater",
    "RetrySchedule",
    "open_jobs",
]
