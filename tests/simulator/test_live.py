"""Gemini Live on a real websocket, with the plain JSON that clients send."""

import asyncio
import base64
import contextlib
import json

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from groundwire.contracts.failures import Failure, FailureKind
from groundwire.testing import Answer, Ask, FakeClock, ScriptedModel, simulator

LIMIT = 20
MODEL = "models/gemini-live-2.5-flash"
TEXT = {"generationConfig": {"responseModalities": ["TEXT"]}}
ASKS = Answer(calls=(Ask("get_weather", {"city": "Tokyo"}), Ask("get_weather", {"city": "Oslo"})))
TOOLS = [
    {
        "functionDeclarations": [
            {"name": "get_weather", "parameters": {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}}},
            {"name": "end", "parameters": {"type": "OBJECT", "properties": {}}},
        ]
    }
]


class Client:
    def __init__(self, socket):
        self.socket = socket

    async def send(self, **message):
        await self.socket.send(json.dumps(message))

    async def receive(self):
        return json.loads(await self.socket.recv())

    async def say(self, text):
        turn = {"role": "user", "parts": [{"text": text}]}
        await self.send(clientContent={"turns": [turn], "turnComplete": True})

    async def respond(self, *call_ids, **more):
        answers = [
            {"id": call_id, "name": "get_weather", "response": {"output": "sunny"}, **more} for call_id in call_ids
        ]
        await self.send(toolResponse={"functionResponses": answers})

    async def turn(self):
        """The messages up to the end of the turn."""
        messages = [await self.receive()]
        while "turnComplete" not in messages[-1].get("serverContent", {}):
            messages.append(await self.receive())
        return messages

    async def closed(self):
        """Why the server closed, whatever it said before."""
        with contextlib.suppress(ConnectionClosed):
            async for _ in self.socket:
                pass
        return self.socket.close_code, self.socket.close_reason


@contextlib.asynccontextmanager
async def open_socket(running, **options):
    async with asyncio.timeout(LIMIT), connect(running.live_url, compression=None, **options) as socket:
        yield Client(socket)


@contextlib.asynccontextmanager
async def session(running, **setup):
    async with open_socket(running) as client:
        await client.send(setup={"model": MODEL, "tools": TOOLS, **setup})
        assert await client.receive() == {"setupComplete": {}}
        yield client


def text_in(messages):
    parts = [p for m in messages for p in m.get("serverContent", {}).get("modelTurn", {}).get("parts", ())]
    return "".join(part.get("text", "") for part in parts if not part.get("thought"))


async def test_a_text_is_answered_in_text():
    async with simulator("Hello, how are you?", "Fine.", piece=5) as running, session(running, **TEXT) as client:
        await client.say("hi")
        first = await client.turn()
        await client.send(realtimeInput={"text": "and you?"})
        second = await client.turn()
    assert (text_in(first), text_in(second)) == ("Hello, how are you?", "Fine.")
    assert [next(iter(m["serverContent"])) for m in first] == ["modelTurn"] * 4 + ["generationComplete", "turnComplete"]
    usage = first[-1]["usageMetadata"]
    assert usage["totalTokenCount"] == usage["promptTokenCount"] + usage["responseTokenCount"] > 0


async def test_an_answer_is_spoken_with_its_words_beside_it():
    async with simulator("Hello.", piece=3) as running, session(running, outputAudioTranscription={}) as client:
        await client.say("hi")
        messages = [message["serverContent"] for message in await client.turn()]
    assert "".join(m["outputTranscription"]["text"] for m in messages if "outputTranscription" in m) == "Hello."
    sounds = [m["modelTurn"]["parts"][0]["inlineData"] for m in messages if "modelTurn" in m]
    assert {sound["mimeType"] for sound in sounds} == {"audio/pcm;rate=24000"}
    assert sum(len(base64.b64decode(sound["data"])) for sound in sounds) == 6 * 480


async def test_thoughts_are_marked():
    async with simulator(Answer("Hi.", reasoning="Greet.")) as running, session(running, **TEXT) as client:
        await client.say("hi")
        messages = await client.turn()
    assert messages[0]["serverContent"]["modelTurn"]["parts"] == [{"text": "Greet.", "thought": True}]


@pytest.mark.parametrize("at_once", [True, False])
async def test_a_tool_is_called_and_its_results_are_answered(at_once):
    async with simulator(ASKS, "Sunny.") as running, session(running, **TEXT) as client:
        await client.say("weather?")
        calls = (await client.receive())["toolCall"]["functionCalls"]
        ids = [call["id"] for call in calls]
        for group in [ids] if at_once else [[call_id] for call_id in reversed(ids)]:
            await client.respond(*group)
        messages = await client.turn()
    assert calls == [
        {"id": "function-call-1", "name": "get_weather", "args": {"city": "Tokyo"}},
        {"id": "function-call-2", "name": "get_weather", "args": {"city": "Oslo"}},
    ]
    assert text_in(messages) == "Sunny."


async def test_snake_case_is_understood():
    async with (
        simulator(ASKS, "Sunny.") as running,
        session(running, generation_config={"response_modalities": ["TEXT"]}) as client,
    ):
        await client.send(
            client_content={"turns": [{"role": "user", "parts": [{"text": "hi"}]}], "turn_complete": True}
        )
        ids = [call["id"] for call in (await client.receive())["toolCall"]["functionCalls"]]
        answers = [{"id": call_id, "name": "get_weather", "response": {}} for call_id in ids]
        await client.send(tool_response={"function_responses": answers})
        assert text_in(await client.turn()) == "Sunny."


async def test_history_can_be_given_without_being_answered():
    async with simulator("One.", "Two.") as running, session(running, **TEXT) as client:
        turns = [{"role": "user", "parts": [{"text": "a"}]}, {"role": "model", "parts": [{"text": "One."}]}]
        await client.send(clientContent={"turns": turns, "turnComplete": False})
        await client.say("b")
        assert text_in(await client.turn()) == "Two."


async def test_who_speaks_while_a_tool_runs_cancels_its_call():
    async with simulator(ASKS, "As you like.", "Later.") as running, session(running, **TEXT) as client:
        await client.say("weather?")
        ids = [call["id"] for call in (await client.receive())["toolCall"]["functionCalls"]]
        await client.say("never mind")
        cancelled = await client.turn()
        assert text_in(await client.turn()) == "As you like."
        await client.respond(*ids)  # too late, and ignored
        await client.say("next")
        assert text_in(await client.turn()) == "Later."
    assert cancelled == [
        {"toolCallCancellation": {"ids": ids}},
        {"serverContent": {"interrupted": True}},
        {"serverContent": {"turnComplete": True}},
    ]


async def test_who_speaks_while_the_model_speaks_interrupts_it():
    clock = FakeClock()
    async with (
        simulator("A long story.", "Yes?", piece=6, pause=5, clock=clock) as running,
        session(running, **TEXT) as client,
    ):
        await client.say("tell me")
        assert text_in([await client.receive()]) == "A long"
        await client.send(realtimeInput={"text": "stop"})
        assert await client.turn() == [
            {"serverContent": {"interrupted": True}},
            {"serverContent": {"turnComplete": True}},
        ]
        assert text_in(await client.turn()) == "Yes?"


async def test_a_silent_result_is_not_answered():
    async with simulator(ASKS, "Next.") as running, session(running, **TEXT) as client:
        await client.say("weather?")
        ids = [call["id"] for call in (await client.receive())["toolCall"]["functionCalls"]]
        await client.respond(*ids, scheduling="SILENT")
        await client.say("go on")
        assert text_in(await client.turn()) == "Next."


@pytest.mark.parametrize("heard", [b"what time is it", b"\x00\xff" * 80])
async def test_speech_is_taken_at_its_end(heard):
    detection = {"automaticActivityDetection": {"disabled": True}}
    options = {"realtimeInputConfig": detection, "inputAudioTranscription": {}, **TEXT}
    async with simulator("Noon.") as running, session(running, **options) as client:
        await client.send(realtimeInput={"activityStart": {}})
        for half in (heard[:7], heard[7:]):
            sound = {"data": base64.b64encode(half).decode(), "mimeType": "audio/pcm;rate=16000"}
            await client.send(realtimeInput={"audio": sound})
        await client.send(realtimeInput={"activityEnd": {}})
        messages = await client.turn()
    words = "what time is it" if heard.isascii() else "(audio, 160 bytes)"
    assert messages[0] == {"serverContent": {"inputTranscription": {"text": words}}}
    assert text_in(messages) == "Noon."


async def test_a_session_goes_on_elsewhere_with_its_handle():
    async with simulator("One.", "Two.") as running, session(running, sessionResumption={}, **TEXT) as client:
        await client.say("a")
        await client.turn()
        update = (await client.receive())["sessionResumptionUpdate"]
    async with simulator("One.", "Two.") as elsewhere:
        resumption = {"handle": update["newHandle"]}
        async with session(elsewhere, sessionResumption=resumption, **TEXT) as client:
            await client.say("b")
            assert text_in(await client.turn()) == "Two."
        async with open_socket(elsewhere) as client:
            await client.send(setup={"model": MODEL, "sessionResumption": {"handle": "QUJD"}})
            assert (await client.closed())[0] == 1007
    assert update["resumable"] is True


async def test_there_is_no_handle_while_a_call_is_open():
    async with simulator(ASKS) as running, session(running, sessionResumption={}) as client:
        await client.say("weather?")
        await client.receive()
        assert await client.receive() == {"sessionResumptionUpdate": {"resumable": False}}


async def test_a_connection_announces_its_end_and_keeps_its_word():
    clock = FakeClock()
    async with (
        simulator(Answer("Soon.", go_away=9.5), clock=clock) as running,
        session(running, **TEXT) as client,
    ):
        await client.say("hi")
        assert await client.receive() == {"goAway": {"timeLeft": "9.5s"}}
        assert text_in(await client.turn()) == "Soon."
        clock.advance(9.5)
        assert (await client.closed())[0] == 1000


TEXT_TURN = {"clientContent": {"turns": [], "turnComplete": True}}


@pytest.mark.parametrize(
    "message",
    [
        "no JSON",
        "[]",
        json.dumps(TEXT_TURN),
        json.dumps({"setup": {"model": MODEL}, **TEXT_TURN}),
        json.dumps({"setup": {}}),
        json.dumps({"setup": {"model": MODEL, "generationConfig": {"responseModalities": ["TEXT", "AUDIO"]}}}),
        json.dumps({"setup": {"model": MODEL, "tools": [{"functionDeclarations": [{"name": "a b"}]}]}}),
        json.dumps({"setup": {"model": MODEL, "tools": [{"functionDeclarations": [{"name": "f"}, {"name": "f"}]}]}}),
        json.dumps(
            {
                "setup": {
                    "model": MODEL,
                    "tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": {}}]}],
                }
            }
        ),
        json.dumps(
            {
                "setup": {
                    "model": MODEL,
                    "tools": [{"functionDeclarations": [{"name": "f", "parameters": {"type": "ARRAY", "items": {}}}]}],
                }
            }
        ),
    ],
)
async def test_the_first_message_must_be_a_good_setup(message):
    async with simulator() as running, open_socket(running) as client:
        await client.socket.send(message)
        code, reason = await client.closed()
    assert (code, bool(reason)) == (1007, True)


@pytest.mark.parametrize(
    "message",
    [
        {"setup": {"model": MODEL}},
        {"hello": {}},
        {**TEXT_TURN, "realtimeInput": {"text": "a"}},
        {"clientContent": []},
        {"realtimeInput": {"activityStart": {}}},
        {"toolResponse": {"functionResponses": [{"id": "function-call-9", "name": "f", "response": {}}]}},
        {"toolResponse": {}},
    ],
)
async def test_what_the_api_refuses_closes_the_session(message):
    async with simulator() as running, session(running) as client:
        await client.send(**message)
        assert (await client.closed())[0] == 1007


async def test_a_result_that_is_no_object_closes_the_session():
    async with simulator(ASKS) as running, session(running) as client:
        await client.say("weather?")
        call = (await client.receive())["toolCall"]["functionCalls"][0]
        await client.send(
            toolResponse={"functionResponses": [{"id": call["id"], "name": "get_weather", "response": "x"}]}
        )
        assert (await client.closed())[0] == 1007


async def test_a_failure_of_the_script_closes_the_session():
    failure = Failure(kind=FailureKind.SERVER, message="Deadline expired.")
    async with simulator(Answer(failure=failure)) as running, session(running) as client:
        await client.say("hi")
        assert await client.closed() == (1011, "Deadline expired.")


async def test_a_script_whose_own_code_fails_closes_the_session():
    def otherwise(request):
        raise KeyError("gone")

    async with simulator(model=ScriptedModel(otherwise=otherwise)) as running, session(running) as client:
        await client.say("hi")
        assert await client.closed() == (1011, "The simulator failed: KeyError: 'gone'")


async def test_a_session_needs_the_key_too():
    async with simulator("Hi.", key="s3cret") as running:
        with pytest.raises(InvalidStatus) as refused:
            async with open_socket(running):
                pass
        async with open_socket(running, additional_headers={"x-goog-api-key": "s3cret"}) as client:
            await client.send(setup={"model": MODEL})
            assert await client.receive() == {"setupComplete": {}}
    assert refused.value.response.status_code == 400


async def test_a_simulator_closes_while_a_session_is_open():
    async with simulator() as running, session(running) as client:
        await running.close()
        with pytest.raises(ConnectionClosed):
            await client.receive()


async def test_a_client_that_goes_away_is_forgotten():
    clock = FakeClock()
    async with simulator("A long story.", piece=1, pause=5, clock=clock) as running:
        async with session(running, **TEXT) as client:
            await client.say("tell me")
            await client.receive()
            assert clock.sleepers == 1
        async with asyncio.timeout(LIMIT):
            await clock.until_asleep(0)
