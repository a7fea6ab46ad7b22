"""What OpenAI's two APIs call by the same name and mean the same by, so that it is no loss between them."""

from collections.abc import Mapping

from groundwire.contracts.canonical import JsonObject

OPENAI_DIALECTS = frozenset({"openai-chat", "openai-responses"})
SHARED_MEMBERS = frozenset(
    {"metadata", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "service_tier", "store", "user"}
)

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


def effort_of(budget: int) -> str:
    """The effort for a budget of thought in tokens; a negative one leaves it to the model, which is the middle."""
    if budget <= 0:
        return "none" if budget == 0 else "medium"
    return "low" if budget <= 4096 else "medium" if budget <= 16_384 else "high"
