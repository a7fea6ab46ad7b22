"""Tools of the server: named in a request, carried out here, under every guarantee, beside the caller's own."""

import asyncio

import httpx2 as httpx
import openai
import pytest

from groundwire import Registry, tool
from groundwire.testing import Answer, Ask

THEIRS = {
    "type": "function",
    "function": {"name": "local_time", "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}}},
}
OURS = {"type": "groundwire", "name": "kb_*"}
MIXED = (
    Answer(calls=(Ask("kb_search", {"query": "refunds"}),)),
    Answer("Let me see.", calls=(Ask("kb_read", {"page": 7}), Ask("local_time", {"zone": "UTC"}))),
    Answer("Within 30 days; it is noon."),
)


def knowledge():
    asked = []

    @tool(category="retrieval")
    async def kb_search(query: str) -> dict:
        """Search."""
        asked.append(query)
        return {"pages": [7]}

    @tool(category="retrieval")
    async def kb_read(page: int) -> dict:
        """Read a page."""
        asked.append(page)
        return {"text": "Refunds within 30 days."}

    @tool(category="action", exposure="internal")
    async def kb_wipe() -> dict:
        """Delete everything."""
        asked.append("wiped")
        return {}

    return Registry([kb_search, kb_read, kb_wipe]), asked


def client_of(running):
    return openai.AsyncOpenAI(base_url=running.openai_url, api_key="k", max_retries=0)


async def ask(client, model, messages, tools, *, stream, **more):
    options = {"model": model, "messages": messages, "tools": tools, **more}
    if not stream:
        return (await client.chat.completions.create(**options)).choices[0]
    events = await client.chat.completions.create(**options, stream=True)
    content, calls, reason = "", {}, None
    async for chunk in events:
        for choice in chunk.choices:
            content += choice.delta.content or ""
            reason = choice.finish_reason or reason
            for piece in choice.delta.tool_calls or ():
                call = calls.setdefault(piece.index, piece)
                if call is not piece:
                    call.function.arguments += piece.function.arguments or ""
    message = openai.types.chat.ChatCompletionMessage.model_construct(content=content, tool_calls=list(calls.values()))
    return openai.types.chat.chat_completion.Choice.model_construct(message=message, finish_reason=reason)


both = pytest.mark.parametrize("stream", [False, True], ids=["unary", "streamed"])


@both
@pytest.mark.parametrize("upstream", ["openai-chat", "gemini"])
async def test_our_calls_run_here_and_the_callers_are_handed_back_in_one_turn(gateway, upstream, stream):
    registry, asked = knowledge()
    async with gateway(*MIXED, upstream=upstream, registry=registry) as running, client_of(running) as client:
        messages = [{"role": "user", "content": "Can I send it back? And what time is it?"}]
        async with asyncio.timeout(30):
            one = await ask(client, running.model, messages, [OURS, THEIRS], stream=stream)
            call = one.message.tool_calls[0]
            function = {"name": call.function.name, "arguments": call.function.arguments}
            said = {"id": call.id, "type": "function", "function": function}
            messages.append({"role": "assistant", "content": one.message.content, "tool_calls": [said]})
            messages.append({"role": "tool", "tool_call_id": call.id, "content": "noon"})
            two = await ask(client, running.model, messages, [OURS, THEIRS], stream=stream)
    assert (one.finish_reason, one.message.content) == ("tool_calls", "Let me see.")
    assert [call.function.name for call in one.message.tool_calls] == ["local_time"]
    assert asked == ["refunds", 7]
    assert (two.message.content, two.finish_reason) == ("Within 30 days; it is noon.", "stop")
    last = running.upstream.requests[-1].body
    if upstream == "openai-chat":
        assert [message["role"] for message in last["messages"] if message["role"] != "system"] == [
            "user", "assistant", "tool", "assistant", "tool", "tool",
        ]  # fmt: skip
        assert [message["content"] for message in last["messages"] if message["role"] == "tool"][-1] == "noon"
    else:
        names = [
            part["functionCall"]["name"]
            for turn in last["contents"]
            for part in turn["parts"]
            if "functionCall" in part
        ]
        assert names == ["kb_search", "kb_read", "local_time"]


async def test_a_header_names_tools_too(gateway):
    registry, asked = knowledge()
    script = (Answer(calls=(Ask("kb_search", {"query": "refunds"}),)), Answer("Within 30 days."))
    async with gateway(*script, registry=registry) as running, client_of(running) as client:
        answer = await client.chat.completions.create(
            model=running.model,
            messages=[{"role": "user", "content": "Can I send it back?"}],
            extra_headers={"x-groundwire-tools": "kb_search"},
        )
    assert (answer.choices[0].message.content, asked) == ("Within 30 days.", ["refunds"])


@pytest.mark.parametrize("length", [256, 257])
async def test_a_session_that_cannot_be_one_is_a_wrong_request(gateway, length):
    registry, _ = knowledge()
    headers = {"x-groundwire-tools": "kb_*", "x-groundwire-session-id": "s" * length}
    async with gateway(Answer("Hello."), registry=registry) as running, client_of(running) as client:
        asking = client.chat.completions.create(
            model=running.model, messages=[{"role": "user", "content": "Hi"}], extra_headers=headers
        )
        if length == 256:
            assert (await asking).choices[0].message.content == "Hello."
            return
        with pytest.raises(openai.BadRequestError) as refused:
            await asking
    assert refused.value.param == "x-groundwire-session-id"


async def test_a_session_that_cannot_be_read_is_a_wrong_request(gateway):
    registry, _ = knowledge()
    headers = {"x-groundwire-tools": "kb_*", "x-groundwire-session-id": "séance".encode()}
    async with gateway(Answer("Hello."), registry=registry) as running, httpx.AsyncClient() as client:
        body = {"model": running.model, "messages": [{"role": "user", "content": "Hi"}]}
        answer = await client.post(f"{running.url}/v1/chat/completions", json=body, headers=headers)
        assert running.upstream.requests == []
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "x-groundwire-session-id")


async def test_a_hidden_tool_cannot_be_named(gateway):
    registry, asked = knowledge()
    async with gateway(Answer("I cannot."), registry=registry) as running, client_of(running) as client:
        with pytest.raises(openai.BadRequestError, match="there is no tool 'kb_wipe' on this server"):
            await ask(client, running.model, [{"role": "user", "content": "Wipe."}], [{"type": "groundwire", "name": "kb_wipe"}], stream=False)  # fmt: skip
        await ask(client, running.model, [{"role": "user", "content": "Wipe."}], [OURS], stream=False)
    offered = running.upstream.requests[-1].body["tools"]
    assert ([each["function"]["name"] for each in offered], asked) == (["kb_read", "kb_search"], [])


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ({"messages": []}, "there is nothing to ask"),
        ({"tool_choice": {"type": "function", "function": {"name": ""}}}, "names no tool"),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": 7}}}},
            "The schema of the answer is wrong at type",
        ),
    ],
)
@both
async def test_what_no_run_can_be_told_is_the_requests_mistake(gateway, body, fault, stream):
    registry, asked = knowledge()
    said = {"messages": [{"role": "user", "content": "hi"}], "stream": stream, **body}
    async with gateway("Hello.", registry=registry) as running, httpx.AsyncClient(base_url=running.url) as client:
        answer = await client.post(
            "/v1/chat/completions",
            json={"model": running.model, **said},
            headers={"x-groundwire-tools": "kb_search"},
        )
        assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")
        assert fault in answer.json()["error"]["message"]
        assert (running.upstream.requests, asked) == ([], [])


async def test_a_conversation_remembers_what_our_tools_did(gateway):
    registry, _ = knowledge()
    script = (Answer(calls=(Ask("kb_search", {"query": "refunds"}),)), Answer("Within 30 days."), Answer("Yes."))
    async with gateway(*script, registry=registry) as running, client_of(running) as client:
        one = await client.responses.create(model=running.model, input="Can I send it back?", tools=[OURS])
        await client.responses.create(model=running.model, input="Sure?", previous_response_id=one.id)
    assert [item.type for item in one.output] == ["message"]
    roles = [message["role"] for message in running.upstream.requests[-1].body["messages"]]
    assert [role for role in roles if role != "system"] == ["user", "assistant", "tool", "assistant", "user"]


WHERE = {"type": "object", "properties": {"query": {"type": "string"}}}
CLASHES = {
    "/v1/chat/completions": {
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [OURS, THEIRS, {"type": "function", "function": {"name": "kb_search", "parameters": WHERE}}],
    },
    "/v1/responses": {
        "input": "hi",
        "tools": [OURS, {"type": "function", "name": "kb_search", "parameters": WHERE}],
    },
    "/v1/messages": {
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [OURS, {"name": "kb_search", "input_schema": WHERE}],
    },
    "/v1beta/models/openai/gpt-5.2:generateContent": {
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "tools": [{"groundwire": {"name": "kb_*"}}, {"functionDeclarations": [{"name": "kb_search"}]}],
    },
}


@pytest.mark.parametrize("path", CLASHES)
async def test_a_callers_tool_with_the_name_of_one_of_ours_is_refused_by_its_name(gateway, path):
    registry, asked = knowledge()
    async with (
        gateway("Hello.", registry=registry) as running,
        httpx.AsyncClient(base_url=running.url, headers={"anthropic-version": "2023-06-01"}) as client,
    ):
        named = {} if "generateContent" in path else {"model": running.model}
        refused = await client.post(path, json={**CLASHES[path], **named})
        told = {**CLASHES[path], **named, "tools": CLASHES[path]["tools"][:1]}
        alone = await client.post(path, json=told)
        assert len(running.upstream.requests) == 1
    assert (refused.status_code, "kb_search" in refused.text, alone.status_code) == (400, True, 200)
    assert asked == []
