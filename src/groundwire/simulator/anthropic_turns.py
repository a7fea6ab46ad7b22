"""The turns of an Anthropic conversation: messages of one speaker in a row count as one, as they do there."""

from typing import Any

from groundwire.contracts.canonical import JsonObject
from groundwire.simulator.refusals import objects, text_of


def blocks_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The blocks of a message; a text alone is one block."""
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else objects(content)


def turns_of(body: JsonObject) -> list[tuple[str, list[dict[str, Any]]]]:
    """Speaker and blocks, messages of one speaker in a row joined."""
    turns: list[tuple[str, list[dict[str, Any]]]] = []
    for message in objects(body.get("messages")):
        role = text_of(message.get("role"))
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks_of(message))
        else:
            turns.append((role, blocks_of(message)))
    return turns
