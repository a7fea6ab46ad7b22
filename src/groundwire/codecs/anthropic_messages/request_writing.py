"""A canonical request as a Messages request."""

from groundwire.codecs.anthropic_messages.block_writing import BlockWriter
from groundwire.codecs.anthropic_messages.declarations import NAME_RULE
from groundwire.codecs.anthropic_messages.message_writing import (
    MessageWriter,
    continues_without_thinking,
    leading_instructions,
    write_system,
)
from groundwire.codecs.anthropic_messages.option_writing import (
    JSON_ONLY,
    offered_names,
    write_choice,
    write_format,
    write_reasoning,
    write_sampling,
    write_tools,
)
from groundwire.codecs.anthropic_messages.profile import DEFAULT_PROFILE, DIALECT, Profile
from groundwire.codecs.caching import ToolCache, write_once
from groundwire.codecs.wire.freeform import freeform_names
from groundwire.codecs.wire.ids import ANTHROPIC_IDS, IdTable
from groundwire.codecs.wire.names import NameTable
from groundwire.codecs.wire.pairing import paired
from groundwire.codecs.wire.private import note_extras, own_members, visible
from groundwire.codecs.wire.stored import refuse_stored
from groundwire.codecs.wire.warnings import Encoded, Losses
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.messages import TextPart
from groundwire.contracts.requests import ModelRequest


def encode_request(
    request: ModelRequest,
    *,
    profile: Profile = DEFAULT_PROFILE,
    cache: ToolCache | None = None,
    fragments: bool = False,
) -> Encoded:
    refuse_stored(request.extras, DIALECT)
    losses = Losses()
    names = NameTable(NAME_RULE, losses, request.tools)
    offered = offered_names(request, profile)
    tools = write_once(
        cache,
        request.tools,
        (DIALECT, profile, offered),
        names,
        losses,
        lambda table, own: write_tools(request.tools, offered, table, profile, own),
    )
    freeform = freeform_names(request.tools)
    blocks = BlockWriter(profile, names, IdTable(ANTHROPIC_IDS, losses), losses, freeform, fragments=fragments)
    leading = leading_instructions(request.items)
    places = range(leading, len(request.items))
    items = paired(request.items[leading:] if leading else request.items, losses, places=places)
    messages = MessageWriter(blocks, profile, losses).write(items)
    limit = request.max_output_tokens
    body: JsonObject = {
        "model": request.model,
        "max_tokens": profile.default_max_tokens if limit is None else limit,
        "messages": list(messages),
    }
    system = write_system(_instructions(request), request.items[:leading], blocks)
    if system is not None:
        body["system"] = system
    if tools:
        body["tools"] = tools
    _write_extras(request, body, losses)
    write_sampling(request, body, profile, losses)
    write_format(request.output, body, losses)
    write_reasoning(request, body, profile, losses)
    _end_thinking(messages, body, losses)
    _free_thinking(request, body, losses)
    write_choice(request, body, names, profile, losses)
    return Encoded(body=body, warnings=losses.taken(), names=names.names)


def _instructions(request: ModelRequest) -> tuple[TextPart, ...]:
    if request.output is not None and (request.output.type == "json" or _lacks_schema(request)):
        return (*request.instructions, TextPart(text=JSON_ONLY))
    return request.instructions


def _lacks_schema(request: ModelRequest) -> bool:
    return request.output is not None and request.output.type == "schema" and request.output.schema is None


def _end_thinking(messages: list[JsonObject], body: JsonObject, losses: Losses) -> None:
    """A turn that began without thoughts cannot be continued with thinking on: the API would refuse the request."""
    thinking = body.get("thinking")
    if isinstance(thinking, dict) and thinking.get("type") == "enabled" and continues_without_thinking(messages):
        body["thinking"] = {"type": "disabled"}
        losses.add("option_dropped", "reasoning", "The turn that goes on has no thoughts of this provider in it.")


def _free_thinking(request: ModelRequest, body: JsonObject, losses: Losses) -> None:
    """While it thinks, the model samples as it likes; a wish that came with another dialect's thinking is left out."""
    thinking = body.get("thinking")
    is_own = request.reasoning is not None and DIALECT in request.reasoning.private
    if not isinstance(thinking, dict) or thinking.get("type") != "enabled" or is_own:
        return
    for name in ("temperature", "top_k"):
        if body.get(name) not in (None, 1):
            del body[name]
            losses.add("option_dropped", f"sampling.{name}", "It cannot be chosen while the model thinks.")


def _write_extras(request: ModelRequest, body: JsonObject, losses: Losses) -> None:
    if request.stream:
        body["stream"] = True
    note_extras(request.extras, DIALECT, losses)
    members = own_members(request.extras, DIALECT)
    if members.get("_stream"):
        body["stream"] = request.stream
    empty = members.get("_empty")
    for name, value in visible({**(empty if isinstance(empty, dict) else {}), **members}).items():
        if name not in body:
            body[name] = dict(value) if isinstance(value, dict) else value
