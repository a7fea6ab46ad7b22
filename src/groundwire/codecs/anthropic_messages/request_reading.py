"""A Messages request as a canonical one. Also reads requests for counting tokens, which have no `max_tokens`.

Does not judge whether the API would take the request: order, pairing and limits are the writer's concern.
"""

from typing import Any

from msgspec import structs

from groundwire.codecs.anthropic_messages.block_reading import (
    read_call,
    read_media,
    read_redacted,
    read_result,
    read_text,
    read_thinking,
)
from groundwire.codecs.anthropic_messages.declarations import read_tool
from groundwire.codecs.anthropic_messages.profile import DIALECT
from groundwire.codecs.caching import ToolCache, once, read_body
from groundwire.codecs.wire.pairing import without_beginning
from groundwire.codecs.wire.private import keep, own_members, unknown_members
from groundwire.codecs.wire.reading import (
    as_list,
    as_object,
    as_text,
    expected,
    optional_bool,
    optional_int,
    optional_list,
    optional_number,
    optional_object,
    optional_text,
    required_text,
)
from groundwire.codecs.wire.recognition import refuse_foreign, require
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import WireError
from groundwire.contracts.messages import Item, Message, NativeItem, NativePart, Part, TextPart
from groundwire.contracts.requests import (
    DeclaredTool,
    ModelRequest,
    OutputFormat,
    ReasoningOptions,
    Sampling,
    ToolChoice,
)

_STRING: JsonObject = {"_string": True}
_KNOWN = frozenset({
    "model", "messages", "system", "max_tokens", "tools", "tool_choice", "temperature", "top_p", "top_k",
    "stop_sequences", "stream", "thinking", "output_config", "output_format",
})  # fmt: skip
_MESSAGE = frozenset({"role", "content"})
_CHOICE = frozenset({"type", "name", "disable_parallel_tool_use"})
_FORMAT = frozenset({"type", "schema"})
_MODES = {"auto": "auto", "any": "required", "tool": "required", "none": "none"}
EFFORTS = ("low", "medium", "high", "xhigh", "max")


def decode_request(
    body: bytes | JsonObject, *, model: str = "", stream: bool = False, cache: ToolCache | None = None
) -> ModelRequest:
    source = read_body(body, cache)
    require(source, "messages", DIALECT)
    refuse_foreign(source, DIALECT)
    extras = unknown_members(source, _KNOWN)
    output_config = optional_object(source, "output_config") or {}
    if rest := unknown_members(output_config, frozenset({"effort", "format"})):
        extras["output_config"] = rest
    tools = optional_list(source, "tools")
    stops = optional_list(source, "stop_sequences")
    streams = optional_bool(source, "stream")
    if streams is False:
        extras["_stream"] = True
    if empty := [
        name for name in ("tools", "stop_sequences", "system", "output_config") if _is_empty(source.get(name))
    ]:
        extras["_empty"] = {name: source[name] for name in empty}
    choice = optional_object(source, "tool_choice")
    parallel = None if choice is None else optional_bool(choice, "disable_parallel_tool_use", "tool_choice")
    return ModelRequest(
        model=optional_text(source, "model") or model,
        items=without_beginning(tuple(_read_messages(as_list(source["messages"], "messages")))),
        instructions=_read_system(source.get("system")),
        tools=once(cache, source.get("tools"), DIALECT, lambda: _read_tools(tools)),
        tool_choice=None if choice is None else _read_choice(choice),
        parallel_calls=None if parallel is None else not parallel,
        sampling=Sampling(
            temperature=optional_number(source, "temperature"),
            top_p=optional_number(source, "top_p"),
            top_k=optional_number(source, "top_k"),
            stop=tuple([as_text(stop, f"stop_sequences[{place}]") for place, stop in enumerate(stops)]),
        ),
        max_output_tokens=optional_int(source, "max_tokens"),
        output=_read_format(source, output_config),
        reasoning=_read_reasoning(optional_object(source, "thinking"), output_config),
        stream=bool(streams) or stream,
        extras=keep(DIALECT, extras),
    )


def _is_empty(value: object) -> bool:
    return value is not None and value in ("", [], {})


def _read_system(system: Any) -> tuple[TextPart, ...]:
    """A single block is noted as one, because a single text is otherwise written as a string."""
    if not system:
        return ()
    if isinstance(system, str):
        return (TextPart(text=system),)
    parts = []
    for place, value in enumerate(as_list(system, "system")):
        block = as_object(value, f"system[{place}]")
        if required_text(block, "type", f"system[{place}]") != "text":
            raise WireError("a system prompt is made of text blocks", path=f"system[{place}].type")
        parts.append(read_text(block, f"system[{place}]"))
    if len(parts) == 1:
        private = {**own_members(parts[0].private, DIALECT), "_blocks": True}
        parts[0] = structs.replace(parts[0], private={DIALECT: private})
    return tuple(parts)


def _read_tools(tools: list[Any]) -> tuple[DeclaredTool, ...]:
    return tuple([read_tool(tool, f"tools[{place}]") for place, tool in enumerate(tools)])


def _read_messages(messages: list[Any]) -> list[Item]:
    items: list[Item] = []
    previous = ""
    for place, message in enumerate(messages):
        if type(message) is not dict:
            raise expected(f"messages[{place}]", "an object", message)
        role = message.get("role")
        if type(role) is not str:
            role = required_text(message, "role", f"messages[{place}]")
        content = message.get("content")
        start = len(items)
        if type(content) is str:
            items.append(Message(role=role, parts=(TextPart(text=content),), private={DIALECT: _STRING}))
        elif type(content) is list:
            _read_blocks(content, role, place, items)
        else:
            raise expected(f"messages[{place}].content", "a string or an array", content)
        if role == previous:
            items[start] = structs.replace(items[start], split=True)
        if len(message) > 2:
            items[start] = _with_members(items[start], unknown_members(message, _MESSAGE))
        previous = role
    return items


def _with_members(item: Item, members: JsonObject) -> Item:
    """The unknown members of a message hang on its first item; a native one has no place for them."""
    if isinstance(item, NativeItem) or not members:
        return item
    private = {**own_members(item.private, DIALECT), "_message": members}
    return structs.replace(item, private={DIALECT: private})


def _read_blocks(content: list[Any], role: str, message: int, items: list[Item]) -> None:
    """Neighbouring texts and media of one message stay together; every other block is an item."""
    parts: list[Part] = []
    for place, block in enumerate(content):
        kind = block.get("type") if type(block) is dict else None
        if kind == "text" and len(block) == 2 and type(block.get("text")) is str:
            parts.append(TextPart(text=block["text"]))
            continue
        here = f"messages[{message}].content[{place}]"
        if kind == "text":
            parts.append(read_text(block, here))
            continue
        if kind in ("image", "document"):
            parts.append(read_media(block, here))
            continue
        item = _read_item(as_object(block, here), role, here)
        if item is None:
            parts.append(NativePart(origin=DIALECT, value=block))
            continue
        if parts:
            items.append(Message(role=role, parts=tuple(parts)))
            parts = []
        items.append(item)
    if parts or not content:
        items.append(Message(role=role, parts=tuple(parts)))


def _read_item(block: JsonObject, role: str, path: str) -> Item | None:
    kind = required_text(block, "type", path)
    if kind == "tool_use":
        return read_call(block, path)
    if kind == "tool_result":
        return read_result(block, path)
    if kind == "thinking":
        return read_thinking(block, path)
    if kind == "redacted_thinking":
        return read_redacted(block)
    return NativeItem(origin=DIALECT, value=block) if role == "assistant" else None


def _read_choice(source: JsonObject) -> ToolChoice:
    kind = required_text(source, "type", "tool_choice")
    if kind not in _MODES:
        raise WireError("expected auto, any, tool or none", path="tool_choice.type")
    names = (required_text(source, "name", "tool_choice"),) if kind == "tool" else ()
    private = keep(DIALECT, unknown_members(source, _CHOICE))
    return ToolChoice(mode=_MODES[kind], names=names, private=private)  # type: ignore[arg-type]


def _read_format(source: JsonObject, output_config: JsonObject) -> OutputFormat | None:
    """`output_config.format`, or `output_format` as the beta had it."""
    written, path = optional_object(output_config, "format", "output_config"), "output_config.format"
    private: JsonObject = {}
    if written is None:
        written, path = optional_object(source, "output_format"), "output_format"
        private = {"_beta": True}
    if written is None:
        return None
    if required_text(written, "type", path) != "json_schema":
        raise WireError("expected json_schema", path=f"{path}.type")
    private = {"_own": True, **private, **unknown_members(written, _FORMAT)}
    return OutputFormat(type="schema", schema=optional_object(written, "schema", path), private=keep(DIALECT, private))


def _read_reasoning(thinking: JsonObject | None, output_config: JsonObject) -> ReasoningOptions | None:
    """The configuration itself is kept, because it tells more than the canonical options."""
    effort = optional_text(output_config, "effort", "output_config")
    if thinking is None and effort is None:
        return None
    private: JsonObject = {"_own": True}
    budget, summary = None, None
    if thinking is not None:
        private["thinking"] = thinking
        kind = required_text(thinking, "type", "thinking")
        budget = 0 if kind == "disabled" else optional_int(thinking, "budget_tokens", "thinking")
        summary = {"summarized": True, "omitted": False}.get(optional_text(thinking, "display", "thinking") or "")
    return ReasoningOptions(effort=effort, budget=budget, summary=summary, private=keep(DIALECT, private))
