"""What OpenAI's two APIs call by the same name and mean the same by, so that it is no loss between them."""

OPENAI_DIALECTS = frozenset({"openai-chat", "openai-responses"})
SHARED_MEMBERS = frozenset(
    {"metadata", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "service_tier", "store", "user"}
)

EFFORTS = frozenset({"none", "minimal", "low", "medium", "high", "xhigh", "max"})


def effort_of(budget: int) -> str:
    """The effort for a budget of thought in tokens; a negative one leaves it to the model, which is the middle."""
    if budget <= 0:
        return "none" if budget == 0 else "medium"
    return "low" if budget <= 4096 else "medium" if budget <= 16_384 else "high"
