"""The HTTP provider against a server on a real socket that answers as it is told."""

import asyncio
import contextlib
import json
from random import Random

import pytest

from groundwire.codecs.dialects import codec_of
from groundwire.contracts.errors import ConfigError, ProviderError
from groundwire.contracts.failures import FailureKind
from groundwire.contracts.messages import say
from groundwire.contracts.redaction import HIDDEN
from groundwire.contracts.replies import FinishReason, ReplyEnded, ReplyStarted, ReplyTextDelta
from groundwire.contracts.requests import DIALECTS, FunctionTool, ModelRequest, Sampling, SendOptions
from groundwire.providers.endpoints import AUTH_OF, Endpoint
from groundwire.providers.http import HttpProvider
from groundwire.providers.retries import RetryPolicy
from groundwire.providers.scripted import ScriptedModel
from groundwire.providers.scripts import Answer, Ask
from groundwire.providers.secrets import Secret
from groundwire.providers.sockets import SocketTransport
from groundwire.providers.transport import Timeouts, TransportError
from groundwire.simulator.http import HttpServer, Response
from groundwire.testing import FakeClock, Fault, FaultKind, ModelFaults, simulator

LIMIT = 20
KEY = "sk-secret-0123456789"
TOOL = FunctionTool(
    name="find", description="Find.", parameters={"type": "object", "properties": {"q": {"type": "string"}}}
)
REQUEST = ModelRequest(model="m-1", items=(say("user", "hi"),), tools=(TOOL,))
JSON = {"content-type": "application/json"}
SSE = {"content-type": "text/event-stream"}


def json_answer(value, status=200, headers=None):
    return status, {**JSON, **(headers or {})}, [json.dumps(value).encode()]


def reply_bytes(dialect, *answers):
    return json.dumps(codec_of(dialect).encode_response(ScriptedModel(*answers).reply(REQUEST)).body).encode()


def stream_bytes(dialect, *answers):
    from groundwire.codecs.wire.building import parts_of

    encoder = codec_of(dialect).StreamEncoder()
    parts = parts_of(ScriptedModel(*answers).reply(REQUEST), piece=4)
    return b"".join([encoder.feed(part) for part in parts]) + encoder.finish()


class Scripted:
    """Answers one request after the other with (status, headers, chunks); a chunk None cuts the connection."""

    def __init__(self, answers):
        self.answers = list(answers)
        self.requests = []
        self.arrived = asyncio.Event()

    async def __call__(self, request):
        self.requests.append(request)
        self.arrived.set()
        status, headers, chunks = self.answers.pop(0)

        async def body():
            for chunk in chunks:
                if chunk is asyncio:
                    await asyncio.Event().wait()
                yield chunk

        return Response(status=status, headers=headers, chunks=body())

    @property
    def bodies(self):
        return [json.loads(request.body) for request in self.requests]


class EagerClock(FakeClock):
    """Sleeping takes no time, and is written down."""

    def __init__(self):
        super().__init__()
        self.slept = []

    async def sleep(self, seconds):
        self.slept.append(seconds)


@contextlib.asynccontextmanager
async def provider(dialect, *answers, clock=None, **options):
    script = Scripted(answers)
    server = HttpServer(script)
    port = await server.start("127.0.0.1", 0)
    base = f"http://127.0.0.1:{port}" + ("/v1" if dialect.startswith("openai") else "")
    endpoint = Endpoint(name="here", dialect=dialect, base_url=base, key=Secret(KEY), auth=AUTH_OF[dialect], **options)
    made = HttpProvider(endpoint, SocketTransport(endpoint.timeouts), clock=clock or EagerClock(), random=Random(1))
    try:
        yield made, script
    finally:
        await made.close()
        await server.close()


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.requirement("B-128", "B-131", "C-019", "C-020")
async def test_a_reply_comes_back_from_every_dialect_whole_and_streamed(dialect):
    answer = Answer("Let me look.", (Ask("find", {"q": "x"}),))
    whole, streamed = (200, JSON, [reply_bytes(dialect, answer)]), (200, SSE, [stream_bytes(dialect, answer)])
    async with provider(dialect, whole, streamed) as (made, script):
        reply = await made.complete(REQUEST)
        parts = [part async for part in made.stream(REQUEST)]
    assert (reply.text, [item.call.name for item in reply.calls]) == ("Let me look.", ["find"])
    assert isinstance(parts[0], ReplyStarted)
    assert "".join(part.text for part in parts if isinstance(part, ReplyTextDelta)) == "Let me look."
    assert isinstance(parts[-1], ReplyEnded)
    assert [item.call.raw for item in parts[-1].reply.calls] == ['{"q":"x"}']
    paths = {
        "openai-chat": ["/v1/chat/completions"] * 2,
        "openai-responses": ["/v1/responses"] * 2,
        "anthropic": ["/v1/messages"] * 2,
        "gemini": ["/v1beta/models/m-1:generateContent", "/v1beta/models/m-1:streamGenerateContent?alt=sse"],
    }
    assert [request.target for request in script.requests] == paths[dialect]


OK = (200, JSON, [reply_bytes("openai-chat", "fine")])
CHAT_ERROR = {"error": {"message": "no", "type": "t", "code": None, "param": None}}


async def test_what_can_succeed_later_is_asked_again_with_growing_waits():
    clock = EagerClock()
    async with provider("openai-chat", json_answer(CHAT_ERROR, 500), json_answer(CHAT_ERROR, 503), OK, clock=clock) as (
        made,
        script,
    ):
        assert (await made.complete(REQUEST)).text == "fine"
    assert len(script.requests) == 3
    assert 0.25 <= clock.slept[0] <= 0.5 <= clock.slept[1] <= 1


async def test_after_three_attempts_the_failure_is_reported():
    errors = [json_answer(CHAT_ERROR, 500)] * 3
    async with provider("openai-chat", *errors) as (made, script):
        with pytest.raises(ProviderError) as caught:
            await made.complete(REQUEST)
    assert caught.value.failure.kind == FailureKind.SERVER
    assert len(script.requests) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
async def test_what_cannot_succeed_is_asked_once(status):
    async with provider("openai-chat", json_answer(CHAT_ERROR, status)) as (made, script):
        with pytest.raises(ProviderError):
            await made.complete(REQUEST)
    assert len(script.requests) == 1


@pytest.mark.quirk(82)
async def test_the_provider_says_how_long_to_wait_in_a_header_a_date_or_gemini_s_body():
    clock = EagerClock()
    later = {"retry-after": "7"}
    async with provider("openai-chat", json_answer(CHAT_ERROR, 429, later), OK, clock=clock) as (made, _):
        await made.complete(REQUEST)
    dated = {"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT"}
    async with provider("openai-chat", json_answer(CHAT_ERROR, 429, dated), OK, clock=clock) as (made, _):
        await made.complete(REQUEST)
    detail = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.4s"}
    error = {"error": {"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED", "details": [detail]}}
    good = (200, JSON, [reply_bytes("gemini", "fine")])
    async with provider("gemini", json_answer(error, 429), good, clock=clock) as (made, _):
        await made.complete(REQUEST)
    assert clock.slept == [7, 30, 34.4]


@pytest.mark.quirk(81)
async def test_a_wish_to_come_back_later_on_a_good_answer_is_overlooked():
    clock = EagerClock()
    answer = (200, {**JSON, "retry-after": "60"}, OK[2])
    async with provider("openai-chat", answer, clock=clock) as (made, _):
        assert (await made.complete(REQUEST)).text == "fine"
    assert clock.slept == []


@pytest.mark.quirk(38)
@pytest.mark.parametrize(
    "first",
    [
        json_answer({"error": {"message": "overloaded", "code": 502}}),
        (200, {"content-type": "text/html"}, [b"<html>busy</html>"]),
        (200, JSON, [b'{"choices":']),
        (200, JSON, [b'{"choi', None]),
    ],
    ids=["error body", "page", "no json", "cut"],
)
async def test_a_bad_answer_with_a_good_status_is_asked_again(first):
    async with provider("openai-chat", first, OK) as (made, script):
        assert (await made.complete(REQUEST)).text == "fine"
    assert len(script.requests) == 2


@pytest.mark.requirement("A-164")
async def test_an_answer_without_candidates_is_tried_three_times():
    nothing = json_answer({"usageMetadata": {"promptTokenCount": 3}})
    async with provider("gemini", nothing, nothing, nothing) as (made, script):
        with pytest.raises(ProviderError) as caught:
            await made.complete(REQUEST)
    assert caught.value.failure.code == "no_candidates"
    assert len(script.requests) == 3


async def collect(parts, seen):
    async for part in parts:
        seen.append(part)


@pytest.mark.quirk(83)
async def test_a_stream_is_asked_again_only_before_its_first_piece():
    start = b'data: {"type":"message_start","message":{"id":"m","role":"assistant","content":[],"model":"c","usage":{}}}\n\n'
    error = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}\n\n'
    good = (200, SSE, [stream_bytes("anthropic", "fine")])
    async with provider("anthropic", (200, SSE, [start + error]), good) as (made, script):
        parts = [part async for part in made.stream(REQUEST)]
        assert parts[-1].reply.text == "fine"
        assert sum(isinstance(part, ReplyStarted) for part in parts) == 1
    assert len(script.requests) == 2
    text = (
        b'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n'
        b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"half"}}\n\n'
    )
    async with provider("anthropic", (200, SSE, [start + text + error]), good) as (made, script):
        seen = []
        with pytest.raises(ProviderError) as caught:
            await collect(made.stream(REQUEST), seen)
    assert caught.value.failure.kind == FailureKind.OVERLOADED
    assert [part.text for part in seen if isinstance(part, ReplyTextDelta)] == ["half"]
    assert len(script.requests) == 1


@pytest.mark.quirk(44)
async def test_a_stream_that_is_cut_in_a_call_never_gives_it_as_complete():
    sent = stream_bytes("openai-chat", Answer(calls=(Ask("find", {"q": "x"}),)))
    cut = sent[: sent.rindex(b"data: ", 0, sent.index(b'"finish_reason":"tool_calls"'))]
    async with provider("openai-chat", (200, SSE, [cut])) as (made, _):
        last = [part async for part in made.stream(REQUEST)][-1]
    assert last.reply.finish.reason == FinishReason.INCOMPLETE
    assert [item.complete for item in last.reply.calls] == [False]


async def test_a_server_that_does_not_stream_is_passed_on_as_if_it_did():
    async with provider("openai-chat", OK) as (made, _):
        parts = [part async for part in made.stream(REQUEST)]
    assert parts[-1].reply.text == "fine"


@pytest.mark.requirement("C-164", "C-165", "C-166")
async def test_overrides_go_into_the_body_except_for_what_the_request_owns():
    overrides = {
        "route": "fallback",
        "temperature": 0.1,
        "model": "x",
        "messages": [],
        "tools": [],
        "tool_choice": "none",
    }
    async with provider("openai-chat", OK, overrides={"provider": {"only": ["a"]}, "temperature": 0.9}) as (
        made,
        script,
    ):
        await made.complete(
            ModelRequest(model="m-1", items=REQUEST.items, tools=(TOOL,), sampling=Sampling(temperature=0.5)),
            SendOptions(overrides={**overrides, "response_format": {"type": "json_object"}}),
        )
    body = script.bodies[0]
    assert (body["route"], body["temperature"], body["provider"]) == ("fallback", 0.1, {"only": ["a"]})
    assert (body["model"], len(body["messages"]), len(body["tools"])) == ("m-1", 1, 1)
    assert "tool_choice" not in body
    assert "response_format" not in body


@pytest.mark.parametrize(
    ("dialect", "name"),
    [
        ("openai-responses", "input"),
        ("openai-responses", "instructions"),
        ("anthropic", "system"),
        ("gemini", "contents"),
    ],
)
async def test_no_override_can_replace_the_conversation_in_any_dialect(dialect, name):
    async with provider(dialect, (200, JSON, [reply_bytes(dialect, "fine")])) as (made, script):
        await made.complete(REQUEST, SendOptions(overrides={name: "evil", "harmless": 1}))
    assert script.bodies[0].get(name) != "evil"
    assert script.bodies[0]["harmless"] == 1


async def test_transforms_are_applied_between_codec_and_socket_and_skipped_with_a_warning_elsewhere():
    text = '<tool_call>{"name":"find","arguments":{"q":"x"}}</tool_call>'
    options = SendOptions(
        tool_transforms=("openai_tools_strip_function_descriptions",),
        response_transforms=("assistant_content_tool_call_tags_to_tool_calls",),
    )
    async with provider("openai-chat", (200, JSON, [reply_bytes("openai-chat", text)])) as (made, script):
        reply = await made.complete(REQUEST, options)
    assert [item.call.name for item in reply.calls] == ["find"]
    assert "description" not in script.bodies[0]["tools"][0]["function"]
    async with provider("anthropic", (200, JSON, [reply_bytes("anthropic", text)])) as (made, _):
        reply = await made.complete(REQUEST, options)
    assert reply.calls == ()
    assert [warning.code for warning in reply.warnings] == ["transforms_skipped"]


async def test_an_unknown_transform_is_named_before_anything_is_sent():
    async with provider("openai-chat") as (made, script):
        with pytest.raises(ConfigError, match="no_such_thing"):
            await made.complete(REQUEST, SendOptions(message_transforms=("no_such_thing",)))
    assert script.requests == []


async def test_names_that_the_dialect_refuses_come_back_as_the_caller_knows_them():
    dotted = ModelRequest(
        model="m-1", items=REQUEST.items, tools=(FunctionTool(name="maps.find", parameters=TOOL.parameters),)
    )
    answer = (200, JSON, [reply_bytes("openai-chat", Answer(calls=(Ask("maps_find", {"q": "x"}, offered=False),)))])
    async with provider("openai-chat", answer) as (made, script):
        reply = await made.complete(dotted)
    assert script.bodies[0]["tools"][0]["function"]["name"] == "maps_find"
    assert [item.call.name for item in reply.calls] == ["maps.find"]
    assert [warning.code for warning in reply.warnings] == ["name_rewritten"]


async def test_a_key_that_the_provider_echoes_never_reaches_the_error():
    error = {"error": {"message": f"Incorrect API key provided: {KEY}", "type": "x", "code": "invalid_api_key"}}
    async with provider("openai-chat", json_answer(error, 401)) as (made, script):
        with pytest.raises(ProviderError) as caught:
            await made.complete(REQUEST)
    assert script.requests[0].headers["authorization"] == f"Bearer {KEY}"
    for shown in (str(caught.value), repr(caught.value.failure), caught.value.hint, repr(made.endpoint)):
        assert KEY not in shown
    assert HIDDEN in caught.value.failure.message


async def test_a_token_in_another_header_never_reaches_the_error_either():
    error = {"error": {"message": "bad proxy-token-987", "type": "x", "code": "proxy-token-987"}}
    headers = {"X-Proxy-Token": "proxy-token-987"}
    async with provider("openai-chat", json_answer(error, 401), headers=headers) as (made, _):
        with pytest.raises(ProviderError) as caught:
            await made.complete(REQUEST)
    assert "proxy-token-987" not in f"{caught.value} {caught.value.failure!r}"


async def test_a_cancelled_request_ends_at_once_and_is_not_asked_again():
    async with provider("openai-chat", (200, JSON, [asyncio])) as (made, script):
        task = asyncio.create_task(made.complete(REQUEST))
        await script.arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert len(script.requests) == 1


async def test_a_silent_server_is_a_timeout_and_worth_another_try():
    async with provider("openai-chat", (200, JSON, [asyncio]), OK, retry=RetryPolicy(attempts=2)) as (made, script):
        reply = await made.complete(REQUEST, SendOptions(timeout=0.2))
    assert reply.text == "fine"
    assert len(script.requests) == 2


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_stream_without_any_event_is_asked_again(dialect):
    empty, good = (200, SSE, [b": nothing\n\n"]), (200, SSE, [stream_bytes(dialect, "fine")])
    async with provider(dialect, empty, good) as (made, script):
        parts = [part async for part in made.stream(REQUEST)]
    assert parts[-1].reply.text == "fine"
    assert len(script.requests) == 2


async def dripped(patience, advance):
    """A stream whose pieces come as the server's clock allows, and how far it got."""
    clock = FakeClock()
    seen = []
    faults = ModelFaults(at={0: Fault(kind=FaultKind.SLOW_DRIP, pause=1)})
    async with simulator("Hello.", faults=faults, clock=clock) as running:
        endpoint = Endpoint(
            name="here", dialect="openai-chat", base_url=running.openai_url, retry=RetryPolicy(attempts=1)
        )
        made = HttpProvider(endpoint, SocketTransport(), clock=EagerClock())
        asking = asyncio.ensure_future(collect(made.stream(REQUEST, SendOptions(timeout=patience)), seen))
        async with asyncio.timeout(LIMIT):
            while advance and not asking.done():
                await asyncio.sleep(0)
                if clock.sleepers:
                    clock.advance(1)
            try:
                await asking
            except ProviderError as error:
                return error.failure
            finally:
                await made.close()
    return seen[-1]


@pytest.mark.requirement("C-111")
async def test_a_stream_may_take_as_long_as_the_caller_allows_and_no_longer():
    ended = await dripped(patience=LIMIT, advance=True)
    late = await dripped(patience=0.05, advance=False)
    assert ended.reply.text == "Hello."
    assert (late.kind, late.status, late.retryable) == (FailureKind.TIMEOUT, 0, True)


class Noting:
    """A transport that keeps how long each request may take, and reaches nobody."""

    def __init__(self):
        self.limits = []

    async def send(self, request):
        self.limits.append(request.timeout)
        raise TransportError(FailureKind.INVALID_REQUEST, "nobody is there")

    async def close(self):
        pass


async def test_whole_answers_have_the_endpoint_s_limit_and_streams_only_one_of_their_own():
    transport = Noting()
    endpoint = Endpoint(name="here", dialect="gemini", base_url="http://x", timeouts=Timeouts(total=7))
    made = HttpProvider(endpoint, transport, clock=EagerClock())
    for options in (SendOptions(), SendOptions(timeout=3), SendOptions(timeout=0)):
        with pytest.raises(ProviderError):
            await made.complete(REQUEST, options)
        with pytest.raises(ProviderError):
            await collect(made.stream(REQUEST, options), [])
    assert transport.limits == [7, 0, 3, 3, 0, 0]
