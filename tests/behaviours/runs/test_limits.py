"""What a run may use up at most, on both sides of each edge."""

import asyncio

import msgspec
import pytest

from groundwire import Agent, GroundwireError, Outcome, RunLimits, tool
from groundwire.contracts.runs import decode_entry
from groundwire.testing import Answer, Ask, FakeClock, Fault, FaultKind, ModelFaults, runtime_for
from tests.behaviours.runs.stage import UPSTREAMS, events_of, staged, verdicts
from tests.behaviours.runs.tools import make_tools

MAX_BYTES = 200_000
ENVELOPE = len('{"text":""}')


@tool(category="retrieval")
def keep(text: str) -> int:
    """How long a text is."""
    return len(text)


@tool(category="retrieval")
def give(size: int) -> str:
    """A text whose JSON has so many bytes, quotes included."""
    return "x" * (size - 2)


def kept(size):
    return Answer(calls=(Ask("keep", {"text": "x" * (size - ENVELOPE)}),))


def given(size):
    return Answer(calls=(Ask("give", {"size": size}),))


def test_the_usual_limits_are_fifty_steps_and_two_repairs():
    assert msgspec.structs.asdict(RunLimits()) == {
        "max_steps": 50,
        "max_seconds": None,
        "max_tokens": None,
        "max_cost": None,
        "max_context_tokens": 1_000_000,
        "max_repairs": 2,
    }


@pytest.mark.parametrize(
    ("limits", "fault"),
    [
        ({"max_steps": 0}, "limits.max_steps: it must be a whole number at least 1"),
        ({"max_seconds": 0}, "limits.max_seconds: it must be a number more than 0, at most 1 000 000 000"),
        ({"max_tokens": 0}, "limits.max_tokens: it must be a whole number more than 0"),
        ({"max_cost": 0}, "limits.max_cost: it must be a number more than 0, at most 1 000 000 000"),
        ({"max_context_tokens": 0}, "limits.max_context_tokens: it must be a whole number more than 0"),
        ({"max_repairs": -1}, "limits.max_repairs: it must be a whole number at least 0"),
        ({"max_turns": 5}, "limits.max_turns: there is no such name"),
        (RunLimits(max_steps=0), "limits.max_steps: it must be a whole number at least 1"),
    ],
)
def test_a_limit_that_cannot_mean_anything_is_refused_by_name(limits, fault):
    with pytest.raises(GroundwireError, match=rf"^options of the run: {fault}(?: \(|$)"):
        Agent("sim/model", limits=limits)


@pytest.mark.requirement("C-047")
@pytest.mark.parametrize(("calls", "outcome", "steps"), [(49, Outcome.COMPLETED, 50), (50, Outcome.STEP_LIMIT, 50)])
async def test_a_run_has_fifty_steps(calls, outcome, steps):
    answers = [kept(100 + number) for number in range(calls)]
    async with staged("in-process", *answers, "Done.") as stage:
        result = await stage.agent(tools=[keep]).run("Go.")
        assert (result.outcome, result.steps, len(stage.script.asked)) == (outcome, steps, steps)
        assert len(result.calls) == calls


@pytest.mark.requirement("C-138", "C-139")
@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize(
    ("settings", "size", "verdict"),
    [
        ({}, MAX_BYTES, "keep ok"),
        ({}, MAX_BYTES + 1, "keep ARGUMENTS_TOO_LARGE"),
        ({"max_tool_args_bytes": 64}, 64, "keep ok"),
        ({"max_tool_args_bytes": 64}, 65, "keep ARGUMENTS_TOO_LARGE"),
    ],
)
async def test_arguments_may_have_so_many_bytes(upstream, settings, size, verdict):
    async with staged(upstream, kept(size), "Done.") as stage:
        result = await stage.agent(tools=[keep], settings=settings, max_output_tokens=100_000).run("Go.")
        assert (verdicts(result.events), result.text) == ([verdict], "Done.")


@pytest.mark.requirement("C-140", "C-141")
@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize(
    ("settings", "size", "verdict"),
    [
        ({}, MAX_BYTES, "give ok"),
        ({}, MAX_BYTES + 1, "give TOOL_OUTPUT_TOO_LARGE"),
        ({"max_tool_output_bytes": 64}, 64, "give ok"),
        ({"max_tool_output_bytes": 64}, 65, "give TOOL_OUTPUT_TOO_LARGE"),
    ],
)
async def test_an_output_may_have_so_many_bytes(upstream, settings, size, verdict):
    async with staged(upstream, given(size), "Done.") as stage:
        result = await stage.agent(tools=[give], settings=settings).run("Go.")
        assert (verdicts(result.events), result.text) == ([verdict], "Done.")
        shown = msgspec.json.decode(stage.script.asked[1].items[-1].text)
        if verdict == "give ok":
            assert shown == {"ok": True, "data": "x" * (size - 2)}
        else:
            assert (shown["ok"], shown["error"]["type"], "data" in shown) == (False, "TOOL_OUTPUT_TOO_LARGE", False)


async def test_a_limit_of_one_size_leaves_the_other_as_it_is():
    async with staged("in-process", kept(1000), given(1000), "Done.") as stage:
        result = await stage.agent(tools=[keep, give], settings={"max_tool_args_bytes": 64}).run("Go.")
        assert verdicts(result.events) == ["keep ARGUMENTS_TOO_LARGE", "give ok"]


@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize(
    ("settings", "offered"), [({}, ["page", "read_spilled"]), ({"tool_denylist": "read_spilled"}, ["page"])]
)
async def test_what_may_be_kept_aside_is_read_back_with_a_tool_that_obeys_the_masks(upstream, settings, offered):
    @tool(category="retrieval", spill=True)
    def page(size: int) -> str:
        """A long page."""
        return "x" * size

    asking = Answer(calls=(Ask("page", {"size": 100}),))
    async with staged(upstream, asking, "Done.") as stage:
        result = await stage.agent(tools=[page], settings={"max_tool_output_bytes": 64, **settings}).run("Go.")
        assert (verdicts(result.events), stage.script.offered) == (["page ok"], [["page"], offered])


@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize(("more", "outcome"), [(0, Outcome.TOKEN_LIMIT), (1, Outcome.COMPLETED)])
async def test_tokens_are_counted_before_the_next_request(upstream, more, outcome):
    async with staged(upstream, kept(50)) as stage:
        used = (await stage.agent(tools=[keep]).run("Go.", limits={"max_steps": 1})).usage.total
    async with staged(upstream, kept(50), "Done.") as stage:
        result = await stage.agent(tools=[keep], limits={"max_tokens": used + more}).run("Go.")
        assert result.outcome == outcome


@pytest.mark.requirement("B-166")
@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize(("more", "outcome"), [(0, Outcome.TOKEN_LIMIT), (1, Outcome.COMPLETED)])
async def test_a_conversation_that_fills_the_context_is_not_sent_again(upstream, more, outcome):
    async with staged(upstream, kept(50)) as stage:
        used = (await stage.agent(tools=[keep]).run("Go.", limits={"max_steps": 1})).usage
    limits = {"max_context_tokens": used.input + used.output + more}
    async with staged(upstream, kept(50), "Done.") as stage:
        result = await stage.agent(tools=[keep], limits=limits).run("Go.")
        assert (result.outcome, len(stage.script.asked)) == (outcome, 1 + more)


@pytest.mark.requirement("B-166")
@pytest.mark.parametrize(("more", "outcome"), [(0, Outcome.TOKEN_LIMIT), (1, Outcome.COMPLETED)])
async def test_a_session_whose_context_is_full_is_asked_nothing_more(more, outcome):
    async with runtime_for(keep) as runtime, staged("in-process", kept(50), "Hello.", "Done.") as stage:
        agent = stage.agent(runtime=runtime)
        last = (await agent.run("Go.", session="s")).events[-1].usage
        counted = _last_usage(await runtime.store.session_entries("default", "s"))
        assert counted < last.total
        result = await agent.run("And now?", session="s", limits={"max_context_tokens": counted + more})
        assert (result.outcome, len(stage.script.asked)) == (outcome, 2 + more)
        assert (await agent.replay(result.run_id)).differences == ()
        other = await stage.agent(runtime=runtime).run("Hello?", limits={"max_context_tokens": counted})
        assert other.outcome == Outcome.COMPLETED


@pytest.mark.parametrize(("seconds", "outcome"), [(59, Outcome.COMPLETED), (60, Outcome.TIME_LIMIT)])
async def test_time_is_looked_at_before_the_next_request(seconds, outcome):
    clock = FakeClock()
    waiting = Answer(calls=(Ask("wait", {"seconds": seconds}),))
    async with (
        runtime_for(*make_tools(clock), clock=clock) as runtime,
        staged("in-process", waiting, "Done.") as stage,
    ):
        assert (await stage.agent(runtime=runtime, limits={"max_seconds": 60}).run("Go.")).outcome == outcome


@pytest.mark.parametrize("upstream", ["openai-chat", "openai-responses", "anthropic", "gemini"])
@pytest.mark.parametrize("how", ["whole", "streamed"])
async def test_a_request_does_not_outlast_the_time_that_is_left(upstream, how):
    silent, clock = ModelFaults(at={0: Fault(kind=FaultKind.TIMEOUT)}), FakeClock()
    async with staged(upstream, faults=silent) as stage:
        agent = stage.agent(limits={"max_seconds": 60}, clock=clock)
        running = asyncio.create_task(events_of(agent, "Go.", how))
        await clock.until_asleep()
        while not stage.bodies:  # noqa: ASYNC110 - the simulator tells nobody when it was asked
            await asyncio.sleep(0)
        clock.advance(59)
        await asyncio.sleep(0)
        assert not running.done()
        clock.advance(1)
        assert (await running)[-1].outcome == Outcome.TIME_LIMIT
        assert clock.sleepers == 0


@pytest.mark.parametrize("repairs", [0, 1, 2, 3])
async def test_an_answer_is_asked_for_again_so_often_and_no_more(repairs):
    limits = {"max_repairs": repairs}
    async with staged("in-process", *[Answer()] * repairs, "Done.") as stage:
        assert (await stage.agent(limits=limits).run("Go.")).outcome == Outcome.COMPLETED
    async with staged("in-process", *[Answer()] * (repairs + 1), "Done.") as stage:
        result = await stage.agent(limits=limits).run("Go.")
        assert (result.outcome, len(stage.script.asked)) == (Outcome.EMPTY_ANSWER, repairs + 1)


async def test_repairs_of_all_kinds_count_together():
    thought = Answer(reasoning="Hm.")
    async with staged("in-process", Answer(), kept(50), thought, Answer(), "Done.") as stage:
        result = await stage.agent(tools=[keep]).run("Go.")
        assert (result.outcome, len(stage.script.asked)) == (Outcome.EMPTY_ANSWER, 4)


async def test_the_cost_of_a_run_is_the_sum_of_its_replies():
    def price(model, usage):
        assert (model, usage.total > 0) == ("scripted/model", True)
        return 0.25

    async with staged("in-process", kept(50), "Done.", "Done.") as stage:
        assert (await stage.agent(tools=[keep], price=price).run("Go.")).cost == 0.5
        assert (await stage.agent(tools=[keep]).run("Go.")).cost is None


def _last_usage(session):
    replies = [
        body.reply for run in session.values() for entry in run if (body := decode_entry(entry.body)).kind == "answered"
    ]
    return replies[-1].usage.input + replies[-1].usage.output
