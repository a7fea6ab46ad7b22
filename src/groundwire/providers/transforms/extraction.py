"""What all extractors of calls from text share: where to look, how a found call is written, what text is left.

Knows no dialect. An extractor gives spans: which stretch of a text is which calls. What is not understood completely
stays text, for nothing here guesses. Thoughts (`<think>…</think>`) are never searched: a model may ponder a call
there that it does not make.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from groundwire.contracts.canonical import MAX_DEPTH, JsonObject, JsonValue, digest_bytes, dump_json, parse_json
from groundwire.contracts.errors import InvalidJson

_THINK = re.compile(r"</?think>")
_NO_BRACKETS = re.compile(r"""(?:[ \t\r\n,:]++|"(?:[^"\\\x00-\x1f]++|\\.)*+"|true|false|null|-?[0-9][0-9.eE+-]*+)*+""")


@dataclass(frozen=True, slots=True)
class FoundCall:
    """A call as the text has it; `arguments` is JSON text."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Span:
    """The stretch of a text that is nothing but these calls."""

    start: int
    end: int
    calls: tuple[FoundCall, ...]


FindSpans: TypeAlias = Callable[[str], list[Span]]


def has_calls(message: JsonObject) -> bool:
    return bool(message.get("tool_calls"))


def derived_call_id(position: int, text: str) -> str:
    """An id that depends on nothing but the call's place and its text."""
    return f"call_{position}_{digest_bytes(text.encode('utf-8', 'surrogatepass'))[:16]}"


def extract_calls(message: JsonObject, find_spans: FindSpans) -> JsonObject:
    """The message with the calls of its text as tool_calls; the very same message if there are none."""
    if has_calls(message) or message.get("role", "assistant") != "assistant":
        return message
    content = message.get("content")
    found: list[FoundCall] = []
    left: JsonValue
    if isinstance(content, str):
        left = _cut(content, find_spans, found) or None
    elif isinstance(content, list):
        left = [kept for part in content for kept in _cut_part(part, find_spans, found)] or None
    else:
        return message
    return {**message, "content": left, "tool_calls": written_calls(found)} if found else message


def written_calls(found: list[FoundCall]) -> list[JsonValue]:
    return [
        {
            "id": derived_call_id(position, f"{call.name}\n{call.arguments}"),
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for position, call in enumerate(found)
    ]


def _cut_part(part: JsonValue, find_spans: FindSpans, found: list[FoundCall]) -> list[JsonValue]:
    """The part without its calls, or nothing if no text is left of it."""
    text = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None
    if not isinstance(part, dict) or not isinstance(text, str):
        return [part]
    before = len(found)
    left = _cut(text, find_spans, found)
    if len(found) == before:
        return [part]
    return [{**part, "text": left}] if left else []


def _cut(text: str, find_spans: FindSpans, found: list[FoundCall]) -> str:
    kept: list[str] = []
    before = len(found)
    for stretch, is_thought in _stretches(text):
        position = 0
        for span in [] if is_thought else find_spans(stretch):
            kept.append(stretch[position : span.start])
            position = span.end
            found.extend(span.calls)
        kept.append(stretch[position:])
    return text if len(found) == before else "".join(kept).strip()


def _stretches(text: str) -> list[tuple[str, bool]]:
    """The text in order, thoughts apart. The opening tag may be missing at the start, the closing one at the end."""
    stretches: list[tuple[str, bool]] = []
    position, inside = 0, False
    for tag in _THINK.finditer(text):
        closing = tag.group() == "</think>"
        if closing and not inside and not stretches:
            stretches.append((text[: tag.end()], True))
        elif closing == inside:
            end = tag.end() if closing else tag.start()
            stretches.append((text[position:end], inside))
        else:
            continue
        position, inside = (tag.end(), False) if closing else (tag.start(), True)
    stretches.append((text[position:], inside))
    return stretches


def read_json(text: str, position: int) -> tuple[JsonValue, int] | None:
    """The JSON object or array that begins here and where it ends."""
    end = _end_of_json(text, position)
    if end is None:
        return None
    try:
        return parse_json(text[position:end]), end
    except InvalidJson:
        return None


def _end_of_json(text: str, position: int) -> int | None:
    """Where the brackets are balanced again; None as soon as a character stands there that no JSON has.

    Not `raw_decode`: its errors count the lines of all the text before, which makes many of them slow.
    """
    depth = 0
    while True:
        plain = _NO_BRACKETS.match(text, position)
        position = plain.end() if plain else position
        bracket = text[position : position + 1]
        if not bracket or bracket not in "{}[]":
            return None
        position += 1
        depth += 1 if bracket in "{[" else -1
        if depth <= 0:
            return position
        if depth > MAX_DEPTH:
            return None


def as_arguments(value: JsonValue) -> str | None:
    """Arguments as JSON text: an object, or a text that a model wrote in its place; None for anything else."""
    if value is None:
        return "{}"
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        return None
    try:
        return dump_json(value).decode()
    except InvalidJson:
        return None
