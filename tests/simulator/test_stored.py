"""What is stored, asked for through the SDKs of OpenAI and Anthropic."""

import contextlib

import anthropic
import openai
import pytest

from groundwire.simulator.app import Simulator
from groundwire.testing import Answer, Ask, ScriptedModel, simulator

TOOL = {"type": "function", "name": "get_weather", "parameters": {"type": "object", "properties": {}}, "strict": False}
SCRIPT = (Answer(calls=(Ask("get_weather"),), reasoning="hm"), "Sunny.", "Bye.")


@contextlib.asynccontextmanager
async def client_of(running):
    client = openai.AsyncOpenAI(base_url=running.openai_url, api_key="k", max_retries=0)
    try:
        yield client
    finally:
        await client.close()


@pytest.mark.parametrize("stream", [False, True])
async def test_a_conversation_goes_on_from_a_stored_response_with_the_new_items_only(stream):
    async with simulator(*SCRIPT) as running, client_of(running) as client:
        if stream:
            async with client.responses.stream(model="gpt-5.2", input="Weather?", tools=[TOOL]) as events:
                first = await events.get_final_response()
        else:
            first = await client.responses.create(model="gpt-5.2", input="Weather?", tools=[TOOL])
        call = next(item for item in first.output if item.type == "function_call")
        output = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
        second = await client.responses.create(
            model="gpt-5.2", previous_response_id=first.id, input=[output], tools=[TOOL]
        )
        third = await client.responses.create(model="gpt-5.2", previous_response_id=second.id, input="Thanks.")
    assert (second.output_text, third.output_text) == ("Sunny.", "Bye.")
    assert (first.previous_response_id, second.previous_response_id, second.store) == (None, first.id, True)


async def test_a_call_behind_the_earlier_response_still_needs_its_result():
    async with simulator(*SCRIPT) as running, client_of(running) as client:
        first = await client.responses.create(model="gpt-5.2", input="Weather?", tools=[TOOL])
        with pytest.raises(openai.BadRequestError, match="No tool output found for function call"):
            await client.responses.create(model="gpt-5.2", previous_response_id=first.id, input="And?")


@pytest.mark.parametrize("store", [False, None])
async def test_a_response_that_was_not_stored_or_never_was_is_not_found(store):
    async with simulator("Hello.") as running, client_of(running) as client:
        known = await client.responses.create(model="gpt-5.2", input="Hi", store=False) if store is False else None
        with pytest.raises(openai.BadRequestError, match="Previous response with id") as caught:
            await client.responses.create(
                model="gpt-5.2", input="Hi", previous_response_id=known.id if known else "resp_1"
            )
    assert (caught.value.code, caught.value.param) == ("previous_response_not_found", "previous_response_id")


async def test_a_reference_to_a_stored_item_stands_for_it():
    async with simulator("Hello.", "Again.") as running, client_of(running) as client:
        first = await client.responses.create(model="gpt-5.2", input="Hi")
        told = [
            {"role": "user", "content": "Hi"},
            {"type": "item_reference", "id": first.output[0].id},
            {"role": "user", "content": "And?"},
        ]
        assert (await client.responses.create(model="gpt-5.2", input=told)).output_text == "Again."


async def test_the_oldest_response_is_given_up_first():
    async with Simulator(ScriptedModel("Hello."), stored=2) as running, client_of(running) as client:
        ids = [(await client.responses.create(model="gpt-5.2", input=text)).id for text in ("a", "b", "c")]
        with pytest.raises(openai.NotFoundError, match="not found"):
            await client.responses.retrieve(ids[0])
        assert (await client.responses.retrieve(ids[1])).output_text == "Hello."
        assert (await client.responses.retrieve(ids[2])).output_text == "Hello."


async def test_a_deleted_response_is_gone():
    async with simulator("Hello.") as running, client_of(running) as client:
        first = await client.responses.create(model="gpt-5.2", input="Hi")
        await client.responses.delete(first.id)
        with pytest.raises(openai.NotFoundError):
            await client.responses.retrieve(first.id)


@contextlib.asynccontextmanager
async def claude_of(running):
    async with anthropic.AsyncAnthropic(base_url=running.anthropic_url, api_key="k", max_retries=0) as client:
        yield client


@anthropic.beta_async_tool
async def get_weather() -> str:
    """The weather."""
    return "sunny"


CLAUDE = {"model": "claude-opus-4-6", "max_tokens": 99}
THREADS = {"betas": ["message-threads-2026-08-12"]}
QUESTION = {"role": "user", "content": "Weather?"}


@pytest.mark.parametrize("stream", [False, True])
async def test_anthropics_tool_runner_goes_on_in_its_thread_with_the_new_messages_only(stream):
    async with simulator(*SCRIPT) as running, claude_of(running) as client:
        runner = client.beta.messages.tool_runner(
            **CLAUDE, messages=[QUESTION], system="Be brief.", tools=[get_weather], stream=stream
        )
        last = await runner.until_done()
    bodies = [request.body for request in running.requests]
    assert last.content[0].text == "Sunny."
    assert [body["thread"]["type"] for body in bodies] == ["create", "continue"]
    assert [block["type"] for block in bodies[1]["messages"][0]["content"]] == ["tool_result"]
    assert len(bodies[1]["messages"]) == 1
    assert "tools" not in bodies[1]


async def test_a_thread_that_was_given_up_is_not_found_so_that_the_sdk_sends_it_whole_again():
    async with Simulator(ScriptedModel(*SCRIPT), stored=0) as running, claude_of(running) as client:
        runner = client.beta.messages.tool_runner(**CLAUDE, messages=[QUESTION], tools=[get_weather])
        last = await runner.until_done()
    assert last.content[0].text == "Sunny."
    assert [request.body["thread"]["type"] for request in running.requests] == ["create", "continue", "create"]


async def test_a_thread_of_an_unknown_message_is_not_found():
    thread = {"type": "continue", "previous_message_id": "msg_1"}
    async with simulator("Hello.") as running, claude_of(running) as client:
        with pytest.raises(anthropic.NotFoundError) as caught:
            await client.beta.messages.create(**CLAUDE, **THREADS, messages=[QUESTION], thread=thread)
    assert caught.value.body["error"] == {
        "type": "not_found_error",
        "message": "thread: no message msg_1 to continue from",
        "details": {"error_code": "thread_not_found"},
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"thread": {"type": "create"}}, "thread: Extra inputs are not permitted"),
        ({"thread": {"type": "fork"}, **THREADS}, "thread: Input tag should be one of 'create', 'continue'"),
        (
            {"thread": {"type": "continue", "previous_message_id": "msg_1"}, "system": "Be brief.", **THREADS},
            "system: may not be given when a thread is continued, which keeps what it was created with",
        ),
    ],
)
async def test_a_thread_without_its_beta_of_another_kind_or_with_what_it_keeps_is_refused(given, message):
    async with simulator("Hello.") as running, claude_of(running) as client:
        with pytest.raises(anthropic.BadRequestError) as caught:
            await client.beta.messages.create(**CLAUDE, messages=[QUESTION], **given)
    assert caught.value.body["error"]["message"] == message
