"""What can happen to a job, each as one transaction over its row and the engine's queue. Everything here blocks.

Knows nothing of handlers, threads or event loops.
"""

import random
import secrets
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import AlreadyDecided, NotFound
from groundwire.contracts.jobs import Job, JobStatus, RetrySchedule
from groundwire.contracts.ports import Clock
from groundwire.contracts.texts import storable
from groundwire.jobs import rows
from groundwire.jobs.checks import encode_part
from groundwire.jobs.engine import Engine

ERROR_CHARS = 4_000
MAX_INTERRUPTIONS = 10
"""How many workers may die over a job before it is given up: perhaps it kills them."""


class JobBook:
    def __init__(self, engine: Engine, clock: Clock, *, is_virtual: bool) -> None:
        self.engine = engine
        self._clock = clock
        self._is_virtual = is_virtual
        self._released: set[tuple[str, int, str]] = set()

    def submit(
        self, kind: str, payload: JsonObject, tenant: str, due_at: float | None, key: str, schedule: RetrySchedule
    ) -> Job:
        now = self._clock.now()
        values: dict[str, Any] = {
            "job_id": f"job_{secrets.token_hex(12)}",
            "tenant": tenant,
            "kind": kind,
            "key": key,
            "payload": encode_part("payload", payload),
            "status": JobStatus.WAITING.value,
            "due_at": now if due_at is None else due_at,
            "schedule": msgspec.json.encode(schedule).decode(),
            "run": 1,
            "attempt": 0,
            "interruptions": 0,
            "worker": "",
            "error": "",
            "result": "",
            "progress": "",
            "created_at": now,
            "updated_at": now,
        }
        while True:
            with self.engine.transact() as connection:
                if (row := rows.insert(connection, values)) is not None:
                    self._enqueue(connection, row)
                    return rows.read_job(row)
                if (row := rows.by_key(connection, tenant, kind, key)) is not None:
                    return rows.read_job(row)

    def find(self, job_id: str, tenant: str) -> Job:
        with self.engine.look() as connection:
            return rows.read_job(_existing(rows.find(connection, job_id, tenant), job_id))

    def list(self, tenant: str, kind: str | None, status: str | None, before: str, limit: int) -> list[Job]:
        with self.engine.look() as connection:
            below = rows.position(connection, tenant, before) if before else None
            if before and below is None:
                raise NotFound(
                    f"there is no row {before} to go on from", hint="It was removed: start from the first page."
                )
            return [rows.read_job(row) for row in rows.select(connection, tenant, kind, status, below, limit)]

    def count(self, tenant: str | None) -> dict[JobStatus, int]:
        with self.engine.look() as connection:
            found = rows.count(connection, tenant)
        return {status: found.get(status, 0) for status in JobStatus}

    def cancel(self, job_id: str, tenant: str) -> Job:
        with self.engine.transact() as connection:
            row = _existing(rows.lock(connection, job_id, tenant), job_id)
            if row.status not in (JobStatus.WAITING, JobStatus.RUNNING):
                raise AlreadyDecided(f"The job {job_id} cannot be cancelled: it is {row.status}.")
            cancelled = self._change(connection, row, status=JobStatus.CANCELLED)
        if row.status == JobStatus.WAITING:
            self.engine.withdraw(job_id, row.run)
        return rows.read_job(cancelled)

    def retry(self, job_id: str, tenant: str) -> Job:
        with self.engine.transact() as connection:
            row = _existing(rows.lock(connection, job_id, tenant), job_id)
            if row.status != JobStatus.FAILED:
                raise AlreadyDecided(f"The job {job_id} is no dead letter: it is {row.status}.")
            return rows.read_job(self._again(connection, row, self._clock.now(), attempt=0, interruptions=0))

    def report(self, job_id: str, progress: JsonValue) -> None:
        encoded = encode_part("progress", progress)
        with self.engine.transact() as connection:
            row = _existing(rows.lock(connection, job_id), job_id)
            if row.status == JobStatus.RUNNING:
                self._change(connection, row, progress=encoded)

    def begin(self, job_id: str, run: int, worker: str) -> Job | None:
        """The job, which is now running, or nothing if this run is not meant any more."""
        with self.engine.transact() as connection:
            row = rows.lock(connection, job_id)
            if row is None or row.run != run or row.status not in (JobStatus.WAITING, JobStatus.RUNNING):
                return None
            if row.status == JobStatus.WAITING:
                begun = self._change(
                    connection, row, status=JobStatus.RUNNING, worker=worker, attempt=row.attempt + 1, progress=""
                )
                return rows.read_job(begun)
            if row.interruptions >= MAX_INTERRUPTIONS:
                error = f"{row.interruptions + 1} workers have died while they were working on it"
                self._change(connection, row, status=JobStatus.FAILED, error=error)
                return None
            return rows.read_job(
                self._change(connection, row, worker=worker, interruptions=row.interruptions + 1, progress="")
            )

    def finish(self, job_id: str, run: int, worker: str, result: str) -> None:
        """It is done; `result` is JSON."""
        with self.engine.transact() as connection:
            if (row := _held(rows.lock(connection, job_id), run, worker)) is not None:
                self._change(connection, row, status=JobStatus.DONE, result=result, error="")

    def fail(
        self,
        job_id: str,
        run: int,
        worker: str,
        error: str,
        *,
        retry: bool,
        seconds: float | None = None,
        result: str = "",
    ) -> None:
        """The attempt has failed. Without `seconds` the job's schedule says when to try again, or that it is over."""
        with self.engine.transact() as connection:
            if (row := _held(rows.lock(connection, job_id), run, worker)) is None:
                return
            schedule, error = rows.read_schedule(row), storable(error[:ERROR_CHARS])
            if not retry or row.attempt >= schedule.max_attempts:
                self._change(connection, row, status=JobStatus.FAILED, error=error, result=result)
                return
            if seconds is None:
                seconds = schedule.delays[row.attempt - 1] * random.uniform(1 - schedule.jitter, 1 + schedule.jitter)  # noqa: S311
            self._again(connection, row, self._clock.now() + seconds, error=error)

    def give_back(self, job_id: str, run: int, worker: str) -> None:
        """As if this attempt had not been begun."""
        with self.engine.transact() as connection:
            row = rows.lock(connection, job_id)
            if row is None or row.run != run:
                return
            if row.status == JobStatus.WAITING:
                self._again(connection, row, row.due_at)
            elif _held(row, run, worker) is not None:
                self._again(connection, row, self._clock.now(), attempt=row.attempt - 1)

    def release_due(self) -> float | None:
        """Enqueue what has become due by a virtual clock. Returns when the next job is due, None if none waits."""
        now = self._clock.now()
        with self.engine.look() as connection:
            due = {(row.job_id, row.run, row.kind) for row in rows.due(connection, now)}
            following = rows.next_due(connection, now)
        if new := sorted(due - self._released):
            with self.engine.transact() as connection:
                for job_id, run, kind in new:
                    self.engine.enqueue(connection, job_id, run, kind, 0.0)
        self._released = due  # they wait for a worker now, and are not enqueued again at each look
        return following

    def is_busy(self, kinds: Sequence[str] | None) -> bool:
        with self.engine.look() as connection:
            return rows.is_busy(connection, self._clock.now(), kinds)

    def still_running(self, job_ids: Sequence[str], worker: str) -> set[str]:
        with self.engine.look() as connection:
            return rows.still_running(connection, job_ids, worker)

    def forget(self, older_than_seconds: float) -> int:
        """Remove jobs that ended longer ago than that; how many. What the engine noted of runs goes a day after them."""
        yesterday = datetime.fromtimestamp(time.time() - 86_400, UTC)
        while self.engine.forget_runs(yesterday.isoformat()):
            pass
        with self.engine.transact() as connection:
            return rows.forget(connection, self._clock.now() - older_than_seconds)

    def _again(self, connection: Any, row: Any, due_at: float, **values: Any) -> Any:
        changed = self._change(
            connection, row, status=JobStatus.WAITING, run=row.run + 1, due_at=due_at, worker="", result="", **values
        )
        self._enqueue(connection, changed)
        return changed

    def _enqueue(self, connection: Any, row: Any) -> None:
        delay = max(0.0, row.due_at - self._clock.now())
        if not (delay and self._is_virtual):  # the engine's timers know no virtual clock: `release_due` enqueues it
            self.engine.enqueue(connection, row.job_id, row.run, row.kind, delay)

    def _change(self, connection: Any, row: Any, **values: Any) -> Any:
        return rows.change(connection, row, updated_at=self._clock.now(), **values)


def _existing(row: Any, job_id: str) -> Any:
    if row is None:
        raise NotFound(f"There is no job {job_id}.", hint="groundwire jobs list")
    return row


def _held(row: Any, run: int, worker: str) -> Any:
    """The row, if that worker still has the right to say how this run ended."""
    is_held = row is not None and (row.run, row.worker, row.status) == (run, worker, JobStatus.RUNNING)
    return row if is_held else None
