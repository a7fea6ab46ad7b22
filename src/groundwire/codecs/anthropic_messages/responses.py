"""A whole message that the model answered with, both ways, and the answer to a request for counting tokens."""

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from groundwire.codecs.anthropic_messages.block_reading import (
    read_answered_call,
    read_redacted,
    read_text,
    read_thinking,
)
from groundwire.codecs.anthropic_messages.block_writing import write_citation
from groundwire.codecs.anthropic_messages.finishes import BROKEN, read_finish, read_usage, write_finish, write_usage
from groundwire.codecs.anthropic_messages.profile import DIALECT
from groundwire.codecs.wire.building import withdraw_calls, would_run_cut
from groundwire.codecs.wire.ids import ANTHROPIC_IDS, fit_id, unique_id
from groundwire.codecs.wire.json import read_object
from groundwire.codecs.wire.media import media_note
from groundwire.codecs.wire.private import (
    give_back,
    keep,
    note_extras,
    note_foreign,
    own_members,
    take_own,
    unknown_members,
    visible,
)
from groundwire.codecs.wire.reading import as_object, expected
from groundwire.codecs.wire.results import object_arguments, wrap_arguments
from groundwire.codecs.wire.warnings import Encoded, Losses
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import NotExpressible, WireError
from groundwire.contracts.messages import (
    CallItem,
    Item,
    MediaPart,
    Message,
    NativeItem,
    NativePart,
    ReasoningItem,
    TextPart,
)
from groundwire.contracts.replies import Reply
from groundwire.contracts.requests import ModelRequest

MESSAGE_MEMBERS = frozenset({
    "id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "stop_details", "usage",
})  # fmt: skip


def decode_response(body: bytes | JsonObject, *, names: Mapping[str, str] | None = None) -> Reply:
    """Each text block is a message item of its own, as it is in a stream."""
    source = read_object(body)
    if source.get("type") == "error" or ("content" not in source and source.get("type") != "message"):
        raise WireError("The body is not a message.", path="type")
    reply_id, model = text_or_nothing(source.get("id")), text_or_nothing(source.get("model"))
    items = _read_content(source.get("content"), reply_id, dict(names or {}))
    finish = read_finish(source, items)
    return Reply(
        reply_id=reply_id,
        model=model,
        items=withdraw_calls(items, finish.reason),
        finish=finish,
        usage=read_usage(source.get("usage")),
        extras=keep(DIALECT, unknown_members(source, MESSAGE_MEMBERS)),
    )


def text_or_nothing(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _read_content(content: Any, reply_id: str, names: dict[str, str]) -> tuple[Item, ...]:
    if content is None:
        return ()
    if isinstance(content, str):
        return (Message(role="assistant", parts=(TextPart(text=content),)),)
    if not isinstance(content, list):
        raise expected("content", "an array", content)
    items: list[Item] = []
    taken: set[str] = set()
    for place, value in enumerate(content):
        item = _read_block(as_object(value, f"content[{place}]"), f"content[{place}]", f"{reply_id}#{place}", names)
        if isinstance(item, CallItem):
            call_id = unique_id(item.call.call_id, taken)
            taken.add(call_id)
            if call_id != item.call.call_id:
                item = structs.replace(item, call=structs.replace(item.call, call_id=call_id))
        items.append(item)
    return tuple(items)


def _read_block(block: JsonObject, path: str, seed: str, names: dict[str, str]) -> Item:
    kind = block.get("type")
    if kind == "text":
        text = read_text(block if block.get("text") is not None else {**block, "text": ""}, path)
        return Message(role="assistant", parts=(text,))
    if kind == "tool_use":
        return read_answered_call(block, seed=seed, names=names)
    if kind == "thinking":
        return read_thinking(block, path)
    if kind == "redacted_thinking":
        return read_redacted(block)
    return NativeItem(origin=DIALECT, value=block)


def encode_response(
    reply: Reply,
    *,
    request: ModelRequest | None = None,
    created: int | None = None,  # noqa: ARG001 - the dialect has no place for it
) -> Encoded:
    """A reply that broke is no message: its failure must be sent instead."""
    if reply.finish.reason in BROKEN:
        raise NotExpressible(
            f"A reply that ended with {reply.finish.reason.value!r} has no stop reason in this dialect.",
            path="finish",
            hint="Send it as an error.",
        )
    losses = Losses()
    content: list[JsonObject] = []
    for place, item in enumerate(reply.items):
        if would_run_cut(item, reply.finish.reason):
            losses.add("call_dropped", f"items[{place}]", "A call was cut off.")
            continue
        _write_item(item, f"items[{place}]", content, losses)
    body: JsonObject = {
        "id": reply.reply_id or "msg_0",
        "type": "message",
        "role": "assistant",
        "model": reply.model or ("" if request is None else request.model),
        "content": list(content),
        **write_finish(reply.finish, losses),
        "usage": write_usage(reply.usage, losses),
    }
    if reply.alternatives:
        losses.add("option_dropped", "alternatives", "The dialect has one answer only.")
    write_extras(reply, body, losses)
    return Encoded(body=body, warnings=losses.taken())


def write_extras(reply: Reply, body: JsonObject, losses: Losses) -> None:
    note_extras(reply.extras, DIALECT, losses)
    own = visible(own_members(reply.extras, DIALECT))
    body.update((name, value) for name, value in own.items() if name not in body)


def _write_item(item: Item, path: str, content: list[JsonObject], losses: Losses) -> None:
    if isinstance(item, Message):
        content.extend(write_message(item, path, losses))
    elif isinstance(item, CallItem):
        block = _write_call(item, path, losses)
        if block is not None:
            content.append(block)
    elif isinstance(item, ReasoningItem):
        block = write_thoughts(item, path, losses)
        if block is not None:
            content.append(block)
    elif isinstance(item, NativeItem) and item.origin == DIALECT:
        content.append(item.value)
    else:
        losses.add("native_dropped", path, "An entry that this dialect cannot say was left out.")


def write_message(item: Message, path: str, losses: Losses) -> list[JsonObject]:
    note_foreign(item.private, DIALECT, path, losses)
    blocks: list[JsonObject] = []
    for part in item.parts:
        if isinstance(part, TextPart):
            block: JsonObject = {"type": "text", "text": part.text}
            if citations := write_citations(part, path, losses):
                block["citations"] = list(citations)
            blocks.append(give_back(block, take_own(part.private, DIALECT, path, losses)))
        elif isinstance(part, MediaPart):
            losses.add("media_dropped", path, f"{part.media_type} has no place in an answer.")
            blocks.append({"type": "text", "text": media_note(part)})
        elif isinstance(part, NativePart):
            if part.origin == DIALECT:
                blocks.append(part.value)
            else:
                losses.add("native_dropped", path, f"A part that only {part.origin} understands was left out.")
        else:
            blocks.append({"type": "text", "text": part.text})
    return blocks


def write_citations(part: TextPart, path: str, losses: Losses) -> list[JsonObject]:
    written = [each for citation in part.citations if (each := write_citation(citation)) is not None]
    if len(written) < len(part.citations):
        losses.add("citation_dropped", path, "A citation without an address has no form in this dialect.")
    return written


def write_thoughts(item: ReasoningItem, path: str, losses: Losses) -> JsonObject | None:
    """Reasoning of another provider is shown without a signature, by which it is known when it comes back."""
    own = take_own(item.private, DIALECT, path, losses)
    if own.get("_redacted"):
        return give_back({"type": "redacted_thinking"}, own)
    if not item.text and not own:
        return None
    block = give_back({"type": "thinking", "thinking": item.text}, own)
    block.setdefault("signature", "")
    return block


def _write_call(item: CallItem, path: str, losses: Losses) -> JsonObject | None:
    call = item.call
    arguments = call.arguments if call.arguments is not None else object_arguments(call.raw)
    if arguments is None:
        if not item.complete:
            losses.add("call_dropped", path, "A call was cut off, and what came of its arguments is no JSON object.")
            return None
        losses.add("arguments_not_object", path, "The arguments are no JSON object.")
        arguments = wrap_arguments(call.raw)
    block: JsonObject = {
        "type": "tool_use",
        "id": write_id(call.call_id, path, losses),
        "name": call.name,
        "input": arguments,
    }
    return give_back(block, take_own(item.private, DIALECT, path, losses))


def write_id(call_id: str, path: str, losses: Losses) -> str:
    wire = fit_id(call_id, ANTHROPIC_IDS)
    if wire != call_id:
        losses.add("call_id_rewritten", path, f"{call_id!r} is sent as {wire!r}.")
    return wire


def encode_count(input_tokens: int) -> JsonObject:
    """The answer to `count_tokens`, for whoever serves that endpoint: nothing here asks for it."""
    return {"input_tokens": input_tokens}
