"""Bytes that go through as they are, and what becomes of them where the provider breaks off."""

import httpx2 as httpx
import openai
import pytest

from groundwire.testing import Fault, FaultKind, ModelFaults

CHAT = {"messages": [{"role": "user", "content": "hi"}]}


async def test_a_body_reaches_the_provider_as_it_was_but_for_the_models_name(gateway):
    body = {"user": "u1", "temperature": 1, **CHAT, "prompt_cache_key": "x", "model": "openai/gpt-5.2", "top_p": 1}
    async with gateway("Hello.") as running, httpx.AsyncClient(base_url=running.url) as client:
        answer = await client.post("/v1/chat/completions", json=body)
        sent = running.upstream.requests[-1].body
    assert answer.json()["choices"][0]["message"]["content"] == "Hello."
    assert list(sent.items()) == list({**body, "model": "gpt-5.2"}.items())


@pytest.mark.parametrize("at_byte", [300, 400, 500, 600])
async def test_a_stream_that_breaks_off_anywhere_ends_with_an_error_that_the_sdk_raises(gateway, at_byte):
    faults = ModelFaults(at={0: Fault(kind=FaultKind.CUT, at_byte=at_byte)})
    async with (
        gateway("Hello to all of you out there.", faults=faults) as running,
        openai.AsyncOpenAI(base_url=running.openai_url, api_key="k", max_retries=0) as client,
    ):
        events = await client.chat.completions.create(model=running.model, **CHAT, stream=True)
        with pytest.raises(openai.APIError, match="connection broke"):
            async for _ in events:
                pass
