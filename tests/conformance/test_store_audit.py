"""The audit chain: complete, in order, and showing every change."""

import asyncio
import json

import pytest

from groundwire.contracts.audit import RETENTION_KIND, Chain
from groundwire.contracts.canonical import digest
from groundwire.contracts.records import GENESIS, AuditHead, Closing
from groundwire.contracts.results import Evidence
from groundwire.store import CheckpointFile, open_url
from tests.conformance.builders import closing, effect, ending, entry, reservation, verify

FULL = entry(
    error="TIMEOUT: too slow",
    success=False,
    parent_call_id="call_0",
    run_id="run_1",
    caller="model",
    actor="ann",
    decision="denied",
    reason='the "limit" — 限',
    evidence=(
        Evidence(argument="sku", grounded=True, turn=1, start=0, end=4),
        Evidence(argument="count", grounded=False, near_miss="twelve"),
    ),
    intents=("order.created", "mail.sent"),
    approver="bob",
    effect_key="key_1",
    variant="b",
    registry_version="v1",
)


async def records(store):
    return [record async for record in store.audit_records()]


@pytest.mark.requirement("D-112", "D-113", "D-114", "D-117", "D-118", "D-119", "D-120")
async def test_a_record_has_every_field_it_was_given(store):
    store.enqueue(Closing(call=None, entry=FULL))
    await store.flush()
    [record] = await records(store)
    assert record.entry == FULL
    assert (record.seq, record.previous_hash) == (1, GENESIS)


@pytest.mark.requirement("D-115", "D-116")
async def test_hashes_of_input_and_output_are_kept_as_given(store):
    given = entry(input_hash=digest({"sku": "A-1"}), output_hash=digest({"ok": True}))
    await store.close(Closing(call=None, entry=given))
    [record] = await store.list_audit("acme")
    assert (record.entry.input_hash, record.entry.output_hash) == (digest({"sku": "A-1"}), digest({"ok": True}))


@pytest.mark.requirement("D-111")
async def test_each_closing_leaves_one_record_refused_or_not(store):
    store.enqueue(closing("refused", executed=False, ok=False))
    await store.reserve(reservation())
    await store.close(closing("executed", transition=ending(effect())))
    store.enqueue(closing("after"))
    await store.flush()
    assert [record.entry.id for record in await records(store)] == ["aud_refused", "aud_executed", "aud_after"]


async def test_deferred_records_come_before_the_closing_that_follows_them(store):
    async def close(name):
        store.enqueue(closing(f"before {name}"))
        await store.close(closing(name))

    await asyncio.gather(*(close(str(number)) for number in range(20)))
    order = [record.entry.id for record in await records(store)]
    assert len(order) == 40
    for number in range(20):
        assert order.index(f"aud_before {number}") < order.index(f"aud_{number}")
    assert (await verify(store)).ok


async def test_more_deferred_records_than_wait_at_once_all_arrive_in_order(store):
    for number in range(1000):
        store.enqueue(closing(str(number)))
    head = await store.flush()
    assert head.seq == 1000
    assert [record.entry.id for record in await records(store)] == [f"aud_{number}" for number in range(1000)]


async def test_flush_returns_the_head_and_so_does_an_empty_one(store):
    assert await store.flush() == AuditHead()
    store.enqueue(closing())
    head = await store.flush()
    [record] = await records(store)
    assert head == AuditHead(seq=1, hash=record.hash) == await store.flush() == await store.audit_head()


async def test_records_can_be_read_from_a_place_on(store):
    for number in range(1200):
        store.enqueue(closing(str(number)))
    await store.flush()
    assert [record.seq async for record in store.audit_records(after=1190)] == list(range(1191, 1201))
    assert (await verify(store)).records == 1200


async def test_records_are_listed_newest_first_by_tenant(store):
    for number in range(6):
        store.enqueue(Closing(call=None, entry=entry(str(number), tenant="acme" if number % 2 else "other")))
    first = await store.list_audit("acme", limit=2)
    rest = await store.list_audit("acme", before=first[-1].seq)
    assert [record.seq for record in (*first, *rest)] == [6, 4, 2]


async def test_a_chain_with_a_key_verifies_only_with_that_key(store_url):
    store = open_url(store_url, chain=Chain(b"secret"))
    for number in range(3):
        store.enqueue(closing(str(number)))
    await store.flush()
    assert (await verify(store, chain=Chain(b"secret"))).ok
    assert not (await verify(store, chain=Chain(b"other"))).ok
    assert not (await verify(store)).ok
    await store.shut()


RETENTION = entry("retention", kind=RETENTION_KIND, created_at="2026-04-01T00:00:00.000Z", reason="")


async def months(store):
    for month in (1, 2, 3):
        for day in (1, 2):
            created = f"2026-0{month}-0{day}T00:00:00.000Z"
            store.enqueue(Closing(call=None, entry=entry(f"{month}-{day}", created_at=created)))
    return await store.flush()


async def test_old_records_go_and_the_chain_says_so(store):
    await months(store)
    fourth = (await records(store))[3]
    assert await store.prune_audit(created_before="2026-03-01T00:00:00.000Z", entry=RETENTION) == 4
    kept = await records(store)
    assert [record.entry.id for record in kept] == ["aud_3-1", "aud_3-2", "aud_retention"]
    assert json.loads(kept[-1].entry.reason) == {"removed_to": 4, "hash": fourth.hash, "count": 4}
    assert (await verify(store)).ok


async def test_the_newest_record_always_stays(store):
    await months(store)
    assert await store.prune_audit(created_before="2027-01-01", entry=RETENTION) == 5
    assert [record.seq for record in await records(store)] == [6, 7]
    assert (await verify(store)).ok


async def test_nothing_old_leaves_no_trace(store):
    assert await store.prune_audit(created_before="2027-01-01", entry=RETENTION) == 0
    head = await months(store)
    assert await store.prune_audit(created_before="2025-01-01", entry=RETENTION) == 0
    assert await store.audit_head() == head


async def test_pruning_twice_keeps_the_chain_whole(store):
    await months(store)
    await store.prune_audit(created_before="2026-02-01", entry=RETENTION)
    await store.prune_audit(created_before="2026-03-01", entry=RETENTION)
    store.enqueue(closing("after"))
    await store.flush()
    report = await verify(store)
    assert (report.ok, report.first_seq) == (True, 5)


async def test_a_record_removed_after_pruning_is_found(shared):
    await months(shared)
    await shared.prune_audit(created_before="2026-02-01", entry=RETENTION)
    await shared.database.execute("DELETE FROM audit WHERE seq = 3")
    assert [problem.kind for problem in (await verify(shared)).problems] == ["missing"]


async def test_a_cut_tail_is_found_with_a_checkpoint(shared, tmp_path):
    head = await months(shared)
    checkpoints = CheckpointFile(tmp_path / "checkpoints")
    checkpoints.append(head)
    await shared.database.execute("DELETE FROM audit WHERE seq > 4")
    assert [problem.kind for problem in (await verify(shared, checkpoints=checkpoints.read())).problems] == ["cut"]


async def test_a_cut_tail_is_found_once_something_was_written_after_it(shared):
    await months(shared)
    await shared.database.execute("DELETE FROM audit WHERE seq > 4")
    await shared.close(closing("after"))
    assert [problem.kind for problem in (await verify(shared)).problems] == ["missing"]


async def test_a_rewritten_tail_is_found_with_a_checkpoint(shared, tmp_path):
    head = await months(shared)
    await shared.database.transact(
        [
            ("DELETE FROM audit WHERE seq = $1", (head.seq,)),
            ("UPDATE audit_head SET seq = seq - 1, hash = (SELECT hash FROM audit WHERE seq = $1)", (head.seq - 1,)),
        ]
    )
    await shared.close(closing("another"))
    assert (await verify(shared)).ok
    assert [problem.kind for problem in (await verify(shared, checkpoints=(head,))).problems] == ["changed"]


async def test_swapped_records_are_found(shared):
    await months(shared)
    for old, new in ((2, 99), (3, 2), (99, 3)):
        await shared.database.execute("UPDATE audit SET seq = $1 WHERE seq = $2", new, old)
    assert not (await verify(shared)).ok


async def test_what_no_database_takes_is_replaced_and_the_record_kept(store):
    bad = entry("bad", error="a \x00 and a \ud800", reason="\udcff")
    store.enqueue(Closing(call=None, entry=bad))
    await store.close(Closing(call=None, entry=entry("worse", error="\udfff")))
    await store.flush()
    assert [record.entry.id for record in await records(store)] == ["aud_bad", "aud_worse"]
    assert (await verify(store)).ok
