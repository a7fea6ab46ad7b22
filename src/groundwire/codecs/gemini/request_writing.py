"""A ModelRequest as the body of generateContent. The model and the streaming switch go into the URL, by the caller."""

from collections.abc import Sequence
from typing import Any

from groundwire.codecs.caching import ToolCache
from groundwire.codecs.gemini.contents import ContentWriter
from groundwire.codecs.gemini.declarations import NAME_RULE
from groundwire.codecs.gemini.options import is_output_in_words, write_choice, write_generation
from groundwire.codecs.gemini.outputs import describe_output
from groundwire.codecs.gemini.parts import write_part
from groundwire.codecs.gemini.profile import DIALECT, Profile
from groundwire.codecs.gemini.tools import write_tools
from groundwire.codecs.wire.names import NameTable
from groundwire.codecs.wire.pairing import paired
from groundwire.codecs.wire.private import note_extras, own_members, visible
from groundwire.codecs.wire.stored import refuse_stored
from groundwire.codecs.wire.warnings import Encoded, Losses
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.messages import Item, Message
from groundwire.contracts.requests import ModelRequest

_NEWEST = Profile()
_SYSTEM_ROLES = ("system", "developer")


def encode_request(
    request: ModelRequest, *, profile: Profile = _NEWEST, cache: ToolCache | None = None, fragments: bool = False
) -> Encoded:
    refuse_stored(request.extras, DIALECT)
    losses = Losses()
    names = NameTable(NAME_RULE, losses, request.tools)
    extras: dict[str, Any] = {}
    if request.extras:
        note_extras(request.extras, DIALECT, losses)
        extras = own_members(request.extras, DIALECT)
    body: JsonObject = {}
    instructions, items = _instructions(request, losses)
    if request.output is not None and is_output_in_words(request, profile):
        instructions.append({"text": describe_output(request.output)})
        losses.add(
            "format_approximated", "output", "The model takes no form of the answer beside tools: it is told in words."
        )
    if instructions:
        body["systemInstruction"] = {"parts": instructions, **extras.get("_systemInstruction", {})}
    if request.tools or "_tools" in extras:
        body["tools"] = _write_tools(request, names, losses, profile, extras.get("_tools"), cache, fragments=fragments)
        if not body["tools"] and "_tools" not in extras:
            del body["tools"]
    places = range(len(request.items) - len(items), len(request.items))
    writer = ContentWriter(names, losses, profile, fragments=fragments)
    body["contents"] = writer.write(paired(items, losses, places=places))  # type: ignore[assignment]
    choice = write_choice(request, names, losses, profile)
    if choice is not None or "toolConfig" in extras:
        calling: JsonObject = {} if choice is None else {"functionCallingConfig": choice}
        body["toolConfig"] = {**calling, **extras.get("toolConfig", {})}
    generation = write_generation(request, losses, profile)
    if generation or "generationConfig" in extras:
        body["generationConfig"] = {**generation, **extras.get("generationConfig", {})}
    if extras:
        body.update((key, value) for key, value in visible(extras).items() if key not in body)
    return Encoded(body=body, warnings=losses.taken(), names=names.names)


def _write_tools(
    request: ModelRequest,
    names: NameTable,
    losses: Losses,
    profile: Profile,
    shape: Any,
    cache: ToolCache | None,
    *,
    fragments: bool,
) -> Any:
    if cache is None or shape is not None:
        return write_tools(request.tools, names, losses, profile, shape=shape, fragments=fragments)
    tools = request.tools
    return cache.write(
        tools, (DIALECT, profile), names, losses, lambda table, own: write_tools(tools, table, own, profile)
    )


def _instructions(request: ModelRequest, losses: Losses) -> tuple[list[JsonValue], Sequence[Item]]:
    """The parts of the system prompt, and the items behind the system messages that it took in."""
    written: list[JsonValue] = []
    for place, part in enumerate(request.instructions):
        text = write_part(part, losses, f"instructions[{place}]")
        if text is not None:
            written.append(text)
    items = request.items
    first = 0
    for item in items:
        if type(item) is not Message or item.role not in _SYSTEM_ROLES:
            break
        for said in item.parts:
            text = write_part(said, losses, f"items[{first}]")
            if text is not None:
                written.append(text)
        first += 1
    return written, items[first:] if first else items
