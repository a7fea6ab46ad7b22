"""Why Gemini stopped, and what it counted: finish reasons and usage, both ways."""

from collections.abc import Iterable
from typing import Any

from groundwire.codecs.gemini.casing import camel_keys, dict_of
from groundwire.codecs.gemini.profile import DIALECT
from groundwire.codecs.wire.finishes import note_unnamed, reason_of, unnamed
from groundwire.codecs.wire.reading import count_of
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.messages import CallItem, Item
from groundwire.contracts.replies import Finish, FinishReason, Usage

NO_CANDIDATES = "no_candidates"
"""The detail of a reply that holds neither an answer nor a reason; asking again is worth it."""

_REASONS = {
    "STOP": FinishReason.END,
    "MAX_TOKENS": FinishReason.LENGTH,
    "SAFETY": FinishReason.CONTENT_FILTER,
    "RECITATION": FinishReason.CONTENT_FILTER,
    "LANGUAGE": FinishReason.CONTENT_FILTER,
    "BLOCKLIST": FinishReason.CONTENT_FILTER,
    "PROHIBITED_CONTENT": FinishReason.CONTENT_FILTER,
    "SPII": FinishReason.CONTENT_FILTER,
    "MODEL_ARMOR": FinishReason.CONTENT_FILTER,
    "IMAGE_SAFETY": FinishReason.CONTENT_FILTER,
    "IMAGE_PROHIBITED_CONTENT": FinishReason.CONTENT_FILTER,
    "IMAGE_RECITATION": FinishReason.CONTENT_FILTER,
    "IMAGE_OTHER": FinishReason.CONTENT_FILTER,
    "NO_IMAGE": FinishReason.FAILED,
    "OTHER": FinishReason.FAILED,
    "MALFORMED_FUNCTION_CALL": FinishReason.MALFORMED_CALL,
    "UNEXPECTED_TOOL_CALL": FinishReason.MALFORMED_CALL,
    "TOO_MANY_TOOL_CALLS": FinishReason.MALFORMED_CALL,
    "MALFORMED_RESPONSE": FinishReason.MALFORMED_CALL,
    "CONTINUATION": FinishReason.PAUSED,
}
_WORDS = {
    FinishReason.END: "STOP",
    FinishReason.STOP_SEQUENCE: "STOP",
    FinishReason.TOOL_CALLS: "STOP",
    FinishReason.LENGTH: "MAX_TOKENS",
    FinishReason.CONTEXT_FULL: "MAX_TOKENS",
    FinishReason.CONTENT_FILTER: "SAFETY",
    FinishReason.PROMPT_BLOCKED: "PROHIBITED_CONTENT",
    FinishReason.PAUSED: "CONTINUATION",
    FinishReason.MALFORMED_CALL: "MALFORMED_FUNCTION_CALL",
    FinishReason.FAILED: "OTHER",
    FinishReason.CANCELLED: "OTHER",
    FinishReason.INCOMPLETE: "OTHER",
}
_APPROXIMATED = frozenset(
    {FinishReason.CONTEXT_FULL, FinishReason.CANCELLED, FinishReason.INCOMPLETE, FinishReason.FAILED}
)
_TOOL_CALLS = FinishReason.TOOL_CALLS
_END = FinishReason.END


def read_finish(raw: Any, message: Any, items: Iterable[Item]) -> Finish:
    """The calls in the content say whether a STOP asks for tools: Gemini has no reason of its own for that."""
    detail = message if isinstance(message, str) and message else None
    reason = _REASONS.get(raw) if isinstance(raw, str) else None
    if reason is None:
        word = raw if isinstance(raw, str) else None
        return Finish(reason=reason_of(items), raw=word, detail=detail, private={DIALECT: unnamed(word)})
    if reason is _END:
        for item in items:
            if type(item) is CallItem:
                reason = _TOOL_CALLS
    return Finish(reason=reason, raw=raw, detail=detail)


def blocked_finish(feedback: Any) -> Finish | None:
    """The reason of a reply whose prompt was refused."""
    wire = dict_of(feedback)
    raw, message = wire.get("blockReason"), wire.get("blockReasonMessage")
    if not isinstance(raw, str) or not raw:
        return None
    detail = message if isinstance(message, str) else None
    return Finish(reason=FinishReason.PROMPT_BLOCKED, raw=raw, detail=detail, private={DIALECT: {}})


def write_finish(finish: Finish, losses: Losses) -> JsonObject:
    """The members of a candidate that say why it ended."""
    wire: JsonObject = {}
    if DIALECT in finish.private:
        if finish.raw is not None:
            wire["finishReason"] = finish.raw
    elif finish.raw in _REASONS and _agrees(_REASONS[finish.raw], finish.reason):
        wire["finishReason"] = finish.raw
    else:
        if finish.reason in _APPROXIMATED:
            losses.add("finish_approximated", "finish", f"{finish.reason.value} was sent as {_WORDS[finish.reason]}.")
        note_unnamed(finish, DIALECT, _WORDS[finish.reason], losses)
        wire["finishReason"] = _WORDS[finish.reason]
    if finish.detail is not None:
        wire["finishMessage"] = finish.detail
    return wire


def _agrees(known: FinishReason, reason: FinishReason) -> bool:
    return known is reason or (known is FinishReason.END and reason is FinishReason.TOOL_CALLS)


def read_usage(value: Any) -> Usage | None:
    """Zeros are left out on the wire; thoughts count as output, prompts of built-in tools as input."""
    if not isinstance(value, dict):
        return None
    wire = value if "promptTokenCount" in value else camel_keys(value)
    prompt, answer = wire.get("promptTokenCount"), wire.get("candidatesTokenCount")
    if type(prompt) is not int or type(answer) is not int:
        prompt, answer = count_of(wire, "promptTokenCount") or 0, count_of(wire, "candidatesTokenCount") or 0
    total, thoughts, cached = wire.get("totalTokenCount"), None, None
    if type(total) is not int:
        total = count_of(wire, "totalTokenCount")
    if len(wire) > 3:
        if "thoughtsTokenCount" in wire:
            thoughts = count_of(wire, "thoughtsTokenCount")
            answer += thoughts or 0
        if "cachedContentTokenCount" in wire:
            cached = count_of(wire, "cachedContentTokenCount")
        if "toolUsePromptTokenCount" in wire:
            prompt += count_of(wire, "toolUsePromptTokenCount") or 0
    return Usage(
        input=prompt,
        output=answer,
        total=prompt + answer if total is None else total,
        cached=cached,
        reasoning=thoughts,
        private={DIALECT: wire},
    )


def write_usage(usage: Usage, losses: Losses) -> JsonObject:
    own = usage.private.get(DIALECT) if usage.private else None
    if own is not None and read_usage(own) == usage:
        return own
    if usage.cache_write:
        losses.add("usage_dropped", "usage.cache_write", "Gemini does not count what was written to a cache.")
    wire: JsonObject = {
        "promptTokenCount": usage.input,
        "candidatesTokenCount": max(0, usage.output - (usage.reasoning or 0)),
        "totalTokenCount": usage.total or usage.input + usage.output,
    }
    if usage.reasoning:
        wire["thoughtsTokenCount"] = usage.reasoning
    if usage.cached:
        wire["cachedContentTokenCount"] = usage.cached
    return wire
