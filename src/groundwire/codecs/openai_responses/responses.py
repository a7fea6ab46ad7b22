"""Whole responses, both ways. Knows nothing of streams, which build the same objects."""

from collections.abc import Mapping, Sequence

from groundwire.codecs.openai_responses.declarations import NAME_RULE
from groundwire.codecs.openai_responses.finishes import read_finish, read_usage, write_finish, write_usage
from groundwire.codecs.openai_responses.item_reading import read_output_item
from groundwire.codecs.openai_responses.item_writing import Offered, write_output_item
from groundwire.codecs.openai_responses.profile import DEFAULT_PROFILE, DIALECT
from groundwire.codecs.openai_responses.request_writing import write_settings
from groundwire.codecs.wire.building import withdraw_calls
from groundwire.codecs.wire.ids import IdRule, derived_id, unique_id
from groundwire.codecs.wire.json import read_object
from groundwire.codecs.wire.names import NameTable
from groundwire.codecs.wire.private import NOTHING, give_back, keep, note_extras, own_members, unknown_members
from groundwire.codecs.wire.reading import as_list, count_of, text_or_none
from groundwire.codecs.wire.warnings import Encoded, Losses
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import WireError
from groundwire.contracts.messages import CallItem, Item, Message, NativeItem
from groundwire.contracts.replies import Reply
from groundwire.contracts.requests import ModelRequest

_MEMBERS = frozenset({
    "id", "object", "created_at", "model", "output", "usage", "status", "error", "incomplete_details",
})  # fmt: skip
_ECHOED = frozenset({"include", "stream_options", "input"})
_ECHO = frozenset({
    "background", "conversation", "frequency_penalty", "instructions", "max_output_tokens", "max_tool_calls", "metadata",
    "parallel_tool_calls", "presence_penalty", "previous_response_id", "prompt", "prompt_cache_key",
    "prompt_cache_retention", "reasoning", "safety_identifier", "store", "temperature", "text", "tool_choice", "tools",
    "top_logprobs", "top_p", "truncation", "user",
})  # fmt: skip
"""What a response repeats of its request."""
_PREFIXES = {"message": "msg_", "call": "fc_", "custom": "ctc_", "reasoning": "rs_"}


def decode_response(body: bytes | JsonObject, *, names: Mapping[str, str] | None = None) -> Reply:
    wire = read_object(body)
    if "output" not in wire and "status" not in wire and not isinstance(wire.get("error"), dict):
        raise WireError("The body is no response: it has neither output nor status.", path="output")
    output = wire.get("output")
    seed = text_or_none(wire.get("id")) or ""
    items: list[Item] = []
    taken: set[str] = set()
    for place, item in enumerate([] if output is None else as_list(output, "output")):
        read = read_output_item(item, f"output[{place}]", f"{seed}#{place}", names)
        if isinstance(read, CallItem):
            read = _with_unique_id(read, taken)
        items.append(read)
    return reply_of(wire, items)


def reply_of(wire: JsonObject, items: Sequence[Item]) -> Reply:
    """The reply that a response object describes, with items that were read before."""
    finish = read_finish(wire, items)
    extras = _noted_echo(unknown_members(wire, _MEMBERS))
    return Reply(
        reply_id=text_or_none(wire.get("id")) or "",
        model=text_or_none(wire.get("model")) or "",
        created=read_time(wire),
        items=withdraw_calls(items, finish.reason),
        finish=finish,
        usage=read_usage(wire.get("usage")),
        extras=keep(DIALECT, extras),
    )


def _noted_echo(members: JsonObject) -> JsonObject:
    """The members, with those in a note that are no loss to anybody: whoever asked knows what was asked."""
    echo = {
        name: value
        for name, value in members.items()
        if name in _ECHO or value is None or (name == "service_tier" and value == "default")
    }
    told = {name: value for name, value in members.items() if name not in echo}
    return {**told, "_echo": echo} if echo else told


def read_time(wire: JsonObject) -> int | None:
    created = wire.get("created_at")
    return int(created) if isinstance(created, float) and abs(created) < 1e15 else count_of(wire, "created_at")


def _with_unique_id(item: CallItem, taken: set[str]) -> CallItem:
    call = item.call
    call_id = unique_id(call.call_id, taken)
    taken.add(call_id)
    if call_id == call.call_id:
        return item
    call = ToolCall(call_id=call_id, name=call.name, raw=call.raw, origin=call.origin)
    return CallItem(call=call, complete=item.complete, private=item.private)


def encode_response(reply: Reply, *, request: ModelRequest | None = None, created: int | None = None) -> Encoded:
    """`created` is the time, in seconds since 1970, for a reply that does not say when it was made."""
    losses = Losses()
    response_id = response_id_of(reply.reply_id, reply.model, reply.text)
    offered = Offered(request)
    output: list[JsonValue] = []
    for place, item in enumerate(reply.items):
        path = f"items[{place}]"
        written = write_output_item(item, path, item_id_of(item, response_id, place, offered), losses, offered)
        if written is not None:
            output.append(written)
    if reply.alternatives:
        losses.add("extra_dropped", "alternatives", "Only the first answer can be sent here.")
    body = write_frame(reply, response_id, request, created, losses)
    mark_cut(body, reply.items, output)
    body["output"] = output
    return Encoded(body=body, warnings=losses.taken())


def response_id_of(reply_id: str, model: str, seed: str = "") -> str:
    """The reply's own id; one that depends on nothing but its content where it has none."""
    return reply_id or derived_id(f"{model}#{seed}", IdRule(pattern="", prefix="resp_", length=45))


def item_id_of(item: Item, response_id: str, place: int, offered: Offered) -> str:
    """The id that the item came with, or one made from the response and the place."""
    known = item.value.get("id") if isinstance(item, NativeItem) else own_members(item.private, DIALECT).get("id")
    is_custom = isinstance(item, CallItem) and offered.is_custom(item.call.name, item.private)
    kind = "custom" if is_custom else item.kind
    return known if isinstance(known, str) and known else made_item_id(kind, response_id, place)


def made_item_id(kind: str, response_id: str, place: int) -> str:
    return derived_id(f"{response_id}#{place}", IdRule(pattern="", prefix=_PREFIXES.get(kind, "item_"), length=45))


def write_frame(
    reply: Reply, response_id: str, request: ModelRequest | None, created: int | None, losses: Losses
) -> JsonObject:
    """The response object without its output."""
    note_extras(reply.extras, DIALECT, losses)
    time = (created if reply.created is None else reply.created) or 0
    body: JsonObject = {"id": response_id, "object": "response", "created_at": time}
    body.update(write_finish(reply.finish, losses))
    body["model"] = reply.model
    body["output"] = []
    if request is not None or DIALECT not in reply.extras:
        body.update(echo_of(request))
    extras = own_members(reply.extras, DIALECT)
    echo = extras.get("_echo")
    give_back(body, echo if isinstance(echo, dict) else NOTHING)
    give_back(body, extras)
    body["usage"] = write_usage(reply.usage)
    return body


def echo_of(request: ModelRequest | None) -> JsonObject:
    """What a response repeats of its request, with this API's defaults for what was not said."""
    body: JsonObject = {
        "background": False, "completed_at": None, "instructions": None, "max_output_tokens": None,
        "max_tool_calls": None, "metadata": {}, "parallel_tool_calls": True, "previous_response_id": None,
        "prompt_cache_key": None, "reasoning": {"effort": None, "summary": None}, "safety_identifier": None,
        "service_tier": "default", "store": False, "temperature": 1.0, "text": {"format": {"type": "text"}},
        "tool_choice": "auto", "tools": [], "top_logprobs": 0, "top_p": 1.0, "truncation": "disabled", "user": None,
    }  # fmt: skip
    if request is None:
        return body
    unheard = Losses()
    settings = write_settings(request, NameTable(NAME_RULE, unheard), unheard, DEFAULT_PROFILE)
    for key, value in own_members(request.extras, DIALECT).items():
        if not key.startswith("_") and key not in _ECHOED:
            body[key] = value
    conversation = body.get("conversation")
    if isinstance(conversation, str):
        body["conversation"] = {"id": conversation}
    body.update(settings)
    text = body["text"]
    if isinstance(text, dict):
        body["text"] = {"format": {"type": "text"}, **text}
    return body


def mark_cut(body: JsonObject, items: Sequence[Item], output: list[JsonValue]) -> None:
    """A message at the end of an incomplete response was not finished either, unless it says otherwise."""
    last = items[-1] if items else None
    if (
        body["status"] == "incomplete"
        and isinstance(last, Message)
        and "status" not in own_members(last.private, DIALECT)
    ):
        written = output[-1] if output else None
        if isinstance(written, dict) and written.get("type") == "message":
            written["status"] = "incomplete"
