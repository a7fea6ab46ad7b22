"""Replays on the record of runs: the same again without model and tools, or with something changed."""

import asyncio

import msgspec
import pytest

from groundwire import Agent, Outcome, Registry, Tool, say, tool
from groundwire.contracts.errors import ConfigError, NotFound
from groundwire.contracts.results import ToolResult, encode_result
from groundwire.contracts.runs import Answered, Ended, Planned, Resulted, decode_entry, encode_entry
from groundwire.replays import Changes, replay_run
from groundwire.runtime.runs.history import begin_run
from groundwire.runtime.runs.options import RunLimits, RunOptions
from groundwire.runtime.runs.runner import Runner
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


@pytest.fixture
def ran():
    """The names of the tools that really ran, in order."""
    return []


@pytest.fixture
def tools(ran):
    @tool
    async def find_order(number: int) -> dict:
        """Find an order."""
        ran.append("find_order")
        return {"number": number, "state": "sent"}

    @tool
    async def weather(city: str) -> dict:
        """Tell the weather."""
        ran.append("weather")
        return {"city": city, "sky": "clear"}

    @tool(category="action")
    async def cancel_order(number: int) -> dict:
        """Cancel an order."""
        ran.append("cancel_order")
        return {"cancelled": number}

    @tool(category="action", confirm=True)
    async def pay(amount: int) -> dict:
        """Pay an amount."""
        ran.append("pay")
        return {"paid": amount}

    return [find_order, weather, cancel_order, pay]


@pytest.fixture
async def make(tools):
    made = []

    def make_agent(*answers, rules=(), faults=None, **options):
        model = ScriptedModel(*answers, rules=rules, faults=faults)
        agent = Agent(
            "sim/a", tools=options.pop("tools", tools), models=ScriptedProvider(model, clock=FakeClock()), **options
        )
        made.append(agent)
        return agent

    yield make_agent
    for agent in made:
        await agent.close()


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


async def test_a_loop_that_was_cut_off_by_the_rules_replays_exactly(make, ran):
    same = [calls(("find_order", {"number": 7}))] * 12
    agent = make(*same, limits={"max_steps": 12})
    result = await agent.run("Find order 7")
    assert result.outcome is not Outcome.COMPLETED
    await assert_exact(agent, result, ran)


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


async def test_a_run_that_ran_out_of_time_replays_exactly_in_no_time(tools, ran):
    clock = FakeClock()

    class Slow(ScriptedProvider):
        async def complete(self, request, options=None):
            clock.advance(6)
            return await super().complete(request)

    runtime = runtime_for(*tools, clock=clock)
    model = Slow(ScriptedModel(*[calls(("find_order", {"number": number})) for number in range(9)]), clock=clock)
    runner = Runner(model, runtime.carry, runtime.store, clock, after_batch=runtime.apply_intents)
    options = RunOptions(model="sim/a", limits=RunLimits(max_seconds=10))
    state = await begin_run(
        runtime.store, clock, options, [say("user", "Go on")], run_id="run_1", turn=1, inherited=0, registry_version=""
    )
    async with runtime.run_turn(options.for_turn("run_1")) as turn:
        assert [event async for event in runner.run(state, turn, live=False)][-1].outcome == "time_limit"
    report = await replay_run(runtime, "run_1", Changes())
    assert (report.outcome, report.steps, report.differences) == (Outcome.TIME_LIMIT, 2, ())
    assert ran == ["find_order", "find_order"]
    await runtime.close()


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
    assert "entry" in {one.kind for one in report.differences}


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


async def test_a_replay_leaves_the_store_as_it_was(make):
    agent = make(calls(("find_order", {"number": 7})), "It was sent.")
    result = await agent.run("Where is order 7?", session="s1")
    before = await contents(agent.runtime.store)
    await agent.replay(result.run_id)
    await agent.replay(result.run_id, model="sim/b", instructions="Be brief.")
    assert await contents(agent.runtime.store) == before


async def contents(store):
    await store.flush()
    return (
        await store.list_runs("default"),
        await store.list_calls("default"),
        await store.list_sessions("default"),
        await store.list_effects("default"),
        await store.audit_head(),
    )


@pytest.mark.requirement("C-022")
async def test_another_model_with_the_same_answers_differs_in_the_plan_alone(make, ran):
    agent = make(calls(("find_order", {"number": 7})), "It was sent.")
    result = await agent.run("Where is order 7?")
    report = await agent.replay(result.run_id, model="sim/b")
    assert kinds(report) == [(1, "plan", "model")]
    assert (report.differences[0].recorded, report.differences[0].replayed) == ("sim/a", "sim/b")
    assert (report.same, report.exact) == (True, False)
    assert ran == ["find_order"]


async def replayed_with(agent, result, *answers, tools=None, **changes):
    """The replay with a model that gives these answers."""
    models = ScriptedProvider(ScriptedModel(*answers), clock=FakeClock())
    registry = None if tools is None else Registry(tools)
    changes = Changes(**{"model": "sim/b", "registry": registry, **changes})
    return await replay_run(agent.runtime, result.run_id, changes, models=models)


async def test_other_calls_and_words_are_told_step_by_step(make, ran):
    agent = make(
        calls(("find_order", {"number": 7}), ("weather", {"city": "Oslo"})),
        calls(("find_order", {"number": 8})),
        "Both were sent.",
    )
    result = await agent.run("Where are 7 and 8?")
    report = await replayed_with(
        agent,
        result,
        calls(("find_order", {"number": 8}), ("find_order", {"number": 7}), ("find_order", {"number": 9})),
        "Two were sent.",
    )
    assert kinds(report) == [
        (1, "plan", "model"),
        (1, "call_added", "find_order"),
        (1, "call_added", "find_order"),
        (1, "call_removed", "weather"),
        (1, "call_unrecorded", "find_order"),
        (2, "call_removed", "find_order"),
        (2, "text", ""),
        (3, "text", ""),
    ]
    assert [one.replayed for one in report.differences if one.kind == "call_unrecorded"] == [{"number": 9}]
    assert not report.same
    assert sorted(ran) == ["find_order", "find_order", "weather"]


async def test_changed_arguments_are_told_as_one_change(make):
    agent = make(calls(("weather", {"city": "Oslo"})), "Clear.")
    result = await agent.run("How is the weather?")
    report = await replayed_with(agent, result, calls(("weather", {"city": "Rome"})), "Clear.")
    changed = report.differences[1]
    assert (changed.kind, changed.recorded, changed.replayed) == ("call_changed", {"city": "Oslo"}, {"city": "Rome"})


async def test_arguments_are_compared_by_value(make):
    agent = make(Answer(calls=(Ask("pair", {"a": 1, "b": 2}),)), "Yes.", tools=[_pair()])
    result = await agent.run("Go")
    report = await replayed_with(agent, result, Answer(calls=(Ask("pair", {"b": 2, "a": 1}),)), "Yes.")
    assert kinds(report) == [(1, "plan", "model")]


def _pair(description="Pair two numbers.", handler=None):
    async def pair(a, b):
        return [a, b]

    parameters = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
    return Tool(name="pair", description=description, parameters=parameters, handler=handler or pair)


async def test_a_call_that_the_record_lacks_is_not_run_and_the_model_is_told(make, ran):
    agent = make("Nothing to do.")
    result = await agent.run("Cancel order 7")
    report = await replayed_with(agent, result, calls(("cancel_order", {"number": 7})), "I could not.")
    assert ran == []
    (shown,) = [item for item in report.items if item.kind == "result"]
    assert shown.failed
    assert '"NOT_RECORDED"' in shown.text
    assert (1, "call_unrecorded", "cancel_order") in kinds(report)


async def test_a_call_made_once_more_often_than_recorded_is_one_that_the_record_lacks(make):
    agent = make(calls(("weather", {"city": "Oslo"})), "Clear.")
    result = await agent.run("How is the weather?")
    again = calls(("weather", {"city": "Oslo"}))
    report = await replayed_with(agent, result, again, again, "Clear.")
    assert [one for one in kinds(report) if one[1] == "call_unrecorded"] == [(2, "call_unrecorded", "weather")]


async def test_executing_runs_only_what_the_record_lacks_and_that_once(make, ran):
    agent = make(calls(("find_order", {"number": 7})), "It was sent.")
    result = await agent.run("Cancel order 7", session="s1")
    runs, sessions = [await getattr(agent.runtime.store, name)("default") for name in ("list_runs", "list_sessions")]
    answers = calls(("find_order", {"number": 7})), calls(("cancel_order", {"number": 7})), "Cancelled."
    report = await replayed_with(agent, result, *answers, execute=True)
    assert ran == ["find_order", "cancel_order"]
    assert (2, "call_unrecorded", "cancel_order") in kinds(report)
    assert report.text == "Cancelled."
    (effect,) = await agent.runtime.effects()
    assert effect.tool == "cancel_order"
    assert await agent.runtime.store.list_runs("default") == runs
    assert await agent.runtime.store.list_sessions("default") == sessions


async def test_an_exact_replay_cannot_execute(make):
    agent = make("Hello.")
    result = await agent.run("Hi")
    with pytest.raises(ConfigError):
        await agent.replay(result.run_id, execute=True)


async def test_a_recorded_call_that_still_waits_waits_in_the_replay_too(make, ran):
    agent = make(calls(("pay", {"amount": 5})), "Paid.")
    paused = await agent.run("Pay 5")
    report = await agent.replay(paused.run_id, model="sim/b")
    assert (report.outcome, kinds(report)) == (Outcome.AWAITING_APPROVAL, [(1, "plan", "model")])
    assert len(await agent.runtime.approvals()) == 1


async def test_other_instructions_are_a_change_of_the_plan(make):
    agent = make("Hello.", instructions="Be polite.")
    result = await agent.run("Hi")
    report = await agent.replay(result.run_id, instructions="Be brief.")
    (change,) = report.differences
    assert (change.kind, change.name, change.recorded) == ("plan", "instructions", "Be polite.")
    assert change.replayed == "Be brief."
    assert report.same


async def test_another_registry_is_told_tool_by_tool(make, tools):
    agent = make(Answer(calls=(Ask("pair", {"a": 1, "b": 2}),)), "Yes.", tools=[*tools, _pair()])
    result = await agent.run("Go")
    report = await agent.replay(result.run_id, tools=[*tools[1:], _pair("Pair numbers."), _pair_of("more")])
    assert kinds(report) == [
        (1, "plan", "tools.find_order"),
        (1, "plan", "tools.pair"),
        (1, "plan", "tools.more"),
    ]
    assert report.differences[0].replayed is None
    assert report.differences[2].recorded is None


def _pair_of(name):
    return Tool(name=name, description="More.", parameters={"type": "object", "properties": {}}, handler=print)


async def test_a_replay_has_the_tools_of_its_run_although_there_are_others_now(make, tools):
    agent = make(calls(("find_order", {"number": 7})), "It was sent.")
    result = await agent.run("Where is order 7?")
    now = make(
        calls(("find_order", {"number": 7})), "It was sent.", runtime=runtime_for(*tools[1:], store=agent.runtime.store)
    )
    assert kinds(await now.replay(result.run_id, model="sim/b")) == [(1, "plan", "model")]


async def test_another_outcome_is_a_difference(make):
    agent = make("Hello.")
    result = await agent.run("Hi")
    report = await replayed_with(agent, result, "", "", "")
    outcome = report.differences[-1]
    assert (outcome.kind, outcome.recorded, outcome.replayed) == ("outcome", "completed", "empty_answer")


async def test_a_provider_that_fails_is_a_difference(make):
    agent = make("Hello.")
    result = await agent.run("Hi")
    models = ScriptedProvider(
        ScriptedModel(faults=ModelFaults(at={0: Fault(kind=FaultKind.STATUS, status=503)})), clock=FakeClock()
    )
    report = await replay_run(agent.runtime, result.run_id, Changes(model="sim/b"), models=models)
    assert [(one.kind, one.recorded) for one in report.differences] == [
        ("plan", "sim/a"),
        ("text", "Hello."),
        ("failure", None),
        ("outcome", "completed"),
    ]


async def test_a_run_that_is_not_there_cannot_be_replayed(make):
    with pytest.raises(NotFound):
        await make().replay("run_none")
