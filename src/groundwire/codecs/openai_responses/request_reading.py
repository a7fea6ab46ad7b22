"""From the body of `POST /responses` to a request in no dialect. Knows nothing of who asks or of where it goes."""

from typing import Any

from groundwire.codecs.caching import ToolCache, once, read_body
from groundwire.codecs.openai_responses.choices import read_choice
from groundwire.codecs.openai_responses.item_reading import read_input_items
from groundwire.codecs.openai_responses.namespaces import with_known_names
from groundwire.codecs.openai_responses.options import read_format, read_reasoning_options
from groundwire.codecs.openai_responses.profile import DIALECT
from groundwire.codecs.openai_responses.tools import read_tools
from groundwire.codecs.wire.private import keep, unknown_members
from groundwire.codecs.wire.reading import (
    expected,
    optional_bool,
    optional_int,
    optional_list,
    optional_number,
    optional_object,
    optional_text,
)
from groundwire.codecs.wire.recognition import require
from groundwire.codecs.wire.stored import stored_members
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.messages import Item, Message, TextPart
from groundwire.contracts.requests import DeclaredTool, ModelRequest, Sampling

_MEMBERS = frozenset({
    "model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "temperature", "top_p",
    "max_output_tokens", "text", "reasoning", "stream",
})  # fmt: skip
_FORMAT = frozenset({"format"})


def decode_request(
    body: bytes | JsonObject, *, model: str = "", stream: bool = False, cache: ToolCache | None = None
) -> ModelRequest:
    """The request that the body is, or a WireError that names the place. `model` counts where the body has none."""
    wire = read_body(body, cache)
    if not stored_members({DIALECT: wire}):  # else the server may know what was said
        require(wire, "input", DIALECT)
    extras = unknown_members(wire, _MEMBERS)
    notes = dict(extras)
    items = _read_input(wire, notes)
    instructions = optional_text(wire, "instructions")
    if instructions == "":
        notes["_instructions"] = ""
    text = optional_object(wire, "text")
    output = None
    if text is not None:
        output = read_format(text.get("format"))
        rest = text if output is None else unknown_members(text, _FORMAT)
        if rest or output is None:
            notes["text"] = rest
    reasoning = optional_object(wire, "reasoning")
    is_streamed = optional_bool(wire, "stream")
    if is_streamed is False:
        notes["_stream"] = False
    if wire.get("tools") == []:
        notes["_tools"] = []
    tools: tuple[DeclaredTool, ...] = ()
    if optional_list(wire, "tools"):
        tools = once(cache, wire["tools"], DIALECT, lambda: read_tools(wire["tools"]))
    return ModelRequest(
        model=optional_text(wire, "model") or model,
        items=with_known_names(items, tools),
        instructions=(TextPart(text=instructions),) if instructions else (),
        tools=tools,
        tool_choice=read_choice(wire.get("tool_choice")),
        parallel_calls=optional_bool(wire, "parallel_tool_calls"),
        sampling=Sampling(temperature=optional_number(wire, "temperature"), top_p=optional_number(wire, "top_p")),
        max_output_tokens=optional_int(wire, "max_output_tokens"),
        output=output,
        reasoning=None if reasoning is None else read_reasoning_options(reasoning),
        stream=stream if is_streamed is None else is_streamed,
        extras=keep(DIALECT, notes),
    )


def _read_input(wire: JsonObject, notes: JsonObject) -> tuple[Item, ...]:
    value: Any = wire.get("input")
    if isinstance(value, list):
        return read_input_items(value)
    if isinstance(value, str):
        notes["_input"] = "text"
        return (Message(role="user", parts=(TextPart(text=value),)),)
    if value is not None:
        raise expected("input", "a string or an array", value)
    notes["_input"] = "absent"
    return ()
