"""The simulator on a real socket, asked in plain HTTP."""

import asyncio
import json
import subprocess
import sys

import pytest

from groundwire.codecs.dialects import codec_of
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.replies import FinishReason, ReplyEnded
from groundwire.providers.sockets import SocketTransport
from groundwire.providers.transport import HttpRequest, TransportError
from groundwire.simulator.app import Simulator
from groundwire.testing import Answer, Ask, FakeClock, Fault, FaultKind, ModelFaults, Rule, ScriptedModel, simulator

LIMIT = 20
OBJECT = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
ASKS = Answer("Wait.", calls=(Ask("get_weather", {"city": "Tokyo"}), Ask("get_weather", {"city": "Oslo"})))
ANTHROPIC = {"anthropic-version": "2023-06-01"}
WEATHER = {"name": "get_weather", "parameters": OBJECT}
SAID = [{"role": "user", "content": "hi"}]
PATHS = {
    "openai-chat": (
        "/v1/chat/completions",
        {"model": "gpt-5.2", "messages": SAID, "tools": [{"type": "function", "function": WEATHER}]},
        {},
    ),
    "openai-responses": (
        "/v1/responses",
        {"model": "gpt-5.2", "input": "hi", "tools": [{"type": "function", **WEATHER}]},
        {},
    ),
    "anthropic": (
        "/v1/messages",
        {
            "model": "claude-opus-4-6",
            "max_tokens": 99,
            "messages": SAID,
            "tools": [{"name": "get_weather", "input_schema": OBJECT}],
        },
        ANTHROPIC,
    ),
    "gemini": (
        "/v1beta/models/gemini-3-flash:generateContent",
        {
            "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
            "tools": [{"functionDeclarations": [{"name": "get_weather", "parametersJsonSchema": OBJECT}]}],
        },
        {},
    ),
}
DIALECTS = list(PATHS)


async def ask(running, path, body, headers=None, method="POST"):
    client = SocketTransport()
    try:
        async with asyncio.timeout(LIMIT):
            data = b"" if body is None else json.dumps(body).encode()
            request = HttpRequest(url=running.url + path, headers=headers or {}, body=data, method=method)
            response = await client.send(request)
            return response.status, response.headers, await response.read()
    finally:
        await client.close()


async def ask_in(running, dialect, *, stream=False, headers=None):
    path, body, own = PATHS[dialect]
    if stream and dialect == "gemini":
        path = path.replace(":generateContent", ":streamGenerateContent?alt=sse")
    elif stream:
        body = {
            **body,
            "stream": True,
            **({"stream_options": {"include_usage": True}} if dialect == "openai-chat" else {}),
        }
    return await ask(running, path, body, {**own, **(headers or {})})


def read(dialect, data, *, stream=False):
    codec = codec_of(dialect)
    if not stream:
        return codec.decode_response(data)
    decoder = codec.StreamDecoder()
    last = (decoder.feed(data) + decoder.finish())[-1]
    assert isinstance(last, ReplyEnded)
    return last.reply


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_script_is_answered_in_every_dialect(dialect, stream):
    async with simulator(ASKS) as running:
        status, headers, data = await ask_in(running, dialect, stream=stream)
    reply = read(dialect, data, stream=stream)
    assert (status, reply.text, reply.finish.reason) == (200, "Wait.", FinishReason.TOOL_CALLS)
    assert [(c.call.name, json.loads(c.call.raw), c.complete) for c in reply.calls] == [
        ("get_weather", {"city": "Tokyo"}, True),
        ("get_weather", {"city": "Oslo"}, True),
    ]
    assert len({c.call.call_id for c in reply.calls}) == 2
    assert reply.usage.total == reply.usage.input + reply.usage.output > 0
    assert headers["content-type"].split(";")[0] == ("text/event-stream" if stream else "application/json")
    assert headers["request-id" if dialect == "anthropic" else "x-request-id"].startswith("req_")


@pytest.mark.parametrize(
    ("dialect", "reply_id", "call_id"),
    [
        ("openai-chat", "chatcmpl-", "call_"),
        ("openai-responses", "resp_", "call_"),
        ("anthropic", "msg_", "toolu_"),
        ("gemini", "", ""),
    ],
)
async def test_ids_look_like_the_providers_own(dialect, reply_id, call_id):
    async with simulator(ASKS) as running:
        reply = read(dialect, (await ask_in(running, dialect))[2])
    assert reply.reply_id.startswith(reply_id)
    assert reply.calls[0].call.call_id.startswith(call_id)


async def test_an_id_of_the_script_is_kept():
    async with simulator(Answer(calls=(Ask("get_weather", {}, "call_7"),))) as running:
        reply = read("anthropic", (await ask_in(running, "anthropic"))[2])
    assert reply.calls[0].call.call_id == "call_7"


async def test_an_old_gemini_gives_no_ids_and_a_new_one_signs_the_first_call():
    path = "/v1beta/models/{}:generateContent"
    async with simulator(ASKS) as running:
        for model, has_id in (("gemini-2.5-flash", False), ("gemini-3-flash", True)):
            _, _, data = await ask(running, path.format(model), PATHS["gemini"][1])
            first, second = json.loads(data)["candidates"][0]["content"]["parts"][1:]
            assert ("id" in first["functionCall"]) is has_id
            assert ("thoughtSignature" in first, "thoughtSignature" in second) == (True, False)


@pytest.mark.parametrize(
    "path",
    [
        "/v1beta1/projects/p/locations/l/publishers/google/models/gemini-3-flash:generateContent",
        "/v1beta/models/models%2Fgemini-3-flash:generateContent",
        "/v1beta/models/org/tuned:2:generateContent",
    ],
)
async def test_the_model_stands_before_the_last_colon_of_the_path(path):
    async with simulator("Hello.") as running:
        status, _, data = await ask(running, path, PATHS["gemini"][1])
    assert (status, read("gemini", data).text) == (200, "Hello.")


async def test_a_gemini_stream_without_sse_is_one_array():
    async with simulator("Hello, world.", piece=3) as running:
        path = "/v1beta/models/gemini-3-flash:streamGenerateContent"
        _, headers, data = await ask(running, path, PATHS["gemini"][1])
        _, _, refused = await ask(running, path, {"contents": []})
    frames = json.loads(data)
    texts = [part["text"] for frame in frames for part in frame["candidates"][0]["content"]["parts"]]
    assert (headers["content-type"].split(";")[0], "".join(texts), len(frames) > 4) == (
        "application/json",
        "Hello, world.",
        True,
    )
    assert json.loads(refused)[0]["error"]["code"] == 400


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_refusal_is_said_in_its_dialect(dialect):
    path, body, headers = PATHS[dialect]
    broken = {key: value for key, value in body.items() if key not in ("messages", "input", "contents")}
    async with simulator() as running:
        status, shown, data = await ask(running, path, broken, headers)
        garbled, _, text = await ask(running, path, "no object", headers)
    failure = codec_of(dialect).decode_error(status, data, shown)
    assert (status, failure.kind, garbled) == (400, FailureKind.INVALID_REQUEST, 400)
    assert codec_of(dialect).decode_error(400, text, {}).kind is FailureKind.INVALID_REQUEST
    assert {
        "openai-chat": "param",
        "openai-responses": "param",
        "anthropic": "request_id",
        "gemini": "INVALID_ARGUMENT",
    }[dialect] in data.decode()


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_with_a_key_only_requests_that_bring_it_are_answered(dialect):
    async with simulator("Hello.", key="s3cret") as running:
        refused = await ask_in(running, dialect, headers={"authorization": "Bearer other"})
        failure = codec_of(dialect).decode_error(refused[0], refused[2], refused[1])
        assert (refused[0], failure.kind) == (400 if dialect == "gemini" else 401, FailureKind.AUTHENTICATION)
        for name, value in (("authorization", "Bearer s3cret"), ("x-api-key", "s3cret"), ("x-goog-api-key", "s3cret")):
            assert (await ask_in(running, dialect, headers={name: value}))[0] == 200
    assert b"s3cret" not in refused[2]


async def test_what_came_in_is_kept_without_its_keys():
    async with simulator("Hello.") as running:
        path, body, _ = PATHS["gemini"]
        await ask(running, f"{path}?key=s3cret&alt=json", body, {"x-goog-api-key": "s3cret", "x-own": "1"})
    (seen,) = running.requests
    assert (seen.method, seen.path, seen.body) == ("POST", f"{path}?alt=json", body)
    assert seen.headers["x-own"] == "1"
    assert "s3cret" not in repr(seen)


async def test_only_as_many_requests_are_kept_as_wanted():
    async with Simulator(ScriptedModel("Hello."), keep=2) as running:
        for path in ("/a", "/b", "/c"):
            await ask(running, path, {})
    assert [seen.path for seen in running.requests] == ["/b", "/c"]


@pytest.mark.parametrize(
    ("path", "headers", "member"),
    [
        ("/v1/nothing", {}, "param"),
        ("/v1/responses/resp_1/cancel", {}, "param"),
        ("/v1/messages/batches", ANTHROPIC, "request_id"),
        ("/v1beta/models/gemini-3-flash:embedContent", {}, "NOT_FOUND"),
    ],
)
async def test_an_unknown_path_is_not_found_in_the_nearest_dialect(path, headers, member):
    async with simulator() as running:
        status, _, data = await ask(running, path, {}, headers)
    assert (status, member in data.decode()) == (404, True)


async def test_tokens_are_counted_and_models_listed():
    async with simulator() as running:
        counted = [
            json.loads((await ask(running, path, body, ANTHROPIC))[2])
            for path, body in (
                ("/v1/messages/count_tokens", {"model": "c", "messages": [{"role": "user", "content": "12345678"}]}),
                ("/v1beta/models/g:countTokens", {"contents": [{"parts": [{"text": "12345678"}]}]}),
                (
                    "/v1beta/models/g:countTokens",
                    {"generateContentRequest": {"model": "models/g", "contents": [{"parts": [{"text": "12345678"}]}]}},
                ),
                ("/v1/responses/input_tokens", {"model": "g", "input": "12345678"}),
            )
        ]
        openai = json.loads((await ask(running, "/v1/models", None, method="GET"))[2])
        anthropic = json.loads((await ask(running, "/v1/models", None, ANTHROPIC, method="GET"))[2])
        gemini = json.loads((await ask(running, "/v1beta/models", None, method="GET"))[2])
        one = json.loads((await ask(running, "/v1/models/any", None, method="GET"))[2])
    assert counted == [
        {"input_tokens": 3},
        {"totalTokens": 3},
        {"totalTokens": 3},
        {"input_tokens": 3, "object": "response.input_tokens"},
    ]
    assert (openai["object"], anthropic["has_more"], gemini["models"][0]["name"][:7], one["id"]) == (
        "list",
        False,
        "models/",
        "any",
    )


async def test_rules_come_before_answers_and_failures_are_told():
    rules = (
        Rule("refund", Answer("I will look.")),
        Rule("fail", Answer(failure=Failure(kind=FailureKind.CONTEXT_FULL, message="too long", status=400))),
    )
    async with simulator("Hello.", rules=rules) as running:
        texts = []
        for said in ("A refund!", "hi", "please fail"):
            path, body, _ = PATHS["openai-chat"]
            status, _, data = await ask(running, path, {**body, "messages": [{"role": "user", "content": said}]})
            texts.append(read("openai-chat", data).text if status == 200 else status)
    assert texts == ["I will look.", "Hello.", 400]


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_failure_of_a_script_needs_no_status(dialect):
    failure = Failure(kind=FailureKind.RATE_LIMIT, message="slowly", retry_after=2)
    async with simulator(Answer(failure=failure)) as running:
        status, headers, data = await ask_in(running, dialect)
    told = codec_of(dialect).decode_error(status, data, headers)
    assert (status, told.kind, told.message, told.retry_after) == (429, FailureKind.RATE_LIMIT, "slowly", 2)


async def test_a_script_whose_own_code_fails_is_an_error_of_the_server():
    def otherwise(request):
        raise KeyError("gone")

    async with simulator(model=ScriptedModel(otherwise=otherwise)) as running:
        status, _, data = await ask_in(running, "openai-chat")
    assert (status, "KeyError" in data.decode()) == (500, True)


# Faults


def faulty(*answers, **fault):
    return simulator(*answers, faults=ModelFaults(at={0: Fault(**fault)}))


@pytest.mark.parametrize("status", [429, 500, 503, 529])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_an_error_status_is_met_once_and_says_where_its_dialect_says_it_when_to_come_back(dialect, status):
    async with faulty("Hello.", kind=FaultKind.STATUS, status=status, retry_after=1.5) as running:
        got, headers, data = await ask_in(running, dialect)
        again = await ask_in(running, dialect)
    failure = codec_of(dialect).decode_error(got, data, headers)
    assert (got, failure.retry_after, failure.retryable, again[0]) == (status, 1.5, True, 200)
    assert ("retry-after" in headers, b"RetryInfo" in data) == ((False, True) if dialect == "gemini" else (True, False))


async def test_an_error_status_may_come_without_a_hint():
    async with faulty(kind=FaultKind.STATUS, status=429) as running:
        status, headers, data = await ask_in(running, "gemini")
    assert (status, "retry-after" in headers, b"RetryInfo" in data) == (429, False, False)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("at_byte", [0, 40, 100_000])
async def test_a_cut_connection_ends_before_the_body_does(stream, at_byte):
    async with faulty("Hello, world.", kind=FaultKind.CUT, at_byte=at_byte) as running:
        with pytest.raises(TransportError):
            await ask_in(running, "openai-chat", stream=stream)


async def raw_answer(running, dialect):
    """The bytes that come before the connection ends, and whether any came."""
    path, body, headers = PATHS[dialect]
    data = json.dumps(body).encode()
    lines = [
        f"POST {path} HTTP/1.1",
        "host: x",
        f"content-length: {len(data)}",
        *(f"{k}: {v}" for k, v in headers.items()),
    ]
    reader, writer = await asyncio.open_connection("127.0.0.1", int(running.url.rsplit(":", 1)[1]))
    writer.write("\r\n".join([*lines, "", ""]).encode() + data)
    return reader, writer


async def test_a_cut_comes_at_its_byte():
    async with faulty("Hello, world.", kind=FaultKind.CUT, at_byte=40) as running:
        reader, writer = await raw_answer(running, "openai-chat")
        async with asyncio.timeout(LIMIT):
            received = await reader.read()
        writer.close()
    assert len(received.split(b"\r\n\r\n", 1)[1]) == 40


async def test_a_timeout_sends_nothing_until_its_time_is_over():
    clock = FakeClock()
    faults = ModelFaults(at={0: Fault(kind=FaultKind.TIMEOUT, pause=600)})
    async with simulator("Hello.", faults=faults, clock=clock) as running:
        reader, writer = await raw_answer(running, "openai-chat")
        async with asyncio.timeout(LIMIT):
            await clock.until_asleep()
            clock.advance(600)
            assert await reader.read() == b""
        writer.close()


async def test_a_client_that_gives_up_frees_the_server():
    clock = FakeClock()
    faults = ModelFaults(at={0: Fault(kind=FaultKind.TIMEOUT, pause=600)})
    async with simulator("Hello.", faults=faults, clock=clock) as running:
        _, writer = await raw_answer(running, "openai-chat")
        async with asyncio.timeout(LIMIT):
            await clock.until_asleep()
            writer.close()
            await clock.until_asleep(0)


async def test_a_simulator_closes_while_a_client_waits():
    clock = FakeClock()
    faults = ModelFaults(at={0: Fault(kind=FaultKind.TIMEOUT, pause=600)})
    async with simulator("Hello.", faults=faults, clock=clock) as running:
        reader, writer = await raw_answer(running, "openai-chat")
        async with asyncio.timeout(LIMIT):
            await clock.until_asleep()
    async with asyncio.timeout(LIMIT):
        assert await reader.read() == b""
    writer.close()


async def test_a_page_comes_with_the_status_of_a_success():
    async with faulty(kind=FaultKind.WRONG_CONTENT_TYPE) as running:
        status, headers, data = await ask_in(running, "anthropic")
    assert (status, headers["content-type"], data[:9]) == (200, "text/html; charset=utf-8", b"<!doctype")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_slow_answer_is_whole_in_the_end(dialect, stream):
    async with faulty(ASKS, kind=FaultKind.SLOW_DRIP, pause=0) as running:
        _, _, data = await ask_in(running, dialect, stream=stream)
    assert len(read(dialect, data, stream=stream).calls) == 2


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic", "gemini"])
async def test_equal_ids_reach_the_wire(dialect, stream):
    async with faulty(ASKS, kind=FaultKind.DUPLICATE_IDS) as running:
        _, _, data = await ask_in(running, dialect, stream=stream)
        _, _, sound = await ask_in(running, dialect, stream=stream)
    first, second = (item.call.call_id for item in read(dialect, sound, stream=stream).calls)
    assert f'"{first}"' in data.decode()
    assert second not in data.decode()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_truncated_call_is_never_complete(dialect, stream):
    async with faulty(ASKS, kind=FaultKind.TRUNCATED_CALL) as running:
        reply = read(dialect, (await ask_in(running, dialect, stream=stream))[2], stream=stream)
    assert reply.finish.reason is FinishReason.LENGTH
    assert [item.call.raw for item in reply.calls[1:] if item.complete] == []


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_malformed_call_has_no_arguments_that_can_be_read(dialect, stream):
    async with faulty(ASKS, kind=FaultKind.MALFORMED_CALL) as running:
        reply = read(dialect, (await ask_in(running, dialect, stream=stream))[2], stream=stream)
    if dialect == "gemini":
        assert (reply.calls, reply.finish.reason, reply.finish.raw) == (
            (),
            FinishReason.MALFORMED_CALL,
            "MALFORMED_FUNCTION_CALL",
        )
    else:
        assert reply.calls[1].call.raw == '{"city":"Oslo",}'


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_an_empty_answer_says_nothing_and_claims_to_be_complete(dialect):
    async with faulty(ASKS, kind=FaultKind.EMPTY) as running:
        reply = read(dialect, (await ask_in(running, dialect))[2])
    assert (reply.text, reply.calls, reply.finish.reason) == ("", (), FinishReason.END)


async def test_thoughts_leak_into_the_text():
    async with faulty("Hello.", kind=FaultKind.THINKING_LEAK) as running:
        _, _, data = await ask_in(running, "anthropic")
    assert json.loads(data)["content"][0]["text"].startswith("<think>")


async def test_the_same_seed_gives_the_same_faults():
    async def statuses(seed):
        plan = ModelFaults(seed=seed, rate=0.5, faults=[Fault(kind=FaultKind.STATUS, status=503)])
        async with simulator("Hello.", faults=plan) as running:
            return [(await ask_in(running, "openai-chat"))[0] for _ in range(12)]

    first = await statuses(7)
    assert (first == await statuses(7), set(first)) == (True, {200, 503})


async def test_pieces_are_paced_by_the_clock():
    clock = FakeClock()
    async with simulator("abcdef", clock=clock, piece=2, pause=5) as running:
        asking = asyncio.ensure_future(ask_in(running, "openai-chat", stream=True))
        async with asyncio.timeout(LIMIT):
            for _ in range(4):
                await clock.until_asleep()
                clock.advance(5)
            _, _, data = await asking
    assert [chunk for chunk in ('"ab"', '"cd"', '"ef"') if chunk in data.decode()] == ['"ab"', '"cd"', '"ef"']


async def test_a_conversation_is_carried_on_by_another_process_of_the_same_script():
    """Nothing is remembered: signatures and the place in the script are read from the request."""
    script = (ASKS, "Sunny and cold.")
    async with simulator(*script) as first:
        reply = read("gemini", (await ask_in(first, "gemini"))[2])
    content = {"role": "model", "parts": []}
    for item in reply.items:
        if item.kind == "call":
            call = {"id": item.call.call_id, "name": item.call.name, "args": json.loads(item.call.raw)}
            content["parts"].append(
                {"functionCall": call, **{k: v for k, v in item.private.get("gemini", {}).items() if k[0] != "_"}}
            )
    answers = [
        {"functionResponse": {"id": item.call.call_id, "name": item.call.name, "response": {"output": 1}}}
        for item in reply.calls
    ]
    path, body, _ = PATHS["gemini"]
    body = {**body, "contents": [*body["contents"], content, {"role": "user", "parts": answers}]}
    async with simulator(*script) as second:
        status, _, data = await ask(second, path, body)
        del content["parts"][0]["thoughtSignature"]
        refused, _, message = await ask(second, path, body)
    assert (status, read("gemini", data).text) == (200, "Sunny and cold.")
    assert (refused, b"thought_signature" in message) == (400, True)


async def test_what_is_no_http_gets_a_status_and_the_door():
    async with simulator() as running:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(running.url.rsplit(":", 1)[1]))
        writer.write(b"\x16\x03\x01 this is no HTTP\r\n\r\n")
        async with asyncio.timeout(LIMIT):
            received = await reader.read()
        writer.close()
    assert (received.split()[1], running.requests) == (b"400", [])


def test_the_helpers_for_tests_load_no_server():
    program = "import sys, groundwire.testing; print([m for m in ('h11', 'websockets') if m in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert printed.stdout == "[]\n"


async def test_the_environment_points_every_sdk_at_the_server():
    async with Simulator(key="k") as running:
        environment = running.environment
    assert environment["OPENAI_BASE_URL"] == f"{running.url}/v1"
    assert environment["ANTHROPIC_BASE_URL"] == environment["GEMINI_BASE_URL"] == running.url
    assert {environment[name] for name in environment if name.endswith("_KEY")} == {"k"}


@pytest.mark.parametrize("head", ["POST //[x/v1/messages", "GET http://[", "HEAD /v1/models"])
async def test_an_odd_target_or_a_head_gets_a_status_and_nobody_sees_a_traceback(head):
    unhandled = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unhandled.append(context))
    async with simulator("Hello.") as running:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(running.url.rsplit(":", 1)[1]))
        writer.write(f"{head} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n".encode())
        async with asyncio.timeout(LIMIT):
            received = await reader.read()
        writer.close()
    assert received.startswith(b"HTTP/1.1 4")
    assert not unhandled


@pytest.mark.parametrize(
    ("path", "advice"),
    [
        ("/chat/completions", "the base URL ends in /v1"),
        ("/responses", "the base URL ends in /v1"),
        ("/messages", "for Anthropic's the client adds it"),
        ("/v2/responses", "the base URL ends in /v1"),
        ("/v1/v1/messages", "The base URL of this API is given without /v1."),
    ],
)
async def test_a_path_without_its_version_is_not_found_and_the_base_url_is_spoken_of(path, advice):
    async with simulator("Hello.") as running:
        status, _, data = await ask(running, path, PATHS["openai-chat"][1])
    error = json.loads(data)["error"]
    assert (status, advice in error["message"]) == (404, True)
    assert error.get("code") == (None if "messages" in path else "unknown_url")


async def test_an_unknown_path_that_has_its_version_gets_no_advice():
    async with simulator("Hello.") as running:
        _, _, data = await ask(running, "/v1/nothing", {})
    assert json.loads(data)["error"]["message"] == "There is no POST /v1/nothing here."


async def test_gemini_answers_a_wrong_key_as_a_wrong_argument():
    path, body, _ = PATHS["gemini"]
    async with simulator("Hello.", key="k") as running:
        status, _, data = await ask(running, path, body, {"x-goog-api-key": "other"})
    error = json.loads(data)["error"]
    assert (status, error["code"], error["status"]) == (400, 400, "INVALID_ARGUMENT")
    assert error["message"] == "API key not valid. Please pass a valid API key."
    assert error["details"][0]["reason"] == "API_KEY_INVALID"


async def test_the_prefix_of_openrouter_is_known():
    async with simulator("Hello.") as running:
        status, _, data = await ask(running, "/api/v1/chat/completions", PATHS["openai-chat"][1])
    assert (status, read("openai-chat", data).text) == (200, "Hello.")


@pytest.mark.parametrize(
    ("dialect", "members", "reason", "raw"),
    [
        ("openai-chat", {"max_completion_tokens": 2}, FinishReason.LENGTH, "length"),
        ("openai-chat", {"stop": ["lo"]}, FinishReason.END, "stop"),
        ("openai-responses", {"max_output_tokens": 2}, FinishReason.LENGTH, "incomplete"),
        ("anthropic", {"max_tokens": 2}, FinishReason.LENGTH, "max_tokens"),
        ("anthropic", {"stop_sequences": ["lo"]}, FinishReason.STOP_SEQUENCE, "stop_sequence"),
        ("gemini", {"generationConfig": {"maxOutputTokens": 2}}, FinishReason.LENGTH, "MAX_TOKENS"),
        ("gemini", {"generationConfig": {"stopSequences": ["lo"]}}, FinishReason.END, "STOP"),
    ],
)
async def test_limits_of_the_request_end_the_answer_as_its_dialect_says(dialect, members, reason, raw):
    path, body, headers = PATHS[dialect]
    async with simulator("Hello, world.") as running:
        _, _, data = await ask(running, path, {**body, **members}, headers)
    reply = read(dialect, data)
    assert (reply.text, reply.finish.reason) == ("Hello, " if reason is FinishReason.LENGTH else "Hel", reason)
    assert raw in data.decode()


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_without_a_script_an_answer_obeys_the_schema_that_it_must_have(dialect):
    schema = {
        "type": "object",
        "properties": {"days": {"type": "integer"}},
        "required": ["days"],
        "additionalProperties": False,
    }
    members = {
        "openai-chat": {
            "response_format": {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": schema}}
        },
        "openai-responses": {
            "text": {"format": {"type": "json_schema", "name": "x", "strict": True, "schema": schema}}
        },
        "anthropic": {"output_config": {"format": {"type": "json_schema", "schema": schema}}},
        "gemini": {"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": schema}},
    }
    path, body, headers = PATHS[dialect]
    async with simulator() as running:
        status, _, data = await ask(running, path, {**body, **members[dialect]}, headers)
    assert (status, json.loads(read(dialect, data).text)) == (200, {"days": 1})


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_script_that_calls_what_is_not_on_offer_is_an_error_that_says_so_and_is_not_asked_again(dialect):
    async with simulator(Answer(calls=(Ask("find_order"),))) as running:
        status, headers, data = await ask_in(running, dialect)
    failure = codec_of(dialect).decode_error(status, data, headers)
    assert (status, failure.retryable) == (500, False)
    assert failure.message == "The script calls 'find_order', which is not on offer. Offered: get_weather."


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_script_may_make_a_tool_up_on_purpose(dialect):
    async with simulator(Answer(calls=(Ask("find_order", offered=False),))) as running:
        reply = read(dialect, (await ask_in(running, dialect))[2])
    assert [item.call.name for item in reply.calls] == ["find_order"]


async def announced(body, patience):
    """What a server answers to a request that announces ten bytes and sends these."""
    async with Simulator(ScriptedModel("Hello."), patience=patience) as running:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(running.url.rsplit(":", 1)[1]))
        writer.write(b"POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n" + body)
        async with asyncio.timeout(LIMIT):
            status = await reader.readline()
        writer.close()
        return status.split()[1], len(running.requests)


async def test_a_body_that_is_announced_and_does_not_come_is_not_waited_for():
    assert await announced(b"", patience=0.01) == (b"408", 0)
    assert await announced(b"123456789", patience=0.01) == (b"408", 0)
    assert await announced(b"1234567890", patience=LIMIT) == (b"400", 1)


async def test_a_connection_between_two_requests_may_be_idle_for_longer():
    async with Simulator(ScriptedModel("Hello."), patience=0) as running:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(running.url.rsplit(":", 1)[1]))
        async with asyncio.timeout(LIMIT):
            for _ in range(2):
                writer.write(b"GET /v1/models/m HTTP/1.1\r\nhost: x\r\n\r\n")
                assert (await reader.readline()).split()[1] == b"200"
                assert b'"id":"m"' in await reader.readuntil(b"}")
        writer.close()
