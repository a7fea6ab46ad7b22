"""Where client and provider speak one dialect: bytes go through as they are, as they come, and no longer than wanted."""

import asyncio
import json

import httpx2 as httpx
import pytest

from tests.gateway.raw_upstream import LIMIT, gateway_before_raw

PATHS = {
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/alias:generateContent",
}
STREAM_PATHS = {**PATHS, "gemini": "/v1beta/models/alias:streamGenerateContent?alt=sse"}
BODIES = {
    "openai-chat": {"model": "alias", "messages": [{"role": "user", "content": "Hi"}]},
    "openai-responses": {"model": "alias", "input": "Hi", "store": False},
    "anthropic": {"model": "alias", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
}
FIRST_PIECES = {
    "openai-chat": {"id": "c", "model": "m", "choices": [{"index": 0, "delta": {"content": "Hel"}}]},
    "openai-responses": {"type": "response.output_text.delta", "item_id": "i", "output_index": 0, "delta": "Hel"},
    "anthropic": {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hel"}},
    "gemini": {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hel"}]}}]},
}
dialects = pytest.mark.parametrize("dialect", list(PATHS))


def stream_body(dialect):
    return BODIES[dialect] if dialect == "gemini" else {**BODIES[dialect], "stream": True}


async def post(running, path, content, **headers):
    async with httpx.AsyncClient(base_url=running.url, timeout=LIMIT) as client:
        return await client.post(path, content=content, headers=headers)


@dialects
async def test_fields_that_nobody_knows_survive_in_both_directions(dialect):
    sent = json.dumps({**BODIES[dialect], "novelty": {"of": [1.0, 1e400, "é"]}}).replace("Infinity", "1e400")
    answer = b'{ "novelty":1.50,  "more" : [null] }'
    async with gateway_before_raw(dialect) as running:
        asking = asyncio.ensure_future(post(running, PATHS[dialect], sent))
        call = await running.upstream.next_call()
        await call.answer(200, answer)
        got = await asking
    assert got.content == answer
    assert json.loads(call.body)["novelty"] == json.loads(sent)["novelty"]
    assert b"1e400" in call.body


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic"])
async def test_an_alias_is_replaced_in_the_models_name_and_nowhere_else(dialect):
    sent = json.dumps({**BODIES[dialect], "metadata": {"model": "alias"}, "temperature": 1.0}, separators=(",", ":"))
    async with gateway_before_raw(dialect) as running:
        asking = asyncio.ensure_future(post(running, PATHS[dialect], sent))
        call = await running.upstream.next_call()
        await call.answer(200, b"{}")
        await asking
    assert call.body.decode() == sent.replace('"model":"alias"', '"model":"real"', 1)


@dialects
async def test_a_streams_pieces_arrive_before_the_next_ones_are_made(dialect):
    one, two = b'data: {"n":1}\n\n', b'data: {"n":2}\n\n: a comment\n\n'
    async with (
        asyncio.timeout(LIMIT),
        gateway_before_raw(dialect) as running,
        httpx.AsyncClient(base_url=running.url) as client,
    ):
        opened = client.stream("POST", STREAM_PATHS[dialect], json=stream_body(dialect))
        asking = asyncio.ensure_future(opened.__aenter__())
        call = await running.upstream.next_call()
        await call.begin_stream()
        await call.chunk(one)
        answer = await asking
        pieces = answer.aiter_raw()
        assert await anext(pieces) == one
        await call.chunk(two)
        assert await anext(pieces) == two
        await call.end_stream()
        assert [piece async for piece in pieces] == []
        await opened.__aexit__(None, None, None)
    assert answer.headers["content-type"] == "text/event-stream"


async def test_beta_headers_reach_the_provider_and_credentials_of_the_client_do_not():
    headers = {
        "anthropic-beta": "context-management-2025-06-27,interleaved-thinking-2025-05-14",
        "anthropic-version": "2023-06-01",
        "x-api-key": "the-clients-own",
        "authorization": "Bearer the-clients-own",
    }
    async with gateway_before_raw("anthropic") as running:
        body = json.dumps(BODIES["anthropic"])
        asking = asyncio.ensure_future(post(running, "/v1/messages?beta=true", body, **headers))
        call = await running.upstream.next_call()
        await call.answer(200, b"{}")
        await asking
    assert "anthropic-beta: context-management-2025-06-27,interleaved-thinking-2025-05-14\r\n" in call.head
    assert "the-clients-own" not in call.head


@pytest.mark.parametrize(
    ("status", "error", "expected"),
    [
        (400, {"type": "invalid_request_error", "message": "max_tokens: too many"}, 400),
        (401, {"type": "authentication_error", "message": "bad key"}, 401),
        (404, {"type": "not_found_error", "message": "model: real"}, 404),
        (413, {"type": "request_too_large", "message": "too large"}, 413),
        (429, {"type": "rate_limit_error", "message": "slow down"}, 429),
        (500, {"type": "api_error", "message": "internal"}, 500),
        (529, {"type": "overloaded_error", "message": "Overloaded"}, 529),
    ],
)
@pytest.mark.parametrize("stream", [False, True], ids=["unary", "streamed"])
async def test_an_error_of_the_provider_keeps_its_status_its_type_and_its_words(status, error, expected, stream):
    async with gateway_before_raw("anthropic") as running:
        body = json.dumps({**BODIES["anthropic"], "stream": stream})
        asking = asyncio.ensure_future(post(running, "/v1/messages", body))
        call = await running.upstream.next_call()
        failed = json.dumps({"type": "error", "error": error}).encode()
        await call.answer(status, failed, **({"retry-after": "7"} if status == 429 else {}))
        got = await asking
    assert (got.status_code, got.json()["type"], got.json()["error"]) == (expected, "error", error)
    assert got.headers.get("retry-after") == ("7" if status == 429 else None)


@dialects
async def test_a_stream_that_breaks_off_ends_with_an_error_in_the_clients_dialect(dialect):
    async with gateway_before_raw(dialect) as running, asyncio.timeout(LIMIT):
        asking = asyncio.ensure_future(post(running, STREAM_PATHS[dialect], json.dumps(stream_body(dialect))))
        call = await running.upstream.next_call()
        await call.begin_stream()
        await call.chunk(b'data: {"n":1}\n\n')
        call.break_off()
        got = await asking
    events = [line[6:] for line in got.text.splitlines() if line.startswith("data: ")]
    assert events[0] == '{"n":1}'
    told = json.loads(events[1])
    told = told.get("error", told)
    assert told["message"] == "The connection broke before the answer was complete."


@pytest.mark.parametrize("upstream", list(PATHS))
@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
async def test_a_client_that_leaves_a_stream_ends_it_at_the_provider_too(dialect, upstream):
    async with gateway_before_raw(upstream) as running, asyncio.timeout(LIMIT):
        async with httpx.AsyncClient(base_url=running.url) as client:
            opened = client.stream("POST", PATHS[dialect], json=stream_body(dialect))
            asking = asyncio.ensure_future(opened.__aenter__())
            call = await running.upstream.next_call()
            await call.begin_stream()
            await call.chunk(b"data: %b\n\n" % json.dumps(FIRST_PIECES[upstream]).encode())
            await asking
            assert not call.gone.is_set()
            await opened.__aexit__(None, None, None)
        await call.gone.wait()


@pytest.mark.parametrize("upstream", list(PATHS))
@pytest.mark.parametrize("stream", [False, True], ids=["unary", "streamed"])
@dialects
async def test_a_client_that_leaves_before_an_answer_is_no_longer_worked_for_here_or_at_the_provider(
    dialect, upstream, stream
):
    body = stream_body(dialect) if stream else BODIES[dialect]
    async with gateway_before_raw(upstream) as running, asyncio.timeout(LIMIT):
        async with httpx.AsyncClient(base_url=running.url) as client:
            asking = asyncio.ensure_future(client.post(PATHS[dialect], json=body))
            call = await running.upstream.next_call()
            assert running.application.tally.in_flight == 1
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        await call.gone.wait()
        while running.application.tally.in_flight:  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(0)
