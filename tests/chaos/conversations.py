"""Conversations that go wrong by plan: what the model says, which requests fail, who cancels and what people decide.

Everything follows from the seed and the number of the conversation, so that each can be had again alone.
"""

import asyncio
from contextlib import aclosing
from random import Random
from typing import Any

from groundwire import Agent, Context, ErrorType, Outcome, Registry, Runtime, Settings, ToolError, open_models, tool
from groundwire.assembly import ProviderSettings
from groundwire.providers.retries import RetryPolicy
from groundwire.providers.transport import Timeouts
from groundwire.testing import Answer, Ask, Fault, FaultKind, ModelFaults, ScriptedModel, simulator

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
CALLS = ("look", "pay", "pay", "pay", "pay", "fail", "sign")
CANCELS = ("", "", "", "", "", "before_payment", "after_payment", "listener_leaves")
DECISIONS = ("approve", "approve", "change", "deny", "leave")
MAX_PARTS = 12
"""How often a run is taken up again at most."""


class FaultsByConversation(ModelFaults):
    """A plan of its own for each conversation, from its first request on."""

    def __init__(self, seed: int) -> None:
        super().__init__(rate=0.25, faults=FAULTS)
        self._base, self._asked, self._first = seed, 0, 0

    def begin(self, number: int) -> None:
        self._seed, self._first = f"{self._base}:{number}", self._asked

    def fault(self, number: int) -> Fault | None:
        self._asked = number + 1
        return super().fault(number - self._first)


class World:
    """What the tools have done, by tool and key; and who is to be cancelled where."""

    def __init__(self) -> None:
        self.effects: list[tuple[str, str]] = []
        self.cancel = ""
        self.running: asyncio.Task[Any] | None = None

    async def reach(self, place: str) -> None:
        if self.cancel == place and self.running is not None:
            self.cancel = ""
            self.running.cancel()
            await asyncio.Event().wait()

    def registry(self) -> Registry:
        @tool(category="retrieval")
        async def look(place: str) -> dict[str, Any]:
            """Look at a place."""
            return {"place": place} if place != "c" else {}

        @tool(category="action", commits=True)
        async def pay(amount: int, context: Context) -> dict[str, Any]:
            """Pay an amount."""
            if amount % 5 == 0:
                raise ToolError(ErrorType.TRANSIENT, "The bank is closed.", partial_side_effects=False)
            await self.reach("before_payment")
            await context.commit()
            self.effects.append(("pay", context.idempotency_key))
            await self.reach("after_payment")
            if amount % 7 == 0:
                raise RuntimeError("the line went dead after the payment")
            return {"paid": amount}

        @tool(category="action", confirm=True)
        async def sign(amount: int, context: Context) -> dict[str, Any]:
            """Sign for an amount."""
            self.effects.append(("sign", context.idempotency_key))
            return {"signed": amount}

        @tool(category="utility")
        async def fail(amount: int) -> dict[str, Any]:
            """Fail."""
            raise RuntimeError(f"it cannot take {amount}")

        return Registry([look, pay, sign, fail])


def model_of(seed: int, faults: ModelFaults) -> ScriptedModel:
    """Says what a model might at this point of this conversation: always the same, and not always sensible."""

    def say_anything(request: Any) -> Answer:
        words = "".join(item.text for item in request.items if item.kind == "message" and item.role == "user")
        steps = sum(item.kind in ("result", "call") for item in request.items)
        chance = Random(f"{seed}:{words[:60]}:{steps}")
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

    return ScriptedModel(otherwise=say_anything, faults=faults)


class Conversations:
    """An agent in front of four faulty servers, one for each dialect.

    `patience` is how many seconds a server may take. Short, a slow machine may add failures of its own to those planned.
    """

    def __init__(self, seed: int, stack: Any, store: str, *, patience: float = 0.2) -> None:
        self.world = World()
        self._patience = patience
        self._seed, self._stack, self._store = seed, stack, store
        self._faults = {dialect: FaultsByConversation(seed) for dialect in DIALECTS}

    async def open(self) -> None:
        providers = {}
        for dialect in DIALECTS:
            model = model_of(self._seed, self._faults[dialect])
            running = await self._stack.enter_async_context(simulator(model=model))
            urls = {"anthropic": running.anthropic_url, "gemini": running.gemini_url}
            providers[dialect.replace("-", "_")] = ProviderSettings(
                dialect=dialect,
                base_url=urls.get(dialect, running.openai_url),
                timeouts=Timeouts(total=self._patience, read=self._patience),
                retry=RetryPolicy(attempts=2, first=0.001, longest=0.01),
            )
        settings = Settings(providers=providers)
        self.runtime = await self._stack.enter_async_context(
            Runtime(self.world.registry(), self._store, settings=settings)
        )
        models = open_models(settings, environ={})
        self._stack.push_async_callback(models.close)
        self.agent = Agent("openai_chat/any", runtime=self.runtime, models=models, limits={"max_steps": 12})

    async def hold(self, number: int) -> list[str]:
        """One conversation to its end; the outcomes of its parts."""
        chance, dialect, run_id = Random(f"{self._seed}:{number}"), DIALECTS[number % 4], f"run_{number}"
        self._faults[dialect].begin(number)
        cancel, stay = chance.choice(CANCELS), chance.randrange(1, 8)
        self.world.cancel = cancel
        options = {"model": f"{dialect.replace('-', '_')}/any", "run_id": run_id}
        prompt = f"Conversation {number} of {self._seed}"
        if cancel == "listener_leaves":
            await self._listen(prompt, options, stay)
        else:
            self.world.running = asyncio.create_task(
                self._listen(prompt, options) if number % 2 else self.agent.run(prompt, **options)
            )
            await asyncio.wait((self.world.running,))
            if not self.world.running.cancelled():
                self.world.running.result()
        self.world.cancel = ""
        outcomes = [await self._outcome(run_id)]
        while outcomes[-1] in ("awaiting_approval", "provider_error", "cancelled") and len(outcomes) < MAX_PARTS:
            if outcomes[-1] == "awaiting_approval" and not await self._decide(run_id, chance):
                break
            outcomes.append((await self.agent.resume(run_id)).outcome.value)
        return outcomes

    async def _listen(self, prompt: str, options: dict[str, str], stay: int | None = None) -> None:
        """To the end, or for so many events."""
        heard = 0
        async with aclosing(self.agent.stream(prompt, **options)) as events:
            async for _ in events:
                heard += 1
                if heard == stay:
                    break

    async def _decide(self, run_id: str, chance: Random) -> bool:
        """What people say to each question of a run; whether all of them are answered."""
        (last,) = [run for run in await self.runtime.store.list_runs("default", limit=1) if run.run_id == run_id]
        assert last.outcome == Outcome.AWAITING_APPROVAL
        for question in await self.runtime.approvals():
            match chance.choice(DECISIONS):
                case "approve":
                    await self.runtime.approve(question.confirmation_id, by="ann")
                case "change":
                    amount = {"amount": chance.randrange(1, 15)}
                    await self.runtime.approve(question.confirmation_id, by="ann", arguments=amount)
                case "deny":
                    await self.runtime.deny(question.confirmation_id, by="bob")
                case _:
                    return False
        return True

    async def _outcome(self, run_id: str) -> str:
        run = await self.runtime.store.load_run("default", run_id)
        assert run is not None
        return Outcome(run.outcome).value
