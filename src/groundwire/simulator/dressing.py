"""A scripted reply as the provider of a dialect would have given it: its kinds of ids, its signatures, its counters."""

from typing import Any

from msgspec.structs import replace

from groundwire.codecs.wire.ids import ANTHROPIC_IDS, OPENAI_CHAT_IDS, IdRule, derived_id
from groundwire.codecs.wire.results import object_arguments
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.messages import CallItem, Item, Message, ReasoningItem, ResultItem, TextPart
from groundwire.contracts.replies import Finish, FinishReason, Reply, Usage
from groundwire.contracts.requests import Dialect, ModelRequest
from groundwire.providers.composing import to_reply
from groundwire.providers.faults import Fault, FaultKind, spoil
from groundwire.providers.scripts import Answer
from groundwire.simulator.rules_gemini import generation_of
from groundwire.simulator.signatures import seal, sign_call, sign_text

_REPLY_IDS = {"openai-chat": "chatcmpl-", "openai-responses": "resp_", "anthropic": "msg_", "gemini": ""}
_GEMINI_IDS = IdRule(pattern="", prefix="", length=8)
_CALL_IDS: dict[str, IdRule] = {
    "openai-chat": OPENAI_CHAT_IDS,
    "openai-responses": OPENAI_CHAT_IDS,
    "anthropic": ANTHROPIC_IDS,
    "gemini": _GEMINI_IDS,
}
_THOUGHT = "Let me see what is asked here."


def dressed(
    answer: Answer, request: ModelRequest, body: JsonObject, dialect: Dialect, *, fault: Fault | None, created: int
) -> Reply:
    """The reply with everything that goes onto the wire, spoiled where the fault wants it."""
    reply = to_reply(answer, request)
    reply_id = _REPLY_IDS[dialect] + reply.reply_id.removeprefix("reply_")
    items = _with_ids(reply.items, answer, reply_id, dialect, request.model)
    if dialect == "anthropic" and _must_think(request, body, items):
        items = (ReasoningItem(text=_THOUGHT), *items)
    usage = _with_thoughts(reply.usage, items)
    reply = replace(reply, reply_id=reply_id, created=created, items=items, usage=usage)
    reply = _spoiled(reply, fault, dialect)
    return replace(reply, items=_signed(reply.items, dialect, request.model))


def _with_ids(items: tuple[Item, ...], answer: Answer, reply_id: str, dialect: Dialect, model: str) -> tuple[Item, ...]:
    """Calls whose ids the script leaves open get one as their provider makes them; old Geminis give none."""
    made: list[Item] = []
    asks = iter(answer.calls)
    for place, item in enumerate(items):
        if not isinstance(item, CallItem) or next(asks).call_id:
            made.append(item)
            continue
        call_id = derived_id(f"{reply_id}:{place}", _CALL_IDS[dialect])
        call = replace(item.call, call_id=call_id.lower() if dialect == "gemini" else call_id)
        is_unnamed = dialect == "gemini" and (0, 0) < generation_of(model) < (3, 0)
        made.append(replace(item, call=call, private={"gemini": {"_synthetic": True}} if is_unnamed else {}))
    return tuple(made)


def _must_think(request: ModelRequest, body: JsonObject, items: tuple[Item, ...]) -> bool:
    """A Claude with a thinking budget thinks before it calls, at least at the beginning of a turn."""
    thinking = body.get("thinking")
    is_on = isinstance(thinking, dict) and thinking.get("type") == "enabled"
    is_first = not request.items or not isinstance(request.items[-1], ResultItem)
    return is_on and is_first and not any(isinstance(item, ReasoningItem) for item in items)


def _with_thoughts(usage: Usage | None, items: tuple[Item, ...]) -> Usage | None:
    thought = sum(len(item.text) for item in items if isinstance(item, ReasoningItem))
    return replace(usage, reasoning=thought // 4 + 1) if usage is not None and thought else usage


def _spoiled(reply: Reply, fault: Fault | None, dialect: Dialect) -> Reply:
    """Faults of the content, in the form that the dialect can have. Equal ids are made on the wire, see `app`."""
    if fault is None:
        return reply
    if dialect == "gemini" and fault.kind is FaultKind.MALFORMED_CALL and reply.calls:
        finish = Finish(
            reason=FinishReason.MALFORMED_CALL, raw="MALFORMED_FUNCTION_CALL", detail="Malformed function call"
        )
        return replace(reply, items=(), finish=finish)
    return spoil(reply, fault)


def _signed(items: tuple[Item, ...], dialect: Dialect, model: str) -> tuple[Item, ...]:
    if dialect == "gemini":
        return _signed_for_gemini(items, model)
    if dialect == "anthropic":
        return tuple(
            _with_private(item, dialect, {"signature": sign_text(model, item.text)})
            if isinstance(item, ReasoningItem)
            else item
            for item in items
        )
    if dialect == "openai-responses":
        return tuple(
            _with_private(item, dialect, _sealed(item, model)) if isinstance(item, ReasoningItem) else item
            for item in items
        )
    return items


def _sealed(item: ReasoningItem, model: str) -> dict[str, Any]:
    return {
        "summary": [{"type": "summary_text", "text": item.text}] if item.text else [],
        "encrypted_content": seal(model, item.text),
    }


def _signed_for_gemini(items: tuple[Item, ...], model: str) -> tuple[Item, ...]:
    """The first call of a step is signed, or else the last text."""
    if generation_of(model) < (2, 5):
        return items
    signed = list(items)
    for place, item in enumerate(items):
        if isinstance(item, CallItem):
            arguments = item.call.arguments if item.call.arguments is not None else object_arguments(item.call.raw)
            if arguments is not None:
                members = {"thoughtSignature": sign_call(model, item.call.name, arguments)}
                signed[place] = _with_private(item, "gemini", members)
            return tuple(signed)
    last = items[-1] if items else None
    if isinstance(last, Message) and isinstance(last.parts[-1], TextPart):
        text = last.parts[-1]
        part = replace(text, private={"gemini": {"thoughtSignature": sign_text(model, text.text)}})
        signed[-1] = replace(last, parts=(*last.parts[:-1], part))
    return tuple(signed)


def _with_private(item: Any, dialect: Dialect, members: dict[str, Any]) -> Any:
    known = item.private.get(dialect, {})
    return replace(item, private={**item.private, dialect: {**known, **members}})
