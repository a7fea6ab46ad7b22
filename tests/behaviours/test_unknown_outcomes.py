"""Effects of which nobody knows whether they happened: the tool's hook decides, or a person; never a second run."""

import asyncio

import pytest

from groundwire import ErrorType, GroundwireError, Settings, ToolResult, tool
from groundwire.runtime.ledger import LedgerTimes
from groundwire.store import MemoryStore
from groundwire.testing import FakeClock, assert_failed, assert_ok


def half_done(reconcile=None, **options):
    """An action whose first run ends in the dark, and whose later runs succeed."""
    runs = []

    @tool(category="action", reconcile=reconcile, **options)
    def pay(amount: int, note: str = "") -> dict:
        """Pay."""
        runs.append(amount)
        if len(runs) == 1:
            raise ValueError("the line went dead")
        return {"run": len(runs)}

    return pay, runs


async def pay_in(runtime, key="k", **options):
    return await runtime.call("pay", {"amount": 5}, idempotency_key=key, **options)


async def test_a_hook_that_knows_the_result_settles_it(make, audit_of):
    asked = []

    def reconcile(amount, context):
        asked.append((amount, context.idempotency_key))
        return {"receipt": amount}

    pay, runs = half_done(reconcile)
    runtime = make(pay)
    assert_failed(await pay_in(runtime), ErrorType.INTERNAL)
    second, third = await pay_in(runtime), await pay_in(runtime)
    assert (second.data, second.meta.replayed) == ({"receipt": 5}, True)
    assert (third.data, third.meta.replayed) == ({"receipt": 5}, True)
    assert asked == [(5, "k")]
    assert len(runs) == 1
    assert [entry.decision for entry in await audit_of(runtime)] == ["executed", "reconciled", "replayed"]


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_hook_that_says_nothing_happened_lets_it_run(make, kind):
    def nothing(**_):
        return None

    async def nothing_later(**_):
        return None

    pay, runs = half_done(nothing if kind == "sync" else nothing_later)
    runtime = make(pay)
    await pay_in(runtime)
    result = await pay_in(runtime)
    assert (assert_ok(result), result.meta.replayed) == ({"run": 2}, False)
    assert (await pay_in(runtime)).meta.replayed
    assert len(runs) == 2


def raising(**_):
    raise RuntimeError("the bank does not answer")


async def hanging(**_):
    await asyncio.Event().wait()


def leaving(**_):
    raise SystemExit(1)


async def giving_up(**_):
    raise asyncio.CancelledError


@pytest.mark.parametrize("hook", [raising, hanging, leaving, giving_up])
async def test_a_hook_that_does_not_know_leaves_it_unknown(make, audit_of, hook):
    pay, runs = half_done(hook, hard_ms=20)
    runtime = make(pay)
    await pay_in(runtime)
    for _ in range(2):
        assert_failed(await pay_in(runtime), ErrorType.OUTCOME_UNKNOWN)
    assert len(runs) == 1
    (effect,) = await runtime.effects()
    assert effect.status == "unknown"
    reason = (await audit_of(runtime))[-1].reason
    assert effect.effect_id in reason
    assert "hook failed" in reason


async def test_a_hook_may_answer_with_an_envelope(make):
    pay, _ = half_done(lambda **_: ToolResult.success({"receipt": 1}, warnings=("found it",)))
    runtime = make(pay)
    await pay_in(runtime)
    result = await pay_in(runtime)
    assert assert_ok(result) == {"receipt": 1}
    assert "found it" in result.warnings


async def test_being_cancelled_while_the_hook_is_asked_does_not_free_the_key(make):
    asked = asyncio.Event()

    async def reconcile(**_):
        asked.set()
        await asyncio.Event().wait()

    pay, runs = half_done(reconcile)
    runtime = make(pay)
    await pay_in(runtime)
    asking = asyncio.ensure_future(pay_in(runtime))
    await asked.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    (effect,) = await runtime.effects()
    assert effect.status == "unknown"
    assert len(runs) == 1


async def test_two_who_find_it_unknown_ask_the_hook_once(make):
    asked, gate, started = [], asyncio.Event(), asyncio.Event()

    async def reconcile(amount):
        asked.append(amount)
        started.set()
        await gate.wait()
        return {"receipt": amount}

    pay, _ = half_done(reconcile)
    runtime = make(pay)
    await pay_in(runtime)
    calls = [asyncio.ensure_future(pay_in(runtime)) for _ in range(3)]
    await started.wait()
    gate.set()
    results = await asyncio.gather(*calls)
    assert [result.data for result in results] == [{"receipt": 5}] * 3
    assert asked == [5]


async def test_a_person_may_say_that_it_happened(make, audit_of):
    pay, runs = half_done()
    runtime = make(pay)
    await pay_in(runtime)
    assert_failed(await pay_in(runtime), ErrorType.OUTCOME_UNKNOWN)
    (effect,) = await runtime.effects()
    await runtime.reconcile(effect.effect_id, happened=True, by="ada", data={"receipt": 9}, note="called the bank")
    result = await pay_in(runtime)
    assert (assert_ok(result), result.meta.replayed) == ({"receipt": 9}, True)
    assert len(runs) == 1
    (decision,) = await audit_of(runtime, kind="reconcile")
    assert (decision.actor, decision.decision, decision.reason) == ("ada", "happened", "called the bank")
    assert decision.effect_key == "caller:k"


async def test_a_person_may_say_that_it_did_not_happen(make):
    pay, runs = half_done()
    runtime = make(pay)
    await pay_in(runtime)
    (effect,) = await runtime.effects()
    await runtime.reconcile(effect.effect_id, happened=False, by="ada")
    assert assert_ok(await pay_in(runtime)) == {"run": 2}
    assert len(runs) == 2


async def test_only_unknown_effects_are_decided_and_only_once(make):
    pay, _ = half_done()
    runtime = make(pay)
    await pay_in(runtime)
    await pay_in(runtime, key="settled")
    unknown, settled = sorted(await runtime.effects(), key=lambda effect: effect.status, reverse=True)
    assert (unknown.status, settled.status) == ("unknown", "settled")
    await runtime.reconcile(unknown.effect_id, happened=True, by="ada")
    refusals = {unknown.effect_id: "already_decided", settled.effect_id: "already_decided", "eff_x": "not_found"}
    for effect_id, code in refusals.items():
        with pytest.raises(GroundwireError) as raised:
            await runtime.reconcile(effect_id, happened=False, by="bob")
        assert raised.value.code == code


async def test_another_tenant_cannot_decide(make):
    pay, _ = half_done()
    runtime = make(pay)
    await pay_in(runtime)
    (effect,) = await runtime.effects()
    with pytest.raises(GroundwireError):
        await runtime.reconcile(effect.effect_id, happened=False, by="mallory", tenant="acme")
    assert [found.status for found in await runtime.effects()] == ["unknown"]


def dying(category="action", **options):
    """A tool whose first call never comes back, as if its process had died."""
    runs, started = [], asyncio.Event()

    @tool(category=category, **options)
    async def pay(amount: int) -> int:
        """Pay."""
        runs.append(amount)
        if len(runs) == 1:
            started.set()
            await asyncio.Event().wait()
        return len(runs)

    return pay, runs, started


async def after_a_crash(make, pay, started):
    """A second process finds the reservation of one that stopped renewing it."""
    clock, store = FakeClock(), MemoryStore()
    dead, alive = make(pay, clock=clock, store=store), make(pay, clock=clock, store=store)
    stuck = asyncio.ensure_future(pay_in(dead))
    await started.wait()
    clock.advance(20)
    return alive, stuck


async def end(stuck):
    stuck.cancel()
    await asyncio.wait([stuck])


async def test_what_a_dead_process_had_reserved_is_unknown(make):
    pay, runs, started = dying()
    runtime, stuck = await after_a_crash(make, pay, started)
    assert_failed(await pay_in(runtime), ErrorType.OUTCOME_UNKNOWN)
    assert len(runs) == 1
    await end(stuck)


@pytest.mark.requirement("B-086")
@pytest.mark.parametrize("options", [{"category": "retrieval"}, {"category": "utility"}, {"repeatable": True}], ids=str)
async def test_what_is_safe_to_repeat_runs_again_after_a_crash(make, options):
    pay, runs, started = dying(**options)
    runtime, stuck = await after_a_crash(make, pay, started)
    assert assert_ok(await pay_in(runtime)) == 2
    assert len(runs) == 2
    await end(stuck)


async def test_a_call_that_ends_after_its_key_was_decided_changes_nothing(make):
    runs, started, gate = [], asyncio.Event(), asyncio.Event()

    @tool(category="action")
    async def pay(amount: int) -> str:
        """Pay."""
        runs.append(amount)
        started.set()
        await gate.wait()
        return "mine"

    clock, store = FakeClock(), MemoryStore()
    slow, other = make(pay, clock=clock, store=store), make(pay, clock=clock, store=store)
    running = asyncio.ensure_future(pay_in(slow))
    await started.wait()
    clock.advance(20)
    assert_failed(await pay_in(other), ErrorType.OUTCOME_UNKNOWN)
    (effect,) = await other.effects()
    await other.reconcile(effect.effect_id, happened=True, by="ada", data="theirs")
    gate.set()
    assert assert_ok(await running) == "mine"
    assert assert_ok(await pay_in(other)) == "theirs"
    assert runs == [5]


async def test_a_call_that_lost_its_lease_does_not_start(make):
    runs = []

    @tool(category="action")
    def pay(amount: int) -> int:
        """Pay."""
        runs.append(amount)
        return len(runs)

    clock = FakeClock()

    def stall(step, attempt):
        if step == "invoke" and not stalled:
            stalled.append(step)
            clock.advance(20)

    stalled = []
    runtime = make(pay, clock=clock, on_step=stall)
    error = assert_failed(await pay_in(runtime), ErrorType.CONFLICT, detail="LEASE_LOST")
    assert (error.retryable, error.partial_side_effects) == (True, False)
    assert runs == []
    assert assert_ok(await pay_in(runtime)) == 1


@pytest.mark.parametrize("seconds", [0.001, 19.9])
async def test_a_lease_lasts_as_long_as_it_says(make, seconds):
    runs = []

    @tool(category="action")
    def pay(amount: int) -> int:
        """Pay."""
        runs.append(amount)
        return 1

    clock = FakeClock()
    runtime = make(pay, clock=clock, on_step=lambda step, _: clock.advance(seconds) if step == "invoke" else None)
    assert_ok(await pay_in(runtime))


async def test_an_effect_is_forgotten_after_a_week_but_never_while_it_is_unknown(make):
    pay, _ = half_done()
    clock, store = FakeClock(), MemoryStore()
    runtime = make(pay, clock=clock, store=store)
    await pay_in(runtime, key="unknown")
    await pay_in(runtime, key="settled")
    clock.advance(7 * 86_400 + 1)
    later = make(pay, clock=clock, store=store)
    assert not (await pay_in(later, key="settled")).meta.replayed
    assert_failed(await pay_in(later, key="unknown"), ErrorType.OUTCOME_UNKNOWN)


async def test_a_settled_key_is_kept_for_a_week(make):
    pay, _ = half_done()
    clock, store = FakeClock(), MemoryStore()
    await pay_in(make(pay, clock=clock, store=store), key="first")
    await pay_in(make(pay, clock=clock, store=store))
    clock.advance(7 * 86_400 - 1)
    assert (await pay_in(make(pay, clock=clock, store=store))).meta.replayed


async def test_a_long_call_keeps_its_lease(make):
    started, gate, renewed = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @tool(category="action")
    async def pay(amount: int) -> int:
        """Pay."""
        started.set()
        await gate.wait()
        return 1

    class Watched(MemoryStore):
        async def renew_leases(self, owner, keys, *, now, lease_until):
            count = await super().renew_leases(owner, keys, now=now, lease_until=lease_until)
            renewed.set()
            return count

    clock, quick = FakeClock(), Settings(ledger=LedgerTimes(lease_seconds=0.03))
    runtime = make(pay, clock=clock, store=Watched(), settings=quick)
    running = asyncio.ensure_future(pay_in(runtime))
    await started.wait()
    clock.advance(0.02)
    await renewed.wait()
    assert (await runtime.effects())[0].lease_until == pytest.approx(clock.now() + 0.03)
    gate.set()
    assert_ok(await running)
