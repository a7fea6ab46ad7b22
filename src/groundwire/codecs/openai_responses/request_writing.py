"""From a request in no dialect to the body of `POST /responses`, with everything that was lost on the way."""

from collections.abc import Sequence

from groundwire.codecs.caching import ToolCache, write_once
from groundwire.codecs.openai_responses.choices import write_choice
from groundwire.codecs.openai_responses.declarations import NAME_RULE
from groundwire.codecs.openai_responses.item_writing import InputWriter
from groundwire.codecs.openai_responses.options import write_format, write_reasoning_options, write_sampling
from groundwire.codecs.openai_responses.ordering import is_stateful, matched, with_reasoning
from groundwire.codecs.openai_responses.profile import DEFAULT_PROFILE, DIALECT, Profile
from groundwire.codecs.openai_responses.tools import write_tools
from groundwire.codecs.wire.freeform import freeform_names
from groundwire.codecs.wire.ids import OPENAI_RESPONSES_IDS, IdTable
from groundwire.codecs.wire.names import NameTable
from groundwire.codecs.wire.openai import canonical_path, carry_extras
from groundwire.codecs.wire.private import give_back, note_foreign, own_members
from groundwire.codecs.wire.stored import refuse_stored
from groundwire.codecs.wire.warnings import Encoded, Losses
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.messages import Item, Message, TextPart
from groundwire.contracts.requests import ModelRequest


def encode_request(
    request: ModelRequest,
    *,
    profile: Profile = DEFAULT_PROFILE,
    cache: ToolCache | None = None,
    fragments: bool = False,  # noqa: ARG001 - arguments and results are text here in any case
) -> Encoded:
    refuse_stored(request.extras, DIALECT)
    losses = Losses()
    names = NameTable(NAME_RULE, losses, request.tools)
    notes = own_members(request.extras, DIALECT)
    body: JsonObject = {"model": request.model} if request.model else {}
    carry_extras(request.extras, DIALECT, body, losses)
    give_back(body, notes)
    body.update(write_settings(request, names, losses, profile, cache))
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


def write_settings(
    request: ModelRequest, names: NameTable, losses: Losses, profile: Profile, cache: ToolCache | None = None
) -> JsonObject:
    """Everything but the conversation: also what a response echoes."""
    body: JsonObject = {}
    notes = own_members(request.extras, DIALECT)
    if request.instructions:
        body["instructions"] = _write_instructions(request.instructions, losses)
    elif "_instructions" in notes:
        body["instructions"] = ""
    if request.tools or "_tools" in notes:
        tools = request.tools
        body["tools"] = write_once(
            cache, tools, (DIALECT, profile), names, losses, lambda table, own: write_tools(tools, table, own, profile)
        )
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
        note_foreign(part.private, DIALECT, f"instructions[{place}]", losses)
    return "\n\n".join(part.text for part in parts)


def write_input(request: ModelRequest, names: NameTable, losses: Losses, profile: Profile) -> list[JsonValue]:
    stateful = is_stateful(own_members(request.extras, DIALECT))
    items = matched(request.items, losses, profile, is_stateful=stateful)
    writer = InputWriter(profile, names, IdTable(OPENAI_RESPONSES_IDS, losses), losses, request.tools)
    written: list[JsonValue] = []
    for place, item, with_id in with_reasoning(items, losses, profile):
        wire = writer.write(item, f"items[{place}]", with_id=with_id)
        if wire is not None:
            written.append(wire)
    return written


def _is_plain_text(items: Sequence[Item]) -> bool:
    item = items[0] if len(items) == 1 else None
    return isinstance(item, Message) and item.role == "user" and not item.private and len(item.parts) == 1
