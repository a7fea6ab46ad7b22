"""A Chat request read into the canonical one. All messages become items; nothing is moved to `instructions`."""

from typing import Any

from groundwire.codecs.caching import ToolCache, once, read_body
from groundwire.codecs.openai_chat.options import read_format, read_limit, read_reasoning, read_sampling, read_stream
from groundwire.codecs.openai_chat.parts import read_parts
from groundwire.codecs.openai_chat.profile import DIALECT
from groundwire.codecs.openai_chat.tools import keep_choice, read_tools
from groundwire.codecs.openai_chat.turn_reading import TurnReader, quick_turn, synthetic_id
from groundwire.codecs.openai_chat.usual import read_usual
from groundwire.codecs.wire.private import keep, unknown_values
from groundwire.codecs.wire.reading import as_list, as_text, expected, optional_bool, required_text
from groundwire.codecs.wire.recognition import refuse_foreign, require
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import WireError
from groundwire.contracts.messages import (
    CallItem,
    Item,
    Message,
    NativeItem,
    Part,
    Private,
    ReasoningItem,
    ResultItem,
    TextPart,
)
from groundwire.contracts.requests import ModelRequest, ToolChoice

_KNOWN = frozenset({
    "model", "messages", "tools", "functions", "tool_choice", "function_call", "parallel_tool_calls", "temperature",
    "top_p", "top_k", "seed", "presence_penalty", "frequency_penalty", "stop", "n", "max_completion_tokens",
    "max_tokens", "response_format", "reasoning_effort", "stream", "stream_options",
})  # fmt: skip
_CHOICES = (("tool_choice", False), ("function_call", True))
_MESSAGE = frozenset({"role", "content"})
_TOOL_MESSAGE = frozenset({"role", "content", "tool_call_id", "name"})


def decode_request(
    body: bytes | JsonObject, *, model: str = "", stream: bool = False, cache: ToolCache | None = None
) -> ModelRequest:
    """The request; `model` stands in where the body has none, as with deployments that are named in the address."""
    usual = read_usual(body, cache) if type(body) is bytes and not stream else None
    if usual is not None:
        return usual
    source = read_body(body, cache)
    require(source, "messages", DIALECT)
    refuse_foreign(source, DIALECT)
    if source.get("model") is None and model:
        source = {**source, "model": model}
    extras: JsonObject = dict(unknown_values(source, _KNOWN))
    functions = source.get("functions")
    tools = once(cache if functions is None else None, source.get("tools"), DIALECT, lambda: read_tools(source))
    if not tools and source.get("tools") == []:
        extras["tools"] = []
    items = _read_messages(source)
    return ModelRequest(
        model=required_text(source, "model"),
        items=items,
        tools=tools,
        tool_choice=_read_choice(source, extras, has_tools=bool(tools)),
        parallel_calls=optional_bool(source, "parallel_tool_calls"),
        sampling=read_sampling(source, extras),
        max_output_tokens=read_limit(source, extras),
        output=read_format(source, extras) if "response_format" in source else None,
        reasoning=read_reasoning(source) if "reasoning_effort" in source else None,
        stream=read_stream(source, extras) or stream,
        extras=keep(DIALECT, extras),
    )


def _read_choice(source: JsonObject, extras: JsonObject, *, has_tools: bool) -> ToolChoice | None:
    for name, is_legacy in _CHOICES:
        value = source.get(name)
        if value is not None:
            return keep_choice(value, name, extras, has_tools=has_tools, is_legacy=is_legacy)
    return None


def _read_messages(source: JsonObject) -> tuple[Item, ...]:
    items: list[Item] = []
    turns = TurnReader()
    after_assistant = False
    for place, message in enumerate(as_list(source["messages"], "messages")):
        if type(message) is not dict:
            raise expected(f"messages[{place}]", "an object", message)
        role = message.get("role")
        if role == "assistant":
            read = quick_turn(message) or turns.read(message, f"messages[{place}]")
            if after_assistant:
                read[0] = _split(read[0])
            items += read
            after_assistant = True
            continue
        after_assistant = False
        content = message.get("content")
        if type(content) is str:
            size = len(message)
            if role == "tool":
                call_id = message.get("tool_call_id")
                if size == 3 and type(call_id) is str and call_id:
                    items.append(ResultItem(call_id=call_id, parts=(TextPart(text=content),) if content else ()))
                    continue
            elif size == 2 and type(role) is str and role != "function":
                items.append(Message(role=role, parts=(TextPart(text=content),)))
                continue
        path = f"messages[{place}]"
        is_result = role in ("tool", "function")
        items.append(_read_result(message, path, turns) if is_result else _read_message(message, path))
    return tuple(items)


def _read_message(message: JsonObject, path: str) -> Message:
    role = required_text(message, "role", path)
    parts, hints = _read_content(message.get("content"), f"{path}.content", from_user=role == "user")
    if not message.keys() <= _MESSAGE:
        hints = {**hints, **unknown_values(message, _MESSAGE)}
    return Message(role=role, parts=parts, private=keep(DIALECT, hints))


def _read_content(content: Any, path: str, *, from_user: bool) -> tuple[tuple[Part, ...], JsonObject]:
    if type(content) is str:
        return (TextPart(text=content),), {}
    if content is None:
        return (), {}
    if type(content) is not list:
        raise expected(path, "a string or an array", content)
    parts = read_parts(content, path, from_user=from_user)
    is_text = len(parts) == 1 and isinstance(parts[0], TextPart)
    return parts, {"_list": True} if is_text or not parts else {}


def _read_result(message: JsonObject, path: str, turns: TurnReader) -> ResultItem:
    is_legacy = message["role"] == "function"
    parts, hints = _read_content(message.get("content"), f"{path}.content", from_user=False)
    name = message.get("name")
    name = "" if name is None else as_text(name, f"{path}.name")
    hints = {**hints, **unknown_values(message, _TOOL_MESSAGE)}
    if is_legacy:
        hints["_legacy"] = True
    elif name:
        hints["_name"] = True
    call_id = message.get("tool_call_id")
    call_id = "" if call_id is None else as_text(call_id, f"{path}.tool_call_id")
    if not call_id:
        if not is_legacy and not turns.unnamed:
            raise WireError("is missing", path=f"{path}.tool_call_id")
        call_id = _waiting(turns, name) or synthetic_id("", path)
    parts = () if parts == (TextPart(text=""),) else parts
    return ResultItem(call_id=call_id, name=name, parts=parts, private=keep(DIALECT, hints))


def _waiting(turns: TurnReader, name: str) -> str | None:
    """The call that a result without an id must belong to: the first of that name that still waits."""
    for place, (waiting, call_id) in enumerate(turns.unnamed):
        if not name or waiting == name:
            del turns.unnamed[place]
            return call_id
    return None


def _split(item: Item) -> Item:
    """The same item, marked as the beginning of a message of its own."""
    private: Private
    match item:
        case Message(role=role, parts=parts, private=private):
            return Message(role=role, parts=parts, split=True, private=private)
        case CallItem(call=call, complete=complete, private=private):
            return CallItem(call=call, complete=complete, split=True, private=private)
        case ReasoningItem(text=text, private=private):
            return ReasoningItem(text=text, split=True, private=private)
        case ResultItem() | NativeItem():
            return item
