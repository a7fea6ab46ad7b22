"""A scripted answer as the reply of a model: with ids and counters, cut where the request sets a limit.

Everything follows from the request and the answer, so any process composes the same. A token is four characters here.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from groundwire.codecs.wire.building import withdraw_calls
from groundwire.codecs.wire.ids import OPENAI_CHAT_IDS, derived_id
from groundwire.codecs.wire.json import dump_text
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.messages import CallItem, Item, Message, ReasoningItem, RefusalPart, ResultItem, TextPart
from groundwire.contracts.replies import Finish, FinishReason, Reply, Usage
from groundwire.contracts.requests import ModelRequest
from groundwire.providers.scripts import Answer, Ask

ORIGIN = "scripted"
_TOKEN = 4


def to_reply(answer: Answer, request: ModelRequest) -> Reply:
    seed = f"{request.model}:{request.items!r}"
    reason = answer.finish or (FinishReason.TOOL_CALLS if answer.calls else FinishReason.END)
    items, finish = _stopped(_items_of(answer, seed), Finish(reason=reason), request.sampling.stop)
    items, finish = _limited(items, finish, request.max_output_tokens)
    written = _tokens(sum(map(_length, items)))
    heard = _tokens(sum(len(item.text) for item in request.items if isinstance(item, (Message, ResultItem))))
    reply_id = derived_id(f"{seed}:reply", OPENAI_CHAT_IDS).replace("call_", "reply_")
    usage = Usage(input=heard, output=written, total=heard + written)
    return Reply(reply_id=reply_id, model=request.model, items=items, finish=finish, usage=usage)


def last_said(items: Sequence[Item]) -> str:
    """The text of the last message of a user or result of a tool."""
    for item in reversed(items):
        if isinstance(item, ResultItem) or (isinstance(item, Message) and item.role == "user"):
            return item.text
    return ""


def _items_of(answer: Answer, seed: str) -> tuple[Item, ...]:
    items: list[Item] = []
    if answer.reasoning:
        items.append(ReasoningItem(text=answer.reasoning))
    if answer.text:
        items.append(Message(role="assistant", parts=(TextPart(text=answer.text),)))
    if answer.refusal:
        items.append(Message(role="assistant", parts=(RefusalPart(text=answer.refusal),)))
    items.extend(_call(ask, f"{seed}:{index}") for index, ask in enumerate(answer.calls))
    return tuple(items)


def _call(ask: Ask, seed: str) -> CallItem:
    call_id = ask.call_id or derived_id(seed, OPENAI_CHAT_IDS)
    if ask.raw is not None:
        return CallItem(call=ToolCall(call_id=call_id, name=ask.name, raw=ask.raw, origin=ORIGIN))
    raw = dump_text(ask.arguments)
    return CallItem(call=ToolCall(call_id=call_id, name=ask.name, raw=raw, arguments=ask.arguments, origin=ORIGIN))


def _stopped(items: tuple[Item, ...], finish: Finish, stops: tuple[str, ...]) -> tuple[tuple[Item, ...], Finish]:
    """Up to the first stop sequence in what is said; the sequence itself and all that follows is left out."""
    for place, item in enumerate(items):
        if not isinstance(item, Message):
            continue
        found = [(item.text.find(stop), stop) for stop in stops if stop and stop in item.text]
        if found:
            at, stop = min(found)
            return (*items[:place], *_cut(item, at)), Finish(reason=FinishReason.STOP_SEQUENCE, detail=stop)
    return items, finish


def _limited(items: tuple[Item, ...], finish: Finish, tokens: int | None) -> tuple[tuple[Item, ...], Finish]:
    """At most so many tokens; a call that is cut, or that was the last before the cut, is not complete."""
    if tokens is None or _tokens(sum(map(_length, items))) <= tokens:
        return items, finish
    left = max(0, tokens * _TOKEN - 1)
    kept: list[Item] = []
    for item in items:
        kept += _cut(item, left)
        left -= _length(item)
        if left <= 0:
            break
    return withdraw_calls(kept, FinishReason.LENGTH), Finish(reason=FinishReason.LENGTH)


def _cut(item: Item, size: int) -> tuple[Item, ...]:
    """The beginning of an item; nothing, if nothing of it is left."""
    if size <= 0:
        return ()
    if size >= _length(item):
        return (item,)
    match item:
        case CallItem():
            return (replace(item, call=replace(item.call, raw=item.call.raw[:size], arguments=None)),)
        case ReasoningItem():
            return (ReasoningItem(text=item.text[:size]),)
        case Message(parts=(RefusalPart(text=text),)):
            return (replace(item, parts=(RefusalPart(text=text[:size]),)),)
        case Message(parts=(TextPart(text=text),)):
            return (replace(item, parts=(TextPart(text=text[:size]),)),)
    return (item,)


def _length(item: Item) -> int:
    match item:
        case CallItem(call=call):
            return len(call.raw)
        case Message(parts=(RefusalPart(text=text),)):
            return len(text)
        case Message() | ReasoningItem():
            return len(item.text)
    return 0


def _tokens(characters: int) -> int:
    return characters // _TOKEN + 1
