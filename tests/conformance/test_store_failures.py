"""One bad write harms nobody else, and nothing that was taken is lost."""

import asyncio
import math

import pytest

from groundwire.contracts.errors import StoreError
from groundwire.contracts.records import Charge, Closing, Reserved
from groundwire.store import open_url
from tests.conformance.builders import closing, effect, ending, entry, reservation, session, verify

BROKEN = Closing(call=None, entry=entry("broken", duration_ms=math.nan))


async def test_a_closing_that_cannot_be_stored_fails_alone(store):
    await store.reserve(reservation())
    outcomes = await asyncio.gather(
        store.close(closing("1")),
        store.close(BROKEN),
        store.close(closing("2", transition=ending(effect()))),
        store.reserve(reservation("other")),
        store.close(Closing(call=None, entry=entry("endless", duration_ms=math.inf))),
        return_exceptions=True,
    )
    assert [type(outcome) for outcome in outcomes] == [bool, StoreError, bool, Reserved, StoreError]
    report = await verify(store)
    assert (report.ok, report.records) == (True, 2)


async def test_a_deferred_closing_that_cannot_be_stored_is_named_once_by_flush(store):
    store.enqueue(closing("1"))
    store.enqueue(BROKEN)
    store.enqueue(closing("2"))
    with pytest.raises(StoreError, match="aud_broken"):
        await store.flush()
    assert (await store.flush()).seq == 2
    assert [record.entry.id for record in await store.list_audit("acme")] == ["aud_2", "aud_1"]


async def test_a_bad_session_fails_alone(store):
    outcomes = await asyncio.gather(
        store.create_session(session("good")),
        store.create_session(session("bad", state={"text": "\ud800"})),
        store.add("acme", [Charge(name="calls", scope="all")]),
        return_exceptions=True,
    )
    if isinstance(outcomes[1], BaseException):  # a store in memory has no need to write it down
        assert isinstance(outcomes[1], StoreError)
        assert await store.load_session("acme", "bad") is None
    assert await store.load_session("acme", "good") is not None
    assert await store.read_counters("acme", [("calls", "all")]) == [1.0]


async def test_a_cancelled_reservation_holds_no_key(shared):
    tasks = [asyncio.create_task(shared.reserve(reservation(str(number)))) for number in range(20)]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    await shared.flush()
    held = {found.key for found in await shared.list_effects("acme")}
    assert held == {str(number) for number, outcome in enumerate(outcomes) if outcome == Reserved()}


async def test_a_cancelled_reservation_gives_back_its_charges(shared):
    limit = (Charge(name="spend", scope="day", max=100.0),)
    tasks = [asyncio.create_task(shared.reserve(reservation(str(number), charges=limit))) for number in range(20)]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    await shared.flush()
    assert await shared.read_counters("acme", [("spend", "day")]) == [float(outcomes.count(Reserved()))]


async def test_a_cancelled_close_is_written_all_the_same_or_not_at_all(shared):
    await shared.reserve(reservation())
    task = asyncio.create_task(shared.close(closing("1", transition=ending(effect()))))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await shared.flush()
    is_recorded = await shared.find_call("acme", "ses_1", "call_1") is not None
    is_settled = (await shared.get_effect("acme", "eff_key_1")).result is not None
    assert is_recorded == is_settled


def test_a_store_serves_one_event_loop_after_another(store_url):
    store = open_url(store_url)

    async def act(number):
        async def once(name):
            store.enqueue(closing(f"before_{name}"))
            assert await store.reserve(reservation(name)) == Reserved()
            assert await store.close(closing(name, transition=ending(effect(name))))

        await asyncio.gather(*(once(f"{number}_{index}") for index in range(20)))

    async def act_and_shut(number):
        await act(number)
        await store.shut()

    # A connection to a server belongs to its loop, and has to be closed in it.
    serve = act_and_shut if store_url.startswith("postgres") else act
    asyncio.run(serve(1))
    asyncio.run(serve(2))

    async def end():
        report = await verify(store)
        await store.shut()
        return report

    report = asyncio.run(end())
    assert (report.ok, report.records) == (True, 80)


async def test_opening_again_and_using_unopened_are_both_fine(store_url):
    store = open_url(store_url)
    assert await store.reserve(reservation()) == Reserved()
    await store.open()
    await store.open()
    assert await store.get_effect("acme", "eff_key_1") is not None
    await store.shut()
    await store.shut()


async def test_a_shut_store_has_written_what_it_took(shared_url):
    store = open_url(shared_url)
    store.enqueue(closing("last"))
    await store.shut()
    again = open_url(shared_url)
    assert await again.find_call("acme", "ses_1", "call_last") is not None
    await again.shut()
