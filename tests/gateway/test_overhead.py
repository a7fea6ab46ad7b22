"""The header that says what the gateway has taken by itself: all that passed, less what the provider took."""

import asyncio
from time import perf_counter_ns

import httpx2 as httpx
import pytest

from tests.gateway.conversation import both
from tests.gateway.raw_upstream import gateway_before_raw

NAME = "x-groundwire-overhead-us"
ANSWER = b'{"id":"r","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi."},"finish_reason":"stop"}]}'
PIECE = b'data: {"id":"r","choices":[{"index":0,"delta":{"content":"Hi."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
HELLO = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 9}
DOORS = {
    "passed on": ("/v1/chat/completions", {**HELLO, "model": "alias"}),
    "translated": ("/v1/messages", {**HELLO, "model": "alias"}),
    "kept": ("/v1/responses", {"model": "alias", "input": "hi"}),
    "relayed": ("/relay/s1/v1beta/models/alias:{}", {"contents": [{"parts": [{"text": "hi"}]}]}),
}


async def held(running, path, body, *, stream, meanwhile=None):
    """What the header says, and the most that it may say: the client's time less the provider's, in microseconds."""
    path = path.format("streamGenerateContent?alt=sse" if stream else "generateContent")
    body = body if path.startswith("/relay") else {**body, "stream": stream}
    began = perf_counter_ns()
    async with httpx.AsyncClient(base_url=running.url, timeout=30) as client:
        asking = asyncio.create_task(client.post(path, json=body))
        call = await running.upstream.next_call()
        came = perf_counter_ns()
        if meanwhile is not None:
            await meanwhile
        provider = perf_counter_ns() - came
        if stream:
            await call.begin_stream()
            await call.chunk(PIECE)
            await call.end_stream()
        else:
            await call.answer(200, ANSWER)
        answer = await asking
    assert answer.status_code == 200, answer.text
    return int(answer.headers[NAME]), (perf_counter_ns() - began - provider) // 1000


@both
@pytest.mark.parametrize("door", DOORS)
async def test_what_the_provider_takes_is_not_in_it_however_others_are_served_meanwhile(door, stream):
    async with gateway_before_raw("openai-chat") as running:
        others = held(running, *DOORS["translated"], stream=False)
        said, most = await held(running, *DOORS[door], stream=stream, meanwhile=others)
    assert 0 < said <= most
