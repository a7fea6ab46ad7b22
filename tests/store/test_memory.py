import math

import pytest

from groundwire.contracts.errors import StoreError
from groundwire.contracts.records import Charge, Closing, EffectStatus
from groundwire.contracts.runs import RESUMABLE
from groundwire.store import MemoryStore
from tests.conformance.builders import (
    api_key,
    call,
    closing,
    confirmation,
    effect,
    ending,
    entry,
    reservation,
    run,
    run_entries,
    session,
    verify,
)

MOST = 50


async def test_every_table_is_bounded_and_the_newest_rows_stay():
    store = MemoryStore(max_rows=MOST)
    for number in range(300):
        name = str(number)
        store.enqueue(closing(name))
        await store.create_session(session(name))
        await store.create_confirmation(confirmation(name, binding=name))
        await store.save_blob("acme", "ses_1", name, b"body", now=1.0)
        await store.save_artifact(name, b"body")
        await store.add("acme", [Charge(name="calls", scope=name)])
        await store.create_run(run(name, outcome="completed"), run_entries(1, b"body"))
        await store.reserve(reservation(name))
        await store.close(closing(f"end_{name}", transition=ending(effect(name))))
    assert MOST * 0.8 <= len(await store.list_calls("acme", limit=1000)) <= MOST
    assert len(await store.list_sessions("acme", limit=1000)) <= MOST
    assert len(await store.list_confirmations("acme", limit=1000)) <= MOST
    assert len(await store.list_effects("acme", limit=1000)) <= MOST
    assert MOST * 0.8 <= len(await store.list_runs("acme", limit=1000)) <= MOST
    assert (await store.run_entries("acme", "0"), await store.load_run("acme", "0")) == ([], None)
    assert await store.run_entries("acme", "299") == run_entries(1, b"body")
    assert len(await store.list_counters("acme", "calls")) <= MOST
    assert len(await store.list_audit("acme", limit=1000)) <= MOST
    assert (await store.load_blob("acme", "ses_1", "0"), await store.load_artifact("0")) == (None, None)
    assert await store.load_blob("acme", "ses_1", "299") == b"body"
    assert await store.find_call("acme", "ses_1", "call_end_299") == call("end_299")


async def test_reserved_and_unknown_effects_are_never_dropped():
    store = MemoryStore(max_rows=MOST)
    await store.reserve(reservation("reserved"))
    await store.reserve(reservation("unknown"))
    await store.close(closing("u", transition=ending(effect("unknown"), EffectStatus.UNKNOWN)))
    for number in range(200):
        await store.reserve(reservation(str(number)))
        await store.close(closing(str(number), transition=ending(effect(str(number)))))
    found = {key: await store.find_effect("acme", "create_order", key, now=5.0) for key in ("reserved", "unknown")}
    assert {key: held.status for key, held in found.items()} == {
        "reserved": EffectStatus.RESERVED,
        "unknown": EffectStatus.UNKNOWN,
    }


async def test_a_shortened_chain_still_verifies_and_counts_on():
    store = MemoryStore(max_rows=MOST)
    for number in range(1000):
        store.enqueue(closing(str(number)))
        if number % 7 == 0:
            await store.close(closing(f"close {number}"))
    head = await store.flush()
    report = await verify(store)
    assert report.ok
    assert report.records <= MOST
    assert report.head == head
    assert report.first_seq > 1000


async def test_large_blobs_push_out_older_ones():
    store = MemoryStore()
    body = b"x" * (40 * 1024 * 1024)
    await store.save_blob("acme", "ses_1", "one", body, now=1.0)
    await store.save_blob("acme", "ses_1", "two", body, now=2.0)
    assert await store.load_blob("acme", "ses_1", "one") is None
    assert await store.load_blob("acme", "ses_1", "two") == body


async def test_large_runs_push_out_older_ones_that_have_ended():
    store = MemoryStore()
    body = b"x" * (40 * 1024 * 1024)
    await store.create_run(run("ended", outcome="completed"), run_entries(1, body))
    await store.create_run(run("going_on"), run_entries(1, body))
    assert [found.run_id for found in await store.list_runs("acme")] == ["going_on"]
    await store.create_run(run("newest", outcome="completed"), run_entries(1, body))
    assert [found.run_id for found in await store.list_runs("acme")] == ["newest", "going_on"]
    assert await store.append_run(run("going_on", entries=1), run_entries(2, b"more"))
    assert [found.run_id for found in await store.list_runs("acme")] == ["going_on"]


async def test_ended_runs_of_no_session_take_eight_mebibytes_and_those_of_a_session_more():
    store = MemoryStore()
    mebibyte = b"x" * 1024 * 1024
    for number in range(12):
        await store.create_run(run(f"alone {number}", session_id="", outcome="completed"), run_entries(1, mebibyte))
        await store.create_run(run(f"joined {number}", outcome="completed"), run_entries(1, mebibyte))
        if number == 7:
            assert len(await store.list_runs("acme")) == 16
    left = [found.run_id for found in await store.list_runs("acme")]
    assert [name for name in left if name.startswith("alone")] == [
        f"alone {number}" for number in reversed(range(4, 12))
    ]
    assert [name for name in left if name.startswith("joined")] == [
        f"joined {number}" for number in reversed(range(12))
    ]


async def test_a_run_that_is_larger_than_the_room_of_its_kind_pushes_out_only_its_kind():
    store = MemoryStore()
    await store.create_run(run("joined", outcome="completed"), run_entries(1, b"body"))
    await store.create_run(run("alone", session_id="", outcome="completed"), run_entries(1, b"body"))
    large = b"x" * (8 * 1024 * 1024 + 1)
    await store.create_run(run("large", session_id="", outcome="completed"), run_entries(1, large))
    assert [found.run_id for found in await store.list_runs("acme")] == ["large", "joined"]
    await store.create_run(run("next", session_id="", outcome="completed"), run_entries(1, b"body"))
    assert [found.run_id for found in await store.list_runs("acme")] == ["next", "joined"]


async def test_calls_effects_and_audit_records_are_kept_for_the_last_four_thousand():
    store = MemoryStore()
    for number in range(4_000):
        await store.reserve(reservation(str(number)))
        await store.close(closing(str(number), transition=ending(effect(str(number)))))
    sizes = [len(await read("acme", limit=5_000)) for read in (store.list_calls, store.list_effects, store.list_audit)]
    assert sizes == [4_000, 4_000, 4_000]
    await store.reserve(reservation("one more"))
    await store.close(closing("one more", transition=ending(effect("one more"))))
    sizes = [len(await read("acme", limit=5_000)) for read in (store.list_calls, store.list_effects, store.list_audit)]
    assert sizes == [3_601, 3_601, 3_600]  # of the records, the one that says so is nobody's
    assert (await verify(store)).ok


@pytest.mark.parametrize("outcome", sorted(RESUMABLE))
async def test_runs_that_can_be_taken_up_again_are_dropped_last(outcome):
    store = MemoryStore(max_rows=MOST)
    await store.create_run(run("paused", outcome=outcome), [])
    for number in range(MOST * 2):
        await store.create_run(run(f"ended {number}", outcome="completed"), [])
    assert await store.load_run("acme", "paused") is not None
    for number in range(MOST * 2):
        await store.create_run(run(f"paused {number}", outcome=outcome), [])
    left = [found.run_id for found in await store.list_runs("acme", limit=1000)]
    assert MOST * 0.8 <= len(left) <= MOST
    assert left == [f"paused {number}" for number in reversed(range(MOST * 2 - len(left), MOST * 2))]


async def test_many_runs_that_go_on_are_all_kept():
    store = MemoryStore(max_rows=MOST)
    for number in range(MOST * 2):
        await store.create_run(run(str(number)), [])
    assert len(await store.list_runs("acme", limit=1000)) == MOST * 2


async def test_keys_are_bounded_but_none_is_ever_dropped():
    store = MemoryStore(max_rows=MOST)
    for number in range(MOST):
        await store.create_key(api_key(str(number)))
    with pytest.raises(StoreError):
        await store.create_key(api_key("more"))
    assert len(await store.list_keys("acme", limit=1000)) == MOST
    assert await store.find_key("digest_0") == api_key("0")


async def test_what_a_call_has_spent_counts_at_once():
    store = MemoryStore()
    store.enqueue(closing("spends", charges=(Charge(name="tokens", scope="x", amount=3.0),)))
    assert await store.read_counters("acme", [("tokens", "x")]) == [3.0]


async def test_a_record_that_cannot_be_stored_is_named_at_the_flush_and_costs_no_other():
    store = MemoryStore()
    store.enqueue(Closing(call=None, entry=entry("endless", duration_ms=math.inf)))
    store.enqueue(closing("good"))
    with pytest.raises(StoreError, match="endless"):
        await store.flush()
    assert await store.find_call("acme", "ses_1", "call_good") == call("good")
    assert (await verify(store)).records == 1
