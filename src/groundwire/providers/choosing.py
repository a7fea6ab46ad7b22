"""How the built-in model decides without being a model: by the words that a message shares with a tool.

Good enough to try every part of the software offline, and deterministic; it understands nothing.
"""

import re
from collections.abc import Iterable

from groundwire.codecs.wire.json import dump_text
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.messages import CallItem, Message, ResultItem
from groundwire.contracts.requests import FunctionTool, ModelRequest, OutputFormat
from groundwire.providers.values import Words, value_for

_WORD = re.compile(r"[^\W_]+")
_IGNORED = frozenset(
    [
        "a",
        "an",
        "and",
        "at",
        "by",
        "for",
        "from",
        "get",
        "in",
        "is",
        "it",
        "me",
        "my",
        "of",
        "on",
        "or",
        "please",
        "the",
        "to",
        "what",
        "with",
        "you",
        "your",
    ]
)
_MAX_TEXT = 4000


def choose_answer(request: ModelRequest) -> tuple[str, tuple[str, JsonObject] | None]:
    """What to say, or which tool to call with what."""
    last = request.items[-1] if request.items else None
    if isinstance(last, ResultItem):
        told = f"{'That failed' if last.failed else 'Here is what I found'}: {last.text[:_MAX_TEXT]}"
        return _formatted(told, last.text, request.output), None
    text = last.text if isinstance(last, Message) else ""
    choice = request.tool_choice
    tools = [tool for tool in request.tools if isinstance(tool, FunctionTool)]
    if choice is not None:
        tools = [] if choice.mode == "none" else [t for t in tools if not choice.names or t.name in choice.names]
    must = choice is not None and choice.mode == "required" and not _has_called(request)
    tool = _best(tools, text, must=must)
    if tool is None:
        told = f"You said: {text[:_MAX_TEXT]}" if text else "I am the built-in model. Ask me for something."
        return _formatted(told, text, request.output), None
    return "", (tool.name, arguments_for(tool.schema or {}, text))


def _formatted(told: str, text: str, output: OutputFormat | None) -> str:
    """What is told, in the form that the answer must have."""
    if output is None or output.type == "text":
        return told
    if output.type == "json" or output.schema is None:
        return dump_text({"answer": told})
    return dump_text(value_for(output.schema, Words(text[:_MAX_TEXT])))


def _has_called(request: ModelRequest) -> bool:
    return bool(request.items) and isinstance(request.items[-1], CallItem)


def _best(tools: Iterable[FunctionTool], text: str, *, must: bool) -> FunctionTool | None:
    words = _words(text)
    best: FunctionTool | None = None
    score = 0 if not must else -1
    for tool in tools:
        found = 3 * len(words & _words(tool.name)) + len(words & _words(tool.description or ""))
        if found > score:
            best, score = tool, found
    return best


def _words(text: str) -> frozenset[str]:
    return frozenset(
        word for word in (found.lower() for found in _WORD.findall(text.replace("_", " "))) if word not in _IGNORED
    )


def arguments_for(schema: JsonObject, text: str) -> JsonObject:
    """Values for the required properties (all, if none is required), as far as the text offers any."""
    if not isinstance(schema.get("properties"), dict):
        return {}
    arguments = value_for({**schema, "type": "object"}, Words(text))
    return arguments if isinstance(arguments, dict) else {}
