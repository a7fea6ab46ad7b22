"""How the built-in model decides without being a model: by the words that a message shares with a tool.

Good enough to try every part of the software offline, and deterministic; it understands nothing.
"""

import re
from collections.abc import Iterable
from typing import Any

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.messages import CallItem, Message, ResultItem
from groundwire.contracts.requests import FunctionTool, ModelRequest

_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_QUOTED = re.compile(r"[\"“'‘]([^\"”'’]+)[\"”'’]")
_NAME = re.compile(r"\b[A-Z][\w-]*(?: [A-Z][\w-]*)*")
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
        return f"{'That failed' if last.failed else 'Here is what I found'}: {last.text[:_MAX_TEXT]}", None
    text = last.text if isinstance(last, Message) else ""
    choice = request.tool_choice
    tools = [tool for tool in request.tools if isinstance(tool, FunctionTool)]
    if choice is not None:
        tools = [] if choice.mode == "none" else [t for t in tools if not choice.names or t.name in choice.names]
    must = choice is not None and choice.mode == "required" and not _has_called(request)
    tool = _best(tools, text, must=must)
    if tool is None:
        return (f"You said: {text[:_MAX_TEXT]}" if text else "I am the built-in model. Ask me for something."), None
    return "", (tool.name, arguments_for(tool.parameters or {}, text))


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
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return {}
    required = schema.get("required")
    wanted = required if isinstance(required, list) and required else list(properties)
    words = _Words(text)
    return {
        name: _value(properties.get(name), words) for name in wanted if isinstance(name, str) and name in properties
    }


class _Words:
    """What a text offers as values, each given once and the last one then again."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.numbers = _NUMBER.findall(text)
        quoted = _QUOTED.findall(text)
        names = [name for name in _NAME.findall(text) if not text.startswith(name)]
        self.strings = quoted or names or [text]

    def string(self) -> str:
        return self.strings.pop(0) if len(self.strings) > 1 else self.strings[0]

    def number(self) -> float:
        text = self.numbers.pop(0) if len(self.numbers) > 1 else self.numbers[0] if self.numbers else "1"
        return float(text)


def _value(schema: Any, words: _Words) -> Any:
    schema = schema if isinstance(schema, dict) else {}
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        return next((choice for choice in choices if str(choice).lower() in words.text.lower()), choices[0])
    if "const" in schema or "default" in schema:
        return schema.get("const", schema.get("default"))
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    if kind == "integer":
        return int(words.number())
    if kind == "number":
        return words.number()
    if kind == "boolean":
        return True
    if kind == "array":
        return [_value(schema.get("items"), words)]
    if kind == "object":
        return arguments_for(schema, words.text)
    return None if kind == "null" else words.string()
