"""Tools that the caller carries out: offered beside the runtime's own, and handed back when they are called."""

import pytest

from groundwire import Agent, FunctionTool, Outcome, say, tool
from groundwire.runtime.clock import SystemClock
from groundwire.testing import Answer, Ask, ScriptedModel, ScriptedProvider

THEIRS = FunctionTool(name="local_time", parameters={"type": "object"})
HISTORY = [say("user", "What time is it?")]


def agent_with(*script):
    done = []

    @tool(category="action")
    async def note(text: str) -> dict:
        """Write it down."""
        done.append(text)
        return {}

    return Agent("sim", tools=[note], models=ScriptedProvider(ScriptedModel(*script), clock=SystemClock())), done


def shape_of(items):
    return [item.call.name if item.kind == "call" else item.kind for item in items]


async def test_a_call_of_the_callers_tool_ends_the_run_when_ours_are_done():
    both = Answer(calls=(Ask("local_time", {}), Ask("note", {"text": "asked"})))
    agent, done = agent_with(both, Answer("It is noon."))
    result = await agent.run(history=HISTORY, client_tools=[THEIRS])
    assert (result.outcome, result.text, done) == (Outcome.CLIENT_CALLS, "", ["asked"])
    assert shape_of(result.items) == ["local_time", "note", "result"]
    assert [item.name for item in result.items if item.kind == "result"] == ["note"]


async def test_where_names_are_equal_ours_is_meant():
    agent, done = agent_with(Answer(calls=(Ask("note", {"text": "ours"}),)), Answer("Done."))
    theirs = FunctionTool(name="note", parameters={"type": "object"})
    result = await agent.run(history=HISTORY, client_tools=[theirs])
    assert (result.outcome, done) == (Outcome.COMPLETED, ["ours"])


async def test_events_end_with_the_outcome():
    agent, _ = agent_with(Answer("One moment.", calls=(Ask("local_time", {}),)))
    events = [event async for event in agent.stream(history=HISTORY, client_tools=[THEIRS])]
    assert (events[-1].outcome, events[-1].text) == ("client_calls", "")


@pytest.mark.parametrize("odd", [{"client_tools": [{"name": 3}]}, {"client_tools": "x"}])
async def test_odd_tools_are_refused_by_name(odd):
    from groundwire import ConfigError

    agent, _ = agent_with(Answer("x"))
    with pytest.raises(ConfigError, match="client_tools"):
        await agent.run(history=HISTORY, **odd)
