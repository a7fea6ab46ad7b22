"""Replays with another model, prompt or registry: what is told of the differences, and what runs."""

import pytest

from groundwire import Outcome, Tool
from groundwire.contracts.errors import ConfigError, NotFound
from groundwire.replays import Changes, replay_run
from groundwire.testing import (
    Answer,
    Ask,
    FakeClock,
    Fault,
    FaultKind,
    ModelFaults,
    ScriptedModel,
    ScriptedProvider,
    runtime_for,
)


def calls(*asked):
    return Answer(calls=tuple(Ask(name, arguments) for name, arguments in asked))


def kinds(report):
    return [(one.step, one.kind, one.name) for one in report.differences]


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


async def test_another_model_with_the_same_answers_differs_in_the_plan_alone(make, ran):
    agent = make(calls(("find_order", {"number": 7})), "It was sent.")
    result = await agent.run("Where is order 7?")
    report = await agent.replay(result.run_id, model="sim/b")
    assert kinds(report) == [(1, "plan", "model")]
    assert (report.differences[0].recorded, report.differences[0].replayed) == ("sim/a", "sim/b")
    assert (report.same, report.exact) == (True, False)
    assert ran == ["find_order"]


async def replayed_with(agent, result, *answers, runtime=None, **changes):
    """The replay with a model that gives these answers."""
    models = ScriptedProvider(ScriptedModel(*answers), clock=FakeClock())
    changes = Changes(**{"model": "sim/b", **changes})
    return await replay_run(runtime or agent.runtime, result.run_id, changes, models=models)


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


@pytest.mark.parametrize("user", ["", "ada"])
async def test_a_replay_asks_nobody_for_agreement_and_uses_nobodys(make, ran, user):
    agent = make("Hello.")
    result = await agent.run("Hi", user=user)
    asked = await agent.runtime.call("pay", {"amount": 5}, user=user)
    await agent.runtime.approve(asked.meta.confirmation.id, by="ann")
    before = await agent.runtime.approvals(status=None)
    report = await replayed_with(agent, result, calls(("pay", {"amount": 5})), "Not paid.", execute=True)
    assert (report.outcome, report.text, ran) == (Outcome.COMPLETED, "Not paid.", [])
    (refused,) = [item for item in report.items if item.kind == "result"]
    assert "nobody can be asked now" in refused.text
    assert await agent.runtime.approvals(status=None) == before


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


@pytest.mark.requirement("C-022")
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


@pytest.mark.parametrize("session", ["s1", None])
async def test_a_replay_has_the_tools_of_its_run_although_there_are_others_now(make, tools, ran, session):
    agent = make(calls(("find_order", {"number": 7})), "It was sent.", instructions="Be polite.")
    result = await agent.run("Where is order 7?", session=session)
    now = runtime_for(tools[1], store=agent.runtime.store)
    asked = calls(("find_order", {"number": 7})), "It was sent."
    report = await replayed_with(agent, result, *asked, runtime=now)
    assert kinds(report) == [(1, "plan", "model")]
    assert ran == ["find_order"]


async def test_guides_stay_with_their_tools_although_only_the_record_knows_them(make):
    guided = Tool(name="pair", description="Pair.", guide="Use it well.", parameters={"type": "object"}, handler=print)
    agent = make("Hello.", tools=[guided], instructions="Be polite.")
    result = await agent.run("Hi")
    now = runtime_for(store=agent.runtime.store)
    report = await replayed_with(agent, result, "Hello.", model=None, instructions="Be brief.", runtime=now)
    (change,) = report.differences
    assert change.recorded == "Be polite.\n\n# Tools\n\n## pair\n\nUse it well."
    assert change.replayed == "Be brief.\n\n# Tools\n\n## pair\n\nUse it well."


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
