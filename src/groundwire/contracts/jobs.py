"""Work for later: what a job is, when it is tried again, and what anybody who keeps jobs can be asked.

Times are seconds since the epoch. Nothing here knows what a job's work means, or which engine runs it.
"""

from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from typing import Annotated, Protocol, TypeAlias

from msgspec import Meta, Struct

from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import ConfigError

LONGEST_WAIT = 10 * 365 * 86_400.0
"""Between two attempts."""


class JobStatus(StrEnum):
    """`failed` jobs are dead letters: nobody tries them again until somebody asks for it."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


ENDED = frozenset({JobStatus.DONE, JobStatus.FAILED, JobStatus.CANCELLED})


class Job(Struct, frozen=True, kw_only=True):
    """One piece of work. `attempt` is the number of the newest attempt; 0 before the first."""

    job_id: str
    tenant: str
    kind: str
    key: str
    payload: JsonObject
    status: JobStatus
    due_at: float
    attempt: int
    max_attempts: int
    created_at: float
    updated_at: float
    error: str = ""
    result: JsonValue = None
    progress: JsonValue = None

    @property
    def is_ended(self) -> bool:
        return self.status in ENDED


class RetrySchedule(Struct, frozen=True, kw_only=True):
    """Seconds to wait after the first failure, the second, and so on. When they are used up, the job has failed.

    `jitter` is the share by which each wait is made longer or shorter by chance, so that jobs that failed together do
    not come back together.
    """

    delays: tuple[float, ...] = (1.0, 5.0, 30.0, 120.0, 600.0)
    jitter: float = 0.1

    @property
    def max_attempts(self) -> int:
        return len(self.delays) + 1


class JobFailed(Exception):
    """Raised by a handler: this attempt has failed; with `retry=False`, so has the job.

    `result` is kept with a job that has failed, for those who want to know more than the message.
    """

    def __init__(self, message: str, *, retry: bool = True, result: JsonValue = None) -> None:
        super().__init__(message)
        self.retry = retry
        self.result = result


class RetryLater(Exception):
    """Raised by a handler: this attempt has failed, and the next one is due after so many seconds, not as scheduled."""

    def __init__(self, seconds: float, message: str = "") -> None:
        if not 0 <= seconds <= LONGEST_WAIT:
            raise ConfigError(f"a job cannot be tried again in {seconds} s", hint="from 0 s to ten years")
        super().__init__(message or f"to be tried again in {seconds:g} s")
        self.seconds = seconds


JobHandler: TypeAlias = Callable[[Job], Awaitable[JsonValue]]
"""Does a job's work; what it returns is the job's result. Any exception is a failed attempt."""


class Jobs(Protocol):
    """Keeps jobs and, once started, works on them.

    Each is worked on at least once: by a second worker if the first one died in the middle. What must not happen twice
    is guarded by the effect ledger, with a key that is made from the job.
    """

    async def submit(
        self,
        kind: str,
        payload: JsonObject,
        *,
        tenant: str = "default",
        due_at: float | None = None,
        key: str = "",
        schedule: RetrySchedule | None = None,
    ) -> Job:
        """Keep a job, durably; without `due_at` it is due at once.

        A `key` names it within its tenant and kind: the same key gives the same job again, with the payload of the
        first time, as long as that job is kept and was not cancelled.
        """
        ...

    async def find(self, job_id: str, *, tenant: str = "default") -> Job:
        """The job, or NotFound."""
        ...

    async def list(
        self,
        *,
        tenant: str = "default",
        kind: str | None = None,
        status: JobStatus | None = None,
        before: str = "",
        limit: int = 50,
    ) -> list[Job]:
        """Newest first; `before` is the id of the last one that was listed."""
        ...

    async def count(self, *, tenant: str | None = None) -> dict[JobStatus, int]:
        """How many there are of each status, of one tenant or of all."""
        ...

    async def cancel(self, job_id: str, *, tenant: str = "default") -> Job:
        """Take it back. A running attempt is interrupted soon after; AlreadyDecided if the job has ended."""
        ...

    async def retry(self, job_id: str, *, tenant: str = "default") -> Job:
        """Give a dead letter its whole schedule again, from now on; AlreadyDecided if it is none."""
        ...

    async def report(self, job_id: str, progress: JsonValue) -> None:
        """Say how far a running job is."""
        ...

    async def wait(self, job_id: str, *, tenant: str = "default") -> Job:
        """The job, when it has ended."""
        ...

    async def idle(self) -> None:
        """Wait until nothing is running and nothing is due: of the kinds that are worked on here, else of all."""
        ...

    async def start(self, handlers: Mapping[str, JobHandler]) -> None:
        """Work on jobs of these kinds, in this process and on this event loop, until closed."""
        ...

    async def close(self) -> None:
        """Stop working. Attempts that are running are interrupted and given back."""
        ...


class JobSettings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """How a process works on jobs. `serve`: whether `groundwire serve` does so too.

    `concurrency` is how many jobs of one kind run at a time, `pollSeconds` how often it looks for more (ten times rarer
    while nothing happens), `graceSeconds` how long one that stops waits for those that run. Jobs that ended so many days
    ago are forgotten.
    """

    serve: bool = True
    concurrency: Annotated[int, Meta(ge=1, le=1000)] = 16
    poll_seconds: Annotated[float, Meta(gt=0, le=60)] = 0.1
    grace_seconds: Annotated[float, Meta(ge=0, le=3600)] = 10.0
    retain_days: Annotated[float, Meta(gt=0, le=36_500)] = 30.0
