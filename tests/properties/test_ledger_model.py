"""The effect ledger against a model of its rules: random calls, failures, time-outs, crashes and decisions.

The world counts how often each effect really happened. Whatever the order of things, no key of an action that is not
repeatable may happen twice, and every answer must be the one that the model gives.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from groundwire import Context, ErrorType, Overrides, PolicyRule, Profile, Settings, Tool, ToolError
from groundwire.contracts.canonical import digest
from groundwire.contracts.records import Effect, Reservation
from groundwire.store import MemoryStore
from groundwire.testing import FakeClock, runtime_for

TOOLS = st.sampled_from(["plain", "hooked", "repeatable", "reading"])
KEYS = st.sampled_from(["k1", "k2"])
INPUTS = st.sampled_from([1, 1, 1, 2])
ENDINGS = st.sampled_from(["ok", "clean", "partial", "raises", "hangs"])
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
PATIENCE = Settings(
    profiles={"patient": Profile()},
    policies=(
        PolicyRule(limits=Overrides(hard_ms=4)),
        PolicyRule(profiles=("patient",), limits=Overrides(hard_ms=60_000)),
    ),
)


@dataclass(frozen=True)
class Plan:
    """What the handler does when it is run, and whether the tool's hook can tell afterwards."""

    ending: str = "ok"
    happens: bool = True
    hook_knows: bool = True


@dataclass(frozen=True)
class Known:
    """What the model knows about a key."""

    status: str
    n: int


class LedgerMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock, self.store = FakeClock(), MemoryStore()
        self.plan, self.started = Plan(), asyncio.Event()
        self.happened, self.runs = Counter(), Counter()
        self.known: dict[tuple[str, str], Known] = {}
        self.count = 0
        self.restart()

    def teardown(self):
        self.loop.run_until_complete(self.runtime.close())
        self.loop.close()

    def make_tool(self, name):
        async def act(n: int, context: Context):
            effect = (name, context.idempotency_key)
            self.runs[effect] += 1
            if self.plan.ending in ("ok", "cancelled") or self.plan.happens:
                self.happened[effect] += self.plan.ending != "clean"
            self.started.set()
            match self.plan.ending:
                case "ok":
                    return {"run": self.runs[effect]}
                case "clean":
                    raise ToolError(ErrorType.TRANSIENT, "later")
                case "partial":
                    raise ToolError(ErrorType.PERMANENT, "half done", partial_side_effects=True)
                case "raises":
                    raise ValueError("boom")
                case _:
                    return await asyncio.Event().wait()

        async def reconcile(n: int, context: Context):
            if not self.plan.hook_knows:
                raise ConnectionError("no answer")
            return {"found": True} if self.happened[name, context.idempotency_key] else None

        return Tool(
            name=name,
            description="Act.",
            parameters=SCHEMA,
            handler=act,
            category="retrieval" if name == "reading" else "action",
            reconcile=reconcile if name == "hooked" else None,
            repeatable=name == "repeatable",
        )

    @rule()
    def restart(self):
        """A new process on the same store."""
        tools = [self.make_tool(name) for name in ("plain", "hooked", "repeatable", "reading")]
        self.runtime = runtime_for(*tools, store=self.store, clock=self.clock, settings=PATIENCE)

    def expect(self, name, key, n, plan):
        """What the rules say about a call, and what becomes of its key."""
        known = self.known.get((name, key))
        if known is not None:
            if known.n != n:
                return "CONFLICT"
            if known.status == "settled":
                return "replayed"
            if name == "plain" or (name == "hooked" and not plan.hook_knows):
                return "OUTCOME_UNKNOWN"
            if name == "hooked" and self.happened[name, key]:
                self.known[name, key] = Known("settled", n)
                return "replayed"
        return self.expect_run(name, key, n, plan)

    def expect_run(self, name, key, n, plan):
        after = {"ok": "settled", "clean": None}.get(plan.ending, None if name == "reading" else "unknown")
        if after is None:
            self.known.pop((name, key), None)
        else:
            self.known[name, key] = Known(after, n)
        outcomes = {"clean": "TRANSIENT", "partial": "PERMANENT", "raises": "INTERNAL", "hangs": "TIMEOUT"}
        return {**outcomes, "cancelled": "CANCELLED"}.get(plan.ending, "ok")

    def run(self, coroutine):
        return self.loop.run_until_complete(asyncio.wait_for(coroutine, timeout=5))

    async def call(self, name, key, n, **options):
        return await self.runtime.call(name, {"n": n}, idempotency_key=key, **options)

    @rule(name=TOOLS, key=KEYS, n=INPUTS, ending=ENDINGS, happens=st.booleans(), hook_knows=st.booleans())
    def call_once(self, name, key, n, ending, happens, hook_knows):
        self.plan = Plan(ending, happens, hook_knows)
        expected = self.expect(name, key, n, self.plan)
        assert outcome_of(self.run(self.call(name, key, n))) == expected

    @rule(name=TOOLS, key=KEYS, n=INPUTS, ending=ENDINGS, happens=st.booleans(), hook_knows=st.booleans())
    def call_twice_at_once(self, name, key, n, ending, happens, hook_knows):
        self.plan = Plan(ending, happens, hook_knows)

        async def both():
            return await asyncio.gather(self.call(name, key, n), self.call(name, key, n))

        runs_before = self.happened[name, key]
        results = self.run(both())
        found = sorted(outcome_of(result) for result in results)
        # The hook's answer depends on what happened meanwhile, so the model looks at the same world step by step.
        now, self.happened[name, key] = self.happened[name, key], runs_before
        expected = [self.expect(name, key, n, self.plan)]
        self.happened[name, key] = now
        expected.append(self.expect(name, key, n, self.plan))
        assert found == sorted(expected)

    @rule(name=TOOLS, key=KEYS, n=INPUTS, by_turn=st.booleans())
    def cancel(self, name, key, n, by_turn):
        """A call is cancelled after it began; one that never begins is left to end."""
        self.plan, self.started = Plan("cancelled"), asyncio.Event()
        expected = self.expect(name, key, n, self.plan)
        self.count += 1
        call_id = f"call_{self.count}"

        async def cancelled():
            async with self.runtime.turn(profile="patient") as turn:
                task = asyncio.ensure_future(self.call(name, key, n, turn=turn, call_id=call_id))
                if expected == "CANCELLED":
                    await self.started.wait()
                    assert turn.cancel(call_id) if by_turn else task.cancel()
                await asyncio.wait([task])
                return "CANCELLED" if task.cancelled() else outcome_of(task.result())

        assert self.run(cancelled()) == expected

    @rule(name=TOOLS, key=KEYS, happens=st.booleans())
    def die(self, name, key, happens):
        """Another process reserves the key and is gone before it settles."""
        if (name, key) in self.known:
            return
        self.count += 1
        effect = Effect(
            effect_id=f"eff_dead_{self.count}",
            tenant="default",
            tool=name,
            key=f"caller:{key}",
            input_digest=digest({"n": 1}),
            owner="dead",
            attempt=f"att_dead_{self.count}",
            lease_until=self.clock.now() + 20,
        )
        self.run(self.store.reserve(Reservation(tenant="default", effect=effect, now=self.clock.now())))
        self.happened[name, key] += happens
        self.known[name, key] = Known("unknown", 1)
        self.clock.advance(20)

    @precondition(lambda self: any(known.status == "unknown" for known in self.known.values()))
    @rule(data=st.data())
    def decide(self, data):
        """A person finds out what really happened."""
        name, key = data.draw(st.sampled_from([k for k, known in self.known.items() if known.status == "unknown"]))
        effects = self.run(self.runtime.effects(limit=100))
        (effect,) = [found for found in effects if (found.tool, found.key) == (name, f"caller:{key}")]
        happened = bool(self.happened[name, key])
        self.run(self.runtime.reconcile(effect.effect_id, happened=happened, by="ada", data={"found": True}))
        if happened:
            self.known[name, key] = Known("settled", self.known[name, key].n)
        else:
            del self.known[name, key]

    @invariant()
    def nothing_happened_twice(self):
        assert all(count <= 1 for (name, _), count in self.happened.items() if name in ("plain", "hooked"))

    @invariant()
    def the_store_agrees_with_the_model(self):
        found = self.run(self.runtime.effects(limit=100))
        now = self.clock.now()
        statuses = {
            (effect.tool, effect.key.removeprefix("caller:")): "unknown"
            if effect.status == "reserved" and effect.lease_until <= now
            else effect.status.value
            for effect in found
        }
        assert statuses == {key: known.status for key, known in self.known.items()}


def outcome_of(result):
    if result.ok:
        return "replayed" if result.meta.replayed else "ok"
    return result.error.type.value


LedgerMachine.TestCase.settings = settings(
    max_examples=60, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


@pytest.mark.requirement("OQ-40", "D-045")
def test_no_effect_happens_twice_whatever_the_order_of_things():
    LedgerMachine.TestCase().runTest()
