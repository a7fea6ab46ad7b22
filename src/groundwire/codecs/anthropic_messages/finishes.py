"""How a reply ended and what it cost, both ways: stop reasons and token counters."""

from typing import Any

from groundwire.codecs.anthropic_messages.profile import DIALECT
from groundwire.codecs.wire.finishes import note_unnamed, reason_of, unnamed
from groundwire.codecs.wire.private import keep, own_members, unknown_members
from groundwire.codecs.wire.reading import count_of
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.messages import CallItem, Item
from groundwire.contracts.replies import Finish, FinishReason, Usage

_REASONS = {
    "end_turn": FinishReason.END,
    "max_tokens": FinishReason.LENGTH,
    "stop_sequence": FinishReason.STOP_SEQUENCE,
    "tool_use": FinishReason.TOOL_CALLS,
    "pause_turn": FinishReason.PAUSED,
    "compaction": FinishReason.PAUSED,
    "refusal": FinishReason.CONTENT_FILTER,
    "model_context_window_exceeded": FinishReason.CONTEXT_FULL,
}
_STOP_REASONS = {
    FinishReason.END: "end_turn",
    FinishReason.STOP_SEQUENCE: "stop_sequence",
    FinishReason.TOOL_CALLS: "tool_use",
    FinishReason.LENGTH: "max_tokens",
    FinishReason.CONTEXT_FULL: "model_context_window_exceeded",
    FinishReason.CONTENT_FILTER: "refusal",
    FinishReason.PROMPT_BLOCKED: "refusal",
    FinishReason.PAUSED: "pause_turn",
}
BROKEN = frozenset({FinishReason.MALFORMED_CALL, FinishReason.FAILED, FinishReason.CANCELLED, FinishReason.INCOMPLETE})
"""Ends that this dialect tells only as an error: any stop reason would make the reply look whole."""

_COUNTERS = frozenset({
    "input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens",
})  # fmt: skip


def read_finish(source: JsonObject, items: tuple[Item, ...]) -> Finish:
    """From the members `stop_reason`, `stop_sequence` and `stop_details`; the content overrules a plain end."""
    raw = source.get("stop_reason")
    private: JsonObject = {}
    details = source.get("stop_details")
    if details is not None:
        private["stop_details"] = details
    if not isinstance(raw, str) or raw not in _REASONS:
        word = raw if isinstance(raw, str) else None
        if raw is not None:
            private.update({"_stop_reason": raw, **unnamed(word)})
        return Finish(reason=reason_of(items), raw=word, private=keep(DIALECT, private))
    reason = _REASONS[raw]
    detail: str | None = None
    if reason is FinishReason.STOP_SEQUENCE:
        matched = source.get("stop_sequence")
        detail = matched if isinstance(matched, str) else None
    elif isinstance(details, dict) and isinstance(details.get("explanation"), str):
        detail = str(details["explanation"])
    if reason in (FinishReason.END, FinishReason.TOOL_CALLS):
        has_calls = any(isinstance(item, CallItem) for item in items)
        reason = FinishReason.TOOL_CALLS if has_calls else FinishReason.END
    return Finish(reason=reason, raw=raw, detail=detail, private=keep(DIALECT, private))


def write_finish(finish: Finish, losses: Losses) -> JsonObject:
    """The three members. Only for ends that are not `BROKEN`."""
    own = own_members(finish.private, DIALECT)
    written: JsonObject = {"stop_reason": finish.raw, "stop_sequence": None, "stop_details": own.get("stop_details")}
    if not _fits(finish):
        written["stop_reason"] = own.get("_stop_reason", _STOP_REASONS[finish.reason])
        note_unnamed(finish, DIALECT, str(written["stop_reason"]), losses)
    if written["stop_reason"] == "stop_sequence":
        written["stop_sequence"] = finish.detail
        if finish.detail is None and finish.raw != "stop_sequence":
            written["stop_reason"] = "end_turn"
            losses.add("finish_approximated", "finish", "Which stop string was found is not known.")
    if written["stop_reason"] == "refusal" and written["stop_details"] is None and finish.raw != "refusal":
        written["stop_details"] = {"type": "refusal", "category": None, "explanation": finish.detail}
    return written


def read_usage(source: Any) -> Usage | None:
    """The provider's `input_tokens` leave out what went through the cache; ours count it."""
    if not isinstance(source, dict):
        return None
    fresh, output = count_of(source, "input_tokens") or 0, count_of(source, "output_tokens") or 0
    cached, written = count_of(source, "cache_read_input_tokens"), count_of(source, "cache_creation_input_tokens")
    total_input = fresh + (cached or 0) + (written or 0)
    return Usage(
        input=total_input,
        output=output,
        total=total_input + output,
        cached=cached,
        cache_write=written,
        reasoning=count_of(source.get("output_tokens_details"), "thinking_tokens"),
        private=keep(DIALECT, unknown_members(source, _COUNTERS)),
    )


def write_usage(usage: Usage | None, losses: Losses) -> JsonObject:
    """Clients expect counters in every message, so unknown ones are zero."""
    if usage is None:
        return {"input_tokens": 0, "output_tokens": 0}
    cached, written = usage.cached or 0, usage.cache_write or 0
    counters: JsonObject = {
        "input_tokens": max(0, usage.input - cached - written),
        "output_tokens": usage.output,
    }
    if usage.cache_write is not None:
        counters["cache_creation_input_tokens"] = usage.cache_write
    if usage.cached is not None:
        counters["cache_read_input_tokens"] = usage.cached
    own = usage.private.get(DIALECT)
    if own is not None:
        return {**own, **counters}
    if usage.reasoning is not None:
        counters["output_tokens_details"] = {"thinking_tokens": usage.reasoning}
    if usage.total > usage.input + usage.output:
        losses.add("usage_dropped", "usage.total", "The total is more than its parts, and the dialect has no total.")
    return counters


def _fits(finish: Finish) -> bool:
    """A word of this dialect that means here what it meant to its sender."""
    meant = _REASONS.get(finish.raw or "")
    return meant is finish.reason or {meant, finish.reason} == {FinishReason.END, FinishReason.TOOL_CALLS}
