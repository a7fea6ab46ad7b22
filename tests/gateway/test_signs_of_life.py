"""Streams that say nothing for a while: a sign of life keeps the connection, and no client reads more than the answer."""

import anthropic
import httpx2 as httpx
import openai
import pytest

from groundwire.contracts.servers import ServerSettings
from groundwire.testing import Fault, FaultKind, ModelFaults, ScriptedModel

SILENCE, BEAT = 0.2, 0.05
QUICK = ServerSettings(keep_alive_seconds=BEAT)
OFF = ServerSettings(keep_alive_seconds=0)


def slow():
    """A model with a silence after every piece."""
    drip = Fault(kind=FaultKind.SLOW_DRIP, pause=SILENCE)
    return ScriptedModel("One two three.", faults=ModelFaults(rate=1.0, faults=[drip]))


REQUESTS = {
    "openai-chat": ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}]}, b": keep-alive\n\n"),
    "openai-responses": ("/v1/responses", {"input": "Hi"}, b": keep-alive\n\n"),
    "anthropic": (
        "/v1/messages",
        {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 50},
        b'event: ping\ndata: {"type":"ping"}\n\n',
    ),
}


async def streamed(running, dialect):
    path, body, sign = REQUESTS[dialect]
    async with httpx.AsyncClient(timeout=30) as http:
        answer = await http.post(f"{running.url}{path}", json={"model": running.model, "stream": True, **body})
    assert answer.status_code == 200
    return answer.content.count(sign)


@pytest.mark.quirk(55)
@pytest.mark.parametrize("dialect", REQUESTS)
async def test_a_translated_stream_gives_signs_of_life_while_its_provider_is_silent(gateway, dialect):
    async with gateway(model=slow(), upstream="gemini", server=QUICK) as running:
        assert await streamed(running, dialect) >= 2


@pytest.mark.parametrize("dialect", REQUESTS)
async def test_signs_of_life_can_be_switched_off(gateway, dialect):
    async with gateway(model=slow(), upstream="gemini", server=OFF) as running:
        assert await streamed(running, dialect) == 0


async def test_gemini_s_clients_get_none_because_they_would_take_it_for_an_answer(gateway):
    async with gateway(model=slow(), upstream="openai-chat", server=QUICK) as running:
        contents = [{"role": "user", "parts": [{"text": "Hi"}]}]
        async with httpx.AsyncClient(timeout=30) as http:
            path = f"/v1beta/models/{running.model}:streamGenerateContent?alt=sse"
            answer = await http.post(f"{running.url}{path}", json={"contents": contents})
    assert {line[:5] for line in answer.text.splitlines() if line} == {"data:"}


async def test_openai_s_client_reads_the_answer_and_nothing_else(gateway):
    async with (
        gateway(model=slow(), upstream="gemini", server=QUICK) as running,
        openai.AsyncOpenAI(base_url=running.openai_url, api_key="k") as client,
    ):
        events = await client.chat.completions.create(
            model=running.model, messages=[{"role": "user", "content": "Hi"}], stream=True
        )
        chunks = [chunk async for chunk in events]
    words = [choice.delta.content or "" for chunk in chunks for choice in chunk.choices]
    assert "".join(words) == "One two three."


async def test_anthropic_s_client_reads_the_answer_and_nothing_else(gateway):
    async with (
        gateway(model=slow(), upstream="gemini", server=QUICK) as running,
        anthropic.AsyncAnthropic(base_url=running.anthropic_url, api_key="k") as client,
    ):
        wanted = {"model": running.model, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 50}
        async with client.messages.stream(**wanted) as stream:
            message = await stream.get_final_message()
    assert message.content[0].text == "One two three."
