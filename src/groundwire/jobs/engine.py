"""The one seam to DBOS: its tables, its queues, its worker. Everything here blocks; callers come from threads.

What it knows of a job is an id, a run and a kind. Private names of DBOS are used in this file only, and
tests/jobs/test_engine.py holds them to what they are relied on for.
"""

import logging
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from dbos import DBOS, DBOSClient, _dbos

from groundwire.contracts.errors import ConfigError
from groundwire.jobs.failures import in_our_words
from groundwire.jobs.files import FileGuard
from groundwire.jobs.liveness import FileLiveness, Liveness, PostgresLiveness
from groundwire.jobs.locks import one_at_a_time
from groundwire.jobs.looking import Looks
from groundwire.jobs.places import Place
from groundwire.jobs.rows import METADATA

log = logging.getLogger("groundwire")

APPLICATION = "groundwire"
WORKFLOW = "groundwire_job"
VERSION = "1"
"""Of what a run is given. Workers leave runs of another version alone."""

PREPARE_SECONDS = 60.0
STOP_SECONDS = 10.0
_NEVER = 100 * 365 * 86_400.0
_TABLES = 7_461_882_150  # the advisory lock under which the table of jobs is made


class LeftBegun(BaseException):
    """Raised by a run whose end could not be noted. The engine notes no end either, since that is no Exception, so the
    run belongs to its worker until that one is dead, and is then handed out again."""


class Engine:
    def __init__(self, place: Place) -> None:
        self._folder = ""
        self._queue_threads: set[str] = set()
        self._looks: Looks | None = None
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

    def enqueue(self, connection: sa.Connection, job_id: str, run: int, kind: str, delay: float | None) -> None:
        """Have a worker carry out this run after so many seconds (None: when it is released), if `connection` commits."""
        options: dict[str, Any] = {
            "workflow_name": WORKFLOW,
            "workflow_id": _workflow(job_id, run),
            "queue_name": _queue(kind),
            "app_version": VERSION,
        }
        if delay is None or delay > 0:
            options["delay_seconds"] = _NEVER if delay is None else delay
        self._client.enqueue_in_transaction(connection, options, job_id, run)  # type: ignore[arg-type]
        self._expect()

    def release(self, runs: Sequence[tuple[str, int]]) -> None:
        """Let delayed runs begin now."""
        for job_id, run in runs:
            self._client.set_workflow_delay(_workflow(job_id, run), delay_until_epoch_ms=0)
        self._client._sys_db.transition_delayed_workflows()  # noqa: SLF001
        self._expect()

    def withdraw(self, job_id: str, run: int) -> None:
        """A run that nobody has begun is never begun. Whoever begins one that is not meant would find that out, too."""
        with suppress(sa.exc.DBAPIError):
            self._client.cancel_workflow(_workflow(job_id, run))

    def launch(
        self, worker: str, kinds: Sequence[str], carry_out: Callable[[str, int], None], concurrency: int, poll: float
    ) -> None:
        """Become a worker. There can be one in a process."""
        if _dbos._dbos_global_instance is not None:  # noqa: SLF001
            raise ConfigError("this process works on jobs already", hint="close those before others are started")
        self._queue_threads = {f"queue-worker-{_queue(kind)}" for kind in kinds}  # as the engine names them
        for kind in kinds:
            self._client.register_queue(_queue(kind), worker_concurrency=concurrency, polling_interval_sec=poll)

        @DBOS.workflow(name=WORKFLOW, max_recovery_attempts=None)
        def begin_run(job_id: str, run: int) -> None:
            carry_out(job_id, run)

        instance = DBOS(
            config={
                "name": APPLICATION,
                "system_database_url": str(self._pool.url),
                "system_database_engine": self._pool,
                "dbos_system_schema": self._schema,
                "application_version": VERSION,
                "executor_id": worker,
                "log_level": "ERROR",
                "use_listen_notify": False,
                "notification_listener_polling_interval_sec": 0.05,  # nobody listens; it only decides how soon it stops
                "run_migrations": False,
            }
        )
        DBOS.listen_queues([_queue(kind) for kind in kinds])
        DBOS.launch()
        _wait_for_nobody_else(instance._sys_db)  # noqa: SLF001
        self._looks = Looks(poll)
        _look_seldom(instance._sys_db, self._looks)  # noqa: SLF001

    def take_no_more(self) -> None:
        """Return when no run will be handed out here any more, so that what is given back goes to others."""
        instance = _running_instance()
        if instance is None:
            return
        instance._sys_db._retry_connection_errors = False  # noqa: SLF001 - a database that is away is not waited for any more
        for asked_to_stop in instance.background_thread_stop_events:
            asked_to_stop.set()
        for thread in threading.enumerate():
            if thread.name in self._queue_threads:
                with suppress(RuntimeError):  # it is only about to begin, and will find that it was told to stop
                    thread.join(timeout=STOP_SECONDS)
                if thread.is_alive():
                    log.warning("%s still waits for the database, and may be handed another job", thread.name)

    def stop(self) -> None:
        """Begin nothing more, and return when what was begun has ended."""
        self.take_no_more()
        instance = _running_instance()
        if instance is not None:
            instance._executor.shutdown(wait=True)  # noqa: SLF001 - each run notes its end, which it could not do once this is gone
            DBOS.destroy(destroy_registry=True)

    def workers_with_runs(self) -> set[str]:
        """Whoever has begun something and not ended it, dead or alive."""
        with in_our_words():
            begun = self._client.list_workflows(status="PENDING", name=WORKFLOW, load_input=False, load_output=False)
        return {workflow.executor_id for workflow in begun if workflow.executor_id}

    def recover(self, worker: str) -> None:
        """Hand out again what a dead worker had begun. Declaring a living one dead makes its runs happen twice."""
        DBOS._recover_pending_workflows([worker])  # noqa: SLF001
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

    def _expect(self) -> None:
        if self._looks is not None:
            self._looks.expect()

    def _migrate(self) -> None:
        with in_our_words(), self._preparing:
            self._client._sys_db.run_migrations()  # noqa: SLF001 - the client itself leaves that to a worker
            with self.transact() as connection:
                if self._schema is not None:
                    connection.execute(sa.text(f"SELECT pg_advisory_xact_lock({_TABLES})"))
                METADATA.create_all(connection)
        if self._files is not None:
            self._files.remember()


def _running_instance() -> DBOS | None:
    instance = _dbos._dbos_global_instance  # noqa: SLF001
    return None if instance is None or instance._sys_db_field is None else instance  # noqa: SLF001


def _wait_for_nobody_else(notes: Any) -> None:
    """A run that was taken over meanwhile would wait in its thread until whoever has it now has ended it."""
    note = notes.update_workflow_outcome

    def note_or_leave(workflow_id: str, *arguments: Any, **options: Any) -> bool:
        try:
            is_noted: bool = note(workflow_id, *arguments, **options)
        except sa.exc.DBAPIError as error:
            raise LeftBegun(workflow_id) from error
        if not is_noted:
            raise LeftBegun(workflow_id)
        return True

    notes.update_workflow_outcome = note_or_leave


def _look_seldom(notes: Any, looks: Looks) -> None:
    """Its threads ask for the settings of their queue and for work, several times a second each, for as long as they live."""
    read_queue, claim = notes.get_queue, notes.start_queued_workflows
    queues: dict[str, Any] = {}

    def read_queue_once(name: str, **options: Any) -> Any:
        if queues.get(name) is None:
            queues[name] = read_queue(name, **options)
        return queues[name]

    def claim_if_due(queue: Any, *arguments: Any, **options: Any) -> tuple[list[str], Any]:
        if not looks.is_due(queue.name):
            return [], None
        claimed: tuple[list[str], Any] = claim(queue, *arguments, **options)
        if claimed[0]:
            looks.expect()
        return claimed

    notes.get_queue, notes.start_queued_workflows = read_queue_once, claim_if_due


def _workflow(job_id: str, run: int) -> str:
    return f"{job_id}.{run}"


def _queue(kind: str) -> str:
    """A queue for each kind, so that a worker gets only what it has a handler for."""
    return f"jobs.{kind}"


def _open_sqlite(file: str, *, full: bool) -> sa.Engine:
    pool = sa.create_engine(f"sqlite:///{file}", pool_size=8, max_overflow=8)

    @sa.event.listens_for(pool, "connect")
    def prepare(connection: Any, _: object) -> None:
        connection.isolation_level = "IMMEDIATE"
        synchronous = "FULL" if full else "NORMAL"
        for pragma in ("busy_timeout=30000", "foreign_keys=ON", "journal_mode=WAL", f"synchronous={synchronous}"):
            connection.execute(f"PRAGMA {pragma}").close()

    return pool


def _open_postgres(place: Place) -> sa.Engine:
    url = sa.make_url(place.dsn).set(drivername="postgresql+psycopg")
    pool = sa.create_engine(url, pool_size=4, max_overflow=16, pool_pre_ping=True)
    if not place.survives_power:

        @sa.event.listens_for(pool, "connect")
        def prepare(connection: Any, _: object) -> None:
            connection.execute("SET synchronous_commit = off")
            connection.commit()

    return pool
