"""Whatever is changed in a stored audit record, verification finds it. In memory there is nothing to change from outside."""

import math
import sqlite3
import struct

import pytest

from groundwire.contracts.records import Closing
from groundwire.store import open_url
from groundwire.store.rows import AUDIT_FIELDS
from groundwire.store.sqlite import SqliteStore
from tests.conformance.builders import entry, verify
from tests.conformance.test_store_audit import FULL

PLACE = 2
TEXTS = sorted(set(AUDIT_FIELDS) - {"seq", "success", "duration_ms"})


async def fill(store):
    for given in (entry("1"), FULL, entry("3")):
        store.enqueue(Closing(call=None, entry=given))
    await store.flush()


@pytest.fixture
async def stored(tmp_path):
    """A file with three records, and a connection past all guards: no types, no constraints."""
    path = tmp_path / "audit.db"
    store = SqliteStore(path)
    await fill(store)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("ALTER TABLE audit RENAME TO guarded")
    connection.execute(f"CREATE TABLE audit ({', '.join(AUDIT_FIELDS)})")
    connection.execute(f"INSERT INTO audit SELECT {', '.join(AUDIT_FIELDS)} FROM guarded ORDER BY seq")
    assert (await verify(store)).ok
    yield store, connection
    connection.close()
    await store.shut()


async def is_found(store, connection, column, expression, *values):
    """Whether the change shows; afterwards it is undone."""
    original = connection.execute(f"SELECT {column} FROM audit WHERE rowid = {PLACE}").fetchone()[0]
    connection.execute(f"UPDATE audit SET {column} = {expression} WHERE rowid = {PLACE}", values)
    report = await verify(store)
    connection.execute(f"UPDATE audit SET {column} = ? WHERE rowid = {PLACE}", (original,))
    return not report.ok


@pytest.mark.parametrize("column", TEXTS)
async def test_every_flipped_bit_of_a_text_is_found(stored, column):
    store, connection = stored
    text = connection.execute(f"SELECT {column} FROM audit WHERE rowid = {PLACE}").fetchone()[0].encode()
    for position in range(len(text)):
        for bit in range(8):
            flipped = bytearray(text)
            flipped[position] ^= 1 << bit
            assert await is_found(store, connection, column, "CAST(? AS TEXT)", bytes(flipped)), (position, bit)


@pytest.mark.parametrize("column", TEXTS)
async def test_other_values_in_a_text_are_found(stored, column):
    store, connection = stored
    text = connection.execute(f"SELECT {column} FROM audit WHERE rowid = {PLACE}").fetchone()[0]
    for value in (None, "", text + " ", " " + text, text[:-1], text.encode(), 0, 1.5):
        assert await is_found(store, connection, column, "?", value), value


@pytest.mark.parametrize("value", [None, 0.0, 1.0, 0.5, "true", "0", b"\x00", 1, 2, -1])
async def test_other_values_in_a_flag_are_found(stored, value):
    assert await is_found(*stored, "success", "?", value)


@pytest.mark.parametrize("value", [None, "", "1.5", b"1.5", 1, -1.5, math.inf, 0.0, -0.0, 1e300])
async def test_other_values_in_a_number_are_found(stored, value):
    assert await is_found(*stored, "duration_ms", "?", value)


async def test_every_flipped_bit_of_a_number_is_found(stored):
    store, connection = stored
    for bit in range(64):
        [flipped] = struct.unpack("<d", struct.pack("<Q", struct.unpack("<Q", struct.pack("<d", 1.5))[0] ^ (1 << bit)))
        assert await is_found(store, connection, "duration_ms", "?", flipped), bit


async def test_the_sign_of_zero_is_found(postgres_url):
    store = open_url(postgres_url)
    store.enqueue(Closing(call=None, entry=entry(duration_ms=-0.0)))
    await store.flush()
    assert (await verify(store)).ok
    await store.database.execute("UPDATE audit SET duration_ms = '-0'")
    assert not (await verify(store)).ok
    await store.shut()


@pytest.mark.parametrize("value", [None, 0, 1, 3, 4, 99, -2, 2.5, "2", b"2", 2.0])
async def test_other_values_in_the_number_of_a_record_are_found(stored, value):
    assert await is_found(*stored, "seq", "?", value)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("evidence", '[{"argument":"sku"}]'),
        ("evidence", "{}"),
        ("evidence", "[] "),
        ("intents", '["order.created", "mail.sent"]'),
        ("intents", '["mail.sent","order.created"]'),
        ("intents", "[1]"),
        ("intents", "null"),
    ],
)
async def test_json_that_says_the_same_otherwise_is_found(stored, column, value):
    assert await is_found(*stored, column, "?", value)


async def test_an_unreadable_first_record_is_found(stored):
    store, connection = stored
    connection.execute("UPDATE audit SET hash = NULL WHERE rowid = 1")
    report = await verify(store)
    assert report.problems[0].kind in {"unreadable", "missing"}


@pytest.mark.parametrize("column", AUDIT_FIELDS)
async def test_a_change_of_any_column_on_a_server_is_found(postgres_url, column):
    store = open_url(postgres_url)
    await fill(store)
    changes = {"seq": "seq + 100", "success": "NOT success", "duration_ms": "duration_ms + 0.001"}
    tries = [changes.get(column, f"{column} || ' '")]
    if column != "seq":
        await store.database.execute(f"ALTER TABLE audit ALTER COLUMN {column} DROP NOT NULL")
        tries.append("NULL")
    for change in tries:
        await store.database.execute("CREATE TABLE kept AS SELECT * FROM audit")
        await store.database.execute(f"UPDATE audit SET {column} = {change} WHERE seq = 2")
        assert not (await verify(store)).ok, change
        await store.database.execute("DELETE FROM audit")
        await store.database.execute("INSERT INTO audit SELECT * FROM kept")
        await store.database.execute("DROP TABLE kept")
        assert (await verify(store)).ok
    await store.shut()
