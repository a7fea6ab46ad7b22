"""Transforms of one declared tool of the OpenAI-chat wire shape."""

from groundwire.contracts.canonical import JsonObject


def openai_tools_strip_function_descriptions(tool: JsonObject) -> JsonObject:
    """Take the function's own description away. Those of its arguments stay: they are part of the schema."""
    function = tool.get("function")
    if not isinstance(function, dict) or "description" not in function:
        return tool
    return {**tool, "function": {name: value for name, value in function.items() if name != "description"}}
