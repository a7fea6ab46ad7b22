"""What tools of a run are given besides their arguments, and runs without an event loop."""

import pytest

from groundwire import Agent, Context, Outcome, tool
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
from tests.behaviours.runs.stage import UPSTREAMS, staged

LOOK = Answer(calls=(Ask("look", {"word": "sky"}),))


@tool(category="retrieval")
async def look(word: str, context: Context) -> dict:
    """Look a word up in the dictionary of this installation."""
    return {
        "meaning": context.resources["dictionary"][word],
        "user": context.user,
        "session": context.session_id,
        "tenant": context.tenant,
        "heard": [message.text for message in context.history],
    }


@pytest.mark.requirement("C-026")
@pytest.mark.parametrize("upstream", UPSTREAMS)
async def test_tools_get_resources_and_who_is_asking_from_their_context(upstream):
    async with (
        runtime_for(look, resources={"dictionary": {"sky": "blue"}}) as runtime,
        staged(upstream, LOOK, "Blue.") as stage,
    ):
        result = await stage.agent(runtime=runtime).run("What is sky?", session="s", user="ada", tenant="house")
        (only,) = result.calls
        assert only.result.data == {
            "meaning": "blue", "user": "ada", "session": "s", "tenant": "house", "heard": ["What is sky?"],
        }  # fmt: skip


@pytest.mark.requirement("C-026")
@pytest.mark.parametrize("upstream", UPSTREAMS)
async def test_arguments_that_the_application_supplies_are_not_the_models_business(upstream):
    @tool(category="retrieval", supplied=["workspace"])
    def read(name: str, workspace: str) -> str:
        """Read a page."""
        return f"{workspace}/{name}"

    forged = Answer(calls=(Ask("read", {"name": "a", "workspace": "theirs"}),))
    async with staged(upstream, Answer(calls=(Ask("read", {"name": "a"}),)), forged, "Done.") as stage:
        result = await stage.agent(tools=[read]).run("Read a.", supplied={"workspace": "ours"})
        assert [call.result.data for call in result.calls] == ["ours/a", "ours/a"]
        assert [sorted(each.parameters["properties"]) for each in stage.script.asked[0].tools] == [["name"]]


def test_runs_work_without_an_event_loop():
    model = ScriptedModel(LOOK, "Blue.", faults=ModelFaults(at={1: Fault(kind=FaultKind.STATUS)}))
    runtime = runtime_for(look, resources={"dictionary": {"sky": "blue"}})
    agent = Agent("scripted/model", runtime=runtime, models=ScriptedProvider(model, clock=FakeClock()))
    first = agent.run_sync("What is sky?", user="ada")
    assert (first.outcome, len(first.calls)) == (Outcome.PROVIDER_ERROR, 1)
    second = agent.resume_sync(first.run_id)
    assert (second.outcome, second.text, second.run_id) == (Outcome.COMPLETED, "Blue.", first.run_id)
    runtime.run_sync(agent.close())
    runtime.run_sync(runtime.close())
