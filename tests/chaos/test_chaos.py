"""A thousand conversations with models that fail by plan: each ends with a named outcome, every effect is counted, and
every record replays exactly.

CHAOS_SEED and CHAOS_RUNS choose another thousand, or fewer; the same seed gives the same conversations and faults.
"""

import os
from collections import Counter
from contextlib import AsyncExitStack
from random import Random
from typing import Any

import pytest

from groundwire import Agent, Context, ErrorType, Outcome, Registry, Runtime, Settings, ToolError, open_models, tool
from groundwire.assembly import ProviderSettings
from groundwire.providers.retries import RetryPolicy
from groundwire.providers.transport import Timeouts
from groundwire.testing import Answer, Ask, Fault, FaultKind, ModelFaults, ScriptedModel, simulator

SEED = int(os.environ.get("CHAOS_SEED", "20261116"))
RUNS = int(os.environ.get("CHAOS_RUNS", "1000"))
FAULTS = (
    Fault(kind=FaultKind.STATUS, status=429, retry_after=0.001),
    Fault(kind=FaultKind.STATUS, status=429),
    Fault(kind=FaultKind.STATUS, status=500),
    Fault(kind=FaultKind.STATUS, status=529),
    Fault(kind=FaultKind.CUT, at_byte=0),
    Fault(kind=FaultKind.CUT, at_byte=60),
    Fault(kind=FaultKind.CUT, at_byte=300),
    Fault(kind=FaultKind.TRUNCATED_CALL),
    Fault(kind=FaultKind.MALFORMED_CALL),
    Fault(kind=FaultKind.EMPTY),
    Fault(kind=FaultKind.THINKING_LEAK),
    Fault(kind=FaultKind.DUPLICATE_IDS),
    Fault(kind=FaultKind.SLOW_DRIP, pause=0.0001),
    Fault(kind=FaultKind.WRONG_CONTENT_TYPE),
    Fault(kind=FaultKind.TIMEOUT, pause=0.5),
)
DIALECTS = ("openai-chat", "openai-responses", "anthropic", "gemini")
CALLS = ("look", "pay", "pay", "pay", "pay", "fail")


def say_anything(request: Any) -> Answer:
    """What a model might do at this point of this conversation: always the same, and not always sensible."""
    words = "".join(item.text for item in request.items if item.kind == "message" and item.role == "user")
    steps = sum(item.kind in ("result", "call") for item in request.items)
    chance = Random(f"{SEED}:{words[:60]}:{steps}")
    if not request.tools or steps > 12 or chance.random() < 0.3:
        return Answer(text=f"Done after {steps}.")
    calls = []
    for _ in range(chance.choice((1, 1, 2, 3))):
        name = chance.choice(CALLS)
        arguments = {"place": chance.choice("abc")} if name == "look" else {"amount": chance.randrange(1, 15)}
        calls.append(Ask(name, arguments))
    if chance.random() < 0.1:
        calls.append(Ask("no_such_tool", {}, offered=False))
    if chance.random() < 0.1:
        calls.append(Ask("pay", {"amount": "a lot"}))
    if chance.random() < 0.05:
        calls.append(Ask("pay", raw='{"amount": '))
    return Answer(text="Let me see." if chance.random() < 0.3 else "", calls=tuple(calls))


def registry(paid: list[str]) -> Registry:
    @tool(category="retrieval")
    async def look(place: str) -> dict[str, Any]:
        """Look at a place."""
        return {"place": place} if place != "c" else {}

    @tool(category="action")
    async def pay(amount: int, context: Context) -> dict[str, Any]:
        """Pay an amount."""
        if amount % 5 == 0:
            raise ToolError(ErrorType.TRANSIENT, "The bank is closed.", partial_side_effects=False)
        paid.append(context.idempotency_key)
        if amount % 7 == 0:
            raise RuntimeError("the line went dead after the payment")
        return {"paid": amount}

    @tool(category="utility")
    async def fail(amount: int) -> dict[str, Any]:
        """Fail."""
        raise RuntimeError(f"it cannot take {amount}")

    return Registry([look, pay, fail])


@pytest.mark.requirement("C-047")
async def test_a_thousand_conversations_with_faults_end_by_name_and_pay_once(tmp_path):
    paid: list[str] = []
    outcomes: Counter[str] = Counter()
    resumed: list[Outcome] = []
    unlike: list[int] = []
    async with AsyncExitStack() as stack:
        providers = {}
        for place, dialect in enumerate(DIALECTS):
            faults = ModelFaults(seed=SEED + place, rate=0.25, faults=FAULTS)
            model = ScriptedModel(otherwise=say_anything, faults=faults)
            running = await stack.enter_async_context(simulator(model=model))
            base_url = {"anthropic": running.anthropic_url, "gemini": running.gemini_url}.get(
                dialect, running.openai_url
            )
            providers[dialect.replace("-", "_")] = ProviderSettings(
                dialect=dialect,
                base_url=base_url,
                timeouts=Timeouts(total=0.2, read=0.2),
                retry=RetryPolicy(attempts=2, first=0.001, longest=0.01),
            )
        settings = Settings(providers=providers)
        runtime = await stack.enter_async_context(
            Runtime(registry(paid), f"sqlite:///{tmp_path}/groundwire.db", settings=settings)
        )
        models = open_models(settings, environ={})
        stack.push_async_callback(models.close)
        agent = Agent("openai_chat/any", runtime=runtime, models=models, limits={"max_steps": 12})
        for number in range(RUNS):
            model_name = f"{DIALECTS[number % 4].replace('-', '_')}/any"
            prompt = f"Conversation {number} of {SEED}"
            if number % 2:
                result = await agent.run(prompt, model=model_name)
                outcome, text, run_id = result.outcome, result.text, result.run_id
            else:
                *_, last = [event async for event in agent.stream(prompt, model=model_name)]
                assert last.event == "run.ended", number
                outcome, text, run_id = last.outcome, last.text, last.run_id
            outcomes[Outcome(outcome).value] += 1
            assert text, (number, outcome)
            if outcome == Outcome.PROVIDER_ERROR:  # nothing is lost, and nothing happens again when it is taken up
                resumed += [(await agent.resume(run_id)).outcome]
            if not (await agent.replay(run_id)).same:
                unlike.append(number)
        effects = await runtime.effects(limit=100_000)
        audit = await runtime.verify_audit()
    assert audit.ok, audit
    assert unlike == []
    assert sum(outcomes.values()) == RUNS
    assert max(Counter(paid).values()) == 1
    recorded = [effect.key for effect in effects if effect.status in ("settled", "unknown")]
    assert sorted(paid) == sorted(recorded)
    if RUNS >= 1000:  # the plan is dense enough that these really happened
        assert outcomes["completed"] > RUNS / 3
        assert outcomes["provider_error"] > 10
        assert resumed.count(Outcome.COMPLETED) > len(resumed) / 2
