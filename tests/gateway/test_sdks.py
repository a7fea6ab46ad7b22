"""The official SDKs through the gateway to every upstream dialect: two turns, two calls at once, private data intact."""

import asyncio
import contextlib

import anthropic
import openai
import pytest
from google import genai
from google.genai import types

from tests.gateway.conversation import CITIES, SCRIPT, assert_private_data_came_back, both, upstreams

LIMIT = 30
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


@contextlib.asynccontextmanager
async def openai_client(running):
    async with openai.AsyncOpenAI(base_url=running.openai_url, api_key="k", max_retries=0) as client:
        async with asyncio.timeout(LIMIT):
            yield client


async def chat_step(client, model, messages, *, stream):
    tools = [{"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA, "strict": True}}]
    options = {"model": model, "messages": messages, "tools": tools, "reasoning_effort": "low"}
    if stream:
        async with client.chat.completions.stream(**options) as events:
            completion = await events.get_final_completion()
    else:
        completion = await client.chat.completions.create(**options)
    message = completion.choices[0].message
    # As most frameworks send it back: what the API documents, and nothing else.
    said = {"role": "assistant", "content": message.content}
    calls = message.tool_calls or []
    if calls:
        functions = [{"name": call.function.name, "arguments": call.function.arguments} for call in calls]
        said["tool_calls"] = [
            {"id": call.id, "type": "function", "function": function}
            for call, function in zip(calls, functions, strict=True)
        ]
    messages.append(said)
    messages.extend({"role": "tool", "tool_call_id": call.id, "content": "sunny"} for call in calls)
    return completion.choices[0]


@both
@upstreams
@pytest.mark.requirement("C-033", "E-017", "X-18")
async def test_openai_chat_completes_a_tool_conversation_at_every_upstream(gateway, upstream, stream):
    async with gateway(*SCRIPT, upstream=upstream) as running, openai_client(running) as client:
        messages = [{"role": "user", "content": "How is the weather?"}]
        one = await chat_step(client, running.model, messages, stream=stream)
        two = await chat_step(client, running.model, messages, stream=stream)
        messages.append({"role": "user", "content": "Thanks."})
        three = await chat_step(client, running.model, messages, stream=stream)
    assert [call.function.arguments for call in one.message.tool_calls] == ['{"city":"Tokyo"}', '{"city":"Oslo"}']
    assert (one.message.content, one.finish_reason) == ("Let me see.", "tool_calls")
    assert (two.message.content, two.finish_reason) == ("Sunny everywhere.", "stop")
    assert three.message.content == "You are welcome."
    assert_private_data_came_back(running.upstream.requests[1].body, upstream)


async def responses_step(client, model, items, *, stream, **more):
    tools = [{"type": "function", "name": "get_weather", "parameters": SCHEMA, "strict": True}]
    options = {"model": model, "input": items, "tools": tools, "reasoning": {"effort": "low"}, **more}
    if stream:
        async with client.responses.stream(**options) as events:
            async for _ in events:
                pass
            response = await events.get_final_response()
    else:
        response = await client.responses.create(**options)
    calls = [item for item in response.output if item.type == "function_call"]
    return response, [{"type": "function_call_output", "call_id": call.call_id, "output": "sunny"} for call in calls]


@both
@upstreams
@pytest.mark.requirement("E-013", "E-017", "E-029", "E-031")
async def test_openai_responses_completes_a_tool_conversation_at_every_upstream(gateway, upstream, stream):
    async with gateway(*SCRIPT, upstream=upstream) as running, openai_client(running) as client:
        one, results = await responses_step(client, running.model, "How is the weather?", stream=stream)
        two, _ = await responses_step(client, running.model, results, stream=stream, previous_response_id=one.id)
        three, _ = await responses_step(client, running.model, "Thanks.", stream=stream, previous_response_id=two.id)
    assert [item.arguments for item in one.output if item.type == "function_call"] == [
        '{"city":"Tokyo"}', '{"city":"Oslo"}',
    ]  # fmt: skip
    assert (two.output_text, two.status, three.output_text) == ("Sunny everywhere.", "completed", "You are welcome.")
    assert two.previous_response_id == one.id
    assert_private_data_came_back(running.upstream.requests[1].body, upstream)


@both
@upstreams
async def test_openai_responses_that_are_not_kept_go_on_by_their_items(gateway, upstream, stream):
    async with gateway(*SCRIPT, upstream=upstream) as running, openai_client(running) as client:
        items = [{"role": "user", "content": "How is the weather?"}]
        one, results = await responses_step(client, running.model, items, stream=stream, store=False)
        items += [item.model_dump(exclude_none=True, exclude={"parsed_arguments": True}) for item in one.output]
        for item in items:
            for part in item["content"] if item.get("type") == "message" else ():
                part.pop("parsed", None)
        items += results
        two, _ = await responses_step(client, running.model, items, stream=stream, store=False)
    assert two.output_text == "Sunny everywhere."
    assert_private_data_came_back(running.upstream.requests[1].body, upstream)


@both
@upstreams
async def test_anthropic_completes_a_tool_conversation_at_every_upstream(gateway, upstream, stream):
    tools = [{"name": "get_weather", "input_schema": SCHEMA}]
    messages = [{"role": "user", "content": "How is the weather?"}]

    async def step(client, model):
        thinking = {"type": "enabled", "budget_tokens": 2048}
        options = {"model": model, "max_tokens": 4096, "messages": messages, "tools": tools, "thinking": thinking}
        if stream:
            async with client.messages.stream(**options) as events:
                message = await events.get_final_message()
        else:
            message = await client.messages.create(**options)
        messages.append({"role": "assistant", "content": message.content})
        calls = [block for block in message.content if block.type == "tool_use"]
        results = [{"type": "tool_result", "tool_use_id": block.id, "content": "sunny"} for block in calls]
        messages.append({"role": "user", "content": results or "Thanks."})
        return message

    async with gateway(*SCRIPT, upstream=upstream) as running:
        options = {"base_url": running.anthropic_url, "api_key": "k", "max_retries": 0}
        async with anthropic.AsyncAnthropic(**options) as client, asyncio.timeout(LIMIT):
            one, two, three = [await step(client, running.model) for _ in range(3)]
    assert [block.input for block in one.content if block.type == "tool_use"] == [{"city": city} for city in CITIES]
    assert (one.stop_reason, two.content[-1].text, two.stop_reason) == ("tool_use", "Sunny everywhere.", "end_turn")
    assert three.content[-1].text == "You are welcome."
    assert_private_data_came_back(running.upstream.requests[1].body, upstream)


@both
@upstreams
async def test_google_genai_completes_a_tool_conversation_at_every_upstream(gateway, upstream, stream):
    declaration = types.FunctionDeclaration(name="get_weather", parameters_json_schema=SCHEMA)
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=[declaration])],
        thinking_config=types.ThinkingConfig(thinking_level="LOW"),
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    contents = [types.Content(role="user", parts=[types.Part(text="How is the weather?")])]

    async def step(client, model):
        options = {"model": model, "contents": contents, "config": config}
        if stream:
            parts = []
            async for chunk in await client.models.generate_content_stream(**options):
                parts.extend(chunk.candidates[0].content.parts or [])
            content = types.Content(role="model", parts=parts)
        else:
            content = (await client.models.generate_content(**options)).candidates[0].content
        contents.append(content)
        calls = [part.function_call for part in content.parts if part.function_call is not None]
        answers = [types.FunctionResponse(id=call.id, name=call.name, response={"output": "sunny"}) for call in calls]
        results = [types.Part(function_response=answer) for answer in answers]
        contents.append(types.Content(role="user", parts=results or [types.Part(text="Thanks.")]))
        return content

    async with gateway(*SCRIPT, upstream=upstream) as running:
        client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=running.gemini_url))
        try:
            async with asyncio.timeout(LIMIT):
                one, two, three = [await step(client.aio, running.model) for _ in range(3)]
        finally:
            await client.aio.aclose()
            client.close()
    assert [part.function_call.args for part in one.parts if part.function_call] == [{"city": city} for city in CITIES]
    assert "".join(part.text or "" for part in two.parts if not part.thought) == "Sunny everywhere."
    assert "".join(part.text or "" for part in three.parts if not part.thought) == "You are welcome."
    assert_private_data_came_back(running.upstream.requests[1].body, upstream)
