"""Why a response ended: `status`, `incomplete_details` and `error` as one reason, both ways; and the token counters."""

from collections.abc import Sequence
from typing import Any

from groundwire.codecs.openai_responses.profile import DIALECT
from groundwire.codecs.wire.finishes import note_unnamed, reason_of, unnamed
from groundwire.codecs.wire.private import keep, own_members, visible
from groundwire.codecs.wire.reading import count_of, text_or_none
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.messages import Item
from groundwire.contracts.replies import Finish, FinishReason, Usage

_BY_STATUS = {
    "failed": FinishReason.FAILED,
    "cancelled": FinishReason.CANCELLED,
    "queued": FinishReason.PAUSED,
    "in_progress": FinishReason.PAUSED,
    "incomplete": FinishReason.INCOMPLETE,
}
_BY_DETAIL = {"max_output_tokens": FinishReason.LENGTH, "content_filter": FinishReason.CONTENT_FILTER}
_STATUSES: dict[FinishReason, str] = {
    FinishReason.END: "completed",
    FinishReason.TOOL_CALLS: "completed",
    FinishReason.STOP_SEQUENCE: "completed",
    FinishReason.LENGTH: "incomplete",
    FinishReason.CONTEXT_FULL: "incomplete",
    FinishReason.CONTENT_FILTER: "incomplete",
    FinishReason.INCOMPLETE: "incomplete",
    FinishReason.PAUSED: "in_progress",
    FinishReason.CANCELLED: "cancelled",
    FinishReason.PROMPT_BLOCKED: "failed",
    FinishReason.MALFORMED_CALL: "failed",
    FinishReason.FAILED: "failed",
}
_DETAILS: dict[FinishReason, str | None] = {
    FinishReason.LENGTH: "max_output_tokens",
    FinishReason.CONTEXT_FULL: "max_output_tokens",
    FinishReason.CONTENT_FILTER: "content_filter",
    FinishReason.INCOMPLETE: None,
}
_ERRORS: dict[FinishReason, tuple[str, str]] = {
    FinishReason.PROMPT_BLOCKED: ("invalid_prompt", "The provider refused the prompt."),
    FinishReason.MALFORMED_CALL: ("server_error", "The model asked for a tool in a form that cannot be read."),
    FinishReason.FAILED: ("server_error", "The provider failed to answer."),
}
_WITHOUT_EQUAL = frozenset({
    FinishReason.STOP_SEQUENCE, FinishReason.CONTEXT_FULL, FinishReason.PROMPT_BLOCKED, FinishReason.MALFORMED_CALL,
})  # fmt: skip


def read_finish(wire: JsonObject, items: Sequence[Item]) -> Finish:
    """`raw` is the detail of an incomplete response, else its status."""
    status, error, details = wire.get("status"), wire.get("error"), wire.get("incomplete_details")
    if not isinstance(status, str):
        status = "failed" if isinstance(error, dict) else None
    if status not in _BY_STATUS:
        unknown = None if status == "completed" else status
        return Finish(reason=reason_of(items), raw=status, private=keep(DIALECT, unnamed(unknown)))
    if status == "incomplete":
        detail = text_or_none(details.get("reason")) if isinstance(details, dict) else None
        reason = _BY_DETAIL.get(detail or "", FinishReason.INCOMPLETE)
        private = keep(DIALECT, {"status": status, "incomplete_details": details})
        return Finish(reason=reason, raw=detail or status, private=private)
    message = text_or_none(error.get("message")) if isinstance(error, dict) else None
    private = keep(DIALECT, {"status": status, "error": error} if error is not None else {})
    return Finish(reason=_BY_STATUS[status], raw=status, detail=message, private=private)


def write_finish(finish: Finish, losses: Losses) -> JsonObject:
    """`status`, `error` and `incomplete_details`."""
    members = visible(own_members(finish.private, DIALECT))
    status = members.get("status") or _STATUSES[finish.reason]
    if finish.raw in _BY_STATUS and _BY_STATUS[finish.raw] is finish.reason:
        status = finish.raw
    written: JsonObject = {"status": status, "error": None, "incomplete_details": None}
    if members:
        written.update(members)
    elif finish.reason in _DETAILS:
        written["incomplete_details"] = {"reason": _DETAILS[finish.reason]}
    elif finish.reason in _ERRORS:
        code, message = _ERRORS[finish.reason]
        written["error"] = {"code": code, "message": finish.detail or message}
    if not members and finish.reason in _WITHOUT_EQUAL:
        losses.add("finish_approximated", "finish", f"{finish.reason} is sent as {status}.")
    note_unnamed(finish, DIALECT, str(status), losses)
    return written


def read_usage(wire: Any) -> Usage | None:
    if not isinstance(wire, dict):
        return None
    inputs, outputs = count_of(wire, "input_tokens") or 0, count_of(wire, "output_tokens") or 0
    total = count_of(wire, "total_tokens")
    cached = count_of(wire.get("input_tokens_details"), "cached_tokens")
    usage = Usage(
        input=inputs,
        output=outputs,
        total=inputs + outputs if total is None else total,
        cached=cached,
        cache_write=count_of(wire.get("input_tokens_details"), "cache_write_tokens"),
        reasoning=count_of(wire.get("output_tokens_details"), "reasoning_tokens"),
    )
    if write_usage(usage) == wire:
        return usage
    return Usage(
        input=usage.input,
        output=usage.output,
        total=usage.total,
        cached=cached,
        cache_write=usage.cache_write,
        reasoning=usage.reasoning,
        private={DIALECT: wire},
    )


def write_usage(usage: Usage | None) -> JsonValue:
    """The counters as they came, or as this API counts them: what was not said is zero."""
    if usage is None:
        return None
    if DIALECT in usage.private:
        return usage.private[DIALECT]
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached or 0, "cache_write_tokens": usage.cache_write or 0},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning or 0},
        "total_tokens": usage.total or usage.input + usage.output,
    }
