"""A store that an earlier version made is brought up to date, and keeps what is in it."""

import asyncio
import sqlite3

import asyncpg
import pytest

from groundwire import Registry, Runtime
from groundwire.store import open_url
from groundwire.store.migrations import OWN, migrate, own_scripts
from groundwire.store.postgres import PostgresTransaction
from groundwire.store.sqlite import SqliteTransaction
from tests.conformance.builders import api_key, run, run_entries, session

INSERT_ARTIFACT = "INSERT INTO artifacts (version, body) VALUES ($1, $2)"
FIRST = "0001_tables.sql"


async def fill(transaction, scripts):
    """The tables of the first version, with a row in them."""
    await migrate(transaction, OWN, [script for script in scripts if script[0] == FIRST])
    await transaction.change(INSERT_ARTIFACT, "v1", b"kept")


async def fill_server(url):
    connection = await asyncpg.connect(url)
    async with connection.transaction():
        await fill(PostgresTransaction(connection), own_scripts("postgres"))
    await connection.close()


@pytest.fixture(params=["sqlite", "postgres"])
def early_url(request, tmp_path):
    """A store that has only the first version's tables."""
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
        asyncio.run(fill_server(url))
        return url
    connection = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    asyncio.run(fill(SqliteTransaction(connection), own_scripts("sqlite")))
    connection.close()
    return f"sqlite:///{tmp_path}/store.db"


async def test_a_store_of_the_first_version_keeps_its_rows_and_gains_runs_and_keys(early_url):
    store = open_url(early_url)
    await store.open()
    assert await store.load_artifact("v1") == b"kept"
    await store.create_session(session())
    await store.create_run(run(), run_entries(1, b"one"))
    assert await store.run_entries("acme", "run_1") == run_entries(1, b"one")
    await store.create_key(api_key())
    assert await store.find_key("digest_1") == api_key()
    await store.shut()


BEFORE_NUMBERS = {FIRST, "0002_runs.sql", "0003_edited.sql", "0004_supplied.sql", "0005_keys.sql"}
INSERT_OLD_RUN = (
    "INSERT INTO runs (tenant, run_id, session_id, turn, model, outcome, text, entries, created_at, updated_at)"
    " VALUES ('acme', $1, 'ses_1', 1, '', '', '', $2, 1.0, 1.0)"
)
INSERT_OLD_ENTRY = "INSERT INTO run_entries (tenant, run_id, seq, body, created_at) VALUES ('acme', $1, $2, $3, 2.0)"


async def fill_runs(transaction, scripts):
    """Runs as they were kept when an entry was found by tenant, run and number."""
    await migrate(transaction, OWN, [script for script in scripts if script[0] in BEFORE_NUMBERS])
    for run_id, bodies in (("run_1", [b"one", b"two"]), ("run_2", []), ("run_3", [b"three"])):
        await transaction.change(INSERT_OLD_RUN, run_id, len(bodies))
        for number, body in enumerate(bodies, 1):
            await transaction.change(INSERT_OLD_ENTRY, run_id, number, body)


async def fill_server_runs(url):
    connection = await asyncpg.connect(url)
    async with connection.transaction():
        await fill_runs(PostgresTransaction(connection), own_scripts("postgres"))
    await connection.close()


@pytest.fixture(params=["sqlite", "postgres"])
def old_runs_url(request, tmp_path):
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
        asyncio.run(fill_server_runs(url))
        return url
    connection = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    asyncio.run(fill_runs(SqliteTransaction(connection), own_scripts("sqlite")))
    connection.close()
    return f"sqlite:///{tmp_path}/store.db"


async def test_runs_of_an_earlier_version_keep_their_entries_and_go_on(old_runs_url):
    store = open_url(old_runs_url)
    bodies = {
        run_id: [(entry.seq, entry.body, entry.created_at) for entry in await store.run_entries("acme", run_id)]
        for run_id in ("run_1", "run_2", "run_3")
    }
    assert bodies == {"run_1": [(1, b"one", 2.0), (2, b"two", 2.0)], "run_2": [], "run_3": [(1, b"three", 2.0)]}
    assert await store.append_run(run(entries=2), run_entries(3, b"more"))
    assert [entry.body for entry in await store.run_entries("acme", "run_1")] == [b"one", b"two", b"more"]
    assert [entry.body for entry in await store.run_entries("acme", "run_3")] == [b"three"]
    await store.shut()


BEFORE_APPROVALS = {*BEFORE_NUMBERS, "0006_entry_numbers.sql"}
INSERT_OLD_APPROVAL = (
    "INSERT INTO confirmations (confirmation_id, tenant, session_id, tool, input_digest, question, arguments, status,"
    " call_id, created_at, expires_at, decided_by, note, is_current, edited, supplied)"
    " VALUES ($1, 'acme', $2, 'create_order', 'd', 'Run it?', '{}', 'approved', 'call_1', 1.0, 301.0, 'ann', '', TRUE,"
    " TRUE, '[]')"
)
OLD_BINDINGS = {"con_1": "ses_1", "con_2": "user:eve", "con_3": "run:run_1", "con_4": "", "con_5": "a:b%c"}


async def fill_approvals(transaction, scripts):
    """Approvals as they were stored when the session id was also what they were bound to."""
    await migrate(transaction, OWN, [script for script in scripts if script[0] in BEFORE_APPROVALS])
    for approval_id, binding in OLD_BINDINGS.items():
        await transaction.change(INSERT_OLD_APPROVAL, approval_id, binding)


async def fill_server_approvals(url):
    connection = await asyncpg.connect(url)
    async with connection.transaction():
        await fill_approvals(PostgresTransaction(connection), own_scripts("postgres"))
    await connection.close()


@pytest.fixture(params=["sqlite", "postgres"])
def old_approvals_url(request, tmp_path):
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
        asyncio.run(fill_server_approvals(url))
        return url
    connection = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    asyncio.run(fill_approvals(SqliteTransaction(connection), own_scripts("sqlite")))
    connection.close()
    return f"sqlite:///{tmp_path}/store.db"


@pytest.mark.parametrize(
    ("approval_id", "options", "session_id", "run_id"),
    [
        ("con_1", {"session": "ses_1"}, "ses_1", ""),
        ("con_2", {"user": "eve"}, "", ""),
        ("con_3", {"run_id": "run_1"}, "", "run_1"),
        ("con_4", {}, "", ""),
        ("con_5", {"session": "a:b%c"}, "a:b%c", ""),
    ],
)
async def test_an_approval_of_an_earlier_version_still_holds_for_its_session_user_or_run(
    old_approvals_url, approval_id, options, session_id, run_id
):
    async with Runtime(Registry(), old_approvals_url) as runtime:
        async with runtime.run_turn({"tenant": "acme", **options}, None, resumed=False) as turn:
            binding = turn.approval_binding
        found = await runtime.store.find_confirmation("acme", binding, "create_order", "d", now=2.0)
    assert (found.confirmation_id, found.session_id, found.run_id, found.edited) == (
        approval_id,
        session_id,
        run_id,
        True,
    )
    assert (found.key_id, found.category, found.argument_schema, found.evidence) == ("", "", {}, ())


async def test_several_who_open_an_earlier_store_at_once_upgrade_it_once(early_url):
    stores = [open_url(early_url) for _ in range(5)]
    await asyncio.gather(*(store.open() for store in stores))
    applied = await stores[0].database.fetch("SELECT name FROM schema_migrations WHERE app = $1 ORDER BY name", OWN)
    assert [row["name"] for row in applied] == [name for name, _ in own_scripts("sqlite")]
    assert [await store.list_runs("acme") for store in stores] == [[]] * 5
    for store in stores:
        await store.shut()


def test_both_databases_have_scripts_of_the_same_names():
    assert [name for name, _ in own_scripts("sqlite")] == [name for name, _ in own_scripts("postgres")]
