"""A provider that fails in the middle of a run: nothing half is kept, nothing is done twice, and the run can go on."""

from itertools import permutations

import pytest

from groundwire import Agent, FailureKind, GroundwireError, Outcome, Settings, open_models, tool
from groundwire.testing import (
    Answer,
    Ask,
    Failure,
    Fault,
    FaultKind,
    FinishReason,
    ModelFaults,
    ScriptedModel,
    simulator,
)
from tests.behaviours.runs.stage import REMOTE, UPSTREAMS, events_of, staged, verdicts

SCRIPT = (
    Answer("One moment.", (Ask("book", {"place": "Nonna's"}),), reasoning="A table is wanted."),
    Answer("And a look.", (Ask("look", {"word": "sky"}),), reasoning="The weather matters."),
    "A table is booked, and the sky is blue. " * 4,
)


def make_tools(booked):
    @tool(category="action")
    def book(place: str) -> int:
        """Book a table."""
        booked.append(place)
        return len(booked)

    @tool(category="retrieval")
    def look(word: str) -> str:
        """Look a word up."""
        return "blue"

    return [book, look]


FAULTS = {
    "a status": Fault(kind=FaultKind.STATUS, status=503),
    "a broken connection": Fault(kind=FaultKind.CUT, at_byte=40),
    "a web page": Fault(kind=FaultKind.WRONG_CONTENT_TYPE),
}


@pytest.mark.parametrize("how", ["whole", "streamed"])
@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("failing", [0, 1, 2])
async def test_a_run_goes_on_where_its_provider_failed_as_if_nothing_had_been(upstream, how, fault, failing):
    async with staged(upstream, *SCRIPT) as stage:
        clean = await stage.agent(tools=make_tools([])).run("A table, please.")
    booked = []
    async with staged(upstream, *_with_lost(failing, fault), faults=ModelFaults(at={failing: FAULTS[fault]})) as stage:
        agent = stage.agent(tools=make_tools(booked))
        events = await events_of(agent, "A table, please.", how)
        assert events[-1].outcome == Outcome.PROVIDER_ERROR
        resumed = await agent.resume(events[0].run_id)
        assert (resumed.outcome, resumed.text) == (Outcome.COMPLETED, clean.text)
        assert shown(resumed.history) == shown(clean.history)
        assert booked == ["Nonna's"]


def shown(history):
    """All that counts of a history: texts, calls with their ids, and what belongs to the provider alone."""
    return [
        (
            item.kind,
            (item.call.call_id, item.call.name, item.call.raw) if item.kind == "call" else item.text,
            item.private,
        )
        for item in history
    ]


def _with_lost(failing, fault):
    """The answer that is cut off has been said, and is said again."""
    return [*SCRIPT[: failing + 1], *SCRIPT[failing:]] if fault == "a broken connection" else SCRIPT


async def test_what_a_failed_run_has_kept_is_whole():
    async with staged("openai-chat", *SCRIPT, faults=ModelFaults(at={2: FAULTS["a broken connection"]})) as stage:
        result = await stage.agent(tools=make_tools([])).run("A table, please.")
        assert (result.outcome, result.failure.kind) == (Outcome.PROVIDER_ERROR, FailureKind.BAD_RESPONSE)
        kinds = [item.kind for item in result.history]
        assert kinds == ["message", *["reasoning", "message", "call", "result"] * 2]


async def test_a_run_is_resumed_by_another_agent_on_the_same_store(tmp_path):
    store, booked = f"sqlite:///{tmp_path}/runs.db", []
    faults = ModelFaults(at={1: FAULTS["a status"]})
    async with (
        staged("gemini", *SCRIPT, faults=faults) as stage,
        stage.agent(tools=make_tools(booked), store=store) as one,
    ):
        failed = await one.run("A table, please.")
    async with staged("gemini", *SCRIPT[1:]) as stage, stage.agent(tools=make_tools(booked), store=store) as other:
        events = [event async for event in other.resume_stream(failed.run_id)]
        assert (events[-1].outcome, verdicts(events), booked) == (Outcome.COMPLETED, ["look ok"], ["Nonna's"])


async def test_a_resumed_run_counts_what_it_had_done_before():
    again = Answer(calls=(Ask("look", {"word": "sky"}),))
    faults = ModelFaults(at={2: FAULTS["a status"]})
    async with staged("in-process", again, again, again, "Done.", faults=faults) as stage:
        agent = stage.agent(tools=make_tools([]), limits={"max_steps": 4})
        await agent.runtime.call("look", {"word": "sea"}, session="s")
        failed = await agent.run("Look.", session="s")
        resumed = await agent.resume(failed.run_id)
        assert (verdicts(failed.events), verdicts(resumed.events)) == (
            ["look ok", "look ok"],
            ["look LOOP_DETECTED/REPEATED_CALL"],
        )
        assert (resumed.outcome, resumed.steps) == (Outcome.COMPLETED, 4)


@pytest.mark.parametrize("upstream", REMOTE)
async def test_a_failure_that_may_pass_is_tried_again_by_the_provider(upstream):
    faults = ModelFaults(at={0: FAULTS["a status"], 1: FAULTS["a web page"]})
    async with staged(upstream, "Done.", faults=faults, attempts=3) as stage:
        assert (await stage.agent().run("Go.")).text == "Done."
        assert len(stage.bodies) == 3


@pytest.mark.requirement("A-164")
async def test_a_gemini_without_candidates_is_asked_three_times_in_all():
    nothing = Answer(finish=FinishReason.INCOMPLETE)
    async with staged("gemini", nothing, nothing, "Done.", attempts=3) as stage:
        assert (await stage.agent().run("Go.")).text == "Done."
    async with staged("gemini", nothing, nothing, nothing, "Done.", attempts=3) as stage:
        result = await stage.agent().run("Go.")
        assert (result.outcome, len(stage.bodies)) == (Outcome.PROVIDER_ERROR, 3)


async def test_a_run_that_has_ended_is_not_executed_again_and_an_unknown_one_is_refused():
    async with staged("openai-chat", "Done.") as stage:
        agent = stage.agent()
        result = await agent.run("Go.")
        assert (await agent.resume(result.run_id)).text == "Done."
        assert [event.event async for event in agent.resume_stream(result.run_id)] == ["run.ended"]
        assert len(stage.bodies) == 1
        with pytest.raises(GroundwireError, match=r"^Run 'run_nowhere' does not exist\.(?: \(|$)"):
            await agent.resume("run_nowhere")


@pytest.mark.parametrize("how", ["whole", "streamed"])
@pytest.mark.parametrize(("first", "second"), [*permutations([name for name in REMOTE if name != "gemini-2.0"], 2)])
async def test_a_fallback_answers_without_what_only_the_first_model_can_read(first, second, how):
    """The second step fails at the first model; its third step goes to the first model again, with both in the history."""
    one = ScriptedModel(*SCRIPT, faults=ModelFaults(at={1: FAULTS["a status"]}))
    booked = []
    async with simulator(model=one) as primary, simulator(model=ScriptedModel(*SCRIPT)) as backup:
        providers = {name: _provider(up, at) for name, up, at in (("one", first, primary), ("two", second, backup))}
        models = open_models(Settings(providers=providers), environ={})
        agent = Agent(
            f"one/{REMOTE[first][1]}", models=models, tools=make_tools(booked), fallbacks=[f"two/{REMOTE[second][1]}"]
        )
        events = await events_of(agent, "A table, please.", how)
        assert (events[-1].outcome, events[-1].text) == (Outcome.COMPLETED, SCRIPT[2])
        assert (verdicts(events), booked) == (["book ok", "look ok"], ["Nonna's"])
        assert (len(primary.requests), len(backup.requests)) == (3, 1)
        private = signatures(primary.requests[2].body)
        assert bool(private) == (first != "openai-chat")
        assert not private & signatures(backup.requests[0].body)
        await models.close()


def signatures(value):
    """Whatever only the model that made it can read, in a body of any dialect."""
    if isinstance(value, list):
        return set().union(*map(signatures, value))
    if not isinstance(value, dict):
        return set()
    own = {value[name] for name in ("thoughtSignature", "signature", "encrypted_content") if value.get(name)}
    return own.union(*map(signatures, value.values()))


def _provider(upstream, running):
    dialect = REMOTE[upstream][0]
    url = running.openai_url if dialect.startswith("openai") else running.url
    return {"dialect": dialect, "baseUrl": url, "retry": {"attempts": 1}}


async def test_a_request_that_is_wrong_is_not_sent_to_a_fallback():
    wrong = Answer(failure=Failure(kind=FailureKind.INVALID_REQUEST, message="No.", status=400))
    async with simulator(wrong) as primary, simulator("Done.") as backup:
        providers = {"one": _provider("openai-chat", primary), "two": _provider("anthropic", backup)}
        models = open_models(Settings(providers=providers), environ={})
        result = await Agent("one/gpt-4.1", models=models, fallbacks=["two/claude-opus-4-6"]).run("Go.")
        assert (result.outcome, result.failure.kind) == (Outcome.PROVIDER_ERROR, FailureKind.INVALID_REQUEST)
        assert backup.requests == []
        await models.close()
