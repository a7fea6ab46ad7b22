"""Every way in which a run can go, whole and streamed, with a model in process and behind each of the four dialects.

After each, the same session is asked once more: the simulator refuses histories that the vendors would refuse, so
whatever happened has left a conversation that can go on. And each is replayed from its record, without a difference.
"""

import pytest

from groundwire import Outcome
from groundwire.testing import FakeClock, Fault, ModelFaults, runtime_for
from tests.behaviours.runs.scenarios import SCENARIOS
from tests.behaviours.runs.stage import UPSTREAMS, events_of, staged, verdicts
from tests.behaviours.runs.tools import make_tools


@pytest.mark.requirement("C-044", "C-048")
@pytest.mark.parametrize("how", ["whole", "streamed"])
@pytest.mark.parametrize(
    ("scenario", "upstream"),
    [
        pytest.param(one.values[0], upstream, id=f"{one.id}-{upstream}", marks=one.marks)
        for one in SCENARIOS
        for upstream in UPSTREAMS
        if upstream not in one.values[0].unsaid
    ],
)
async def test_a_run_comes_to_the_end_that_it_must(scenario, upstream, how):
    clock = FakeClock()
    faults = ModelFaults(at={number: Fault(kind=kind) for number, kind in scenario.faults.items()})
    async with (
        runtime_for(*make_tools(clock), clock=clock) as runtime,
        staged(upstream, *scenario.answers, faults=faults) as stage,
    ):
        agent = stage.agent(runtime=runtime, **scenario.options)
        events = await events_of(agent, "How is it?", how, session="s")
        ended, requests = events[-1], len(stage.script.asked)
        assert (ended.event, ended.outcome, ended.text) == ("run.ended", scenario.outcome, scenario.text)
        if how == "streamed" and scenario.outcome is Outcome.COMPLETED:
            assert "".join(event.text for event in events if event.event == "text.delta").endswith(scenario.text)

        assert verdicts(events) == list(scenario.results)
        assert requests == (len(scenario.answers) if scenario.requests is None else scenario.requests)
        assert (await agent.replay(events[0].run_id)).differences == ()
        stage.script.answer_with("Still here.")
        again = await stage.agent(runtime=runtime).run("And now?", session="s")
        assert (again.outcome, again.text, again.failure) == (Outcome.COMPLETED, "Still here.", None)
        assert (await runtime.verify_audit()).problems == ()


def test_every_outcome_has_a_scenario():
    """But one: who cancels a run is not told how it ended."""
    shown = {parameters.values[0].outcome for parameters in SCENARIOS}
    assert set(Outcome) - shown == {Outcome.CANCELLED}
