"""Leases: who renews them, and what a busy process knows of its own."""

import asyncio
import itertools

from groundwire import Context, ErrorType, Settings, Tool
from groundwire.runtime.ledger import LedgerTimes
from groundwire.store import MemoryStore
from groundwire.testing import FakeClock, assert_failed, assert_ok, runtime_for

SHORT = Settings(ledger=LedgerTimes(lease_seconds=0.03))


class WatchedStore(MemoryStore):
    """Tells when leases were renewed, and lets a test act just before."""

    def __init__(self):
        super().__init__()
        self.renewed, self.before = asyncio.Event(), None

    async def renew_leases(self, owner, *args, **options):
        if self.before is not None:
            await self.before()
            self.before = None
        count = await super().renew_leases(owner, *args, **options)
        asyncio.get_running_loop().call_soon(self.renewed.set)
        return count


def committing(name):
    started, gate = asyncio.Event(), asyncio.Event()

    async def act(context: Context):
        started.set()
        await gate.wait()
        await context.commit()
        return name

    return Tool(name=name, description="Act.", handler=act, category="action"), started, gate


async def begin(runtime, name, started):
    call = asyncio.ensure_future(runtime.call(name))
    await started.wait()
    return call


async def test_a_call_that_ends_while_leases_are_renewed_does_not_cost_the_others_theirs():
    clock, store = FakeClock(), WatchedStore()
    long, long_started, long_gate = committing("long")
    short, short_started, short_gate = committing("short")
    runtime = runtime_for(long, short, clock=clock, store=store, settings=SHORT)
    long_call, short_call = await begin(runtime, "long", long_started), await begin(runtime, "short", short_started)

    async def end_the_short_one():
        short_gate.set()
        assert_ok(await short_call)

    store.before = end_the_short_one
    clock.advance(0.02)
    await store.renewed.wait()
    await asyncio.sleep(0)
    clock.advance(0.02)  # past the first lease, within the renewed one
    long_gate.set()
    assert_ok(await long_call)


async def test_who_could_not_renew_may_not_commit():
    clock, store = FakeClock(), MemoryStore()
    act, started, gate = committing("act")
    runtime = runtime_for(act, clock=clock, store=store)
    call = await begin(runtime, "act", started)
    clock.advance(20)
    gate.set()
    assert_failed(await call, ErrorType.CONFLICT, detail="LEASE_LOST")


async def test_a_lease_that_was_lost_is_not_renewed_by_mistake():
    clock, store = FakeClock(), WatchedStore()
    mine, mine_started, mine_gate = committing("mine")
    other, other_started, other_gate = committing("other")
    runtime = runtime_for(mine, other, clock=clock, store=store, settings=SHORT)
    first = await begin(runtime, "mine", mine_started)
    clock.advance(0.03)  # gone, before anybody renewed it
    second = await begin(runtime, "other", other_started)
    await store.renewed.wait()
    await asyncio.sleep(0)
    mine_gate.set()
    assert_failed(await first, ErrorType.CONFLICT, detail="LEASE_LOST")
    other_gate.set()
    assert_ok(await second)


async def renewed(store, clock, seconds):
    """Let time pass, and wait until the leases that are held were renewed once more."""
    clock.advance(seconds)
    store.renewed.clear()
    await store.renewed.wait()
    await asyncio.sleep(0)


def twice_committing(**options):
    """A tool whose first and second call can be told apart, and let go on, each by itself."""
    started, gates, done = [asyncio.Event(), asyncio.Event()], [asyncio.Event(), asyncio.Event()], []

    async def act(context: Context):
        number = next(numbers)
        started[number].set()
        await gates[number].wait()
        await context.commit()
        done.append(number)
        return number

    numbers = itertools.count()
    return Tool(name="act", description="Act.", handler=act, category="action", **options), started, gates, done


async def test_an_attempt_that_lost_its_key_does_not_get_a_lease_back_with_that_of_its_successor():
    clock, store = FakeClock(), WatchedStore()
    act, started, gates, done = twice_committing()
    runtime = runtime_for(act, clock=clock, store=store, settings=SHORT)
    first = asyncio.ensure_future(runtime.call("act", idempotency_key="key"))
    await started[0].wait()
    clock.advance(0.04)  # gone, before anybody renewed it
    [effect] = await store.list_effects("default", now=clock.now())
    await runtime.reconcile(effect.effect_id, happened=False, by="ada")
    second = asyncio.ensure_future(runtime.call("act", idempotency_key="key"))
    await started[1].wait()
    await renewed(store, clock, 0.01)
    gates[0].set()
    assert_failed(await first, ErrorType.CONFLICT, detail="LEASE_LOST")
    gates[1].set()
    assert_ok(await second)
    assert done == [1]


async def test_an_attempt_that_ends_late_leaves_the_lease_of_whoever_took_over_alone():
    clock, store = FakeClock(), WatchedStore()
    act, started, gates, _ = twice_committing(repeatable=True)
    runtime = runtime_for(act, clock=clock, store=store, settings=SHORT)
    first = asyncio.ensure_future(runtime.call("act", idempotency_key="key"))
    await started[0].wait()
    clock.advance(0.04)
    second = asyncio.ensure_future(runtime.call("act", idempotency_key="key"))
    await started[1].wait()
    gates[0].set()
    await first
    await renewed(store, clock, 0.02)
    clock.advance(0.02)  # past the lease that the second one began with
    gates[1].set()
    assert_ok(await second)
