"""OpenAI Agents SDK with a model of our own, and without its tracing."""

import os

import common

os.environ.setdefault("OPENAI_AGENTS_DISABLE_TRACING", "1")
os.environ.setdefault("OPENAI_API_KEY", "unused")


def load():
    from importlib.metadata import version
    from typing import Annotated, Literal

    from agents import Agent, ModelResponse, RunConfig, Runner, Usage, function_tool
    from agents.models.interface import Model
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
    from pydantic import BaseModel, Field

    class Customer(BaseModel):
        id: str
        email: str
        tags: list[str]

    @function_tool
    async def create_ticket(
        title: Annotated[str, Field(min_length=1, max_length=200)],
        priority: Literal["low", "normal", "high"],
        count: Annotated[int, Field(ge=0, le=1000)],
        customer: Customer,
    ) -> str:
        """Create a ticket."""
        return common.body(title, priority, count, customer)

    def said(numbers):
        if numbers is None:
            text = ResponseOutputText(text=common.FINAL, type="output_text", annotations=[], logprobs=[])
            yield ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
            return
        for i in numbers:
            yield ResponseFunctionToolCall(
                id=f"fc_{i}",
                call_id=f"call_{i}",
                type="function_call",
                name="create_ticket",
                arguments=common.ARGS_JSON[i],
            )

    class Scripted(Model):
        script = None

        async def get_response(self, *_, **__):
            return ModelResponse(output=list(said(self.script.step())), usage=Usage(), response_id=None)

        def stream_response(self, *_, **__):
            raise NotImplementedError

    model = Scripted()
    agent = Agent(name="bench", instructions="x", tools=[create_ticket], model=model)

    def make(script):
        async def run():
            model.script = script
            untraced = RunConfig(tracing_disabled=True)
            return (await Runner.run(agent, "go", max_turns=1000, run_config=untraced)).final_output

        return run

    return version("openai-agents"), make


if __name__ == "__main__":
    common.main("openai-agents", load)
