"""An application's own tables beside ours, the same on every store."""

import asyncio

import pytest

from groundwire.contracts.errors import StoreError
from groundwire.contracts.records import Reserved
from tests.conformance.builders import reservation

SCRIPTS = [
    ("0001_orders", "CREATE TABLE orders (name TEXT PRIMARY KEY, count BIGINT NOT NULL, note TEXT);"),
    ("0002_index", "-- A comment; with a semicolon\nCREATE INDEX orders_by_count ON orders (count);\n"),
]


@pytest.fixture
async def orders(store):
    await store.database.migrate("shop", SCRIPTS)
    return store.database


async def test_scripts_are_applied_once_each(orders):
    await orders.migrate("shop", SCRIPTS)
    await orders.migrate("shop", [*SCRIPTS, ("0003_more", "ALTER TABLE orders ADD COLUMN extra TEXT")])
    assert await orders.execute("INSERT INTO orders (name, count, extra) VALUES ($1, $2, $3)", "a", 1, "x") == 1


async def test_scripts_of_many_at_once_are_applied_once(store):
    await asyncio.gather(*(store.database.migrate("shop", SCRIPTS) for _ in range(5)))
    assert await store.database.fetch("SELECT * FROM orders") == []


async def test_a_failed_script_leaves_nothing_behind(store):
    bad = ("0003_bad", "CREATE TABLE half (a TEXT); CREATE TABEL half2 (a TEXT);")
    with pytest.raises(StoreError):
        await store.database.migrate("shop", [*SCRIPTS, bad])
    with pytest.raises(StoreError):
        await store.database.fetch("SELECT * FROM half")
    await store.database.migrate("shop", SCRIPTS)


async def test_our_own_name_is_not_for_applications(store):
    with pytest.raises(StoreError):
        await store.database.migrate("groundwire", SCRIPTS)


async def test_rows_come_back_by_name(orders):
    await orders.execute("INSERT INTO orders (name, count, note) VALUES ($1, $2, $3)", "a", 2**40, None)
    await orders.execute("INSERT INTO orders (name, count, note) VALUES ($2, $1, '$1')", 3, "b")
    rows = await orders.fetch("SELECT name, count, note FROM orders WHERE count >= $1 ORDER BY name", 3)
    assert rows == [{"name": "a", "count": 2**40, "note": None}, {"name": "b", "count": 3, "note": "$1"}]
    assert await orders.fetch("WITH big AS (SELECT * FROM orders) SELECT count(*) AS n FROM big") == [{"n": 2}]


async def test_changes_are_counted_and_may_return_rows(orders):
    for name in ("a", "b", "c"):
        await orders.execute("INSERT INTO orders (name, count) VALUES ($1, 1)", name)
    assert await orders.execute("UPDATE orders SET count = count + 1 WHERE name <> $1", "c") == 2
    changed = await orders.fetch("UPDATE orders SET count = 9 WHERE name = $1 RETURNING name, count", "a")
    assert changed == [{"name": "a", "count": 9}]
    assert await orders.execute("DELETE FROM orders WHERE name = 'none'") == 0


async def test_several_statements_happen_together_or_not_at_all(orders):
    insert = "INSERT INTO orders (name, count) VALUES ($1, $2)"
    await orders.transact([(insert, ("a", 1)), (insert, ("b", 2))])
    with pytest.raises(StoreError):
        await orders.transact([(insert, ("c", 3)), (insert, ("a", 4))])
    assert [row["name"] for row in await orders.fetch("SELECT name FROM orders ORDER BY name")] == ["a", "b"]


async def test_a_refused_statement_harms_nobody_else(orders, store):
    insert = "INSERT INTO orders (name, count) VALUES ($1, 1)"
    writes = [orders.execute(insert, str(number % 5)) for number in range(20)]
    reserves = [store.reserve(reservation(str(number))) for number in range(20)]
    outcomes = await asyncio.gather(*writes, *reserves, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes[:20]].count(StoreError) == 15
    assert outcomes[20:] == [Reserved()] * 20
    assert len(await orders.fetch("SELECT * FROM orders")) == 5


@pytest.mark.parametrize("sql", ["COMMIT", " rollback", "BEGIN", "SAVEPOINT a", "END"])
async def test_statements_cannot_end_transactions(orders, sql):
    with pytest.raises(StoreError):
        await orders.execute(sql)
    with pytest.raises(StoreError):
        await orders.transact([(sql, ())])


async def test_a_wrong_statement_is_a_store_error_with_a_hint(orders):
    for attempt in (orders.execute("INSERT INTO nowhere VALUES (1)"), orders.fetch("SELECT wrong FROM orders")):
        with pytest.raises(StoreError) as refused:
            await attempt
        assert refused.value.hint
