"""The conversation that every client has with every upstream: two calls at once, their results, and a word of thanks."""

import pytest

from groundwire.testing import Answer, Ask

CITIES = ["Tokyo", "Oslo"]
SCRIPT = (
    Answer("Let me see.", reasoning="Two are wanted.", calls=tuple(Ask("get_weather", {"city": c}) for c in CITIES)),
    Answer("Sunny everywhere."),
    Answer("You are welcome."),
)
both = pytest.mark.parametrize("stream", [False, True], ids=["unary", "streamed"])
upstreams = pytest.mark.parametrize("upstream", ["openai-chat", "openai-responses", "anthropic", "gemini"])


def assert_private_data_came_back(body, upstream):
    """The second request at the provider holds what only the provider can have made."""
    if upstream == "gemini":
        parts = [part for content in body["contents"] for part in content["parts"] if "functionCall" in part]
        assert parts[0]["thoughtSignature"] not in ("", "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=")
    elif upstream == "anthropic":
        blocks = [block for message in body["messages"] for block in message["content"] if isinstance(block, dict)]
        assert next(block for block in blocks if block["type"] == "thinking")["signature"]
    elif upstream == "openai-responses":
        assert next(item for item in body["input"] if item.get("type") == "reasoning")["encrypted_content"]
