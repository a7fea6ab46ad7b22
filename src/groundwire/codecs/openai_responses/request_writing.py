"""From a request in no dialect to the body of `POST /responses`, with everything that was lost on the way."""

from collections.abc import Sequence

from groundwire.codecs.openai_responses.choices import write_choice
from groundwire.codecs.openai_responses.declarations import NAMES
from groundwire.codecs.openai_responses.dialect import (
    DEFAULT_PROFILE,
    DIALECT,
    NOTHING,
    Profile,
    note_foreign,
    with_members,
)
from groundwire.codecs.openai_responses.item_writing import InputWriter
from groundwire.codecs.openai_responses.options import write_format, write_reasoning_options, write_sampling
from groundwire.codecs.openai_responses.ordering import is_stateful, matched, with_reasoning
from groundwire.codecs.openai_responses.tools import write_tools
from groundwire.codecs.wire.ids import OPENAI_RESPONSES_IDS, IdTable
from groundwire.codecs.wire.names import NameTable
from groundwire.codecs.wire.openai import OPENAI_DIALECTS, SHARED_MEMBERS, canonical_path
from groundwire.codecs.wire.warnings import Encoded, Losses
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.messages import Item, Message, TextPart
from groundwire.contracts.requests import DeclaredTool, FunctionTool, ModelRequest


def encode_request(request: ModelRequest, *, profile: Profile = DEFAULT_PROFILE) -> Encoded:
    losses = Losses()
    names = NameTable(NAMES, losses, request.tools)
    notes = request.extras.get(DIALECT, NOTHING)
    body: JsonObject = {"model": request.model} if request.model else {}
    carry_extras(request, body, losses)
    with_members(body, notes)
    body.update(write_settings(request, names, losses, profile))
    items = write_input(request, names, losses, profile)
    if notes.get("_input") == "text" and len(items) == 1 and _is_plain_text(request.items):
        body["input"] = items[0]["content"]  # type: ignore[index,call-overload]
    elif items or notes.get("_input") != "absent":
        body["input"] = items
    if request.stream or "_stream" in notes:
        body["stream"] = request.stream
    for name in sorted(profile.dropped_options & body.keys()):
        del body[name]
        losses.add("option_dropped", canonical_path(name, request.extras), f"{name} is not sent to this endpoint.")
    return Encoded(body=body, warnings=losses.taken(), names=names.names)


def write_settings(request: ModelRequest, names: NameTable, losses: Losses, profile: Profile) -> JsonObject:
    """Everything but the conversation: also what a response echoes."""
    body: JsonObject = {}
    notes = request.extras.get(DIALECT, NOTHING)
    if request.instructions:
        body["instructions"] = _write_instructions(request.instructions, losses)
    elif "_instructions" in notes:
        body["instructions"] = ""
    if request.tools or "_tools" in notes:
        body["tools"] = write_tools(request.tools, names, losses, profile)
    if request.tool_choice is not None:
        body["tool_choice"] = write_choice(request.tool_choice, names, freeform_names(request.tools), losses)
    if request.parallel_calls is not None:
        body["parallel_tool_calls"] = request.parallel_calls
    write_sampling(request.sampling, body, losses)
    if request.max_output_tokens is not None:
        body["max_output_tokens"] = request.max_output_tokens
    text = notes.get("text")
    if request.output is not None:
        body["text"] = {**(text if isinstance(text, dict) else {}), "format": write_format(request.output, losses)}
    if request.reasoning is not None:
        reasoning = write_reasoning_options(request.reasoning, losses)
        if reasoning or DIALECT in request.reasoning.private:
            body["reasoning"] = reasoning
    return body


def _write_instructions(parts: tuple[TextPart, ...], losses: Losses) -> str:
    for place, part in enumerate(parts):
        note_foreign(part.private, f"instructions[{place}]", losses)
    return "\n\n".join(part.text for part in parts)


def freeform_names(tools: tuple[DeclaredTool, ...]) -> frozenset[str]:
    return frozenset(tool.name for tool in tools if isinstance(tool, FunctionTool) and tool.freeform is not None)


def write_input(request: ModelRequest, names: NameTable, losses: Losses, profile: Profile) -> list[JsonValue]:
    stateful = is_stateful(request.extras.get(DIALECT, NOTHING))
    items = matched(request.items, losses, profile, is_stateful=stateful)
    writer = InputWriter(profile, names, IdTable(OPENAI_RESPONSES_IDS, losses), losses, freeform_names(request.tools))
    written: list[JsonValue] = []
    for place, item, with_id in with_reasoning(items, losses, profile):
        wire = writer.write(item, f"items[{place}]", with_id=with_id)
        if wire is not None:
            written.append(wire)
    return written


def _is_plain_text(items: Sequence[Item]) -> bool:
    item = items[0] if len(items) == 1 else None
    return isinstance(item, Message) and item.role == "user" and not item.private and len(item.parts) == 1


def carry_extras(request: ModelRequest, body: JsonObject, losses: Losses) -> None:
    for dialect, members in request.extras.items():
        if dialect == DIALECT:
            continue
        for key, value in members.items():
            if dialect in OPENAI_DIALECTS and key in SHARED_MEMBERS:
                body[key] = value
            elif not key.startswith("_"):
                losses.add("extra_dropped", f"extras.{dialect}.{key}", f"{key} is a member of {dialect} only.")
