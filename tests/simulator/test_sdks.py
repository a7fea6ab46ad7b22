"""The official SDKs as clients: whole tool conversations against the simulator, with the SDKs' own objects replayed."""

import asyncio
import contextlib

import anthropic
import openai
import pytest
from google import genai
from google.genai import errors, live, types
from websockets.asyncio.client import connect

from groundwire.testing import Answer, Ask, Fault, FaultKind, ModelFaults, simulator

LIMIT = 30
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
CITIES = ["Tokyo", "Oslo"]
SCRIPT = (
    Answer("Let me see.", reasoning="The weather is wanted.", calls=(Ask("get_weather", {"city": "Tokyo"}),)),
    Answer(reasoning="Now two.", calls=tuple(Ask("get_weather", {"city": city}) for city in CITIES)),
    Answer("Sunny everywhere."),
    Answer("You are welcome."),
)
GPT, CLAUDE, GEMINI = "gpt-5.2", "claude-sonnet-4-6", "gemini-3-flash"
both = pytest.mark.parametrize("stream", [False, True], ids=["unary", "streamed"])


@contextlib.asynccontextmanager
async def openai_client(running, key="k"):
    async with openai.AsyncOpenAI(base_url=running.openai_url, api_key=key, max_retries=0) as client:
        async with asyncio.timeout(LIMIT):
            yield client


@contextlib.asynccontextmanager
async def anthropic_client(running, key="k"):
    async with anthropic.AsyncAnthropic(base_url=running.anthropic_url, api_key=key, max_retries=0) as client:
        async with asyncio.timeout(LIMIT):
            yield client


@contextlib.asynccontextmanager
async def gemini_client(running, key="k"):
    client = genai.Client(api_key=key, http_options=types.HttpOptions(base_url=running.gemini_url))
    try:
        async with asyncio.timeout(LIMIT):
            yield client.aio
    finally:
        await client.aio.aclose()
        client.close()


# OpenAI Chat


CHAT_TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA, "strict": True}}]


async def chat_step(client, messages, *, stream):
    """One answer; its message is appended as the SDK's own object."""
    options = {"model": GPT, "messages": messages, "tools": CHAT_TOOLS}
    if stream:
        async with client.chat.completions.stream(**options) as events:
            completion = await events.get_final_completion()
    else:
        completion = await client.chat.completions.create(**options)
    message = completion.choices[0].message
    messages.append(
        message.model_dump(exclude_none=True, exclude={"tool_calls": {"__all__": {"function": {"parsed_arguments"}}}})
    )
    calls = message.tool_calls or []
    messages.extend({"role": "tool", "tool_call_id": call.id, "content": "sunny"} for call in calls)
    return completion.choices[0]


@both
async def test_openai_chat_completes_a_conversation(stream):
    async with simulator(*SCRIPT) as running, openai_client(running) as client:
        messages = [{"role": "user", "content": "How is the weather?"}]
        one = await chat_step(client, messages, stream=stream)
        two = await chat_step(client, messages, stream=stream)
        three = await chat_step(client, messages, stream=stream)
        messages.append({"role": "user", "content": "Thanks."})
        four = await chat_step(client, messages, stream=stream)
    assert (one.message.content, one.finish_reason) == ("Let me see.", "tool_calls")
    assert [call.function.arguments for call in two.message.tool_calls] == ['{"city":"Tokyo"}', '{"city":"Oslo"}']
    assert (three.message.content, three.finish_reason) == ("Sunny everywhere.", "stop")
    assert four.message.content == "You are welcome."


async def test_openai_chat_raises_its_own_exceptions():
    faults = ModelFaults(at={0: Fault(kind=FaultKind.STATUS, status=429, retry_after=2)})
    async with simulator(*SCRIPT, faults=faults, key="k") as running:
        async with openai_client(running) as client:
            question = {"role": "user", "content": "hi"}
            with pytest.raises(openai.RateLimitError) as limited:
                await client.chat.completions.create(model=GPT, messages=[question])
            orphan = {"role": "tool", "tool_call_id": "c", "content": "x"}
            with pytest.raises(openai.BadRequestError, match="role 'tool' must be a response") as refused:
                await client.chat.completions.create(model=GPT, messages=[question, orphan])
        async with openai_client(running, key="other") as client:
            with pytest.raises(openai.AuthenticationError):
                await client.chat.completions.create(model=GPT, messages=[question])
    assert limited.value.response.headers["retry-after"] == "2"
    assert refused.value.param == "messages.[1].role"
    assert refused.value.request_id.startswith("req_")


# OpenAI Responses


RESPONSES_TOOLS = [{"type": "function", "name": "get_weather", "parameters": SCHEMA, "strict": True}]


async def responses_step(client, items, *, stream):
    options = {"model": GPT, "input": items, "tools": RESPONSES_TOOLS, "store": False}
    if stream:
        async with client.responses.stream(**options) as events:
            async for _ in events:
                pass
            response = await events.get_final_response()
    else:
        response = await client.responses.create(**options)
    for item in response.output:
        written = item.model_dump(exclude_none=True, exclude={"parsed_arguments": True})
        for part in written.get("content", ()) if item.type == "message" else ():
            part.pop("parsed", None)
        items.append(written)
    calls = [item for item in response.output if item.type == "function_call"]
    items.extend({"type": "function_call_output", "call_id": call.call_id, "output": "sunny"} for call in calls)
    return response


@both
async def test_openai_responses_completes_a_conversation_with_its_reasoning_replayed(stream):
    async with simulator(*SCRIPT) as running, openai_client(running) as client:
        items = [{"role": "user", "content": "How is the weather?"}]
        one = await responses_step(client, items, stream=stream)
        two = await responses_step(client, items, stream=stream)
        three = await responses_step(client, items, stream=stream)
        items.append({"role": "user", "content": "Thanks."})
        four = await responses_step(client, items, stream=stream)
    assert [item.type for item in one.output] == ["reasoning", "message", "function_call"]
    assert one.output[0].summary[0].text == "The weather is wanted."
    assert [item.arguments for item in two.output[1:]] == ['{"city":"Tokyo"}', '{"city":"Oslo"}']
    assert (three.output_text, three.status, four.output_text) == ("Sunny everywhere.", "completed", "You are welcome.")
    assert three.usage.total_tokens == three.usage.input_tokens + three.usage.output_tokens


async def test_openai_responses_raises_its_own_exceptions():
    faults = ModelFaults(at={0: Fault(kind=FaultKind.STATUS, status=429), 1: Fault(kind=FaultKind.STATUS, status=500)})
    async with simulator(*SCRIPT, faults=faults) as running, openai_client(running) as client:
        with pytest.raises(openai.RateLimitError):
            await client.responses.create(model=GPT, input="hi")
        with pytest.raises(openai.InternalServerError):
            await client.responses.create(model=GPT, input="hi")
        items = [{"role": "user", "content": "hi"}]
        await responses_step(client, items, stream=False)
        items[1]["encrypted_content"] = "gAAAAB"
        with pytest.raises(openai.BadRequestError, match="could not be verified") as changed:
            await client.responses.create(model=GPT, input=items)
        with pytest.raises(openai.BadRequestError, match="without its required following item"):
            await client.responses.create(model=GPT, input=[*items[:1], {**items[1], "encrypted_content": None}])
    assert changed.value.code == "invalid_encrypted_content"


# Anthropic


CLAUDE_TOOLS = [{"name": "get_weather", "input_schema": SCHEMA}]


async def claude_step(client, messages, *, stream):
    options = {
        "model": CLAUDE,
        "max_tokens": 4096,
        "messages": messages,
        "tools": CLAUDE_TOOLS,
        "thinking": {"type": "enabled", "budget_tokens": 2048},
    }
    if stream:
        async with client.messages.stream(**options) as events:
            message = await events.get_final_message()
    else:
        message = await client.messages.create(**options)
    messages.append({"role": "assistant", "content": message.content})
    results = [
        {"type": "tool_result", "tool_use_id": block.id, "content": "sunny"}
        for block in message.content
        if block.type == "tool_use"
    ]
    if results:
        messages.append({"role": "user", "content": results})
    return message


@both
async def test_anthropic_completes_a_conversation_with_its_thinking_replayed(stream):
    async with simulator(*SCRIPT) as running, anthropic_client(running) as client:
        messages = [{"role": "user", "content": "How is the weather?"}]
        one = await claude_step(client, messages, stream=stream)
        two = await claude_step(client, messages, stream=stream)
        three = await claude_step(client, messages, stream=stream)
        messages.append({"role": "user", "content": "Thanks."})
        four = await claude_step(client, messages, stream=stream)
    assert [block.type for block in one.content] == ["thinking", "text", "tool_use"]
    assert (one.content[0].thinking, one.stop_reason) == ("The weather is wanted.", "tool_use")
    assert [block.input for block in two.content[1:]] == [{"city": city} for city in CITIES]
    assert (three.content[-1].text, three.stop_reason) == ("Sunny everywhere.", "end_turn")
    assert four.content[-1].text == "You are welcome."


async def test_anthropic_raises_its_own_exceptions():
    faults = ModelFaults(at={0: Fault(kind=FaultKind.STATUS, status=429), 1: Fault(kind=FaultKind.STATUS, status=529)})
    async with simulator(*SCRIPT, faults=faults) as running, anthropic_client(running) as client:
        messages = [{"role": "user", "content": "hi"}]
        with pytest.raises(anthropic.RateLimitError):
            await claude_step(client, messages, stream=False)
        with pytest.raises(anthropic.APIStatusError) as overloaded:
            await claude_step(client, messages, stream=True)
        await claude_step(client, messages, stream=False)
        thinking, *rest = messages[1]["content"]
        messages[1]["content"] = [thinking.model_copy(update={"thinking": "Something else."}), *rest]
        with pytest.raises(anthropic.BadRequestError, match="cannot be modified") as changed:
            await claude_step(client, messages, stream=False)
        messages[1]["content"] = rest
        with pytest.raises(anthropic.BadRequestError, match="Expected `thinking`"):
            await claude_step(client, messages, stream=False)
    assert overloaded.value.status_code == 529
    assert changed.value.body["error"]["type"] == "invalid_request_error"
    assert changed.value.request_id == changed.value.body["request_id"]


# Gemini


GEMINI_CONFIG = types.GenerateContentConfig(
    tools=[
        types.Tool(function_declarations=[types.FunctionDeclaration(name="get_weather", parameters_json_schema=SCHEMA)])
    ],
    automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
)


async def gemini_step(client, contents, *, stream):
    options = {"model": GEMINI, "contents": contents, "config": GEMINI_CONFIG}
    if stream:
        parts = []
        async for chunk in await client.models.generate_content_stream(**options):
            parts.extend(chunk.candidates[0].content.parts)
            last = chunk
        response, content = last, types.Content(role="model", parts=parts)
    else:
        response = await client.models.generate_content(**options)
        content = response.candidates[0].content
    contents.append(content)
    calls = [part.function_call for part in content.parts if part.function_call]
    if calls:
        answers = [types.FunctionResponse(id=call.id, name=call.name, response={"output": "sunny"}) for call in calls]
        contents.append(types.Content(role="user", parts=[types.Part(function_response=answer) for answer in answers]))
    return calls, "".join(part.text or "" for part in content.parts if not part.thought), response


@both
async def test_gemini_completes_a_conversation_with_its_signatures_replayed(stream):
    async with simulator(*SCRIPT) as running, gemini_client(running) as client:
        contents = [types.Content(role="user", parts=[types.Part(text="How is the weather?")])]
        one, said, _ = await gemini_step(client, contents, stream=stream)
        two, _, _ = await gemini_step(client, contents, stream=stream)
        none, done, response = await gemini_step(client, contents, stream=stream)
        contents.append(types.Content(role="user", parts=[types.Part(text="Thanks.")]))
        _, welcome, _ = await gemini_step(client, contents, stream=stream)
    assert (said, [call.args for call in one]) == ("Let me see.", [{"city": "Tokyo"}])
    assert [call.args for call in two] == [{"city": city} for city in CITIES]
    assert (none, done, welcome) == ([], "Sunny everywhere.", "You are welcome.")
    assert response.candidates[0].finish_reason is types.FinishReason.STOP
    assert response.usage_metadata.total_token_count > 0


@both
async def test_geminis_own_chat_keeps_what_the_next_step_needs(stream):
    async with simulator(*SCRIPT) as running, gemini_client(running) as client:
        chat = client.chats.create(model=GEMINI, config=GEMINI_CONFIG)

        async def send(message):
            if not stream:
                return (await chat.send_message(message)).function_calls or []
            return [
                call async for chunk in await chat.send_message_stream(message) for call in chunk.function_calls or []
            ]

        message = "How is the weather?"
        asked = []
        while calls := await send(message):
            asked.append(len(calls))
            message = [
                types.Part.from_function_response(name=call.name, response={"output": "sunny"}) for call in calls
            ]
            for part, call in zip(message, calls, strict=True):
                part.function_response.id = call.id
    assert asked == [1, 2]


async def test_gemini_raises_its_own_exceptions():
    faults = ModelFaults(
        at={0: Fault(kind=FaultKind.STATUS, status=429, retry_after=3), 1: Fault(kind=FaultKind.STATUS, status=503)}
    )
    async with simulator(*SCRIPT, faults=faults) as running, gemini_client(running) as client:
        contents = [types.Content(role="user", parts=[types.Part(text="hi")])]
        with pytest.raises(errors.ClientError) as limited:
            await gemini_step(client, contents, stream=False)
        with pytest.raises(errors.ServerError) as overloaded:
            await gemini_step(client, contents, stream=True)
        await gemini_step(client, contents, stream=False)
        for part in contents[1].parts:
            part.thought_signature = None
        with pytest.raises(errors.ClientError, match="missing a thought_signature") as refused:
            await gemini_step(client, contents, stream=False)
    assert (limited.value.code, limited.value.status) == (429, "RESOURCE_EXHAUSTED")
    assert limited.value.details["error"]["details"][0]["retryDelay"] == "3s"
    assert (overloaded.value.code, overloaded.value.status) == (503, "UNAVAILABLE")
    assert (refused.value.code, refused.value.status) == (400, "INVALID_ARGUMENT")


# Gemini Live


@pytest.fixture
def plain_sockets(monkeypatch):
    """The SDK knows only wss, and the simulator only ws."""

    def connect_plainly(uri, *, ssl=None, **options):
        return connect(uri.replace("wss://", "ws://"), **options)

    monkeypatch.setattr(live, "ws_connect", connect_plainly)


async def test_gemini_live_completes_a_conversation(plain_sockets):
    script = (SCRIPT[1], Answer("Sunny everywhere."), Answer("You are welcome."))
    native = types.FunctionDeclaration(
        name="get_weather",
        parameters=types.Schema(type=types.Type.OBJECT, properties={"city": types.Schema(type=types.Type.STRING)}),
    )
    config = types.LiveConnectConfig(
        response_modalities=[types.Modality.AUDIO],
        output_audio_transcription=types.AudioTranscriptionConfig(),
        session_resumption=types.SessionResumptionConfig(),
        tools=[types.Tool(function_declarations=[native])],
    )
    calls, said, sound, handles = [], "", b"", []
    async with (
        simulator(*script) as running,
        gemini_client(running) as client,
        client.live.connect(model="gemini-live-2.5-flash", config=config) as session,
    ):
        for text in ("How is the weather?", "Thanks."):
            await session.send_client_content(turns=types.Content(role="user", parts=[types.Part(text=text)]))
            async for message in session.receive():
                if message.tool_call:
                    calls += message.tool_call.function_calls
                    answers = [
                        types.FunctionResponse(id=c.id, name=c.name, response={"output": "sunny"}) for c in calls
                    ]
                    await session.send_tool_response(function_responses=answers)
                if message.session_resumption_update and message.session_resumption_update.resumable:
                    handles.append(message.session_resumption_update.new_handle)
                sound += message.data or b""
                if message.server_content and message.server_content.output_transcription:
                    said += message.server_content.output_transcription.text
    assert [call.args for call in calls] == [{"city": city} for city in CITIES]
    assert (said, len(sound)) == ("Sunny everywhere.You are welcome.", 33 * 480)
    assert len(handles) >= 1
