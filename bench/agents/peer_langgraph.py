"""LangGraph through `create_agent`. Its messages hold arguments that are parsed already."""

import os

import common

os.environ["LANGCHAIN_TRACING_V2"] = os.environ["LANGSMITH_TRACING"] = "false"


def load():
    import warnings
    from importlib.metadata import version
    from typing import Annotated, Literal

    warnings.filterwarnings("ignore")
    from langchain.agents import create_agent
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_core.tools import tool
    from pydantic import BaseModel, Field

    class Customer(BaseModel):
        id: str
        email: str
        tags: list[str] = []

    @tool
    async def create_ticket(
        title: Annotated[str, Field(min_length=1, max_length=200)],
        priority: Literal["low", "normal", "high"],
        count: Annotated[int, Field(ge=0, le=1000)],
        customer: Customer,
    ) -> str:
        """Create a ticket."""
        return common.body(title, priority, count, customer)

    running = []

    class Scripted(BaseChatModel):
        @property
        def _llm_type(self):
            return "scripted"

        def bind_tools(self, *_, **__):
            return self

        def _generate(self, *_, **__):
            numbers = running[0].step()
            calls = [{"name": "create_ticket", "args": common.ARGS[i], "id": f"call_{i}"} for i in numbers or ()]
            message = AIMessage(content="" if calls else common.FINAL, tool_calls=calls)
            return ChatResult(generations=[ChatGeneration(message=message)])

        async def _agenerate(self, *_, **__):
            return self._generate()

    graph = create_agent(Scripted(), [create_ticket])

    def make(script):
        async def run():
            running[:] = [script]
            ended = await graph.ainvoke({"messages": [("user", "go")]}, {"recursion_limit": 10_000})
            return ended["messages"][-1].content

        return run

    return version("langgraph"), make


if __name__ == "__main__":
    common.main("langgraph", load)
