"""What only a server can do to us: go away, come back, and need a package."""

import asyncio
import subprocess
import sys

import asyncpg
import pytest

from groundwire.contracts.errors import StoreError, StoreUnavailable
from groundwire.contracts.records import Closing, Reserved
from groundwire.extras import install_command
from groundwire.store import open_url
from tests.conformance.builders import closing, effect, ending, entry, reservation, verify


@pytest.fixture
async def store(postgres_url):
    opened = open_url(postgres_url)
    await opened.open()
    yield opened
    await opened.shut()


@pytest.fixture
async def operator(postgres_server):
    connection = await asyncpg.connect(postgres_server)
    yield connection
    await connection.close()


async def cut_connections(store, operator):
    engine = store._reader
    for connection in (*engine._idle, engine._writing):
        if connection is not None and not connection.is_closed():
            await operator.execute("SELECT pg_terminate_backend($1, 5000)", connection.get_server_pid())


async def insist(action):
    """Call until the store is back, as a runtime would."""
    for _ in range(5):
        try:
            return await action()
        except StoreUnavailable:
            continue
    raise AssertionError("the store did not come back")


async def test_cut_connections_are_replaced_and_nothing_is_lost_or_doubled(store, operator):
    await store.reserve(reservation())
    for number in range(5):
        store.enqueue(closing(str(number)))
        await cut_connections(store, operator)
        await insist(store.flush)
    await cut_connections(store, operator)
    assert await insist(lambda: store.close(closing("end", transition=ending(effect()))))
    report = await verify(store)
    assert (report.ok, report.records) == (True, 6)


async def test_reads_go_on_after_cut_connections(store, operator):
    await store.reserve(reservation())
    await cut_connections(store, operator)
    assert await insist(lambda: store.get_effect("acme", "eff_key_1")) == effect()


async def test_a_text_with_a_nul_is_stored_with_a_replacement(store):
    await store.close(Closing(call=closing(raw="a\x00b").call, entry=entry(error="c\x00d")))
    assert (await store.find_call("acme", "ses_1", "call_1")).raw == "a\ufffdb"
    assert (await verify(store)).ok


async def test_settles_are_soft_and_reservations_are_not(store, operator):
    assert await store._reader.fetch("SHOW synchronous_commit") == [("on",)]
    transaction = await store._reader.begin(durable=False, single=False)
    assert await transaction.fetch("SHOW synchronous_commit") == [("off",)]
    await store._reader.rollback()
    transaction = await store._reader.begin(durable=True, single=False)
    assert await transaction.fetch("SHOW synchronous_commit") == [("on",)]
    await store._reader.rollback()


async def test_level_process_waits_for_no_disk(postgres_url):
    store = open_url(f"{postgres_url}&durability=process")
    assert await store._reader.fetch("SHOW synchronous_commit") == [("off",)]
    await store.shut()


async def test_a_refused_statement_quotes_no_values(store):
    await store.database.migrate("shop", [("1", "CREATE TABLE orders (name TEXT PRIMARY KEY)")])
    await store.database.execute("INSERT INTO orders VALUES ($1)", "a private name")
    with pytest.raises(StoreError) as refused:
        await store.database.execute("INSERT INTO orders VALUES ($1)", "a private name")
    assert "private" not in str(refused.value)


def test_without_the_driver_the_extra_is_named(repository):
    script = """
import sys
sys.modules["asyncpg"] = None
from groundwire.contracts.errors import ConfigError
from groundwire.store import open_url
try:
    open_url("postgresql://host/database")
except ConfigError as error:
    print(error.hint)
"""
    environment = {"PYTHONPATH": ":".join(filter(None, sys.path))}
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert run.stdout == f"{install_command('postgres')}\n"


async def test_a_reservation_whose_answer_got_lost_is_still_held_by_its_attempt(store, operator):
    wanted = [reservation(str(number)) for number in range(20)]
    await store.reserve(wanted[0])
    reserving = asyncio.gather(*(insist(lambda one=one: store.reserve(one)) for one in wanted))
    await cut_connections(store, operator)
    assert await reserving == [Reserved()] * 20
    assert len(await store.list_effects("acme")) == 20
