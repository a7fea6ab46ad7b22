"""What options of sending may add to a body, and what they may not."""

from groundwire.contracts.canonical import JsonObject

RESERVED = frozenset({
    "model", "messages", "tools", "tool_choice", "response_format", "stream", "input", "instructions", "system",
    "contents", "systemInstruction", "toolConfig",
})  # fmt: skip
"""Members that the request owns: overrides of them are ignored."""


def allowed(overrides: JsonObject) -> JsonObject:
    return {name: value for name, value in overrides.items() if name not in RESERVED} if overrides else overrides
