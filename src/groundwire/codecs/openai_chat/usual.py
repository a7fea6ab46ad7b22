"""The request that nearly all are, recognised while it is parsed: texts, calls with their results, and function tools.

It is described by types, so that the checks are msgspec's and no objects are made in between. These types say nothing
about what a client may send: what they do not take is read by the functions that know it all.
"""

from typing import Annotated, Any, Generic, Literal, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct

from groundwire.codecs.caching import ToolCache
from groundwire.codecs.openai_chat.options import keep_limit, keep_stream
from groundwire.codecs.openai_chat.profile import DIALECT
from groundwire.codecs.openai_chat.tools import function_tool, keep_choice, read_tools
from groundwire.codecs.schemas.plain import is_plain_text
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.messages import CallItem, Item, Message, ResultItem, TextPart
from groundwire.contracts.requests import DeclaredTool, ModelRequest, Sampling

_ABSENT = Raw(b"null")
_Word = Annotated[str, Meta(min_length=1)]
_Tools = TypeVar("_Tools")


class _CalledFunction(Struct, forbid_unknown_fields=True, gc=False):
    name: _Word
    arguments: _Word


class _Call(Struct, forbid_unknown_fields=True, gc=False):
    id: _Word
    type: Literal["function"]
    function: _CalledFunction


class _System(Struct, tag_field="role", tag="system", forbid_unknown_fields=True, gc=False):
    content: str


class _Developer(Struct, tag_field="role", tag="developer", forbid_unknown_fields=True, gc=False):
    content: str


class _User(Struct, tag_field="role", tag="user", forbid_unknown_fields=True, gc=False):
    content: str


class _Assistant(Struct, tag_field="role", tag="assistant", forbid_unknown_fields=True, gc=False):
    content: _Word | None = None
    tool_calls: Annotated[list[_Call], Meta(min_length=1)] | None = None


class _Result(Struct, tag_field="role", tag="tool", forbid_unknown_fields=True, gc=False):
    content: str
    tool_call_id: _Word


class _Function(Struct, forbid_unknown_fields=True, gc=False):
    name: str
    description: str | None = None
    parameters: Raw = _ABSENT
    strict: bool | None = None


class _Tool(Struct, forbid_unknown_fields=True, gc=False):
    type: Literal["function"]
    function: _Function


class _Request(Struct, Generic[_Tools], forbid_unknown_fields=True, gc=False):
    model: _Word
    messages: list[_System | _Developer | _User | _Assistant | _Result]
    tools: _Tools = None  # type: ignore[assignment]  # a type of its own, or else Raw is not left unread
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    temperature: int | float | None = None
    top_p: int | float | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    stream: bool | None = None
    stream_options: JsonObject | None = None


_ROLES: dict[type, str] = {_System: "system", _Developer: "developer", _User: "user"}
_DEFAULT_SAMPLING = Sampling()

_decode = msgspec.json.Decoder(_Request[Annotated[list[_Tool], Meta(min_length=1)]]).decode
_decode_schema = msgspec.json.Decoder(JsonObject | None).decode
_decode_around_tools = msgspec.json.Decoder(_Request[Raw]).decode


def read_usual(body: bytes, cache: ToolCache | None) -> ModelRequest | None:
    """Such a request; None for any other body, good or bad."""
    try:
        wire = _decode(body) if cache is None else _decode_around_tools(body)
        tools = _read_tools(wire.tools, cache)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
    items = _read_messages(wire.messages)
    if items is None or tools is None:
        return None
    extras: JsonObject = {}
    choice, temperature, top_p = wire.tool_choice, wire.temperature, wire.top_p
    is_default = temperature is None and top_p is None
    return ModelRequest(
        model=wire.model,
        items=tuple(items),
        tools=tools,
        tool_choice=None if choice is None else keep_choice(choice, "tool_choice", extras, has_tools=bool(tools)),
        parallel_calls=wire.parallel_tool_calls,
        sampling=_DEFAULT_SAMPLING if is_default else Sampling(temperature=temperature, top_p=top_p),
        max_output_tokens=keep_limit(wire.max_completion_tokens, wire.max_tokens, extras),
        stream=keep_stream(wire.stream, wire.stream_options, extras),
        extras={DIALECT: extras} if extras else {},
    )


def _read_tools(tools: Any, cache: ToolCache | None) -> tuple[DeclaredTool, ...] | None:
    if tools is None:
        return ()
    if cache is None:
        made: list[DeclaredTool] = []
        for tool in tools:
            function = tool.function
            schema = _read_schema(function.parameters)
            made.append(function_tool(function.name, function.description, schema, {}, strict=function.strict))
        return tuple(made)
    parsed = cache.parse_tools(bytes(tools))
    return cache.once(parsed, DIALECT, lambda: read_tools({"tools": parsed})) if parsed else None


def _read_schema(text: Raw) -> JsonObject | Raw | None:
    """The text itself where every provider takes it as it is."""
    if text is _ABSENT or is_plain_text(text):
        return None if text is _ABSENT else text
    return _decode_schema(text)


def _read_messages(messages: list[Any]) -> list[Item] | None:
    """The items; None where a message of the model has no content, or follows another one."""
    items: list[Item] = []
    was_models = False
    for message in messages:
        kind, content = type(message), message.content
        if kind is _Assistant:
            calls = message.tool_calls
            if was_models or (content is None and calls is None):
                return None
            was_models = True
            if content is not None:
                items.append(Message(role="assistant", parts=(TextPart(text=content),)))
            for call in calls or ():
                function = call.function
                if function.arguments.isspace():
                    return None
                made = ToolCall(call_id=call.id, name=function.name, raw=function.arguments, origin=DIALECT)
                items.append(CallItem(call=made))
            continue
        was_models = False
        if kind is _Result:
            parts = (TextPart(text=content),) if content else ()
            items.append(ResultItem(call_id=message.tool_call_id, parts=parts))
        else:
            items.append(Message(role=_ROLES[kind], parts=(TextPart(text=content),)))
    return items
