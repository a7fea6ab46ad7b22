"""What OpenAI's APIs call by the same name and mean the same by: members, efforts, and the words of errors."""

from collections.abc import Mapping

from groundwire.codecs.wire.private import visible
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.failures import FailureKind
from groundwire.contracts.messages import Private

_DIALECTS = frozenset({"openai-chat", "openai-responses"})
_SHARED_MEMBERS = frozenset(
    {"metadata", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "service_tier", "store", "user"}
)

ERROR_CODES = {
    "insufficient_quota": FailureKind.QUOTA,
    "billing_hard_limit_reached": FailureKind.QUOTA,
    "rate_limit_exceeded": FailureKind.RATE_LIMIT,
    "context_length_exceeded": FailureKind.CONTEXT_FULL,
    "content_filter": FailureKind.CONTENT_FILTER,
    "content_policy_violation": FailureKind.CONTENT_FILTER,
    "invalid_api_key": FailureKind.AUTHENTICATION,
    "model_not_found": FailureKind.NOT_FOUND,
    "tool_use_failed": FailureKind.MALFORMED_CALL,
    "server_error": FailureKind.SERVER,
}
ERROR_TYPES = {
    "authentication_error": FailureKind.AUTHENTICATION,
    "permission_error": FailureKind.PERMISSION,
    "insufficient_quota": FailureKind.QUOTA,
    "rate_limit_error": FailureKind.RATE_LIMIT,
    "requests": FailureKind.RATE_LIMIT,
    "tokens": FailureKind.RATE_LIMIT,
    "invalid_request_error": FailureKind.INVALID_REQUEST,
    "overloaded_error": FailureKind.OVERLOADED,
    "server_error": FailureKind.SERVER,
}

EFFORTS = frozenset({"none", "minimal", "low", "medium", "high", "xhigh", "max"})


_PATHS = {
    "frequency_penalty": "sampling.frequency_penalty", "max_completion_tokens": "max_output_tokens",
    "max_output_tokens": "max_output_tokens", "max_tokens": "max_output_tokens", "n": "sampling.count",
    "parallel_tool_calls": "parallel_calls", "presence_penalty": "sampling.presence_penalty", "reasoning": "reasoning",
    "reasoning_effort": "reasoning.effort", "response_format": "output", "seed": "sampling.seed",
    "stop": "sampling.stop", "temperature": "sampling.temperature", "text": "output", "top_k": "sampling.top_k",
    "top_p": "sampling.top_p",
}  # fmt: skip


def canonical_path(member: str, extras: Mapping[str, JsonObject]) -> str:
    """Where in the canonical request a member of the body comes from."""
    origins = [dialect for dialect, members in extras.items() if member in members]
    return _PATHS.get(member) or (f"extras.{origins[0]}.{member}" if origins else member)


def carry_extras(extras: Private, dialect: str, body: JsonObject, losses: Losses) -> None:
    """Members of the sister API that mean the same here go along; all others of other dialects are told as a loss."""
    for origin, members in extras.items():
        if origin != dialect:
            for name, value in visible(members).items():
                if origin in _DIALECTS and name in _SHARED_MEMBERS:
                    body[name] = value
                else:
                    losses.add("extra_dropped", f"extras.{origin}.{name}", f"Only {origin} knows this member.")


def effort_of(budget: int) -> str:
    """The effort for a budget of thought in tokens; a negative one leaves it to the model, which is the middle."""
    if budget <= 0:
        return "none" if budget == 0 else "medium"
    return "low" if budget <= 4096 else "medium" if budget <= 16_384 else "high"
