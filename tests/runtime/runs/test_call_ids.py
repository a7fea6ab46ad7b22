"""Ids of calls: providers may number them anew in every answer; every call is one of its own all the same."""

import pytest

from groundwire import Agent, tool
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
