"""Models that do not do as they were told, behind the gateway: what came of it is said, and nothing is done unasked."""

import asyncio

import httpx2 as httpx
import pytest

from groundwire.testing import Answer, Ask, Fault, FaultKind, ModelFaults
from tests.gateway.conversation import both
from tests.gateway.raw_upstream import gateway_before_raw
from tests.gateway.test_server_tools import knowledge

OURS = {"type": "groundwire", "name": "kb_*"}
THEIRS = {"type": "function", "function": {"name": "local_time", "parameters": {"type": "object", "properties": {}}}}
SEARCH = Answer(calls=(Ask("kb_search", {"query": "refunds"}),))


async def chat(running, tools, **more):
    body = {"model": running.model, "messages": [{"role": "user", "content": "hi"}], "tools": tools, **more}
    async with httpx.AsyncClient(base_url=running.url, timeout=30) as client:
        return await client.post("/v1/chat/completions", json=body)


@pytest.mark.quirk(15)
async def test_a_tool_of_the_server_that_is_called_although_none_may_be_is_not_run(gateway):
    registry, asked = knowledge()
    unasked = Answer(calls=(Ask("kb_search", {"query": "refunds"}, offered=False),))
    async with gateway(unasked, Answer("I cannot look that up."), registry=registry) as running:
        answer = await chat(running, [OURS], tool_choice="none")
    assert answer.status_code == 200, answer.text
    assert (answer.json()["choices"][0]["message"]["content"], asked) == ("I cannot look that up.", [])


@pytest.mark.quirk(15)
async def test_a_clients_tool_that_is_called_although_none_may_be_is_told_as_what_it_is(gateway):
    async with gateway(Answer(calls=(Ask("local_time", {}),)), upstream="gemini") as running:
        (choice,) = (await chat(running, [THEIRS], tool_choice="none")).json()["choices"]
    assert (choice["finish_reason"], choice["message"]["content"]) == ("tool_calls", None)
    assert [call["function"]["name"] for call in choice["message"]["tool_calls"]] == ["local_time"]


@both
@pytest.mark.quirk(15)
@pytest.mark.quirk(74)
async def test_words_where_a_tool_had_to_be_used_are_an_error_that_says_so(gateway, stream):
    registry, asked = knowledge()
    async with gateway("Refunds? Surely.", registry=registry) as running:
        answer = await chat(running, [OURS], tool_choice="required", stream=stream)
        asked_for = running.upstream.requests[0].body["tool_choice"]
    assert (asked_for, asked) == ("required", [])
    assert answer.status_code == (200 if stream else 502)
    assert "the model did not use a tool, as it had to" in answer.text
    assert "no_tool_call" in answer.text


@pytest.mark.quirk(15)
async def test_a_tool_that_had_to_be_used_and_was_is_followed_by_words(gateway):
    registry, asked = knowledge()
    async with gateway(SEARCH, "Within 30 days.", registry=registry) as running:
        answer = await chat(running, [OURS], tool_choice="required")
    assert (answer.json()["choices"][0]["message"]["content"], asked) == ("Within 30 days.", ["refunds"])


@pytest.mark.quirk(34)
@pytest.mark.parametrize("upstream", ["gemini", "anthropic"])
async def test_an_empty_answer_after_a_result_is_asked_for_again(gateway, upstream):
    registry, asked = knowledge()
    faults = ModelFaults(at={1: Fault(kind=FaultKind.EMPTY)})
    async with gateway(SEARCH, "Within 30 days.", registry=registry, faults=faults, upstream=upstream) as running:
        answer = await chat(running, [OURS])
    assert answer.json()["choices"][0]["message"]["content"] == "Within 30 days."
    assert (asked, len(running.upstream.requests)) == (["refunds"], 3)


@pytest.mark.quirk(34)
@pytest.mark.parametrize("upstream", ["gemini", "anthropic"])
async def test_answers_that_stay_empty_are_asked_for_so_often_and_then_told(gateway, upstream):
    registry, asked = knowledge()
    faults = ModelFaults(at={place: Fault(kind=FaultKind.EMPTY) for place in range(1, 9)})
    async with gateway(SEARCH, *["x"] * 8, registry=registry, faults=faults, upstream=upstream) as running:
        answer = await chat(running, [OURS])
    assert answer.json()["choices"][0]["message"]["content"] == "The model gave no answer."
    assert (asked, len(running.upstream.requests)) == (["refunds"], 4)


@pytest.mark.quirk(55)
async def test_a_provider_that_only_says_that_it_is_still_there_is_heard_at_once():
    ping = b": still thinking\n\n"
    body = {"model": "alias", "messages": [{"role": "user", "content": "hi"}], "stream": True}
    heard: asyncio.Queue[bytes] = asyncio.Queue()

    async def listen(running):
        async with (
            httpx.AsyncClient(base_url=running.url) as client,
            client.stream("POST", "/v1/chat/completions", json=body) as answer,
        ):
            async for chunk in answer.aiter_raw():
                heard.put_nowait(chunk)

    async with asyncio.timeout(20), gateway_before_raw("openai-chat") as running:
        listening = asyncio.create_task(listen(running))
        call = await running.upstream.next_call()
        await call.begin_stream()
        for _ in range(2):
            await call.chunk(ping)
            assert await heard.get() == ping
        await call.chunk(b"data: [DONE]\n\n")
        await call.end_stream()
        await listening
