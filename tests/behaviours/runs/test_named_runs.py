"""A run with a name of its own is one run, however often it is asked for."""

from groundwire import Agent, Outcome
from groundwire.testing import Answer, Ask, FakeClock, Fault, FaultKind, ModelFaults, ScriptedModel, ScriptedProvider
from tests.behaviours.runs.test_provider_failures import make_tools

SCRIPT = (Answer(calls=(Ask("book", {"place": "Nonna's"}),)), "A table is booked.")


def agent_with(booked, store, faults=None):
    models = ScriptedProvider(ScriptedModel(*SCRIPT, faults=faults), clock=FakeClock())
    return Agent("scripted", tools=make_tools(booked), models=models, store=store)


async def test_a_named_run_that_has_ended_gives_its_result_again_to_whoever_asks(tmp_path):
    booked, store = [], f"sqlite:///{tmp_path}/runs.db"
    async with agent_with(booked, store) as agent:
        first = await agent.run_once("order-7", "A table, please.")
    async with agent_with(booked, store, ModelFaults(at={0: Fault(kind=FaultKind.STATUS, status=503)})) as another:
        again = await another.run_once("order-7", "A table, please.")
    assert (again.outcome, again.text, again.items) == (Outcome.COMPLETED, "A table is booked.", first.items)
    assert (again.run_id, again.usage, again.history) == ("order-7", first.usage, first.history)
    assert booked == ["Nonna's"]


async def test_a_named_run_that_failed_at_its_provider_goes_on_when_it_is_asked_for_again():
    booked = []
    failing = ModelFaults(at={1: Fault(kind=FaultKind.STATUS, status=503)})
    async with agent_with(booked, "memory://", failing) as agent:
        broken = await agent.run_once("order-7", "A table, please.")
        whole = await agent.run_once("order-7", "A table, please.")
    assert (broken.outcome, whole.outcome, whole.text) == (
        Outcome.PROVIDER_ERROR,
        Outcome.COMPLETED,
        "A table is booked.",
    )
    assert booked == ["Nonna's"]


async def test_a_name_means_another_run_for_another_tenant():
    booked = []
    async with agent_with(booked, "memory://") as agent:
        await agent.run_once("order-7", "A table, please.", tenant="one")
        await agent.run_once("order-7", "A table, please.", tenant="two")
    assert booked == ["Nonna's", "Nonna's"]
