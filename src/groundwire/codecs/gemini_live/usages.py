"""Counters and reasons of Gemini Live: usage in the words of both of its servers, and why a turn ended."""

from groundwire.codecs.gemini_live.naming import DIALECT
from groundwire.codecs.wire.private import own_members, visible
from groundwire.codecs.wire.reading import count_of
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.replies import Finish, FinishReason, Usage

_REASONS = {
    "TURN_COMPLETE_REASON_UNSPECIFIED": FinishReason.END,
    "NEED_MORE_INPUT": FinishReason.END,
    "MALFORMED_FUNCTION_CALL": FinishReason.MALFORMED_CALL,
    "RESPONSE_REJECTED": FinishReason.CONTENT_FILTER,
    "BLOCKLIST": FinishReason.PROMPT_BLOCKED,
    "MAX_REGENERATION_REACHED": FinishReason.FAILED,
}
# The further values are many and say by their beginning which side was refused.
_PROMPT = ("PROHIBITED_INPUT", "IMAGE_PROHIBITED_INPUT", "INPUT_", "UNSAFE_PROMPT")
_ANSWER = ("GENERATED_", "OUTPUT_")
_RAW = {
    FinishReason.MALFORMED_CALL: "MALFORMED_FUNCTION_CALL",
    FinishReason.CONTENT_FILTER: "RESPONSE_REJECTED",
    FinishReason.PROMPT_BLOCKED: "PROHIBITED_INPUT_CONTENT",
}


def read_finish(raw: str | None, *, is_interrupted: bool) -> Finish:
    """A turn without a reason ended well, unless the user spoke into it."""
    if raw is None:
        return Finish(reason=FinishReason.CANCELLED if is_interrupted else FinishReason.END)
    if raw in _REASONS:
        return Finish(reason=_REASONS[raw], raw=raw)
    if raw.startswith(_PROMPT):
        return Finish(reason=FinishReason.PROMPT_BLOCKED, raw=raw)
    return Finish(reason=FinishReason.CONTENT_FILTER if raw.startswith(_ANSWER) else FinishReason.END, raw=raw)


def write_reason(finish: Finish, losses: Losses, *, is_own: bool) -> str | None:
    if is_own:
        return finish.raw
    if finish.reason in _RAW:
        return _RAW[finish.reason]
    if finish.reason not in (FinishReason.END, FinishReason.CANCELLED, FinishReason.TOOL_CALLS):
        losses.add("finish_approximated", "turn.ended", f"Live has no word for {finish.reason.value}.")
    return None


def read_usage(source: JsonObject) -> Usage:
    """Vertex says candidates where the other server says response."""
    answer = count_of(source, "responseTokenCount")
    if answer is None:
        answer = count_of(source, "candidatesTokenCount")
    reasoning = count_of(source, "thoughtsTokenCount")
    prompt = (count_of(source, "promptTokenCount") or 0) + (count_of(source, "toolUsePromptTokenCount") or 0)
    output = (answer or 0) + (reasoning or 0)
    total = count_of(source, "totalTokenCount")
    return Usage(
        input=prompt,
        output=output,
        total=prompt + output if total is None else total,
        cached=count_of(source, "cachedContentTokenCount"),
        reasoning=reasoning,
        private={DIALECT: source},
    )


def write_usage(usage: Usage, losses: Losses) -> JsonObject:
    if DIALECT in usage.private:
        return visible(own_members(usage.private, DIALECT))
    if usage.cache_write is not None:
        losses.add("usage_dropped", "usage.cache_write", "Live does not count it.")
    written: JsonObject = {
        "promptTokenCount": usage.input,
        "responseTokenCount": max(0, usage.output - (usage.reasoning or 0)),
        "totalTokenCount": usage.total,
    }
    if usage.cached is not None:
        written["cachedContentTokenCount"] = usage.cached
    if usage.reasoning is not None:
        written["thoughtsTokenCount"] = usage.reasoning
    return written
