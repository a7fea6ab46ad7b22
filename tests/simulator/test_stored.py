"""Responses that are stored, asked through OpenAI's own SDK."""

import contextlib

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
