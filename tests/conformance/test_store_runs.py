"""Runs: heads and entries, where only who knows the present count may append, in every store alike."""

import asyncio
import itertools
from collections import Counter
from contextlib import asynccontextmanager

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundwire.contracts.errors import NotFound, RunExists, StoreError
from groundwire.contracts.records import Charge, NotApproved, OverBudget, Overtaken, Reserved, Taken
from groundwire.contracts.runs import Appending, Outcome, Run
from groundwire.store import open_url
from tests.conformance.builders import closing, effect, reservation, run, run_entries


def with_entries(head, count):
    return msgspec.structs.replace(head, entries=count)


async def run_ids(store, **options):
    return [found.run_id for found in await store.list_runs("acme", **options)]


async def test_a_run_comes_back_as_it_was_created(store):
    given = run(
        turn=3, model="gpt-é", outcome="completed", text="零 🙂 \u2028 'quoted'", created_at=1.5, updated_at=2.5
    )
    entries = run_entries(1, b'{"kind":"started"}', bytes(range(256)))
    await store.create_run(given, entries)
    assert await store.load_run("acme", "run_1") == with_entries(given, 2)
    assert await store.run_entries("acme", "run_1") == entries


async def test_a_run_may_begin_without_entries_and_without_session(store):
    given = Run(tenant="acme", run_id="run_1")
    await store.create_run(given, [])
    assert await store.load_run("acme", "run_1") == given
    assert await store.run_entries("acme", "run_1") == []


async def test_a_run_is_created_once(store):
    created = await asyncio.gather(
        *(store.create_run(run(text=str(number)), run_entries(1, b"%d" % number)) for number in range(5)),
        return_exceptions=True,
    )
    assert Counter(type(outcome) for outcome in created) == {type(None): 1, RunExists: 4}
    winner = str(created.index(None))
    assert (await store.load_run("acme", "run_1")).text == winner
    assert await store.run_entries("acme", "run_1") == run_entries(1, winner.encode())


async def test_the_same_id_in_another_tenant_is_another_run(store):
    await store.create_run(run(), run_entries(1, b"ours"))
    await store.create_run(run(tenant="other"), run_entries(1, b"theirs", b"more"))
    assert await store.append_run(run(entries=1), run_entries(2, b"and ours"))
    assert await store.run_entries("acme", "run_1") == run_entries(1, b"ours", b"and ours")
    assert await store.run_entries("other", "run_1") == run_entries(1, b"theirs", b"more")


async def test_other_tenants_see_nothing(store):
    await store.create_run(run(), run_entries(1, b"one"))
    assert await store.load_run("other", "run_1") is None
    assert await store.run_entries("other", "run_1") == []
    assert await store.list_runs("other") == []
    assert not await store.append_run(run(tenant="other", entries=1), run_entries(2, b"two"))
    assert await store.run_entries("acme", "run_1") == run_entries(1, b"one")
    with pytest.raises(NotFound):
        await store.list_runs("other", before="run_1")


async def test_the_entries_of_a_session_come_run_by_run_as_those_began(store):
    await store.create_run(run(run_id="b"), run_entries(1, b"b1"))
    await store.create_run(run(run_id="a"), run_entries(1, b"a1"))
    await store.create_run(run(run_id="empty"), [])
    await store.create_run(run(run_id="c", session_id="ses_2"), run_entries(1, b"c1"))
    await store.create_run(run(run_id="a", tenant="other"), run_entries(1, b"theirs"))
    assert await store.append_run(run(run_id="b", entries=1), run_entries(2, b"b2"))
    found = await store.session_entries("acme", run().session_id)
    assert list(found.items()) == [("b", run_entries(1, b"b1", b"b2")), ("a", run_entries(1, b"a1"))]
    assert await store.session_entries("acme", "ses_2") == {"c": run_entries(1, b"c1")}
    assert await store.session_entries("acme", "nobody") == {}


async def test_an_append_adds_entries_and_replaces_the_head(store):
    await store.create_run(run(), run_entries(1, b"one"))
    head = run(turn=2, model="m", outcome=Outcome.COMPLETED, text="Done.", entries=1, updated_at=9.0)
    assert await store.append_run(head, run_entries(2, b"two", b"three"))
    assert await store.load_run("acme", "run_1") == with_entries(head, 3)
    assert await store.run_entries("acme", "run_1") == run_entries(1, b"one", b"two", b"three")


async def test_an_append_leaves_session_and_beginning_as_they_were(store):
    await store.create_run(run(), [])
    assert await store.append_run(run(session_id="ses_2", created_at=7.0, updated_at=8.0), run_entries(1, b"one"))
    assert await store.load_run("acme", "run_1") == run(entries=1, updated_at=8.0)
    assert await run_ids(store, session_id="ses_2") == []


async def test_of_many_who_append_at_one_count_one_wins_and_the_others_write_nothing(store):
    await store.create_run(run(), run_entries(1, b"first"))
    heads = [run(entries=1, text=str(number)) for number in range(10)]
    won = await asyncio.gather(*(store.append_run(head, run_entries(2, head.text.encode(), b"end")) for head in heads))
    assert Counter(won) == {True: 1, False: 9}
    winner = heads[won.index(True)]
    assert await store.load_run("acme", "run_1") == with_entries(winner, 3)
    assert await store.run_entries("acme", "run_1") == run_entries(1, b"first", winner.text.encode(), b"end")


@pytest.mark.parametrize("count", [0, 1, 3])
async def test_who_has_another_count_writes_nothing(store, count):
    await store.create_run(run(text="before"), run_entries(1, b"one", b"two"))
    assert not await store.append_run(run(entries=count, text="after"), run_entries(count + 1, b"late"))
    assert not await store.append_run(run(entries=count, text="after"), [])
    assert await store.load_run("acme", "run_1") == run(entries=2, text="before")
    assert await store.run_entries("acme", "run_1") == run_entries(1, b"one", b"two")


async def test_an_append_of_no_entries_replaces_the_head_alone(store):
    await store.create_run(run(), run_entries(1, b"one"))
    assert await store.append_run(run(entries=1, outcome="cancelled"), [])
    assert await store.append_run(run(entries=1, outcome=""), [])
    assert await store.append_run(run(entries=1, outcome="completed"), [])
    assert await store.load_run("acme", "run_1") == run(entries=1, outcome="completed")
    assert await store.run_entries("acme", "run_1") == run_entries(1, b"one")


async def test_an_unknown_run_has_nothing_and_takes_nothing(store):
    assert await store.load_run("acme", "run_1") is None
    assert await store.run_entries("acme", "run_1") == []
    assert not await store.append_run(run(), run_entries(1, b"one"))
    assert await store.load_run("acme", "run_1") is None
    assert await store.run_entries("acme", "run_1") == []


@pytest.mark.parametrize(
    "entries",
    [
        run_entries(2, b"too early"),
        run_entries(4, b"too late"),
        [*run_entries(3, b"right"), *run_entries(5, b"with a gap")],
        [*run_entries(3, b"right"), *run_entries(3, b"twice")],
    ],
)
async def test_entries_that_do_not_count_on_are_refused(store, entries):
    await store.create_run(run(), run_entries(1, b"one", b"two"))
    with pytest.raises(StoreError, match="run_1"):
        await store.append_run(run(entries=2, text="after"), entries)
    assert await store.load_run("acme", "run_1") == run(entries=2)
    assert await store.run_entries("acme", "run_1") == run_entries(1, b"one", b"two")


async def test_a_new_run_begins_with_entry_one(store):
    with pytest.raises(StoreError, match="run_1"):
        await store.create_run(run(), run_entries(0, b"zero"))
    with pytest.raises(StoreError, match="run_1"):
        await store.create_run(run(entries=1), run_entries(2, b"two"))
    assert await store.load_run("acme", "run_1") is None
    assert await store.run_entries("acme", "run_1") == []


async def test_big_entries_come_back_whole(store):
    big = b"\x00" + b"x" * (1024 * 1024)
    text = "й" * 100_000
    await store.create_run(run(text=text), run_entries(1, big, b""))
    assert await store.append_run(run(entries=2, text=text), run_entries(3, big[::-1]))
    assert await store.run_entries("acme", "run_1") == run_entries(1, big, b"", big[::-1])
    assert (await store.load_run("acme", "run_1")).text == text


async def test_what_no_database_takes_in_a_text_is_replaced(store):
    await store.create_run(run(text="a\x00b", model="m\x00"), [])
    assert await store.load_run("acme", "run_1") == run(text="a\ufffdb", model="m\ufffd")
    assert await store.append_run(run(text="c\ud800d"), [])
    assert (await store.load_run("acme", "run_1")).text == "c?d"


async def test_runs_are_listed_newest_first_in_pages(store):
    for number in range(6):
        await store.create_run(run(f"run_{number}", session_id=f"ses_{number % 2}"), run_entries(1, b"one"))
    await store.create_run(run("elsewhere", tenant="other"), [])
    assert await store.append_run(run("run_0", session_id="ses_0", entries=1, updated_at=99.0), run_entries(2, b"two"))
    assert await run_ids(store, limit=2) == ["run_5", "run_4"]
    assert await run_ids(store, before="run_4", limit=3) == ["run_3", "run_2", "run_1"]
    assert await run_ids(store, before="run_1", limit=3) == ["run_0"]
    assert await run_ids(store, before="run_0") == []
    assert await run_ids(store, session_id="ses_0", limit=2) == ["run_4", "run_2"]
    assert await run_ids(store, session_id="ses_0", before="run_2") == ["run_0"]
    assert await run_ids(store, session_id="ses_0", before="run_3") == ["run_2", "run_0"]
    assert await run_ids(store, session_id="ses_none") == []
    assert (await store.list_runs("acme", before="run_1"))[0].entries == 2
    for gone in ("run_9", "elsewhere"):
        with pytest.raises(NotFound, match=gone):
            await store.list_runs("acme", before=gone)


async def test_runs_without_a_session_can_be_asked_for(store):
    await store.create_run(run("with"), [])
    await store.create_run(run("without", session_id=""), [])
    assert await run_ids(store, session_id="") == ["without"]
    assert await run_ids(store) == ["without", "with"]


async def test_a_run_that_cannot_be_stored_fails_alone(store):
    await store.create_run(run("going_on"), [])
    outcomes = await asyncio.gather(
        store.create_run(run("good"), run_entries(1, b"one")),
        store.create_run(run("going_on"), run_entries(1, b"second")),
        store.append_run(run("going_on"), run_entries(1, b"one")),
        store.append_run(run("going_on"), run_entries(2, b"gap")),
        store.close(closing()),
        return_exceptions=True,
    )
    assert [type(outcome) for outcome in outcomes] == [type(None), RunExists, bool, StoreError, bool]
    assert await store.run_entries("acme", "good") == run_entries(1, b"one")
    assert await store.run_entries("acme", "going_on") == run_entries(1, b"one")


@pytest.mark.parametrize("rounds", range(4))
async def test_a_cancelled_append_is_written_before_its_caller_goes_on(shared, rounds):
    await shared.create_run(run(), [])
    others = [asyncio.create_task(shared.reserve(reservation(f"key_{number}"))) for number in range(5)]
    task = asyncio.create_task(shared.append_run(run(), run_entries(1, b"one", b"two")))
    for _ in range(rounds):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    known = 2 if rounds else 0  # a task that never began has written nothing
    assert await shared.append_run(run(entries=known, outcome="cancelled"), run_entries(known + 1, b"end"))
    assert await shared.load_run("acme", "run_1") == run(entries=known + 1, outcome="cancelled")
    await asyncio.gather(*others)


@pytest.mark.parametrize("rounds", range(4))
async def test_a_run_whose_creation_is_cancelled_is_there_whole_or_not_at_all(shared, rounds):
    task = asyncio.create_task(shared.create_run(run(), run_entries(1, b"one", b"two")))
    for _ in range(rounds):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    is_there = await shared.append_run(run(entries=2), run_entries(3, b"three"))
    entries = run_entries(1, b"one", b"two", b"three")
    assert await shared.run_entries("acme", "run_1") == (entries if is_there else [])


def appending(count, *bodies):
    return Appending(run=run(entries=count), entries=tuple(run_entries(count + 1, *bodies)))


async def test_a_reservation_takes_the_entries_before_it_along(store):
    await store.create_run(run(), run_entries(1, b"one"))
    assert await store.reserve(reservation(appending=appending(1, b"two", b"three"))) == Reserved()
    assert await store.find_effect("acme", "create_order", "key_1", now=2.0) == effect()
    assert await store.load_run("acme", "run_1") == run(entries=3)
    assert await store.run_entries("acme", "run_1") == run_entries(1, b"one", b"two", b"three")


async def test_who_was_overtaken_reserves_nothing_and_writes_nothing(store):
    await store.create_run(run(), run_entries(1, b"one", b"two"))
    charge = Charge(name="spend", scope="day")
    assert await store.reserve(reservation(appending=appending(1, b"late"))) == Overtaken()
    assert await store.reserve(reservation(appending=appending(1, b"late"), charges=(charge,))) == Overtaken()
    assert await store.find_effect("acme", "create_order", "key_1", now=2.0) is None
    assert await store.read_counters("acme", [("spend", "day")]) == [0.0]
    assert await store.run_entries("acme", "run_1") == run_entries(1, b"one", b"two")


async def test_entries_are_written_also_where_the_reservation_is_refused(store):
    await store.create_run(run(), [])
    await store.reserve(reservation())
    again = reservation(name="again", appending=appending(0, b"one"))
    assert await store.reserve(again) == Taken(effect=effect())
    unapproved = reservation("key_2", confirmation_id="cnf_none", appending=appending(1, b"two"))
    assert await store.reserve(unapproved) == NotApproved()
    dear = reservation("key_2", charges=(Charge(name="spend", scope="day", max=0.5),), appending=appending(2, b"three"))
    assert await store.reserve(dear) == OverBudget(name="spend", used=0.0, max=0.5)
    assert await store.run_entries("acme", "run_1") == run_entries(1, b"one", b"two", b"three")


async def test_of_many_who_reserve_at_one_count_one_wins(store):
    await store.create_run(run(), [])
    wanted = [reservation(f"key_{number}", appending=appending(0, b"%d" % number)) for number in range(10)]
    outcomes = await asyncio.gather(*(store.reserve(one) for one in wanted), store.reserve(reservation("plain")))
    assert Counter(map(type, outcomes)) == {Reserved: 2, Overtaken: 9}
    assert len(await store.run_entries("acme", "run_1")) == 1


async def test_a_cancelled_reservation_leaves_its_entries_and_no_key(store):
    await store.create_run(run(), [])
    first = asyncio.create_task(store.reserve(reservation("key_1")))
    second = asyncio.create_task(store.reserve(reservation("key_2", appending=appending(0, b"one"))))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.gather(first, second, return_exceptions=True)
    await store.flush()
    assert await store.run_entries("acme", "run_1") == run_entries(1, b"one")
    held = await store.find_effect("acme", "create_order", "key_2", now=2.0)
    assert held is None or not second.cancelled()


async def test_runs_survive_reopening(shared_url):
    first = open_url(shared_url)
    await first.create_run(run(), run_entries(1, b"one"))
    assert await first.append_run(run(entries=1, text="Done."), run_entries(2, b"two"))
    await first.shut()
    again = open_url(shared_url)
    assert await again.load_run("acme", "run_1") == run(entries=2, text="Done.")
    assert await again.run_entries("acme", "run_1") == run_entries(1, b"one", b"two")
    assert not await again.append_run(run(entries=1), run_entries(2, b"late"))
    assert await again.append_run(run(entries=2), run_entries(3, b"three"))
    await again.shut()


async def test_what_one_process_appends_another_sees_at_once(shared, shared_url):
    other = open_url(shared_url)
    await shared.create_run(run(), run_entries(1, b"one"))
    assert await other.run_entries("acme", "run_1") == run_entries(1, b"one")
    assert await other.append_run(run(entries=1), run_entries(2, b"two"))
    assert (await shared.load_run("acme", "run_1")).entries == 2
    assert await shared.run_entries("acme", "run_1") == run_entries(1, b"one", b"two")
    assert not await shared.append_run(run(entries=1), run_entries(2, b"late"))
    await other.shut()


@asynccontextmanager
async def two_handles(url):
    """Two ways to one store; what is in memory has only one."""
    first = open_url(url)
    second = first if url == "memory://" else open_url(url)
    try:
        yield first, second
    finally:
        await second.shut()
        await first.shut()


class Appender:
    """Appends by what it last knew of the run, which may be old, and notes what was taken."""

    def __init__(self, name, store, run_id, taken):
        self.name, self.store, self.run_id, self.taken = name, store, run_id, taken
        self.known = self.tries = 0

    async def append(self, count, looks_first):
        if looks_first:
            self.known = (await self.store.load_run("acme", self.run_id)).entries
        self.tries += 1
        before = self.known
        entries = run_entries(before + 1, *(f"{self.name} {self.tries}.{number}".encode() for number in range(count)))
        if await self.store.append_run(run(self.run_id, entries=before), entries):
            self.known += count
            if entries:
                assert before not in self.taken, "two were told that they were first"
                self.taken[before] = entries


async def append_in_turns(url, steps):
    run_id, taken = f"run_{next(NUMBERS)}", {}
    async with two_handles(url) as stores:
        await stores[0].create_run(run(run_id), [])
        appenders = [Appender(name, store, run_id, taken) for name, store in zip("ab", stores, strict=True)]
        for turns in steps:
            wanted = (appender.append(*turn) for appender, turn in zip(appenders, turns, strict=True) if turn)
            await asyncio.gather(*wanted)
        expected = [entry for _, entries in sorted(taken.items()) for entry in entries]
        for store in stores:
            assert await store.run_entries("acme", run_id) == expected
            assert await store.load_run("acme", run_id) == run(run_id, entries=len(expected))
        assert [entry.seq for entry in expected] == list(range(1, len(expected) + 1))


NUMBERS = itertools.count()
TURNS = st.none() | st.tuples(st.integers(0, 3), st.booleans())


@given(steps=st.lists(st.tuples(TURNS, TURNS), max_size=12))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_two_writers_do_there_is_one_order_that_both_see(store_url, steps):
    asyncio.run(append_in_turns(store_url, steps))
