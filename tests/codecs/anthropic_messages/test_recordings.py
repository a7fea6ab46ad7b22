import json
import random

import pytest
from msgspec import structs

from groundwire.codecs import anthropic_messages
from groundwire.codecs.wire.results import object_arguments
from groundwire.contracts.messages import CallItem, Message, NativeItem, ReasoningItem, ResultItem
from groundwire.contracts.replies import FinishReason, ReplyEnded, ReplyPart, ReplyStarted
from groundwire.contracts.requests import NativeTool, ToolChoice
from tests.codecs.anthropic_messages.recordings import NAMES, STREAMED, WHOLE, recording, without_nulls


def decoded(stream: bytes, cuts: tuple[int, ...] = ()) -> list[ReplyPart]:
    decoder = anthropic_messages.StreamDecoder()
    parts: list[ReplyPart] = []
    start = 0
    for cut in (*cuts, len(stream)):
        parts += decoder.feed(stream[start:cut])
        start = cut
    return parts + decoder.finish()


def encoded(parts: list[ReplyPart]) -> bytes:
    encoder = anthropic_messages.StreamEncoder()
    written = b"".join(encoder.feed(part) for part in parts) + encoder.finish()
    assert encoder.warnings == ()
    return written


@pytest.mark.parametrize("name", NAMES)
def test_every_recorded_request_comes_back_as_it_was(name):
    request = recording(name)["request"]

    written = anthropic_messages.encode_request(anthropic_messages.decode_request(json.dumps(request).encode()))

    assert without_nulls(written.body) == without_nulls(request)
    assert written.warnings == ()


@pytest.mark.parametrize("name", WHOLE)
def test_every_recorded_response_comes_back_as_it_was(name):
    response = recording(name)["response"]

    written = anthropic_messages.encode_response(anthropic_messages.decode_response(json.dumps(response).encode()))

    assert without_nulls(written.body) == without_nulls(response)
    assert written.warnings == ()


@pytest.mark.quirk(43)
@pytest.mark.parametrize("name", STREAMED)
def test_a_recorded_stream_gives_the_same_parts_however_it_is_cut(name):
    stream = recording(name)["response"].encode()
    whole = decoded(stream)
    ended = [part for part in whole if isinstance(part, ReplyEnded)]

    assert len(ended) == 1
    assert whole[-1] is ended[0]
    for seed in range(25):
        chance = random.Random(seed)
        cuts = tuple(sorted(chance.sample(range(1, len(stream)), chance.choice([1, 7, 200]))))
        assert decoded(stream, cuts) == whole
    assert decoded(stream, tuple(range(1, len(stream)))) == whole


@pytest.mark.parametrize("name", STREAMED)
def test_a_recorded_stream_written_again_gives_the_same_reply(name):
    parts = decoded(recording(name)["response"].encode())

    assert decoded(encoded(parts))[-1] == parts[-1]


@pytest.mark.parametrize("name", STREAMED)
def test_a_streamed_reply_is_what_the_same_message_gives_in_one_piece(name):
    ended = decoded(recording(name)["response"].encode())[-1]
    assert isinstance(ended, ReplyEnded)
    whole = anthropic_messages.decode_response(anthropic_messages.encode_response(ended.reply).body)

    streamed = tuple(
        structs.replace(item, call=structs.replace(item.call, arguments=object_arguments(item.call.raw), raw=""))
        if isinstance(item, CallItem)
        else item
        for item in ended.reply.items
    )
    in_one_piece = tuple(
        structs.replace(item, call=structs.replace(item.call, raw="")) if isinstance(item, CallItem) else item
        for item in whole.items
    )
    assert in_one_piece == streamed
    assert structs.replace(whole, items=()) == structs.replace(ended.reply, items=())


def test_a_history_with_thinking_is_read_item_by_item():
    request = anthropic_messages.decode_request(recording("anthropic-tool-with-thinking-t1")["request"])

    question, thought, words, call, result = request.items
    assert isinstance(question, Message)
    assert question.text == "What is the largest city in the user country?"
    assert isinstance(thought, ReasoningItem)
    assert thought.text.startswith("The user is asking about the largest city")
    assert str(thought.private["anthropic"]["signature"]).startswith("EqEECkYICxgC")
    assert isinstance(words, Message)
    assert words.role == "assistant"
    assert isinstance(call, CallItem)
    assert (call.call.call_id, call.call.name) == ("toolu_01YGzqpRE16Vricda3Aqcejo", "get_user_country")
    assert (call.call.raw, call.call.arguments, call.call.origin) == ("{}", {}, "anthropic")
    assert isinstance(result, ResultItem)
    assert (result.call_id, result.text, result.failed) == (call.call.call_id, "Mexico", False)
    assert request.reasoning is not None
    assert request.reasoning.budget == 3000
    assert request.tool_choice == ToolChoice(mode="auto")
    assert request.max_output_tokens == 4096
    assert request.stream is False


@pytest.mark.quirk(87)
def test_what_the_provider_ran_itself_is_native_and_no_call():
    request = anthropic_messages.decode_request(recording("anthropic-native-tool-search-streaming-t1")["request"])

    kinds = [item.kind for item in request.items]
    assert kinds == ["message", "message", "native", "native", "message", "call", "result"]
    search, found = request.items[2:4]
    assert isinstance(search, NativeItem)
    assert search.value["type"] == "server_tool_use"
    assert isinstance(found, NativeItem)
    assert found.value["type"] == "tool_search_tool_result"
    assert isinstance(request.tools[2], NativeTool)
    assert request.tools[2].value == {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
    assert request.tools[0].private == {"anthropic": {"defer_loading": True}}


def test_a_recorded_response_gives_call_usage_and_end():
    reply = anthropic_messages.decode_response(recording("anthropic-fable-5-lazy-advertisement-live-t0")["response"])

    (call,) = reply.calls
    assert call.call.raw == '{"id":"refunds"}'
    assert call.complete is True
    assert call.private == {"anthropic": {"caller": {"type": "direct"}}}
    assert (reply.finish.reason, reply.finish.raw) == (FinishReason.TOOL_CALLS, "tool_use")
    assert reply.usage is not None
    assert (reply.usage.input, reply.usage.output, reply.usage.total) == (920, 50, 970)
    assert (reply.usage.cached, reply.usage.cache_write, reply.usage.reasoning) == (0, 0, 0)


@pytest.mark.quirk(87)
def test_a_recorded_stream_with_a_server_tool_gives_thought_text_and_native_items():
    parts = decoded(recording("anthropic-code-execution-tool-stream-t0")["response"].encode())

    started, ended = parts[0], parts[-1]
    assert isinstance(started, ReplyStarted)
    assert (started.reply_id, started.model) == ("msg_01Js8aWE7YbmiaUPneGiCskE", "claude-sonnet-4-6")
    assert isinstance(ended, ReplyEnded)
    thought, words, run, output, answer = ended.reply.items
    assert isinstance(thought, ReasoningItem)
    assert thought.text == "Let me calculate this mathematical expression."
    assert str(thought.private["anthropic"]["signature"]).startswith("EusBClsIDRgC")
    assert isinstance(words, Message)
    assert words.text == "I'll calculate that expression for you right away!"
    assert isinstance(run, NativeItem)
    assert run.value["input"] == {"command": 'echo "65465-6544 * 65464-6+1.02255" | bc -l'}
    assert isinstance(output, NativeItem)
    assert output.value["type"] == "bash_code_execution_tool_result"
    assert isinstance(answer, Message)
    assert "-428330955.97745" not in words.text
    assert ended.reply.calls == ()
    assert ended.reply.finish.reason is FinishReason.END


def test_citations_of_a_recorded_search_hang_on_the_text_that_they_belong_to():
    ended = decoded(recording("anthropic-text-parts-ahead-of-built-in-tool-call-t2")["response"].encode())[-1]

    assert isinstance(ended, ReplyEnded)
    cited = [item.parts[0] for item in ended.reply.items if isinstance(item, Message) and item.parts[0].citations]
    assert len(cited) == 2
    (citation,) = cited[0].citations
    assert citation.url == "https://www.share-talk.com/what-happened-overnight-tuesday-16th-september-2025/"
    assert citation.title == "What happened overnight - Tuesday 16th September 2025 - Share Talk"
    assert citation.quote == "Asian Markets Higher as Fed Rate Cut Hopes Lift Global Sentiment"
    assert citation.private["anthropic"]["type"] == "web_search_result_location"


def test_usage_of_a_stream_keeps_what_only_the_beginning_said_and_takes_the_last_of_the_rest():
    ended = decoded(recording("anthropic-text-parts-ahead-of-built-in-tool-call-t2")["response"].encode())[-1]

    assert isinstance(ended, ReplyEnded)
    usage = ended.reply.usage
    assert usage is not None
    assert (usage.input, usage.output) == (11665, 186)
    assert usage.private["anthropic"]["service_tier"] == "standard"
    assert usage.private["anthropic"]["server_tool_use"] == {"web_search_requests": 1, "web_fetch_requests": 0}
