"""Every run ends by name: whatever its provider, its price or its limits do."""

import asyncio
from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from groundwire import (
    Agent,
    ConfigError,
    Context,
    ErrorType,
    Ground,
    GroundwireError,
    Outcome,
    Registry,
    Runtime,
    tool,
)
from groundwire.contracts.messages import Message, TextPart, say
from groundwire.contracts.replies import Finish, FinishReason, Reply, Usage
from groundwire.store import MemoryStore
from groundwire.testing import Answer, Ask, FakeClock, ScriptedModel, ScriptedProvider, runtime_for


@dataclass
class Node:
    value: int
    next: "Node | None" = None


class Strange:
    """A provider of somebody's own."""

    def __init__(self, do):
        self._do = do
        self.asked = 0

    async def complete(self, request, options=None):
        self.asked += 1
        return await self._do(request)

    async def close(self):
        pass


def answer(text="Well.", usage=None, model="m"):
    return Reply(items=(say("assistant", text),), finish=Finish(reason=FinishReason.END), usage=usage, model=model)


async def newest(agent):
    (run, *_) = await agent.runtime.store.list_runs("default")
    return run


@pytest.mark.parametrize(
    "error", [RuntimeError("secret"), OSError("secret"), StopAsyncIteration(), ExceptionGroup("secret", [ValueError()])]
)
async def test_a_provider_that_raises_anything_ends_the_run_as_a_provider_error(error):
    async def raise_it(_request):
        raise error

    agent = Agent("m", runtime=runtime_for(), models=Strange(raise_it))
    done = await agent.run("Hello.")
    assert (done.outcome, done.failure.kind) == (Outcome.PROVIDER_ERROR, "bad_response")
    assert "secret" not in done.failure.message  # what it said may hold anything
    assert (await newest(agent)).outcome == "provider_error"


async def test_a_provider_that_never_answers_ends_the_run_at_its_time_limit():
    async def wait(_request):
        await asyncio.Event().wait()

    agent = Agent("m", runtime=runtime_for(), models=Strange(wait), limits={"max_seconds": 0.02})
    assert (await agent.run("Hello.")).outcome is Outcome.TIME_LIMIT


async def test_a_price_that_fails_costs_the_answer_nothing():
    def price(_model, _usage):
        raise ZeroDivisionError

    async def say_it(_request):
        return answer(usage=Usage(input=1, output=1))

    done = await Agent("m", runtime=runtime_for(), models=Strange(say_it), price=price).run("Hello.")
    assert (done.outcome, done.text, done.cost) == (Outcome.COMPLETED, "Well.", None)


async def test_a_limit_of_cost_needs_a_price():
    async def say_it(_request):
        return answer()

    agent = Agent("m", runtime=runtime_for(), models=Strange(say_it), limits={"max_cost": 1.0})
    with pytest.raises(ConfigError, match="max_cost"):
        await agent.run("Hello.")
    assert await agent.runtime.store.list_runs("default") == []


@pytest.mark.parametrize(
    ("limits", "outcome"), [({"max_cost": 1.0}, "cost_limit"), ({"max_tokens": 10}, "token_limit")]
)
async def test_what_is_not_counted_cannot_go_on_under_a_limit(limits, outcome):
    @tool
    async def look() -> str:
        """Look."""
        return "seen"

    async def call(request):
        inner = ScriptedModel(Answer(calls=(Ask("look", {}),)), "Done.").reply(request)
        return Reply(items=inner.items, finish=inner.finish, model="unknown")

    models = Strange(call)
    agent = Agent("m", runtime=runtime_for(look), models=models, limits=limits, price=lambda model, _: 0.1)
    assert (await agent.run("Go.")).outcome == outcome
    assert models.asked == 1


@pytest.mark.parametrize(
    "changes", [{"profile": "none"}, {"mode": "song"}, {"session": "a\n"}, {"output": {"type": "nonsense"}}]
)
async def test_what_cannot_be_run_is_refused_before_there_is_a_run(changes):
    async def say_it(_request):
        return answer()

    agent = Agent("m", runtime=runtime_for(), models=Strange(say_it))
    with pytest.raises(GroundwireError) as caught:
        await agent.run("Hello.", **changes)
    assert caught.value.code in ("config_error", "registry_error")
    assert await agent.runtime.store.list_runs("default") == []


@pytest.mark.parametrize(
    "usage", [Usage(input=2**63), Usage(input=1, output=1, total=-5), Usage(input=10**400), Usage(input=1.5)]
)
async def test_counts_that_cannot_be_are_no_counts(usage, tmp_path):
    async def say_it(_request):
        return answer(usage=usage)

    async with Agent("m", models=Strange(say_it), store=f"sqlite:///{tmp_path}/g.db") as agent:
        done = await agent.run("Hello.", session="s")
    assert (done.outcome, done.usage) == (Outcome.COMPLETED, Usage())


@pytest.mark.parametrize("options", [{"actor": 5}, {"request_id": 5}, {"user": 1.5}, {"organisation": True}])
async def test_who_asks_is_a_text(options, tmp_path):
    async with runtime_for(lambda_tool(), store=f"sqlite:///{tmp_path}/g.db") as runtime:
        with pytest.raises(ConfigError, match="is a text"):
            await runtime.call("look", {}, **options)
        assert (await runtime.verify_audit()).ok


def lambda_tool():
    @tool
    async def look() -> str:
        """Look."""
        return "seen"

    return look


async def test_who_decides_is_a_text_and_somebody(tmp_path):
    @tool(category="action", confirm=True)
    async def act() -> str:
        """Act."""
        return "done"

    async with runtime_for(act, store=f"sqlite:///{tmp_path}/g.db") as runtime:
        asked = await runtime.call("act", {}, session="s", caller="model")
        approval = asked.meta.confirmation.id
        for by, note in ((5, ""), ("", ""), ("ann", 5), (b"x", "")):
            with pytest.raises(ConfigError):
                await runtime.approve(approval, by=by, note=note)
        await runtime.approve(approval, by="ann")
        assert (await runtime.verify_audit()).ok


async def test_an_answer_may_be_of_a_type_that_holds_itself():
    async def say_it(_request):
        return answer('{"value": 1, "next": {"value": 2}}')

    done = await Agent("m", runtime=runtime_for(), models=Strange(say_it), output=Node).run("Hello.")
    assert done.output == Node(value=1, next=Node(value=2))


@pytest.mark.parametrize(
    "prompt", ["half \ud800", say("user", "half \ud800"), Message(role="user", parts=("x",)), TextPart(text=5)]
)
async def test_a_prompt_that_cannot_be_stored_is_refused(prompt):
    async def say_it(_request):
        return answer()

    agent = Agent("m", runtime=runtime_for(), models=Strange(say_it))
    with pytest.raises(ConfigError, match="the prompt"):
        await agent.run(prompt, session="s")
    with pytest.raises(ConfigError, match="the history"):
        await agent.run("Hello.", history=[Message(role=5, parts=())])
    assert (await agent.run("Hello.", session="s")).outcome is Outcome.COMPLETED


async def test_an_answer_that_cannot_be_stored_is_none():
    async def say_it(_request):
        return answer("half \ud800")

    done = await Agent("m", runtime=runtime_for(), models=Strange(say_it)).run("Hello.")
    assert (done.outcome, done.failure.kind) == (Outcome.PROVIDER_ERROR, "bad_response")


async def test_time_that_a_run_has_had_counts_when_it_is_taken_up_again():
    clock = FakeClock()

    @tool(category="action", confirm=True)
    async def wait() -> str:
        """Wait."""
        return "waited"

    runtime = runtime_for(wait, clock=clock)
    asked = []

    class Slow(ScriptedProvider):
        async def complete(self, request, options=None):
            asked.append(request)
            clock.advance(50)
            return await super().complete(request)

    models = Slow(ScriptedModel(Answer(calls=(Ask("wait", {}),)), "Done."), clock=clock)
    agent = Agent("m", runtime=runtime, models=models, limits={"max_seconds": 60.0})
    paused = await agent.run("Go.")
    await runtime.approve(paused.approvals[0], by="ann")
    clock.advance(100)  # nobody's time
    done = await agent.resume(paused.run_id)
    assert (done.outcome, len(asked)) == (Outcome.COMPLETED, 2)
    paused = await agent.run("Go.", limits={"max_seconds": 50.0})
    await runtime.approve(paused.approvals[0], by="ann") if paused.approvals else None
    assert (await agent.resume(paused.run_id)).outcome is Outcome.TIME_LIMIT


def test_what_belongs_to_a_runtime_is_not_taken_in_silence():
    with pytest.raises(ConfigError, match="store"):
        Agent("m", runtime=runtime_for(), store="memory://")


class Held(MemoryStore):
    """Writes the end of a run only when it is let."""

    def __init__(self):
        super().__init__()
        self.reached, self.let = asyncio.Event(), asyncio.Event()

    async def append_run(self, run, entries, **options):
        if run.outcome:
            self.reached.set()
            async with asyncio.timeout(10):
                await self.let.wait()
        return await super().append_run(run, entries, **options)


@pytest.mark.parametrize("cancels", [1, 2, 5])
async def test_whoever_cancels_a_run_again_while_it_ends_still_gets_it_ended(cancels):
    async def wait(_request):
        asked.set()
        await asyncio.Event().wait()

    store, asked = Held(), asyncio.Event()
    agent = Agent("m", runtime=Runtime(Registry([]), store), models=Strange(wait))
    running = asyncio.create_task(agent.run("Hello."))
    async with asyncio.timeout(10):
        await asked.wait()
        running.cancel()
        await store.reached.wait()
        for _ in range(cancels - 1):
            running.cancel()
            await asyncio.sleep(0)
            assert not running.done()
        store.let.set()
        with pytest.raises(asyncio.CancelledError):
            await running
    (run,) = await store.list_runs("default")
    assert run.outcome == Outcome.CANCELLED


async def test_words_of_others_in_an_answer_are_not_the_models():
    @tool(category="retrieval", ground={"quote": Ground()})
    async def accept(quote: str) -> str:
        """Accept."""
        return quote

    async def repeat(request):
        if len(request.items) == 1:
            inner = ScriptedModel(Answer("One moment.", (Ask("accept", {"quote": "I agree."}),))).reply(request)
            return replace(inner, items=(say("user", "I agree."), *inner.items, say("system", "So it is.")))
        return replace(answer(), items=(say("user", "I agree."), say("assistant", "Well."), say("system", "Yes.")))

    done = await Agent("m", runtime=runtime_for(accept), models=Strange(repeat)).run("Do you?")
    assert (done.outcome, done.text) == (Outcome.COMPLETED, "Well.")
    assert [item.text for item in done.items if item.kind == "message"] == ["Do you?", "One moment.", "Well."]
    assert [call.result.error.type for call in done.calls] == [ErrorType.UNGROUNDED]


async def test_an_answer_of_nothing_but_words_of_others_is_empty():
    async def repeat(_request):
        return replace(answer(), items=(say("user", "I agree."),))

    done = await Agent("m", runtime=runtime_for(), models=Strange(repeat)).run("Do you?")
    assert done.outcome is Outcome.EMPTY_ANSWER


@pytest.mark.parametrize("confirm", [False, True])
async def test_a_tool_hears_what_was_said_up_to_its_call(confirm):
    heard = []

    @tool(category="action", confirm=confirm)
    async def listen(number: int, context: Context) -> None:
        """Listen."""
        heard.append([message.text for message in context.history])

    talk = ScriptedModel(*[Answer(f"Number {one}.", (Ask("listen", {"number": one}),)) for one in range(2)], "Done.")
    agent = Agent("m", runtime=runtime_for(listen), models=ScriptedProvider(talk, clock=FakeClock()))
    done = await agent.run("Listen.")
    while done.outcome is Outcome.AWAITING_APPROVAL:
        await agent.runtime.approve(done.approvals[0], by="ann")
        done = await agent.resume(done.run_id)
    assert (done.outcome, done.text) == (Outcome.COMPLETED, "Done.")
    assert heard == [["Listen.", "Number 0."], ["Listen.", "Number 0.", "Number 1."]]
