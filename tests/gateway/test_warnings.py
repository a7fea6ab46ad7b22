"""`x-groundwire-warnings`: what could not be sent is named in the same way, whether an answer is whole or streamed."""

import httpx2 as httpx
import pytest

from groundwire.contracts.replies import ReplyStarted, ReplyTextDelta, WireWarning
from groundwire.gateway.asking import early_warnings

ASK = {"messages": [{"role": "user", "content": "Hi"}], "seed": 4}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("model", "warnings"), [("", "option_dropped sampling.seed"), ("sim", "simulated model")])
async def test_what_could_not_be_sent_is_named_in_a_header(gateway, stream, model, warnings):
    async with gateway("Hello.", upstream="anthropic") as running, httpx.AsyncClient(timeout=30) as client:
        answer = await client.post(
            f"{running.openai_url}/chat/completions", json={**ASK, "model": model or running.model, "stream": stream}
        )
    assert (answer.status_code, answer.headers["x-groundwire-warnings"]) == (200, warnings)


async def test_a_relayed_stream_names_them_too(gateway):
    async with gateway("Hello.", upstream="anthropic") as running, httpx.AsyncClient(timeout=30) as client:
        contents = [{"role": "user", "parts": [{"text": "Hi"}]}]
        answer = await client.post(
            f"{running.url}/relay/desk/v1beta/models/{running.model}:streamGenerateContent?alt=sse",
            json={"contents": contents, "generationConfig": {"seed": 4}},
        )
    assert (answer.status_code, answer.headers["x-groundwire-warnings"]) == (200, "option_dropped sampling.seed")


def test_a_stream_without_warnings_has_no_such_header():
    warning = WireWarning(code="option_dropped", path="sampling.seed", message="It has none.")
    assert early_warnings([]) == []
    assert early_warnings([ReplyStarted()]) == []
    assert early_warnings([ReplyTextDelta(index=0, text="Hi")]) == []
    assert early_warnings([ReplyStarted(warnings=(warning,))]) == [
        ("x-groundwire-warnings", "option_dropped sampling.seed")
    ]
