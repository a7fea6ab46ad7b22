"""How much of the model's context window a session uses, counted before it overflows. Pure."""

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.ports import TokenEstimator

CONTEXT_WINDOW = 1_000_000
CONTEXT_ALERT = 0.9


def context_usage(estimator: TokenEstimator, *, system_prompt: str, declarations: str) -> JsonObject:
    """What a session costs before anybody has said a word."""
    prompt, tools = estimator.estimate(system_prompt), estimator.estimate(declarations)
    return {"sessionInitTokens": prompt + tools, "systemPromptTokens": prompt, "toolDeclTokens": tools}


def context_warning(used_tokens: int, window: int = CONTEXT_WINDOW) -> str | None:
    if used_tokens < window * CONTEXT_ALERT:
        return None
    return f"the context holds {used_tokens} tokens, {used_tokens / window:.0%} of the model's {window}"
