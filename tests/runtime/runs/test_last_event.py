"""The last event of a run says as much about its end as the result does."""

from contextlib import aclosing

import pytest

from groundwire import Outcome, RunEnded
from groundwire.testing import Answer, Ask, Fault, FaultKind, ModelFaults

BROKEN = ModelFaults(at={1: Fault(kind=FaultKind.STATUS, status=503)})
LOOK = Answer(calls=(Ask("weather", {"city": "Oslo"}),))


@pytest.mark.parametrize(
    ("answers", "faults", "outcome"),
    [
        ((LOOK, "Clear."), None, Outcome.COMPLETED),
        ((LOOK, "Clear."), BROKEN, Outcome.PROVIDER_ERROR),
        ((Answer(calls=(Ask("pay", {"amount": 1}),)),), None, Outcome.AWAITING_APPROVAL),
    ],
    ids=["completed", "failed", "paused"],
)
async def test_a_stream_ends_with_all_that_a_result_says_of_the_end(make, answers, faults, outcome):
    options = {"faults": faults, "price": lambda _model, usage: usage.total / 1000}
    result = await make(*answers, **options).run("Go.")
    *_, ended = [event async for event in make(*answers, **options).stream("Go.")]
    assert result.outcome is outcome
    assert result.cost == result.usage.total / 1000 > 0
    assert ended == RunEnded(
        run_id=ended.run_id,
        outcome=outcome.value,
        text=result.text,
        failure=result.failure,
        usage=result.usage,
        cost=result.cost,
        approvals=ended.approvals,
    )
    assert (ended.failure is not None) == (outcome is Outcome.PROVIDER_ERROR)
    assert len(ended.approvals) == len(result.approvals) == (outcome is Outcome.AWAITING_APPROVAL)


@pytest.mark.parametrize(
    ("answers", "outcome"), [(("Clear.",), Outcome.COMPLETED), ((LOOK, "Clear."), Outcome.CANCELLED)]
)
async def test_whoever_leaves_when_the_answer_is_there_has_stopped_nothing(make, answers, outcome):
    agent = make(*answers)
    async with aclosing(agent.stream("Go.", run_id="r")) as events:
        async for event in events:
            if event.event != "run.started":
                break
    assert (await agent.runtime.store.load_run("default", "r")).outcome == outcome
    assert (await agent.replay("r")).same
