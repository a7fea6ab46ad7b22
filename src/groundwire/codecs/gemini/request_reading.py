"""A generateContent request as a ModelRequest. The model and the streaming switch stand in its URL, not in the body."""

from typing import Any

from groundwire.codecs.caching import ToolCache, once, read_body
from groundwire.codecs.gemini.casing import camel_keys
from groundwire.codecs.gemini.function_responses import OpenCalls, read_response
from groundwire.codecs.gemini.media_parts import is_media, read_media
from groundwire.codecs.gemini.options import read_choice, read_generation
from groundwire.codecs.gemini.profile import DIALECT
from groundwire.codecs.gemini.tools import read_tools
from groundwire.codecs.gemini.turns import TurnReader
from groundwire.codecs.wire.pairing import without_beginning
from groundwire.codecs.wire.private import keep, unknown_values
from groundwire.codecs.wire.reading import as_list, as_object, expected, optional_text
from groundwire.codecs.wire.recognition import require
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import WireError
from groundwire.contracts.messages import CallItem, Item, Message, NativeItem, NativePart, Part, ReasoningItem, TextPart
from groundwire.contracts.requests import DeclaredTool, ModelRequest, Sampling

_TOP = frozenset({"contents", "systemInstruction", "tools", "toolConfig", "generationConfig"})
_TEXT = frozenset({"text"})
_PARTS = frozenset({"parts"})
_CONTENT = frozenset({"parts", "role"})
_NO_SAMPLING = Sampling()
_ROLES = {"user": "user", "function": "user", "": "user", "assistant": "assistant", "model": "assistant"}


def decode_request(
    body: bytes | JsonObject, *, model: str = "", stream: bool = False, cache: ToolCache | None = None
) -> ModelRequest:
    wire = camel_keys(read_body(body, cache))
    require(wire, "contents", DIALECT)
    extras = unknown_values(wire, _TOP)
    if not model:
        model = (optional_text(wire, "model") or "").removeprefix("models/")
    sampling, most, output, reasoning = _NO_SAMPLING, None, None, None
    if wire.get("generationConfig") is not None:
        sampling, most, output, reasoning, members = read_generation(wire["generationConfig"])
        if members or not wire["generationConfig"]:
            extras["generationConfig"] = members
    choice = None
    if wire.get("toolConfig") is not None:
        choice, members = read_choice(wire["toolConfig"])
        if members or choice is None:
            extras["toolConfig"] = members
    tools: list[DeclaredTool] = []
    if wire.get("tools") is not None:
        tools, shape = once(cache, wire["tools"], DIALECT, lambda: read_tools(wire["tools"], "tools"))
        if shape is not None or not tools:
            extras["_tools"] = shape or []  # type: ignore[assignment]
    instructions, further = _read_instructions(wire.get("systemInstruction"))
    if further:
        extras["_systemInstruction"] = further
    return ModelRequest(
        model=model,
        items=without_beginning(_read_contents(wire.get("contents"))),
        instructions=instructions,
        tools=tuple(tools),
        tool_choice=choice,
        sampling=sampling,
        max_output_tokens=most,
        output=output,
        reasoning=reasoning,
        stream=stream,
        extras=keep(DIALECT, extras),
    )


def _read_instructions(value: Any) -> tuple[tuple[TextPart, ...], JsonObject]:
    if value is None:
        return (), {}
    path = "systemInstruction"
    wire = camel_keys(as_object(value, path))
    texts: list[TextPart] = []
    for place, part in enumerate(_parts_of(wire, path)):
        read = _read_user_part(part, f"{path}.parts[{place}]")
        if not isinstance(read, TextPart):
            raise WireError("must be text", path=f"{path}.parts[{place}]")
        texts.append(read)
    return tuple(texts), unknown_values(wire, _PARTS)


def _read_contents(value: Any) -> tuple[Item, ...]:
    items: list[Item] = []
    if value is None:
        return ()
    calls = OpenCalls()
    was_model = False
    for place, entry in enumerate(as_list(value, "contents")):
        path = f"contents[{place}]"
        wire = camel_keys(as_object(entry, path))
        role = optional_text(wire, "role", path)
        parts = _parts_of(wire, path)
        if role in ("model", "assistant"):
            turn = TurnReader(f"call_{place}", {}).read(parts, f"{path}.parts")
            calls.ask(turn)
            turn = turn or [Message(role="assistant", parts=())]
            items.extend(_as_own_content(turn) if was_model else turn)
        else:
            items.extend(_read_user_content(wire, role, parts, path, calls))
        was_model = role in ("model", "assistant")
    return tuple(items)


def _parts_of(wire: JsonObject, path: str) -> list[Any]:
    parts = wire.get("parts")
    return [] if parts is None else as_list(parts, f"{path}.parts")


def _as_own_content(items: list[Item]) -> list[Item]:
    """The first item says that a second content of the model began here."""
    first = items[0]
    split: Item
    if isinstance(first, CallItem):
        split = CallItem(call=first.call, complete=first.complete, split=True, private=first.private)
    elif isinstance(first, ReasoningItem):
        split = ReasoningItem(text=first.text, split=True, private=first.private)
    elif isinstance(first, NativeItem):
        split = NativeItem(origin=first.origin, value=first.value, split=True)
    elif isinstance(first, Message):
        split = Message(role=first.role, parts=first.parts, split=True, private=first.private)
    else:
        split = first
    return [split, *items[1:]]


def _read_user_content(wire: JsonObject, role: str | None, parts: list[Any], path: str, calls: OpenCalls) -> list[Item]:
    items: list[Item] = []
    said: list[Part] = []
    for place, entry in enumerate(parts):
        at = f"{path}.parts[{place}]"
        part = camel_keys(as_object(entry, at))
        if part.get("functionResponse") is None:
            said.append(_read_user_part(part, at))
            continue
        if said:
            items.append(_user_message(wire, role, said))
            said = []
        items.append(read_response(part, at, calls, role))
    if said or not items:
        items.append(_user_message(wire, role, said))
    return items


def _user_message(wire: JsonObject, role: str | None, parts: list[Part]) -> Message:
    speaker = _ROLES.get(role or "", role or "user")
    members = {} if len(wire) <= 2 else unknown_values(wire, _CONTENT)
    if role != speaker:
        members["_role"] = role
    if not members:
        return Message(role=speaker, parts=tuple(parts))
    return Message(role=speaker, parts=tuple(parts), private={DIALECT: members})


def _read_user_part(entry: Any, path: str) -> Part:
    part = camel_keys(as_object(entry, path))
    text = part.get("text")
    if text is not None:
        if not isinstance(text, str):
            raise expected(f"{path}.text", "a string", text)
        if len(part) == 1:
            return TextPart(text=text)
        members = unknown_values(part, _TEXT)
        return TextPart(text=text, private=keep(DIALECT, members))
    if is_media(part):
        return read_media(part, path)
    return NativePart(origin=DIALECT, value=part)
