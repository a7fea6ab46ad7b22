"""Counters of a Realtime response, and how it ended."""

from groundwire.codecs.openai_realtime.naming import DIALECT
from groundwire.codecs.wire.finishes import reason_of
from groundwire.codecs.wire.private import own_members, visible
from groundwire.codecs.wire.reading import count_of
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.messages import CallItem
from groundwire.contracts.replies import Finish, FinishReason, Usage

_CUT = {"max_output_tokens": FinishReason.LENGTH, "content_filter": FinishReason.CONTENT_FILTER}


def read_usage(source: JsonObject) -> Usage:
    given, made = count_of(source, "input_tokens") or 0, count_of(source, "output_tokens") or 0
    total = count_of(source, "total_tokens")
    return Usage(
        input=given,
        output=made,
        total=given + made if total is None else total,
        cached=count_of(source.get("input_token_details"), "cached_tokens"),
        reasoning=count_of(source.get("output_token_details"), "reasoning_tokens"),
        private={DIALECT: source},
    )


def write_usage(usage: Usage, losses: Losses) -> JsonObject:
    if DIALECT in usage.private:
        return visible(own_members(usage.private, DIALECT))
    if usage.cache_write is not None:
        losses.add("usage_dropped", "usage.cache_write", "Realtime does not count it.")
    if usage.reasoning is not None:
        losses.add("usage_dropped", "usage.reasoning", "Realtime counts it as output only.")
    return {
        "total_tokens": usage.total,
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "input_token_details": {"cached_tokens": usage.cached or 0},
        "output_token_details": {},
    }


def read_finish(response: JsonObject, calls: tuple[CallItem, ...]) -> Finish:
    status, details = response.get("status"), response.get("status_details")
    raw = status if isinstance(status, str) else None
    reason = details.get("reason") if isinstance(details, dict) else None
    detail = reason if isinstance(reason, str) else None
    match raw:
        case "completed":
            return Finish(reason=FinishReason.TOOL_CALLS if calls else FinishReason.END, raw=raw, detail=detail)
        case "cancelled":
            return Finish(reason=FinishReason.CANCELLED, raw=raw, detail=detail)
        case "incomplete":
            return Finish(reason=_CUT.get(detail or "", FinishReason.INCOMPLETE), raw=raw, detail=detail)
        case "failed":
            return Finish(reason=FinishReason.FAILED, raw=raw, detail=detail)
    return Finish(reason=reason_of(calls), raw=raw)


def status_of(finish: Finish) -> tuple[str, JsonValue]:
    """Status and details of a response. What Realtime has no word for is a failure, never a good end."""
    match finish.reason:
        case FinishReason.END | FinishReason.STOP_SEQUENCE | FinishReason.TOOL_CALLS | FinishReason.PAUSED:
            return "completed", None
        case FinishReason.CANCELLED:
            return "cancelled", {"type": "cancelled", "reason": finish.detail or "client_cancelled"}
        case FinishReason.LENGTH | FinishReason.CONTEXT_FULL:
            return "incomplete", {"type": "incomplete", "reason": "max_output_tokens"}
        case FinishReason.CONTENT_FILTER | FinishReason.PROMPT_BLOCKED:
            return "incomplete", {"type": "incomplete", "reason": "content_filter"}
    error: JsonObject = {
        "type": "server_error",
        "code": finish.reason.value,
        "message": finish.raw or finish.reason.value,
    }
    return "failed", {"type": "failed", "error": error}
