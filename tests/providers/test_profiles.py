import pytest

from groundwire.providers.profiles import profile_of


@pytest.mark.parametrize(
    ("model", "limit"),
    [
        ("claude-sonnet-4-6", 32_000),
        ("claude-opus-4-1-20250805", 32_000),
        ("anthropic.claude-haiku-4-5", 32_000),
        ("claude-3-7-sonnet-latest", 32_000),
        ("claude-3-5-haiku-latest", 8192),
        ("claude-3-opus-20240229", 4096),
        ("claude-2.1", 4096),
        ("kimi-k2", 8192),
    ],
)
def test_a_request_without_a_limit_gets_one_that_every_model_of_the_family_takes(model, limit):
    assert profile_of("anthropic", "anthropic", model).default_max_tokens == limit


@pytest.mark.parametrize(
    ("provider", "model", "takes"),
    [("openai", "gpt-5.2", False), ("openai", "o3", False), ("openai", "gpt-4o", True), ("groq", "gpt-5.2", True)],
)
def test_the_older_name_of_the_limit_is_refused_by_openais_reasoning_models_alone(provider, model, takes):
    assert profile_of("openai-chat", provider, model).takes_max_tokens is takes
