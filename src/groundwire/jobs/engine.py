"""The one seam to DBOS: its tables, its queues, its worker. Everything here blocks; callers come from threads.

DBOS knows of a job only an id, a run and a kind. This module uses its public API; what that lacks is in
`dbos_internals`.
"""

import logging
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from dbos import DBOS, DBOSClient

from groundwire.contracts.errors import ConfigError
from groundwire.jobs import dbos_internals
from groundwire.jobs.failures import in_our_words
from groundwire.jobs.files import FileGuard
from groundwire.jobs.liveness import FileLiveness, Liveness, PostgresLiveness
from groundwire.jobs.locks import one_at_a_time
from groundwire.jobs.places import Place
from groundwire.jobs.polling import AdaptivePolling
from groundwire.jobs.rows import METADATA

APPLICATION = "groundwire"
WORKFLOW = "groundwire_job"
VERSION = "1"
"""Of what a run is given. Workers leave runs of another version alone."""

PREPARE_SECONDS = 60.0
_TABLES = 7_461_882_150  # the advisory lock under which the table of jobs is made
_HAS_SUBSEC = sqlite3.sqlite_version_info >= (3, 42)


class RunNotRecorded(BaseException):
    """Raised in a run whose end could not be recorded, or that another worker has taken over.

    DBOS records the outcome of a run that returns or raises an Exception, and of no other. So the run stays with its
    worker, and is handed out again when that worker is dead.
    """


class Engine:
    """One database of jobs, and at most one worker on it in this process."""

    def __init__(self, place: Place) -> None:
        dbos_internals.check_release()
        self._folder = ""
        self._queues: list[str] = []
        self._instance: DBOS | None = None
        self._is_stopping = False
        self._polling: AdaptivePolling | None = None
        self._schema = place.schema or None
        self._files: FileGuard | None = None
        self.liveness: Liveness
        self._preparing: AbstractContextManager[None] = nullcontext()  # on PostgreSQL, whoever prepares takes locks
        if place.dsn:
            self._pool = _open_postgres(place)
            self.liveness = PostgresLiveness(self._pool, place.schema)
        else:
            if not place.file:
                self._folder = tempfile.mkdtemp(prefix="groundwire-jobs-")
            file = place.file or str(Path(self._folder) / "jobs.db")
            self._pool = _open_sqlite(file, full=place.survives_power)
            self._files = FileGuard(self._pool, file)
            self.liveness = FileLiveness(file)
            self._preparing = one_at_a_time(Path(f"{file}-preparing"), timeout=PREPARE_SECONDS)
        # Threads that wait for SQLite's own lock sleep longer and longer; those that wait here are woken.
        self._turn: AbstractContextManager[object] = nullcontext() if place.dsn else threading.Lock()
        self._ours = self._pool.execution_options(schema_translate_map={None: self._schema})
        self._client = DBOSClient(
            system_database_engine=self._pool,
            dbos_system_schema=self._schema,
            application_name=APPLICATION,
            lazy=True,
            retry_connection_errors=False,
        )
        logging.getLogger("dbos").setLevel(logging.ERROR)  # it warns several times a second while a database is away
        try:
            self._migrate()
        except BaseException:
            self.close()
            raise

    @contextmanager
    def look(self) -> Iterator[sa.Connection]:
        with in_our_words(), self._ours.begin() as connection:
            yield connection

    @contextmanager
    def transact(self) -> Iterator[sa.Connection]:
        """What is read in here is still so when it is changed."""
        with in_our_words(), self._turn:
            with self._ours.begin() as connection:
                if connection.dialect.name == "sqlite":  # else a transaction would begin with the first change
                    connection.exec_driver_sql("BEGIN IMMEDIATE")
                yield connection
            if self._files is not None:  # what was committed to a deleted file was not kept
                self._files.check()

    def enqueue(self, connection: sa.Connection, job_id: str, run: int, kind: str, delay: float) -> None:
        """Have a worker execute this run after `delay` seconds, if `connection` commits. Repeating it changes nothing."""
        options: dict[str, Any] = {
            "workflow_name": WORKFLOW,
            "workflow_id": _workflow(job_id, run),
            "queue_name": _queue(kind),
            "app_version": VERSION,
        }
        if delay > 0:
            options["delay_seconds"] = delay
        self._client.enqueue_in_transaction(connection, options, job_id, run)  # type: ignore[arg-type]
        self._expect()

    def withdraw(self, job_id: str, run: int) -> None:
        """Keep a run from being handed out. If that fails or comes too late, the run sees in the job's row that it is void."""
        with suppress(sa.exc.DBAPIError):
            self._client.cancel_workflow(_workflow(job_id, run))

    def launch(
        self, worker: str, kinds: Sequence[str], execute: Callable[[str, int], None], concurrency: int, poll: float
    ) -> None:
        """Become a worker. There can be one in a process, because DBOS has one instance in a process."""
        self._queues = [_queue(kind) for kind in kinds]
        for queue in self._queues:
            self._client.register_queue(queue, worker_concurrency=concurrency, polling_interval_sec=poll)
        instance = DBOS(config=self._config(worker))
        if DBOS.executor_id != worker:  # an instance that was here before is returned, with its own configuration
            raise ConfigError("This process already runs a worker on jobs.", hint="Close it before you start another.")
        try:
            DBOS.listen_queues(self._queues)

            @DBOS.workflow(name=WORKFLOW, max_recovery_attempts=None)
            def execute_run(job_id: str, run: int) -> None:
                execute(job_id, run)
                self._check_owner(_workflow(job_id, run), worker)

            DBOS.launch()
        except BaseException:
            DBOS.destroy(destroy_registry=True)
            raise
        self._polling = AdaptivePolling(poll)
        dbos_internals.poll_adaptively(instance, self._polling)
        self._instance, self._is_stopping = instance, False

    def take_no_more(self) -> None:
        """Return when no run will be handed out here any more, so that what is given back goes to others."""
        if self._instance is not None:
            self._is_stopping = True
            logging.getLogger("dbos").setLevel(logging.CRITICAL)  # an unreachable database is reported by the worker
            dbos_internals.stop_claiming(self._instance, self._queues)

    def stop(self) -> None:
        """Begin nothing more, and return when what was begun has ended."""
        self.take_no_more()
        if self._instance is not None:
            dbos_internals.wait_for_runs(self._instance)
            DBOS.destroy(destroy_registry=True)
            self._instance = None

    def workers_with_runs(self) -> set[str]:
        """Names of workers, dead or alive, that have begun a run and not ended it."""
        with in_our_words():
            return {workflow.executor_id for workflow in self._begun() if workflow.executor_id}

    def recover(self, worker: str) -> None:
        """Hand out again what a dead worker had begun. Declaring a living one dead makes its runs happen twice.

        Callers hold the lock of that worker, so that two of them never recover the same run.
        """
        with in_our_words():
            for workflow in self._begun(executor_id=worker):
                self._client.resume_workflow(workflow.workflow_id, queue_name=workflow.queue_name)
        self._expect()

    def forget_runs(self, ended_before: str) -> int:
        """Remove the engine's notes of runs that ended before that time (ISO 8601)."""
        ended = self._client.list_workflows(
            name=WORKFLOW, completed_before=ended_before, limit=1000, load_input=False, load_output=False
        )
        self._client.delete_workflows([workflow.workflow_id for workflow in ended])
        return len(ended)

    def close(self) -> None:
        self._client.destroy()
        self._pool.dispose()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _begun(self, **which: Any) -> Sequence[Any]:
        return self._client.list_workflows(
            status="PENDING", name=WORKFLOW, app_version=VERSION, load_input=False, load_output=False, **which
        )

    def _check_owner(self, workflow_id: str, worker: str) -> None:
        """Raise RunNotRecorded if another worker has the run now: DBOS would keep this thread until that one has ended it."""
        try:
            is_owner = bool(self._begun(workflow_ids=[workflow_id], executor_id=worker))
        except sa.exc.DBAPIError as error:
            if self._is_stopping:
                raise RunNotRecorded(workflow_id) from error
            return  # DBOS waits for the database to come back
        if not is_owner:
            raise RunNotRecorded(workflow_id)

    def _config(self, worker: str) -> Any:
        return {
            "name": APPLICATION,
            "system_database_url": str(self._pool.url),
            "system_database_engine": self._pool,
            "dbos_system_schema": self._schema,
            "application_version": VERSION,
            "executor_id": worker,
            "log_level": "ERROR",
            "use_listen_notify": False,
            "notification_listener_polling_interval_sec": 0.05,  # nothing listens; the interval decides how soon the listener stops
            "run_migrations": False,
        }

    def _expect(self) -> None:
        if self._polling is not None:
            self._polling.expect()

    def _migrate(self) -> None:
        with in_our_words(), self._preparing:
            dbos_internals.migrate(self._client)
            with self.transact() as connection:
                if self._schema is not None:
                    connection.execute(sa.text(f"SELECT pg_advisory_xact_lock({_TABLES})"))
                METADATA.create_all(connection)
        if self._files is not None:
            self._files.remember()


def _workflow(job_id: str, run: int) -> str:
    return f"{job_id}.{run}"


def _queue(kind: str) -> str:
    """A queue for each kind, so that a worker gets only what it has a handler for."""
    return f"jobs.{kind}"


def _open_sqlite(file: str, *, full: bool) -> sa.Engine:
    pool = sa.create_engine(f"sqlite:///{file}", pool_size=8, max_overflow=8)

    @sa.event.listens_for(pool, "connect")
    def prepare(connection: Any, _: object) -> None:
        if not _HAS_SUBSEC:
            connection.create_function("unixepoch", 1, _unixepoch)
        connection.isolation_level = "IMMEDIATE"
        synchronous = "FULL" if full else "NORMAL"
        for pragma in ("busy_timeout=30000", "foreign_keys=ON", "journal_mode=WAL", f"synchronous={synchronous}"):
            connection.execute(f"PRAGMA {pragma}").close()

    return pool


def _unixepoch(modifier: str) -> float | None:
    """`unixepoch('subsec')` as SQLite has it since 3.42; before, it is NULL, and before 3.38 an error.

    DBOS uses it in statements and in the defaults of its tables when it runs on Python 3.12 or newer, whatever SQLite
    there is. It is registered on every Python, because a file may have been made by another one.
    """
    return round(time.time(), 3) if modifier == "subsec" else None


def _open_postgres(place: Place) -> sa.Engine:
    url = sa.make_url(place.dsn).set(drivername="postgresql+psycopg")
    pool = sa.create_engine(url, pool_size=4, max_overflow=16, pool_pre_ping=True)
    if not place.survives_power:

        @sa.event.listens_for(pool, "connect")
        def prepare(connection: Any, _: object) -> None:
            connection.execute("SET synchronous_commit = off")
            connection.commit()

    return pool
