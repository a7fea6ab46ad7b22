"""Ids of calls: providers may number them anew in every answer; every call is one of its own all the same."""

import asyncio

import pytest

from groundwire import Agent, Outcome, tool
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.messages import CallItem, say
from groundwire.contracts.replies import Finish, FinishReason, Reply
from groundwire.testing import runtime_for


class Numbering:
    """Calls its first call c1 in every conversation."""

    def __init__(self, number):
        self.number = number

    async def complete(self, request, options=None):
        if request.items[-1].kind == "result":
            return Reply(items=(say("assistant", "Done."),), finish=Finish(reason=FinishReason.END))
        call = ToolCall(call_id="c1", name="order", raw=f'{{"number":{self.number}}}', origin="x")
        return Reply(items=(CallItem(call=call),), finish=Finish(reason=FinishReason.TOOL_CALLS))

    async def close(self):
        pass


@pytest.mark.parametrize("store", ["memory://", "sqlite"])
@pytest.mark.parametrize("numbers", [(1, 1, 1), (1, 2, 3)])
async def test_a_session_may_see_the_same_id_in_every_run(numbers, store, tmp_path):
    ordered = []

    @tool(category="action")
    async def order(number: int) -> str:
        """Order."""
        ordered.append(number)
        return f"ordered {number}"

    url = store if store != "sqlite" else f"sqlite:///{tmp_path}/g.db"
    async with runtime_for(order, store=url) as runtime:
        for number in numbers:
            agent = Agent("m", runtime=runtime, models=Numbering(number))
            done = await agent.run("Order.", session="s", history=())
            assert [call.result.ok for call in done.calls] == [True]
            assert not done.calls[0].result.meta.replayed
    assert tuple(ordered) == numbers


@pytest.mark.requirement("C-199")
@pytest.mark.parametrize("category", ["retrieval", "action"])
@pytest.mark.parametrize("numbers", [(1, 1), (1, 2)])
@pytest.mark.parametrize("store", ["memory://", "sqlite"])
async def test_runs_that_share_a_session_at_the_same_time_have_calls_of_their_own(store, numbers, category, tmp_path):
    ordered = []
    both = asyncio.Event()

    @tool(category=category, scope="call")
    async def order(number: int) -> str:
        """Order."""
        ordered.append(number)
        if len(ordered) == 2:
            both.set()
        async with asyncio.timeout(10):
            await both.wait()
        return f"ordered {number}"

    url = store if store != "sqlite" else f"sqlite:///{tmp_path}/g.db"
    async with runtime_for(order, store=url) as runtime:
        agents = [Agent("m", runtime=runtime, models=Numbering(number)) for number in numbers]
        done = await asyncio.gather(*[agent.run("Order.", session="s") for agent in agents])
        assert [result.outcome for result in done] == [Outcome.COMPLETED] * 2
        assert [result.calls[0].result.data for result in done] == [f"ordered {number}" for number in numbers]
        assert not any(result.calls[0].result.meta.replayed for result in done)
        assert len({call.call_id for call in await runtime.store.list_calls("default", session_id="s")}) == 2
        assert [(await agents[0].replay(result.run_id)).same for result in done] == [True, True]
        after = await agents[0].run("And?", session="s")
        ids = [item.call.call_id for item in after.history if item.kind == "call"]
        assert len(set(ids)) == len(ids) == 3
    assert sorted(ordered) == sorted((*numbers, numbers[0]))


async def test_without_a_session_a_call_keeps_the_id_that_its_provider_gave_it():
    @tool(category="retrieval")
    async def order(number: int) -> str:
        """Order."""
        return f"ordered {number}"

    async with runtime_for(order) as runtime:
        done = await Agent("m", runtime=runtime, models=Numbering(1)).run("Order.")
        assert [one.call.call_id for one in done.calls] == ["c1"]
