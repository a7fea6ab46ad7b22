"""Scenarios from stored runs: offline, and right where the same is done again."""

import msgspec
import pytest
import yaml

from groundwire import Agent, ConfigError, Registry, Runtime, tool
from groundwire.evals.recorded import recorded_suite, scenario_of
from groundwire.evals.scenarios import (
    CallsCheck,
    ExpectedCall,
    OutcomeCheck,
    RubricCheck,
    Scenario,
    Suite,
    TextCheck,
    said_before,
)
from groundwire.runtime.runs.traces import read_trace
from groundwire.testing import Answer, Ask, FakeClock, ScriptedModel, ScriptedProvider
from tests.evals.trying import told, try_suite

RAN = []


@tool
def get_price(item: str, pieces: int = 1) -> dict:
    """What something costs."""
    RAN.append(item)
    return {"item": item, "price": 7 * pieces}


@tool(confirm=True, category="action")
def buy(item: str) -> dict:
    """Buy something."""
    return {"bought": item}


async def record(*answers, prompts=("What are 2 pears?",), **options):
    """The trace of the last of these runs, which are one session."""
    RAN.clear()
    models = ScriptedProvider(ScriptedModel(*answers), clock=FakeClock())
    options = {"instructions": "Be brief.", **options}
    async with Runtime(Registry([get_price, buy]), "memory://") as runtime:
        agent = Agent("sim/recorded", runtime=runtime, models=models, **options)
        for prompt in prompts:
            result = await agent.run(prompt, session="s1")
        return await read_trace(runtime.store, "default", result.run_id)


def price(item, **more):
    return Ask("get_price", {"item": item, **more})


async def test_a_recorded_run_passes_again_without_its_tools():
    trace = await record(Answer(calls=(price("pear", pieces=2),)), "They are 14.")
    suite = Suite(name="recorded", scenarios=(scenario_of(trace),))
    assert RAN == ["pear"]
    records = await try_suite(suite, "perfect", "tags", "empty-finals")
    run_id = trace.run.run_id
    assert RAN == ["pear"]
    assert told(records, "perfect") == {run_id: ("passed", "")}
    assert told(records, "tags") == {run_id: ("failed", "missing_call")}
    assert told(records, "empty-finals") == {run_id: ("failed", "empty_answer")}
    assert records["perfect", run_id].calls[0].data == {"item": "pear", "price": 14}


async def test_a_scenario_holds_what_the_run_held():
    settings = {"fallback_retry_count": 1, "tool_denylist": ["buy"]}
    trace = await record(
        Answer(calls=(price("pear"),)), "It is 7.", settings=settings, limits={"max_steps": 5}, prompts=("A pear?",)
    )
    scenario = scenario_of(trace)
    assert (scenario.turns, scenario.history, scenario.environment) == (("A pear?",), (), "stubs")
    assert scenario.instructions.startswith("Be brief.")
    assert scenario.settings == {"fallback_retry_count": 1}
    assert scenario.limits == {"max_steps": 5}
    assert [one["name"] for one in scenario.setup["tools"]] == ["get_price"]
    assert scenario.setup["answers"] == [
        {"tool": "get_price", "arguments": {"item": "pear"}, "data": {"item": "pear", "price": 7}}
    ]
    assert scenario.checks == (
        CallsCheck(mode="order", calls=(ExpectedCall(name="get_price", arguments={"item": "pear"}, ok=True),)),
        TextCheck(equals="It is 7."),
    )


async def test_calls_that_were_made_at_once_have_no_order():
    trace = await record(Answer(calls=(price("pear"), price("plum"))), "Both are 7.")
    assert scenario_of(trace).checks[0].mode == "subset"


async def test_a_call_that_failed_is_repeated_but_not_asked_for():
    trace = await record(Answer(calls=(Ask("get_price", {"pieces": 2}),)), Answer(calls=(price("pear"),)), "It is 7.")
    scenario = scenario_of(trace)
    assert [one.arguments for one in scenario.checks[0].calls] == [{"item": "pear"}]
    records = await try_suite(Suite(name="s", scenarios=(scenario,)), "perfect")
    assert [call.ok for call in records["perfect", scenario.id].calls] == [False, True]
    assert told(records, "perfect") == {scenario.id: ("passed", "")}


async def test_a_run_without_calls_must_be_one_again():
    assert scenario_of(await record("Hello.")).checks == (CallsCheck(none=("*",)), TextCheck(equals="Hello."))


async def test_what_was_said_before_in_the_session_comes_first():
    trace = await record(Answer(calls=(price("pear"),)), "It is 7.", "Cheap.", prompts=("A pear?", "Is that cheap?"))
    scenario = scenario_of(trace)
    assert scenario.turns == ("Is that cheap?",)
    assert [item.kind for item in said_before(scenario)] == ["message", "call", "result", "message"]
    suite = Suite(name="s", scenarios=(scenario,))
    records = await try_suite(suite, "perfect")
    assert told(records, "perfect") == {scenario.id: ("passed", "")}


async def test_two_runs_of_one_session_are_told_apart():
    answers = (Answer(calls=(price("pear"),)), "It is 7.", "Cheap.")
    first = scenario_of(await record(*answers[:2], prompts=("A pear?",)))
    second = scenario_of(await record(*answers, prompts=("A pear?", "Is that cheap?")))
    suite = Suite(name="s", scenarios=(msgspec.structs.replace(first, id="first"), second))
    assert told(await try_suite(suite, "perfect"), "perfect") == {"first": ("passed", ""), second.id: ("passed", "")}


@pytest.mark.parametrize(
    ("mode", "checks"),
    [
        ("exact", (TextCheck(equals="Hello."),)),
        ("judged", (RubricCheck(question="Does the final answer tell the user the same as this one does? Hello."),)),
        ("none", ()),
    ],
)
async def test_the_final_text_counts_as_one_says(mode, checks):
    assert scenario_of(await record("Hello."), text=mode).checks[1:] == checks


async def test_an_end_that_is_no_success_is_what_is_expected():
    trace = await record(*[Answer(calls=(price("pear"),))] * 3, limits={"max_steps": 1})
    assert OutcomeCheck(equals="step_limit") in scenario_of(trace).checks


async def test_a_run_that_waits_is_no_scenario():
    trace = await record(Answer(calls=(Ask("buy", {"item": "pear"}),)))
    with pytest.raises(ConfigError, match="ended with awaiting_approval, so nobody knows how it should end"):
        scenario_of(trace)


async def test_a_run_that_had_to_answer_in_a_form_is_no_scenario():
    with pytest.raises(ConfigError, match="an answer of a fixed form"):
        scenario_of(await record('{"a": 1}', output={"type": "object", "properties": {"a": {"type": "integer"}}}))


async def test_the_file_of_a_recorded_run_is_the_scenario():
    trace = await record(Answer(calls=(price("pear"),)), "It is 7.")
    text = recorded_suite(trace)
    assert text.startswith(f"# Recorded of run {trace.run.run_id}, which asked sim/recorded.")
    read = yaml.safe_load(text)
    assert msgspec.convert(read["scenarios"], tuple[Scenario, ...]) == (scenario_of(trace),)
