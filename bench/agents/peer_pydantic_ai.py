"""pydantic-ai with a model that is a function; usage is given, or else it would count tokens over the history."""

import common


def load():
    from importlib.metadata import version
    from typing import Annotated, Literal

    from pydantic import BaseModel, Field
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.usage import RequestUsage, UsageLimits

    class Customer(BaseModel):
        id: str
        email: str
        tags: list[str] = []

    running = []

    async def answer(_messages, _info):
        numbers = running[0].step()
        parts = [TextPart(common.FINAL)]
        if numbers is not None:
            parts = [ToolCallPart("create_ticket", common.ARGS_JSON[i], tool_call_id=f"call_{i}") for i in numbers]
        return ModelResponse(parts=parts, usage=RequestUsage(input_tokens=1, output_tokens=1))

    agent = Agent(FunctionModel(answer))

    @agent.tool_plain
    async def create_ticket(
        title: Annotated[str, Field(min_length=1, max_length=200)],
        priority: Literal["low", "normal", "high"],
        count: Annotated[int, Field(ge=0, le=1000)],
        customer: Customer,
    ) -> str:
        """Create a ticket."""
        return common.body(title, priority, count, customer)

    def make(script):
        async def run():
            running[:] = [script]
            return (await agent.run("go", usage_limits=UsageLimits(request_limit=None))).output

        return run

    return version("pydantic-ai-slim"), make


if __name__ == "__main__":
    common.main("pydantic-ai", load)
