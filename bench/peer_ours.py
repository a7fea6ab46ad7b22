"""Our loop under the same contract as the peers: one tool, a model that answers from a counter, CPU time per call.

STORE chooses where state lives (default `memory://`). The tool is an action, so every call is validated, reserved in the
ledger, recorded and chained; it has no budget, gate, confirmation or grounding, which cost only the tools that ask for them.
"""

import os

import common


def load():
    from groundwire import Tool, __version__
    from groundwire.agent import Agent
    from groundwire.contracts.calls import ToolCall
    from groundwire.contracts.messages import CallItem, Message, TextPart
    from groundwire.contracts.replies import Finish, FinishReason, Reply, Usage

    asked, stopped = Finish(reason=FinishReason.TOOL_CALLS), Finish(reason=FinishReason.END)
    usage = Usage(input=1, output=1, total=2)

    class Model:
        script = None

        async def complete(self, request, options=None):
            indexes = self.script.step()
            if indexes is None:
                answer = Message(role="assistant", parts=(TextPart(text=common.FINAL),))
                return Reply(items=(answer,), finish=stopped, usage=usage)
            calls = [
                CallItem(call=ToolCall(call_id=f"call_{i}", name="create_ticket", raw=common.ARGS_JSON[i], origin="x"))
                for i in indexes
            ]
            return Reply(items=tuple(calls), finish=asked, usage=usage)

        async def close(self):
            pass

    async def create_ticket(title, priority, count, customer):
        return common.body(title, priority, count, customer)

    tool = Tool(
        name="create_ticket",
        description="Create a ticket.",
        parameters=common.SCHEMA,
        handler=create_ticket,
        category="action",
    )
    model = Model()
    agent = Agent(
        "bench/model",
        tools=[tool],
        models=model,
        store=os.environ.get("STORE", "memory://"),
        limits={"max_steps": 1000},
    )

    def make(script):
        async def run():
            model.script = script
            return (await agent.run("go")).text

        return run

    return f"groundwire {__version__}", make


if __name__ == "__main__":
    common.main("ours", load)
