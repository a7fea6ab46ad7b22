"""Whole responses, both ways: choices, finish reasons, usage."""

from collections.abc import Mapping
from typing import Any

from groundwire.codecs.openai_chat.profile import DIALECT
from groundwire.codecs.openai_chat.tools import is_legacy
from groundwire.codecs.openai_chat.turn_reading import TurnReader
from groundwire.codecs.openai_chat.turn_writing import TurnWriter
from groundwire.codecs.wire.building import withdraw_calls, would_run_cut
from groundwire.codecs.wire.finishes import note_unnamed, unnamed
from groundwire.codecs.wire.freeform import freeform_names
from groundwire.codecs.wire.json import read_object
from groundwire.codecs.wire.private import keep, note_extras, note_foreign, own_members, unknown_values, visible
from groundwire.codecs.wire.reading import as_list, as_object, count_of
from groundwire.codecs.wire.warnings import Encoded, Losses
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import NotExpressible, WireError
from groundwire.contracts.messages import CallItem, Item
from groundwire.contracts.replies import Alternative, Finish, FinishReason, Reply, Usage
from groundwire.contracts.requests import FunctionTool, ModelRequest

_KNOWN = frozenset({"id", "object", "created", "model", "choices", "usage"})
_HEADER = ("id", "object", "created", "model")
_CHOICE = frozenset({"index", "message", "delta", "finish_reason"})
_REASONS = {
    "stop": FinishReason.END,
    "tool_calls": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
    "length": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
    "model_length": FinishReason.LENGTH,
    "error": FinishReason.FAILED,
    "insufficient_system_resource": FinishReason.INCOMPLETE,
    "abort": FinishReason.CANCELLED,
    "cancelled": FinishReason.CANCELLED,
}
_OPENAIS = frozenset({"stop", "tool_calls", "function_call", "length", "content_filter"})
_WORDS = {
    FinishReason.END: "stop",
    FinishReason.STOP_SEQUENCE: "stop",
    FinishReason.TOOL_CALLS: "tool_calls",
    FinishReason.LENGTH: "length",
    FinishReason.CONTEXT_FULL: "length",
    FinishReason.CONTENT_FILTER: "content_filter",
    FinishReason.PROMPT_BLOCKED: "content_filter",
    FinishReason.PAUSED: "stop",
    FinishReason.INCOMPLETE: "length",
}
_APPROXIMATE = (FinishReason.PAUSED, FinishReason.INCOMPLETE)


def decode_response(
    body: bytes | JsonObject, *, names: Mapping[str, str] | None = None, split_thinking: bool = True
) -> Reply:
    source = read_object(body)
    choices = as_list(source.get("choices"), "choices")
    if not choices:
        raise WireError("is empty", path="choices")
    reply_id, created = source.get("id"), source.get("created")
    reply_id = reply_id if isinstance(reply_id, str) else ""
    answers: list[Alternative] = []
    for place, value in enumerate(choices):
        seed = f"{reply_id}#{place}" if place else reply_id
        turns = TurnReader(names=names or {}, seed=seed, is_reply=True, splits_thinking=split_thinking)
        answers.append(_read_choice(value, place, turns))
    extras: JsonObject = dict(unknown_values(source, _KNOWN))
    kind = source.get("object")
    if kind not in ("chat.completion", None):
        extras["object"] = kind
    absent: list[JsonValue] = [name for name in _HEADER if source.get(name) is None]
    if absent:
        extras["_absent"] = absent
    model = source.get("model")
    return Reply(
        reply_id=reply_id,
        model=model if isinstance(model, str) else "",
        created=int(created) if isinstance(created, (int, float)) and abs(created) < 2**53 else None,
        items=answers[0].items,
        finish=answers[0].finish,
        usage=read_usage(source.get("usage")),
        alternatives=tuple(answers[1:]),
        extras=keep(DIALECT, extras),
    )


def _read_choice(value: Any, place: int, turns: TurnReader) -> Alternative:
    path = f"choices[{place}]"
    choice = as_object(value, path)
    message = choice.get("message")
    if message is None and isinstance(choice.get("text"), str):
        message = {"role": "assistant", "content": choice["text"]}
    items: list[Item] = turns.read(as_object(message, f"{path}.message"), f"{path}.message")
    hints: JsonObject = dict(unknown_values(choice, _CHOICE))
    index = choice.get("index")
    if index is not None and index != place:
        hints["_index"] = index
    elif index is None:
        hints["_no_index"] = True
    has_calls = any(isinstance(item, CallItem) for item in items)
    finish = read_finish(choice.get("finish_reason"), has_calls=has_calls, hints=hints)
    return Alternative(items=withdraw_calls(items, finish.reason), finish=finish)


def read_finish(raw: Any, *, has_calls: bool, hints: JsonObject) -> Finish:
    """The reason; the content decides between an end and calls, whatever the word."""
    word = raw if isinstance(raw, str) else None
    reason = _REASONS.get(word or "")
    if reason is None and word is not None and "malformed_function_call" in word.lower():
        reason = FinishReason.MALFORMED_CALL
    is_named = reason is not None
    if reason is None or reason in (FinishReason.END, FinishReason.TOOL_CALLS):
        reason = FinishReason.TOOL_CALLS if has_calls else FinishReason.END
    if word is not None and word not in _OPENAIS:
        hints = {**hints, "_raw": True, **({} if is_named else unnamed(word))}
    detail = hints.get("native_finish_reason")
    return Finish(
        reason=reason,
        raw=word,
        detail=detail if isinstance(detail, str) and detail != word else None,
        private=keep(DIALECT, hints),
    )


def read_usage(value: Any) -> Usage | None:
    if not isinstance(value, dict):
        return None
    entered, given = count_of(value, "prompt_tokens") or 0, count_of(value, "completion_tokens") or 0
    total = count_of(value, "total_tokens")
    of_input, of_output = value.get("prompt_tokens_details"), value.get("completion_tokens_details")
    cached = count_of(of_input, "cached_tokens")
    if cached is None:
        cached = count_of(value, "prompt_cache_hit_tokens")
    if cached is None:
        cached = count_of(value, "num_cached_tokens")
    return Usage(
        input=entered,
        output=given,
        total=entered + given if total is None else total,
        cached=cached,
        cache_write=count_of(of_input, "cache_write_tokens"),
        reasoning=count_of(of_output, "reasoning_tokens"),
        private={DIALECT: value},
    )


def write_usage(usage: Usage) -> JsonObject:
    kept = usage.private.get(DIALECT)
    if kept is not None:
        return kept
    written: JsonObject = {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total or usage.input + usage.output,
    }
    of_input: JsonObject = {}
    if usage.cached is not None:
        of_input["cached_tokens"] = usage.cached
    if usage.cache_write is not None:
        of_input["cache_write_tokens"] = usage.cache_write
    if of_input:
        written["prompt_tokens_details"] = of_input
    if usage.reasoning is not None:
        written["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning}
    return written


def encode_response(reply: Reply, *, request: ModelRequest | None = None, created: int | None = None) -> Encoded:
    """The reply for a client; `request` is what it asked, and tells in which form it knows the tools.

    `created` is the time, in seconds since 1970, for a reply that does not say when it was made.
    """
    losses = Losses()
    writer = reply_writer(request, losses)
    choices: list[JsonValue] = [_write_choice(reply.items, reply.finish, 0, writer, losses)]
    for place, answer in enumerate(reply.alternatives, start=1):
        choices.append(write_choice(answer, place, writer, losses))
    body: JsonObject = {
        "id": reply.reply_id,
        "object": "chat.completion",
        "created": (created if reply.created is None else reply.created) or 0,
        "model": reply.model,
        "choices": choices,
    }
    if reply.usage is not None:
        body["usage"] = write_usage(reply.usage)
    if reply.extras:
        kept = own_members(reply.extras, DIALECT)
        absent = kept.get("_absent")
        for name in absent if isinstance(absent, list) else ():
            body.pop(str(name), None)
        body.update(visible(kept))
        note_extras(reply.extras, DIALECT, losses)
    return Encoded(body=body, warnings=losses.taken())


def reply_writer(request: ModelRequest | None, losses: Losses) -> TurnWriter:
    if request is None:
        return TurnWriter(losses)
    marked = [
        tool for tool in request.tools if type(tool) is FunctionTool and (tool.freeform is not None or tool.private)
    ]
    if not marked:
        return TurnWriter(losses)
    return TurnWriter(losses, freeform=freeform_names(marked), is_legacy=is_legacy(marked))


def write_choice(answer: Alternative, place: int, writer: TurnWriter, losses: Losses) -> JsonObject:
    return _write_choice(answer.items, answer.finish, place, writer, losses)


def _write_choice(
    items: tuple[Item, ...], finish: Finish, place: int, writer: TurnWriter, losses: Losses
) -> JsonObject:
    message: JsonObject = {"role": "assistant", "content": None, "refusal": None}
    for number, item in enumerate(items):
        path = f"items[{number}]"
        if type(item) is not CallItem:
            writer.add(message, item, path)
        elif item.complete or not would_run_cut(item, finish.reason):
            writer.add_call(message, item, path)
        else:
            losses.add("call_dropped", path, "A call was cut off.")
    choice: JsonObject = {
        "index": place,
        "message": message,
        "logprobs": None,
        "finish_reason": write_finish(finish, message, losses),
    }
    if finish.private:
        hints = own_members(finish.private, DIALECT)
        if "_index" in hints:
            choice["index"] = hints["_index"]
        elif "_no_index" in hints:
            del choice["index"]
        choice.update(visible(hints))
        note_foreign(finish.private, DIALECT, "finish", losses)
    return choice


def write_finish(finish: Finish, message: JsonObject, losses: Losses) -> str:
    """The provider's own word if it was this dialect's, else the nearest one."""
    raw, private = finish.raw, finish.private
    if raw is not None and (
        (raw in _OPENAIS and _fits(raw, finish.reason)) or (private and "_raw" in own_members(private, DIALECT))
    ):
        return raw
    word = _WORDS.get(finish.reason)
    if word is None:
        raise NotExpressible(
            f"The reply ended with {finish.reason}: {finish.detail or finish.raw or 'no reason given'}.", path="finish"
        )
    if private:
        note_unnamed(finish, DIALECT, word, losses)
    if finish.reason in _APPROXIMATE:
        losses.add("finish_approximated", "finish", f"{finish.reason} was sent as {word}.")
    return "function_call" if word == "tool_calls" and "function_call" in message else word


def _fits(raw: str, meant: FinishReason) -> bool:
    """A word that OpenAI has, said by a server that means the same by it."""
    reason = _REASONS[raw]
    return reason is meant or {reason, meant} == {FinishReason.END, FinishReason.TOOL_CALLS}
