"""smolagents: synchronous, with types checked by rules of its own; several calls of a step go to threads."""

import json

import common


def load():
    from importlib.metadata import version

    from smolagents import Model, TokenUsage, Tool, ToolCallingAgent
    from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole
    from smolagents.monitoring import LogLevel

    class CreateTicket(Tool):
        name = "create_ticket"
        description = "Create a ticket."
        inputs = {
            "title": {"type": "string", "description": "title"},
            "priority": {"type": "string", "description": "priority", "enum": ["low", "normal", "high"]},
            "count": {"type": "integer", "description": "count"},
            "customer": {"type": "object", "description": "customer"},
        }
        output_type = "string"

        def forward(self, title, priority, count, customer):
            return common.body(title, priority, count, customer)

    running = []

    class Scripted(Model):
        def generate(self, *_, **__):
            numbers = running[0].step()
            asked = [("final_answer", json.dumps({"answer": common.FINAL}), "final")]
            if numbers is not None:
                asked = [("create_ticket", common.ARGS_JSON[i], f"call_{i}") for i in numbers]
            calls = [
                ChatMessageToolCall(
                    id=call_id, type="function", function=ChatMessageToolCallFunction(name=name, arguments=arguments)
                )
                for name, arguments, call_id in asked
            ]
            return ChatMessage(role=MessageRole.ASSISTANT, content="", token_usage=TokenUsage(0, 0), tool_calls=calls)

    def make(script):
        agent = ToolCallingAgent(tools=[CreateTicket()], model=Scripted(), max_steps=1000, verbosity_level=LogLevel.OFF)

        def run():
            running[:] = [script]
            return agent.run("go")

        return run

    return version("smolagents"), make


if __name__ == "__main__":
    common.main("smolagents", load)
