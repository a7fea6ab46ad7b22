"""Exact replays: whatever way a run took, it comes out the same from its record, without model and tools."""

import asyncio
from random import Random

import msgspec
import pytest

from groundwire import Context, Outcome, ToolPolicy, say, tool
from groundwire.contracts.canonical import digest
from groundwire.contracts.errors import NotFound
from groundwire.contracts.results import ToolResult, encode_result
from groundwire.contracts.runs import RESUMABLE, Answered, Ended, Planned, Resulted, decode_entry, encode_entry
from groundwire.replays import Changes, replay_run
from groundwire.runtime.transforms import TOOL_CALL_TRANSFORMS, TOOL_RESULT_TRANSFORMS
from groundwire.testing import (
    Answer,
    Ask,
    FakeClock,
    Fault,
    FaultKind,
    ModelFaults,
    Rule,
    ScriptedModel,
    ScriptedProvider,
    runtime_for,
)

AT_ONCE = [Fault(kind=kind) for kind in FaultKind if kind not in (FaultKind.TIMEOUT, FaultKind.SLOW_DRIP)]
"""The faults for which no clock has to go on."""


def calls(*asked):
    return Answer(calls=tuple(Ask(name, arguments) for name, arguments in asked))


def kinds(report):
    return [(one.step, one.kind, one.name) for one in report.differences]


async def assert_exact(agent, result, ran):
    """The run replays exactly, and no tool ran for it."""
    before = list(ran)
    report = await agent.replay(result.run_id)
    assert report.differences == ()
    assert report.same
    assert report.exact
    assert (report.outcome, report.text, report.steps) == (result.outcome, result.text, result.steps)
    assert (report.usage, report.cost) == (result.usage, result.cost)
    assert msgspec.json.encode(report.items) == msgspec.json.encode(result.items)
    assert ran == before
    return report


async def test_an_answer_that_a_database_cannot_keep_as_it_is_replays_exactly(make, ran):
    agent = make(calls(("weather", {"city": "Os\0lo"})), "It is\0 fine.")
    result = await agent.run("How is\0 it?")
    assert result.text == "It is\0 fine."
    await assert_exact(agent, result, ran)


@pytest.mark.requirement("C-037")
async def test_a_run_with_parallel_calls_replays_exactly(make, ran):
    agent = make(
        calls(("find_order", {"number": 7}), ("cancel_order", {"number": 7}), ("weather", {"city": "Oslo"})),
        "All done.",
    )
    result = await agent.run("Cancel order 7")
    assert sorted(ran) == ["cancel_order", "find_order", "weather"]
    report = await assert_exact(agent, result, ran)
    assert report.text == "All done."


async def test_refused_and_unknown_calls_replay_exactly(make, ran):
    agent = make(
        calls(("find_order", {"number": "seven"})),
        Answer(calls=(Ask("no_such_tool", {}, offered=False),)),
        "I could not find it.",
    )
    await assert_exact(agent, await agent.run("Find order seven"), ran)
    assert ran == []


async def test_a_run_that_repeated_itself_until_its_tools_were_taken_away_replays_exactly(make, ran):
    again = Answer(calls=(Ask("find_order", {"number": 7}, offered=False),))
    agent = make(*[again] * 12)
    result = await agent.run("Find order 7")
    assert (result.outcome, ran) == (Outcome.LOOP_DETECTED, ["find_order", "find_order"])
    await assert_exact(agent, result, ran)


async def test_calls_that_tools_make_replay_exactly(make, ran):
    @tool
    async def inner(number: int) -> int:
        """Count on."""
        ran.append("inner")
        return number + 1

    @tool
    async def outer(context: Context) -> dict:
        """Call another tool."""
        return {"inner": (await context.call("inner", {"number": 1})).data}

    agent = make(calls(("outer", {})), "Two.", tools=[inner, outer])
    result = await agent.run("Go")
    assert ran == ["inner"]
    await assert_exact(agent, result, ran)


async def test_a_result_that_was_too_large_to_show_replays_exactly(make, ran):
    @tool(policy=ToolPolicy(spill=True))
    async def report() -> str:
        """Write much."""
        ran.append("report")
        return "x" * 2_000_000

    agent = make(calls(("report", {})), Answer("So much."), tools=[report])
    result = await agent.run("Report")
    assert result.steps == 2
    await assert_exact(agent, result, ran)
    assert kinds(await agent.replay(result.run_id, model="sim/b")) == [(1, "plan", "model")]


async def test_a_failure_after_which_the_model_was_asked_without_tools_replays_exactly(make, ran):
    faults = ModelFaults(at={0: Fault(kind=FaultKind.STATUS, status=503)})
    agent = make("It was sent.", faults=faults, settings={"fallback_retry_count": 1})
    result = await agent.run("Where is order 7?")
    assert result.outcome is Outcome.COMPLETED
    await assert_exact(agent, result, ran)


@pytest.mark.parametrize("seed", range(20))
async def test_whatever_goes_wrong_is_replayed_as_it_went(make, ran, seed):
    chance = Random(seed)
    asked = [
        ("find_order", {"number": 1}),
        ("find_order", {"number": "one"}),
        ("weather", {"city": "Oslo"}),
        ("cancel_order", {"number": 2}),
        ("pay", {"amount": 3}),
    ]
    answers = [
        chance.choice([Answer(), Answer("Done."), calls(*chance.choices(asked, k=chance.randint(1, 3)))])
        for _ in range(6)
    ]
    agent = make(*answers, faults=ModelFaults(seed=seed, rate=0.3, faults=AT_ONCE))
    result = await agent.run("Do what you like", session="s1")
    for number in range(4):
        await assert_exact(agent, result, ran)
        if result.outcome not in RESUMABLE:
            break
        for approval in await agent.runtime.approvals():
            decide = agent.runtime.approve if number % 2 else agent.runtime.deny
            await decide(approval.confirmation_id, by="ann")
        result = await agent.resume(result.run_id)


async def test_two_calls_of_one_id_replay_exactly(make, ran):
    def twice(name, arguments, other):
        return Answer(calls=(Ask(name, arguments, call_id="call_1"), Ask(name, other, call_id="call_1")))

    agent = make(
        twice("find_order", {"number": 7}, {"number": 7}),
        twice("weather", {"city": "Oslo"}, {"city": "Rome"}),
        "So it is.",
    )
    await assert_exact(agent, await agent.run("Find order 7"), ran)


async def test_repaired_answers_replay_exactly(make, ran):
    asked_again = Rule(pattern="final answer now", answer="It was sent.")
    agent = make(calls(("find_order", {"number": 7})), "", rules=[asked_again])
    result = await agent.run("Where is order 7?")
    assert (result.outcome, result.steps) == (Outcome.COMPLETED, 3)
    await assert_exact(agent, result, ran)


async def test_an_answer_that_stays_empty_replays_exactly(make, ran):
    agent = make("", "", "", "")
    result = await agent.run("Hello")
    assert result.outcome is Outcome.EMPTY_ANSWER
    await assert_exact(agent, result, ran)


async def test_transforms_of_calls_and_results_replay_exactly(make, ran):
    settings = {
        "tool_call_transforms": tuple(TOOL_CALL_TRANSFORMS),
        "tool_result_transforms": tuple(TOOL_RESULT_TRANSFORMS),
    }
    asked = Ask("find_order", raw='"{\\"number\\": \\"7\\"}"')
    agent = make(Answer(calls=(asked,)), "It was sent.", settings=settings)
    result = await agent.run("Where is order 7?")
    assert result.calls[0].result.ok
    await assert_exact(agent, result, ran)


@pytest.mark.parametrize("decision", ["approve", "deny"])
async def test_a_run_that_waited_for_a_person_replays_exactly(make, ran, decision):
    agent = make(calls(("find_order", {"number": 7}), ("pay", {"amount": 5})), "That is settled.")
    paused = await agent.run("Pay 5 for order 7", session="s1")
    assert paused.outcome is Outcome.AWAITING_APPROVAL
    await assert_exact(agent, paused, ran)
    (approval,) = paused.approvals
    await getattr(agent.runtime, decision)(approval, by="ann")
    result = await agent.resume(paused.run_id)
    assert result.text == "That is settled."
    assert ("pay" in ran) is (decision == "approve")
    await assert_exact(agent, result, ran)


async def test_a_call_that_a_person_changed_replays_exactly(make, ran):
    agent = make(calls(("pay", {"amount": 5})), "Paid.")
    paused = await agent.run("Pay 5")
    await agent.runtime.approve(paused.approvals[0], by="ann", arguments={"amount": 4})
    result = await agent.resume(paused.run_id)
    await assert_exact(agent, result, ran)
    report = await agent.replay(result.run_id, model="sim/b")
    assert kinds(report) == [(1, "plan", "model")]


async def test_a_run_that_was_taken_up_after_a_failure_replays_exactly(make, ran):
    faults = ModelFaults(at={1: Fault(kind=FaultKind.STATUS, status=503)})
    agent = make(calls(("find_order", {"number": 7})), "It was sent.", faults=faults)
    failed = await agent.run("Where is order 7?")
    assert failed.outcome is Outcome.PROVIDER_ERROR
    await assert_exact(agent, failed, ran)
    result = await agent.resume(failed.run_id)
    assert (result.outcome, ran) == (Outcome.COMPLETED, ["find_order"])
    await assert_exact(agent, result, ran)


async def test_a_streamed_run_replays_exactly(make, ran):
    agent = make(calls(("find_order", {"number": 7})), "It was sent.")
    events = [event async for event in agent.stream("Where is order 7?")]
    report = await agent.replay(events[-1].run_id)
    assert (report.same, report.differences) == (True, ())
    assert report.text == events[-1].text == "It was sent."


async def test_runs_of_another_tenant_are_replayed_as_theirs(make, ran):
    agent = make(calls(("find_order", {"number": 7})), "It was sent.")
    result = await agent.run("Where is order 7?", tenant="acme")
    assert (await agent.replay(result.run_id, tenant="acme")).differences == ()
    with pytest.raises(NotFound):
        await agent.replay(result.run_id)


async def test_later_runs_of_a_session_replay_exactly(make, ran):
    agent = make("Hello.", calls(("find_order", {"number": 7})), "It was sent.")
    await agent.run("Hi", session="s1")
    await assert_exact(agent, await agent.run("Where is order 7?", session="s1"), ran)


async def test_a_cancelled_run_and_what_became_of_it_replay_exactly(make, ran):
    began, may_go_on = asyncio.Event(), asyncio.Event()

    @tool
    async def slow() -> str:
        """Take long."""
        began.set()
        await may_go_on.wait()
        return "done"

    agent = make(calls(("slow", {})), "Finished.", tools=[slow])
    task = asyncio.create_task(agent.run("Go"))
    await asyncio.wait_for(began.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (run,) = await agent.runtime.store.list_runs("default")
    report = await agent.replay(run.run_id)
    assert (report.differences, report.outcome) == ((), Outcome.CANCELLED)
    may_go_on.set()
    result = await agent.resume(run.run_id)
    report = await agent.replay(run.run_id)
    assert (report.differences, report.outcome, report.text) == ((), result.outcome, result.text)


async def test_a_run_whose_process_died_replays_as_far_as_it_went(make, ran):
    agent = make(calls(("cancel_order", {"number": 7})), "Cancelled.")
    result = await agent.run("Cancel order 7")
    cut = await changed_copy(agent, result.run_id, keep=lambda body: not isinstance(body, (Resulted, Ended)), upto=3)
    report = await agent.replay(cut)
    assert (report.same, report.differences) == (True, ())


async def test_a_run_that_ran_out_of_time_replays_exactly_in_no_time(make, ran):
    clock = FakeClock()

    class Slow(ScriptedProvider):
        async def complete(self, request, options=None):
            clock.advance(6)
            return await super().complete(request)

    model = ScriptedModel(*[calls(("find_order", {"number": number})) for number in range(9)])
    agent = make(models=Slow(model, clock=clock), clock=clock, limits={"max_seconds": 10})
    result = await agent.run("Go on")
    assert (result.outcome, result.steps) == (Outcome.TIME_LIMIT, 2)
    await assert_exact(agent, result, ran)


async def test_costs_are_those_of_the_record(make, ran):
    agent = make(calls(("find_order", {"number": 7})), "It was sent.", price=lambda _model, usage: usage.total * 0.5)
    result = await agent.run("Where is order 7?", limits={"max_cost": 100_000.0})
    assert result.cost is not None
    report = await replay_run(agent.runtime, result.run_id, Changes())
    assert (report.cost, report.differences) == (result.cost, ())


async def changed_copy(agent, run_id, *, change=lambda body: body, keep=lambda _body: True, upto=None):
    """Somebody changes a record behind our back: a run with the same calls and other entries."""
    store = agent.runtime.store
    run = await store.load_run("default", run_id)
    entries = [
        msgspec.structs.replace(entry, body=encode_entry(change(decode_entry(entry.body))))
        for entry in await store.run_entries("default", run_id)
        if keep(decode_entry(entry.body))
    ][:upto]
    copy = msgspec.structs.replace(run, run_id=f"{run_id}_copy", entries=0, outcome="" if upto else run.outcome)
    if upto:
        copy = msgspec.structs.replace(copy, text="")
    await store.create_run(copy, entries)
    return copy.run_id


def _other_words(body):
    if isinstance(body, Answered) and body.step == 1:
        return msgspec.structs.replace(body, reply=msgspec.structs.replace(body.reply, items=(say("assistant", "No"),)))
    return body


def _other_result(body):
    if not isinstance(body, Resulted):
        return body
    (item,) = body.items
    text = '{"ok":true,"data":{"number":7,"state":"lost"}}'
    part = msgspec.structs.replace(item.parts[0], text=text)
    return Resulted(items=(msgspec.structs.replace(item, parts=(part,)),))


def _other_plan(body):
    if not isinstance(body, Planned):
        return body
    return msgspec.structs.replace(body, plan=msgspec.structs.replace(body.plan, instructions="Be rude."))


def _other_end(body):
    return msgspec.structs.replace(body, text="It was lost.") if isinstance(body, Ended) else body


@pytest.mark.requirement("C-021")
async def test_the_record_keeps_the_whole_plan_under_its_digest(make):
    agent = make("Hello.", instructions="Be polite.", sampling={"temperature": 0.5}, max_output_tokens=100)
    result = await agent.run("Hi")
    (planned,) = [
        body
        for entry in await agent.runtime.store.run_entries("default", result.run_id)
        if isinstance(body := decode_entry(entry.body), Planned)
    ]
    assert [declared.name for declared in planned.plan.tools] == ["cancel_order", "find_order", "pay", "weather"]
    assert (planned.plan.instructions, planned.plan.sampling.temperature) == ("Be polite.", 0.5)
    assert planned.plan.max_output_tokens == 100
    assert planned.digest == digest(msgspec.to_builtins(planned.plan))


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (_other_end, [(2, "entry", "ended.text"), (2, "run", "text")]),
        (_other_plan, [(0, "entry", "planned.digest"), (1, "entry", "answered.fingerprint")]),
        (_other_result, [(2, "entry", "answered.fingerprint")]),
    ],
)
async def test_a_record_that_was_changed_does_not_replay(make, change, found):
    agent = make(calls(("find_order", {"number": 7})), "It was sent.")
    result = await agent.run("Where is order 7?")
    report = await agent.replay(await changed_copy(agent, result.run_id, change=change))
    assert not report.same
    assert kinds(report)[: len(found)] == found


async def test_an_answer_that_was_changed_does_not_replay(make):
    agent = make(calls(("find_order", {"number": 7})), "It was sent.")
    result = await agent.run("Where is order 7?")
    report = await agent.replay(await changed_copy(agent, result.run_id, change=_other_words))
    assert not report.same
    assert kinds(report) == [(1, "entry", "resulted"), (2, "entry", "answered"), (2, "entry", "ended")]


async def test_a_stored_call_that_was_changed_does_not_replay(make):
    agent = make(calls(("find_order", {"number": 7})), "It was sent.")
    result = await agent.run("Where is order 7?")
    trace_calls = await agent.runtime.store.list_calls("default", session_id=result.run_id)
    forged = msgspec.structs.replace(trace_calls[0], result=encode_result(ToolResult(ok=True, data="forged")))
    report = await replay_run(runtime_for(store=_Forging(agent.runtime.store, [forged])), result.run_id, Changes())
    assert kinds(report) == [(1, "entry", "resulted.items"), (2, "entry", "answered.fingerprint")]


class _Forging:
    """A store in which somebody has written into the calls."""

    def __init__(self, store, forged):
        self._store, self._forged = store, forged

    def __getattr__(self, name):
        return getattr(self._store, name)

    async def list_calls(self, *_args, **_options):
        return self._forged


async def test_a_run_of_which_the_calls_are_gone_replays_from_what_the_model_was_shown(make, ran):
    agent = make(calls(("find_order", {"number": 7})), "It was sent.")
    result = await agent.run("Where is order 7?")
    report = await replay_run(runtime_for(store=_Forging(agent.runtime.store, [])), result.run_id, Changes())
    assert (report.same, report.differences, report.text) == (True, (), "It was sent.")
    assert ran == ["find_order"]
