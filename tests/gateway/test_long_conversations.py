"""Conversations of thousands of turns: one query reads them, they cost what their length costs, and there is a bound."""

from time import process_time

import httpx2 as httpx
import msgspec
import pytest

from groundwire.contracts.messages import say
from groundwire.contracts.servers import ServerSettings
from groundwire.gateway.failing import Refused
from groundwire.gateway.tables import Tables
from groundwire.gateway.threads import Threads, Turn
from groundwire.store import open_url
from groundwire.testing import Rule

SHORT, LONG = 500, 4000
TURN = Turn(items=(say("user", "What is the time, please?"), say("assistant", "It is noon.")), given=1)


class Counting:
    """A database that counts what it is asked."""

    def __init__(self, database):
        self._database = database
        self.queries = 0

    async def fetch(self, sql, *values):
        self.queries += 1
        return await self._database.fetch(sql, *values)

    def __getattr__(self, name):
        return getattr(self._database, name)


@pytest.fixture
async def database(tmp_path):
    store = open_url(f"sqlite:///{tmp_path}/store.db")
    await store.open()
    counting = Counting(store.database)
    await Tables(counting).open()
    yield counting
    await store.shut()


async def write(database, name, turns):
    """A named conversation of so many turns, as it would be after them."""
    body = msgspec.json.encode(TURN).decode()
    columns = "tenant, thread, position, response_id, parent_thread, parent_position, created, turn, response"
    insert = f"INSERT INTO gateway_turns ({columns}) VALUES ('default', $1, $2, $3, '', -1, 1, $4, '{{}}')"
    places = range(turns)
    await database.transact(
        [(insert, (f"conversation:{name}", place, f"resp_{name}_{place}", body)) for place in places]
    )


async def seconds_for(threads, name):
    taken = []
    for _ in range(5):
        started = process_time()  # of this process only: other processes must not count
        await threads.conversation("default", name)
        taken.append(process_time() - started)
    return min(taken)


async def test_a_conversation_of_thousands_of_turns_is_one_query_and_costs_what_its_length_costs(database):
    await write(database, "short", SHORT)
    await write(database, "long", LONG)
    threads = Threads(Tables(database), 10_000)
    before = database.queries
    found = await threads.conversation("default", "long")
    assert database.queries - before == 1
    assert (len(found.items), found.position) == (2 * LONG, LONG)
    ratio = await seconds_for(threads, "long") / await seconds_for(threads, "short")
    assert ratio < 3 * LONG / SHORT


@pytest.mark.parametrize(("turns", "is_refused"), [(7, False), (8, True), (20, True)])
async def test_the_bound_holds_at_its_edge_and_nothing_beyond_it_is_read(database, turns, is_refused):
    await write(database, "talk", turns)
    threads = Threads(Tables(database), 8)
    if not is_refused:
        assert (await threads.conversation("default", "talk")).position == turns
        return
    for asking in (threads.conversation("default", "talk"), threads.after("default", f"resp_talk_{turns - 1}")):
        with pytest.raises(Refused) as caught:
            await asking
        assert (caught.value.failure.code, caught.value.failure.status) == ("conversation_too_long", 400)


async def test_branches_of_branches_count_as_one_conversation(database):
    threads = Threads(Tables(database), 4)
    last = ""
    for place in range(4):
        thread = await threads.after("default", last) if last else await threads.conversation("default", "root")
        for copy in ("a", "b"):  # the second to go on from the same turn begins a branch
            last = f"resp_{place}{copy}"
            await threads.keep("default", msgspec.structs.replace(thread, is_named=False), last, 1, TURN, "{}")
    with pytest.raises(Refused):
        await threads.after("default", last)
    assert len((await threads.after("default", "resp_2b")).items) == 6


async def test_the_turn_after_the_last_one_is_refused_by_name_and_asks_nobody(gateway):
    server = ServerSettings(max_turns=3)
    async with (
        gateway(rules=(Rule("", "Fine."),), server=server) as running,
        httpx.AsyncClient(base_url=running.url, timeout=30) as client,
    ):
        body = {"model": running.model, "input": "Hi", "conversation": "trip"}
        answers = [await client.post("/v1/responses", json=body) for _ in range(4)]
        again = {"model": running.model, "input": "Hi", "previous_response_id": answers[2].json()["id"]}
        other = await client.post("/v1/responses", json=again)
        asked = len(running.upstream.requests)
    assert [answer.status_code for answer in answers] == [200, 200, 200, 400]
    error = answers[3].json()["error"]
    assert (error["code"], error["param"]) == ("conversation_too_long", "conversation")
    assert "maxTurns" in error["message"]
    assert (other.status_code, other.json()["error"]["code"], asked) == (400, "conversation_too_long", 3)
