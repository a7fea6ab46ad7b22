"""The private parts of DBOS that are used, as the tested release has them. After an update of DBOS that fails here:
read what has changed in its source, run `tests/jobs`, `tests/crash` and `tests/chaos`, then change the values below."""

import importlib.metadata
import inspect
import re
import threading
import tomllib

import pytest
from dbos import DBOS, DBOSClient, _dbos, _queue, _sys_db, _sys_db_postgres, _sys_db_sqlite

from groundwire.contracts.errors import ConfigError
from groundwire.jobs import dbos_internals
from groundwire.jobs.engine import Engine
from groundwire.jobs.opening import place_of

PRIVATE_NAME = re.compile(r"\._[a-z]\w*|background_thread_stop_events")


def parameters_of(function):
    return list(inspect.signature(function).parameters)


@pytest.fixture
def launched():
    engine = Engine(place_of("memory://"))
    engine.launch("ann", ["greet"], lambda job_id, run: None, concurrency=1, poll=0.02)
    yield engine._instance
    engine.stop()
    engine.close()


def test_the_installed_release_is_the_tested_one():
    assert importlib.metadata.version("dbos").split(".")[:2] == dbos_internals.RELEASE.split(".")


def test_the_extra_allows_patches_of_the_tested_release_only(repository):
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    (allowed,) = (found for found in project["optional-dependencies"]["jobs"] if found.startswith("dbos"))
    major, minor = map(int, dbos_internals.RELEASE.split("."))
    assert allowed == f"dbos>={major}.{minor},<{major}.{minor + 1}"


@pytest.mark.parametrize(
    ("installed", "is_refused"), [("3.4.0", False), ("3.4.99", False), ("3.3.9", True), ("3.5.0", True)]
)
def test_another_release_is_refused(monkeypatch, installed, is_refused):
    monkeypatch.setattr(importlib.metadata, "version", lambda package: installed)
    if not is_refused:
        dbos_internals.check_release()
        return
    with pytest.raises(ConfigError) as refused:
        dbos_internals.check_release()
    assert installed in refused.value.message


def test_no_other_module_uses_a_private_part(repository):
    modules = (repository / "src" / "groundwire").rglob("*.py")
    users = {module.name: module.read_text() for module in modules if "dbos" in module.read_text()}
    named = {name: re.findall(r"from dbos import.*\b_\w+|\bdbos\._\w+", text) for name, text in users.items()}
    assert {name: found for name, found in named.items() if found} == {}
    engine = re.sub(r"self\._\w+|connection\._\w+", "", users["engine.py"])
    assert PRIVATE_NAME.findall(engine) == []


def test_the_methods_that_are_replaced_have_the_tested_parameters():
    database = _sys_db.SystemDatabase
    assert parameters_of(database.get_queue) == ["self", "name", "client_system_database"]
    assert parameters_of(database.start_queued_workflows) == [
        "self",
        "queue",
        "executor_id",
        "app_version",
        "queue_partition_key",
        "local_running_count",
        "partition_local_running_count",
        "owner_xid",
        "is_latest_version",
    ]
    for dialect in (_sys_db_sqlite.SQLiteSystemDatabase, _sys_db_postgres.PostgresSystemDatabase):
        assert parameters_of(dialect.run_migrations) == ["self"]


def test_what_is_replaced_is_what_the_threads_of_queues_call():
    source = inspect.getsource(_queue.queue_worker_thread)
    assert "dbos._sys_db.get_queue(queue.name)" in source
    assert "dequeued_workflows, _ = dbos._sys_db.start_queued_workflows(" in source
    assert 'name=f"queue-worker-{queue_name}"' in inspect.getsource(_queue.queue_thread)


def test_retrying_can_be_switched_off_while_it_retries():
    assert '"_retry_connection_errors"' in inspect.getsource(_sys_db.db_retry)


def test_an_instance_has_the_attributes_that_are_used(launched):
    assert launched is _dbos._dbos_global_instance
    assert launched._sys_db._retry_connection_errors is True
    assert all(isinstance(stop, threading.Event) for stop in launched.background_thread_stop_events)
    assert len(launched.background_thread_stop_events) > 0
    assert callable(launched._executor.shutdown)
    assert hasattr(DBOSClient, "resume_workflow")
    assert DBOS.executor_id == "ann"
