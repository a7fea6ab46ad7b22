"""Everything that is used of DBOS beyond its public API, and why. No other module names a private part of it.

`tests/jobs/test_dbos_internals.py` compares these names and signatures with the installed release, and
`check_release` refuses a release that was not compared.
"""

import importlib.metadata
import logging
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from dbos import DBOS, DBOSClient

from groundwire.contracts.errors import ConfigError
from groundwire.extras import install_command
from groundwire.jobs.polling import AdaptivePolling

log = logging.getLogger("groundwire")

RELEASE = "3.4"
"""The minor release that the contract tests were run against; `pyproject.toml` allows its patch releases."""

STOP_SECONDS = 10.0
"""How long to wait for each thread that may be claiming a job."""


def check_release() -> None:
    """Raise a ConfigError unless the installed release of DBOS is the one that was tested."""
    installed = importlib.metadata.version("dbos")
    if installed.split(".")[:2] != RELEASE.split("."):
        raise ConfigError(
            f"Jobs need dbos {RELEASE}, but dbos {installed} is installed.", hint=f"Run: {install_command('jobs')}"
        )


def migrate(client: DBOSClient) -> None:
    """Create or update the tables of DBOS on the client's own connections.

    The public `DBOS.migrate` opens connections of its own: without our SQL function for old SQLite releases, and on
    PostgreSQL to the database `postgres` too, which a role need not be allowed to reach.
    """
    client._sys_db.run_migrations()  # noqa: SLF001


def poll_adaptively(instance: DBOS, polling: AdaptivePolling) -> None:
    """Let only those polls reach the database that `polling` finds due, and read the settings of a queue once.

    The public polling interval is one for all workers on a database, and a thread that waits for it cannot be woken.
    With 7 queues at 0.1 s an idle worker took 19 % of a core; with this it takes 4 %, and still starts a job of its own
    process within 0.1 s.
    """
    database: Any = instance._sys_db  # noqa: SLF001
    read_queue, claim = database.get_queue, database.start_queued_workflows
    queues: dict[str, Any] = {}

    def read_queue_once(name: str, **options: Any) -> Any:
        if queues.get(name) is None:
            queues[name] = read_queue(name, **options)
        return queues[name]

    def claim_if_due(queue: Any, *arguments: Any, **options: Any) -> tuple[list[str], Any]:
        if not polling.is_due(queue.name):
            return [], None
        claimed: tuple[list[str], Any] = claim(queue, *arguments, **options)
        if claimed[0]:
            polling.expect()
        return claimed

    database.get_queue, database.start_queued_workflows = read_queue_once, claim_if_due


def stop_claiming(instance: DBOS, queues: Iterable[str]) -> None:
    """Stop claiming from these queues, and return when that is done. Runs that were claimed continue.

    The public `DBOS.destroy` stops claiming too, but in the same step it ends what a run needs to record its outcome.
    """
    instance._sys_db._retry_connection_errors = False  # noqa: SLF001 - or a thread would wait for a database that is gone
    for stop in instance.background_thread_stop_events:
        stop.set()
    names = {f"queue-worker-{queue}" for queue in queues}
    for thread in threading.enumerate():
        if thread.name in names:
            with suppress(RuntimeError):  # it has not started yet, and stops as soon as it does
                thread.join(timeout=STOP_SECONDS)
            if thread.is_alive():
                log.warning("%s still waits for the database and may claim another job.", thread.name)


def wait_for_runs(instance: DBOS) -> None:
    """Wait until every run that was claimed has ended and its outcome is recorded.

    The public `DBOS.destroy(workflow_completion_timeout_sec=…)` waits for whole seconds, and then continues in any case.
    """
    instance._executor.shutdown(wait=True)  # noqa: SLF001
