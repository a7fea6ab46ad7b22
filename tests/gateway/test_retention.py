"""What is removed when it is old, and what never is; the same on every store that processes can share."""

import asyncio

import pytest

from groundwire.gateway.answer_tables import AnswerRow, AnswerTable
from groundwire.gateway.relay_tables import CallRow, RelayTables, StepRow
from groundwire.gateway.retention import BATCH, Retention
from groundwire.gateway.tables import Tables, TurnRow
from groundwire.store import open_url
from groundwire.testing import EPOCH, FakeClock

DAY = 86_400
NOW = int(EPOCH)
OLD, EDGE, NEW = NOW - 30 * DAY - 1, NOW - 30 * DAY, NOW


@pytest.fixture
async def database(shared_store):
    store = open_url(shared_store)
    await store.open()
    await Tables(store.database).open()
    yield store.database
    await store.shut()


def turn(thread, position, created, **more):
    response_id = f"resp_{thread}_{position}"
    return TurnRow(
        thread=thread, position=position, response_id=response_id, created=created, turn="{}", response="x", **more
    )


def retention(database, days=30, clock=None):
    return Retention(database, clock or FakeClock(), days=days)


async def counts(database):
    tables = ("turns", "steps", "relay_steps", "relay_calls", "answers")
    found = [await database.fetch(f"SELECT count(*) AS n FROM gateway_{table}") for table in tables]
    return {table: rows[0]["n"] for table, rows in zip(tables, found, strict=True) if rows[0]["n"]}


async def threads(database):
    rows = await database.fetch("SELECT DISTINCT thread FROM gateway_turns ORDER BY thread")
    return [row["thread"] for row in rows]


async def test_a_conversation_is_as_old_as_its_last_turn(database):
    tables = Tables(database)
    for row in (
        turn("gone", 0, OLD),
        turn("gone", 1, OLD),
        turn("edge", 0, EDGE),
        turn("used", 0, OLD),
        turn("used", 1, NEW),
    ):
        await tables.add_turn("acme", row)
    await tables.add_turn("other", turn("used", 0, OLD))
    assert await retention(database).prune() == 3
    assert await threads(database) == ["edge", "used"]
    assert len(await tables.turns("acme", "used", most=9)) == 2
    assert await tables.turns("other", "used", most=9) == []


async def test_what_another_conversation_goes_on_from_stays_as_long_as_that(database):
    tables = Tables(database)
    await tables.add_turn("acme", turn("root", 0, OLD))
    await tables.add_turn("acme", turn("branch", 0, NEW, parent_thread="root", parent_position=0))
    clock = FakeClock()
    kept = retention(database, clock=clock)
    assert await kept.prune() == 0
    clock.advance(31 * DAY)
    assert await kept.prune() == 2
    assert await threads(database) == []


async def test_old_steps_and_relayed_calls_go_in_batches_and_new_ones_stay(database):
    tables, relay = Tables(database), RelayTables(database)
    for number in range(BATCH + 1):
        await tables.add_step("acme", f"old_{number}", OLD, "[]")
    await tables.add_step("acme", "edge", EDGE, "[]")
    for name, created in (("old", OLD), ("edge", EDGE)):
        call = CallRow(call_id=f"call_{name}", step_id=name, position=0, name="f", arguments="{}")
        await relay.add_step(
            "acme", "desk", StepRow(step_id=name, created=created * 10**6, context="", items="[]"), [call]
        )
    assert await retention(database).prune() == BATCH + 2
    assert await counts(database) == {"steps": 1, "relay_steps": 1, "relay_calls": 1}
    assert [call.call_id for call in await relay.calls("acme", "desk")] == ["call_edge"]


async def test_answers_go_when_their_time_is_up_whatever_is_kept_else(database):
    answers = AnswerTable(database)
    for key, expires in (("old", NOW), ("new", NOW + 1)):
        await answers.take("acme", key, AnswerRow(digest="d", holder="h", held_until=NOW, expires=expires), NOW - 1)
    await Tables(database).add_step("acme", "s", 0, "[]")
    assert await retention(database, days=0).prune() == 1
    assert await counts(database) == {"steps": 1, "answers": 1}


async def test_an_answer_whose_time_is_up_is_not_given_again_before_it_is_removed(database):
    answers = AnswerTable(database)
    row = AnswerRow(digest="d", holder="h", held_until=NOW, expires=NOW + 10, status=200, body="kept")
    assert await answers.take("acme", "k", row, NOW) is None
    assert (await answers.take("acme", "k", row, NOW + 9)).body == "kept"
    fresh = AnswerRow(digest="e", holder="i", held_until=NOW + 20, expires=NOW + 30)
    assert await answers.take("acme", "k", fresh, NOW + 10) is None
    found = await answers.take("acme", "k", row, NOW + 11)
    assert (found.digest, found.status, found.body) == ("e", 0, "")


async def test_one_process_does_it_at_a_time_and_another_when_it_has_died(database):
    await Tables(database).add_step("acme", "s", OLD, "[]")
    await database.execute(
        "INSERT INTO gateway_leases (name, holder, held_until) VALUES ('retention', 'dead', $1)", NOW + 60
    )
    clock = FakeClock()
    kept = retention(database, clock=clock)
    assert await kept.prune() == 0
    clock.advance(60)
    assert await kept.prune() == 1
    assert await database.fetch("SELECT holder FROM gateway_leases") == []


async def test_it_is_done_at_once_and_then_every_hour(database):
    await Tables(database).add_step("acme", "s1", OLD, "[]")
    clock = FakeClock()
    kept = retention(database, clock=clock)
    kept.open()
    async with asyncio.timeout(20):
        await clock.until_asleep()
        assert await counts(database) == {}
        await Tables(database).add_step("acme", "s2", OLD, "[]")
        clock.advance(3600)
        await clock.until_asleep(0)
        await clock.until_asleep()
    assert await counts(database) == {}
    await kept.close()
