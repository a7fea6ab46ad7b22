"""The members that a body may have at its top, and the words for any other. As of the vendors' SDKs of November 2026."""

from collections.abc import Iterator

from groundwire.contracts.failures import Failure
from groundwire.simulator.refusals import Asked, Rule, refuse

_OPENAI = frozenset({
    "metadata", "model", "moderation", "parallel_tool_calls", "prompt_cache_key", "prompt_cache_options",
    "prompt_cache_retention", "safety_identifier", "service_tier", "store", "stream", "stream_options", "temperature",
    "tool_choice", "tools", "top_logprobs", "top_p", "user",
})  # fmt: skip
CHAT = _OPENAI | {
    "audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs", "max_completion_tokens",
    "max_tokens", "messages", "modalities", "n", "prediction", "presence_penalty", "reasoning_effort",
    "response_format", "seed", "stop", "verbosity", "web_search_options",
}  # fmt: skip
RESPONSES = _OPENAI | {
    "access_programs", "background", "client_metadata", "context_management", "conversation", "image", "include", "input",
    "instructions", "max_output_tokens", "max_tool_calls", "previous_response_id", "prompt", "reasoning", "text",
    "truncation",
}  # fmt: skip
ANTHROPIC = frozenset({
    "cache_control", "compaction", "container", "context_management", "diagnostics", "fallback_credit_token",
    "fallbacks", "inference_geo", "max_tokens", "mcp_servers", "messages", "metadata", "model", "output_config",
    "output_format", "service_tier", "speed", "stop_sequences", "stream", "system", "temperature", "thinking", "thread",
    "tool_choice", "tools", "top_k", "top_p", "user_profile_id", "workspace_id",
})  # fmt: skip


def unknown_parameters(known: frozenset[str]) -> Rule:
    """As both OpenAI APIs refuse them."""

    def rule(asked: Asked) -> Iterator[Failure]:
        for name in asked.body:
            if name not in known:
                yield refuse(f"Unknown parameter: '{name}'.", param=name, code="unknown_parameter")

    return rule


def extra_inputs(known: frozenset[str]) -> Rule:
    """As Anthropic refuses them."""

    def rule(asked: Asked) -> Iterator[Failure]:
        for name in asked.body:
            if name not in known:
                yield refuse(f"{name}: Extra inputs are not permitted")

    return rule
