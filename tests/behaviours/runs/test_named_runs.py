"""A run with a name of its own is one run, however often it is asked for."""

import asyncio

import pytest

from groundwire import Agent, Outcome, say
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.messages import CallItem, ResultItem
from groundwire.contracts.replies import Finish, FinishReason, Reply
from groundwire.testing import Answer, Ask, FakeClock, Fault, FaultKind, ModelFaults, ScriptedModel, ScriptedProvider
from tests.behaviours.runs.test_provider_failures import make_tools
from tests.conformance.conftest import postgres_server, postgres_url, shared_url

__all__ = ["postgres_server", "postgres_url", "shared_url"]

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


class Booking:
    """Books a table, whoever asks and however many do, and says so when it is booked. Pauses as often as it is told."""

    def __init__(self, pauses):
        self._pauses = pauses

    async def complete(self, request, options=None):
        for _ in range(self._pauses):
            await asyncio.sleep(0)
        if any(isinstance(item, ResultItem) for item in request.items):
            return Reply(items=(say("assistant", "Booked."),), finish=Finish(reason=FinishReason.END))
        call = ToolCall(call_id="c", name="book", raw='{"place": "Nonna"}')
        return Reply(items=(CallItem(call=call),), finish=Finish(reason=FinishReason.TOOL_CALLS))

    async def close(self):
        return None


@pytest.mark.parametrize("head_start", range(12))
async def test_whoever_asks_for_a_named_run_at_the_same_time_gets_its_one_result(shared_url, head_start):
    booked = []
    agents = [
        Agent("own", tools=make_tools(booked), models=Booking(pauses), store=shared_url) for pauses in (0, 1, 3, 9)
    ]

    async def ask(agent, place):
        for _ in range(head_start * place):
            await asyncio.sleep(0)
        return await agent.run_once("order-7", "A table, please.")

    results = await asyncio.gather(*(ask(agent, place) for place, agent in enumerate(agents)))
    for agent in agents:
        await agent.close()
    assert [(result.outcome, result.text) for result in results] == [(Outcome.COMPLETED, "Booked.")] * 4
    assert all(result.items == results[0].items for result in results)
    assert booked == ["Nonna"]


@pytest.mark.parametrize("head_start", range(12))
async def test_one_agent_that_is_asked_for_a_named_run_several_times_at_once_runs_it_once(head_start):
    booked = []
    async with Agent("own", tools=make_tools(booked), models=Booking(2), store="memory://") as agent:

        async def ask(place):
            for _ in range(head_start * place):
                await asyncio.sleep(0)
            return await agent.run_once("order-7", "A table, please.")

        results = await asyncio.gather(*map(ask, range(4)))
    assert [(result.outcome, result.text) for result in results] == [(Outcome.COMPLETED, "Booked.")] * 4
    assert booked == ["Nonna"]
