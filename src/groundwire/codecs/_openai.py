"""What OpenAI's two APIs call by the same name and mean the same by, so that it is no loss between them."""

OPENAI_DIALECTS = frozenset({"openai-chat", "openai-responses"})
SHARED_MEMBERS = frozenset(
    {"metadata", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "service_tier", "store", "user"}
)
