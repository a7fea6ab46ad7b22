"""The table of jobs, and the statements on it. Knows no engine and no clock.

A row says what a job is; its `run` says which of the engine's runs may work on it, so that one that comes too late, or
twice, finds that it is not meant any more.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from groundwire.contracts.canonical import JsonValue
from groundwire.contracts.jobs import Job, JobStatus, RetrySchedule

METADATA = sa.MetaData()
JOBS = sa.Table(
    "groundwire_jobs",
    METADATA,
    sa.Column("seq", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    sa.Column("job_id", sa.Text, nullable=False, unique=True),
    sa.Column("tenant", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("payload", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("due_at", sa.Double, nullable=False),
    sa.Column("schedule", sa.Text, nullable=False),
    sa.Column("run", sa.Integer, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("interruptions", sa.Integer, nullable=False),
    sa.Column("worker", sa.Text, nullable=False),
    sa.Column("error", sa.Text, nullable=False),
    sa.Column("result", sa.Text, nullable=False),
    sa.Column("progress", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("updated_at", sa.Double, nullable=False),
)
_HAS_KEY = sa.and_(JOBS.c.key != sa.literal_column("''"), JOBS.c.status != sa.literal_column("'cancelled'"))
sa.Index(
    "groundwire_jobs_by_key",
    JOBS.c.tenant,
    JOBS.c.kind,
    JOBS.c.key,
    unique=True,
    sqlite_where=_HAS_KEY,
    postgresql_where=_HAS_KEY,
)
sa.Index("groundwire_jobs_by_status", JOBS.c.status, JOBS.c.due_at)
sa.Index("groundwire_jobs_by_tenant", JOBS.c.tenant, JOBS.c.seq)

_INSERT = {
    dialect.__name__.rpartition(".")[2]: dialect.insert(JOBS).on_conflict_do_nothing().returning(*JOBS.c)
    for dialect in (postgresql, sqlite)
}
_OPEN = (JobStatus.WAITING.value, JobStatus.RUNNING.value)


def insert(connection: sa.Connection, values: dict[str, Any]) -> Any:
    """The new row, or nothing if there is one of that key."""
    return connection.execute(_INSERT[connection.dialect.name], values).one_or_none()


def by_key(connection: sa.Connection, tenant: str, kind: str, key: str) -> Any:
    matches = sa.and_(JOBS.c.tenant == tenant, JOBS.c.kind == kind, JOBS.c.key == key, _HAS_KEY)
    return connection.execute(sa.select(JOBS).where(matches)).one_or_none()


def position(connection: sa.Connection, tenant: str, job_id: str) -> int | None:
    """Where a job stands among all."""
    return connection.execute(sa.select(JOBS.c.seq).where(JOBS.c.job_id == job_id, JOBS.c.tenant == tenant)).scalar()


def find(connection: sa.Connection, job_id: str, tenant: str | None = None) -> Any:
    return connection.execute(_one(job_id, tenant)).one_or_none()


def lock(connection: sa.Connection, job_id: str, tenant: str | None = None) -> Any:
    """The row, which nobody else changes before this transaction ends."""
    return connection.execute(_one(job_id, tenant).with_for_update()).one_or_none()


def _one(job_id: str, tenant: str | None) -> sa.Select[Any]:
    query = sa.select(JOBS).where(JOBS.c.job_id == job_id)
    return query if tenant is None else query.where(JOBS.c.tenant == tenant)


def change(connection: sa.Connection, row: Any, **values: Any) -> Any:
    changed = sa.update(JOBS).where(JOBS.c.seq == row.seq).values(**values).returning(*JOBS.c)
    return connection.execute(changed).one()


def select(
    connection: sa.Connection, tenant: str, kind: str | None, status: str | None, below: int | None, limit: int
) -> Sequence[Any]:
    query = sa.select(JOBS).where(JOBS.c.tenant == tenant)
    if kind is not None:
        query = query.where(JOBS.c.kind == kind)
    if status is not None:
        query = query.where(JOBS.c.status == status)
    if below is not None:
        query = query.where(JOBS.c.seq < below)
    return connection.execute(query.order_by(JOBS.c.seq.desc()).limit(limit)).all()


def count(connection: sa.Connection, tenant: str | None) -> dict[str, int]:
    query = sa.select(JOBS.c.status, sa.func.count()).group_by(JOBS.c.status)
    if tenant is not None:
        query = query.where(JOBS.c.tenant == tenant)
    return {status: number for status, number in connection.execute(query)}  # noqa: C416 - rows are not tuples to mypy


def due(connection: sa.Connection, now: float) -> Sequence[Any]:
    """Ids, runs and kinds of waiting jobs whose time has come since they began to wait."""
    waits = sa.and_(JOBS.c.status == JobStatus.WAITING.value, JOBS.c.due_at > JOBS.c.updated_at)
    return connection.execute(
        sa.select(JOBS.c.job_id, JOBS.c.run, JOBS.c.kind).where(waits, JOBS.c.due_at <= now)
    ).all()


def next_due(connection: sa.Connection, now: float) -> float | None:
    waits = sa.and_(JOBS.c.status == JobStatus.WAITING.value, JOBS.c.due_at > now)
    return connection.execute(sa.select(sa.func.min(JOBS.c.due_at)).where(waits)).scalar()


def is_busy(connection: sa.Connection, now: float, kinds: Sequence[str] | None) -> bool:
    """Whether anything is running or due, of these kinds or of all."""
    runs = JOBS.c.status == JobStatus.RUNNING.value
    is_due = sa.and_(JOBS.c.status == JobStatus.WAITING.value, JOBS.c.due_at <= now)
    query = sa.select(JOBS.c.seq).where(sa.or_(runs, is_due))
    if kinds is not None:
        query = query.where(JOBS.c.kind.in_(kinds))
    return connection.execute(query.limit(1)).first() is not None


def still_running(connection: sa.Connection, job_ids: Sequence[str], worker: str) -> set[str]:
    """Which of these `worker` still works on."""
    runs = sa.and_(JOBS.c.job_id.in_(job_ids), JOBS.c.status == JobStatus.RUNNING.value, JOBS.c.worker == worker)
    return set(connection.execute(sa.select(JOBS.c.job_id).where(runs)).scalars())


def forget(connection: sa.Connection, ended_before: float) -> int:
    ended = sa.and_(JOBS.c.status.not_in(_OPEN), JOBS.c.updated_at < ended_before)
    return connection.execute(sa.delete(JOBS).where(ended)).rowcount


def read_schedule(row: Any) -> RetrySchedule:
    return msgspec.json.decode(row.schedule, type=RetrySchedule)


def read_job(row: Any) -> Job:
    return Job(
        job_id=row.job_id,
        tenant=row.tenant,
        kind=row.kind,
        key=row.key,
        payload=msgspec.json.decode(row.payload),
        status=JobStatus(row.status),
        due_at=row.due_at,
        attempt=row.attempt,
        max_attempts=read_schedule(row).max_attempts,
        created_at=row.created_at,
        updated_at=row.updated_at,
        error=row.error,
        result=_read_json(row.result),
        progress=_read_json(row.progress),
    )


def _read_json(text: str) -> JsonValue:
    value: JsonValue = msgspec.json.decode(text) if text else None
    return value
