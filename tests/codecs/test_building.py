import pytest

from groundwire.codecs.wire.building import ReplyBuilder, parts_of, withdraw_calls
from groundwire.codecs.wire.finishes import reason_of
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.messages import (
    CallItem,
    Message,
    NativeItem,
    ReasoningItem,
    RefusalPart,
    TextPart,
    say,
)
from groundwire.contracts.replies import (
    CallDelta,
    Finish,
    FinishReason,
    ItemEnded,
    ReasoningDelta,
    RefusalDelta,
    Reply,
    ReplyCallStarted,
    ReplyEnded,
    ReplyStarted,
    ReplyTextDelta,
)


def call(call_id="a", raw="{}", **options):
    return CallItem(call=ToolCall(call_id=call_id, name="find", raw=raw, origin="test"), **options)


def test_text_and_calls_are_collected_in_their_order_and_told_piece_by_piece():
    builder = ReplyBuilder("test")
    builder.begin(ReplyStarted(reply_id="r"))
    message = builder.open("message")
    builder.text(message, "Let me ")
    builder.text(message, "look.")
    place = builder.open("call", call_id="a", name="find")
    builder.text(place, '{"x"')
    builder.text(place, ":1}")
    builder.close(message)
    builder.close(place)
    expected = CallItem(call=ToolCall(call_id="a", name="find", raw='{"x":1}', origin="test"))
    assert builder.items() == (say("assistant", "Let me look."), expected)
    assert builder.take() == [
        ReplyStarted(reply_id="r"),
        ReplyTextDelta(index=0, text="Let me "),
        ReplyTextDelta(index=0, text="look."),
        ReplyCallStarted(index=1, call_id="a", name="find"),
        CallDelta(index=1, text='{"x"'),
        CallDelta(index=1, text=":1}"),
        ItemEnded(index=0, item=say("assistant", "Let me look.")),
        ItemEnded(index=1, item=expected),
    ]
    assert builder.take() == []


@pytest.mark.quirk(41)
def test_a_reply_that_begins_anew_forgets_what_came_before():
    builder = ReplyBuilder("test")
    builder.begin(ReplyStarted(reply_id="1"))
    builder.open("call", call_id="a", name="find")
    builder.begin(ReplyStarted(reply_id="2"))
    assert builder.items() == ()
    assert builder.open("call", call_id="a", name="find") == 0
    assert builder.out[-1] == ReplyCallStarted(index=0, call_id="a", name="find")


@pytest.mark.quirk(11)
def test_calls_of_one_reply_never_share_an_id():
    builder = ReplyBuilder("test")
    builder.add(call("a"))
    builder.add(call("a"))
    builder.close(builder.open("call", call_id="a", name="find"))
    assert [item.call.call_id for item in builder.items()] == ["a", "a_2", "a_3"]


@pytest.mark.quirk(21)
def test_half_a_character_waits_for_its_other_half():
    builder = ReplyBuilder("test")
    place = builder.open("message")
    builder.text(place, "a\ud83d")
    builder.text(place, "\ude00b")
    builder.text(place, "\ud83d")
    builder.close(place)
    assert builder.take()[:2] == [ReplyTextDelta(index=0, text="a"), ReplyTextDelta(index=0, text="😀b")]
    assert builder.items()[0].text == "a😀b�"


def test_a_blank_argument_text_is_an_empty_object():
    builder = ReplyBuilder("test")
    builder.close(builder.open("call", call_id="a", name="find"))
    assert builder.items()[0].call.raw == "{}"


def test_a_refusal_within_a_message_keeps_its_place_after_the_text():
    builder = ReplyBuilder("test")
    place = builder.open("message")
    builder.text(place, "Well. ")
    builder.refuse(place, "I can")
    builder.refuse(place, "not.")
    builder.close(place)
    assert builder.items()[0].parts == (TextPart(text="Well. "), RefusalPart(text="I cannot."))
    assert RefusalDelta(index=0, text="not.") in builder.take()


CUT = [FinishReason.MALFORMED_CALL, FinishReason.FAILED, FinishReason.INCOMPLETE, FinishReason.CANCELLED]


@pytest.mark.quirk(20)
@pytest.mark.parametrize("reason", [FinishReason.LENGTH, FinishReason.CONTEXT_FULL])
def test_a_reply_cut_by_its_length_condemns_the_last_call_and_every_one_that_is_no_json(reason):
    items = (call("a"), call("b", '{"x":'), say("assistant", "so"), call("c"))
    assert [item.complete for item in withdraw_calls(items, reason) if item.kind == "call"] == [True, False, False]
    text_last = (call("a"), say("assistant", "so"))
    assert withdraw_calls(text_last, reason) == text_last


@pytest.mark.quirk(35)
@pytest.mark.quirk(44)
@pytest.mark.parametrize("reason", CUT)
def test_a_reply_that_went_wrong_condemns_all_its_calls(reason):
    assert [item.complete for item in withdraw_calls((call("a"), call("b")), reason)] == [False, False]


@pytest.mark.parametrize("reason", sorted(set(FinishReason) - {*CUT, FinishReason.LENGTH, FinishReason.CONTEXT_FULL}))
def test_any_other_end_leaves_the_calls_alone(reason):
    items = (call("a"), call("b", "broken"))
    assert withdraw_calls(items, reason) == items


@pytest.mark.quirk(37)
def test_a_reason_that_nobody_knows_is_read_from_the_content():
    assert reason_of((say("assistant", "x"),)) is FinishReason.END
    assert reason_of((call("a"),)) is FinishReason.TOOL_CALLS


@pytest.mark.parametrize("piece", [None, 1, 3, 1000])
def test_a_whole_reply_in_parts_says_the_same_whatever_the_size_of_the_pieces(piece):
    items = (
        ReasoningItem(text="thinking"),
        Message(role="assistant", parts=(TextPart(text="hello"), RefusalPart(text="no"))),
        NativeItem(origin="test", value={"type": "search"}),
        call("a", '{"x":1}'),
    )
    reply = Reply(reply_id="r", model="m", items=items, finish=Finish(reason=FinishReason.TOOL_CALLS))
    parts = parts_of(reply, piece=piece)
    assert parts[0] == ReplyStarted(reply_id="r", model="m")
    assert parts[-1] == ReplyEnded(reply=reply)
    assert [part.item for part in parts if isinstance(part, ItemEnded)] == list(items)
    for kind, text in (
        (ReplyTextDelta, "hello"),
        (RefusalDelta, "no"),
        (ReasoningDelta, "thinking"),
        (CallDelta, '{"x":1}'),
    ):
        found = [part.text for part in parts if isinstance(part, kind)]
        assert "".join(found) == text
        assert all(len(part) <= (piece or 1000) for part in found)


def test_pieces_of_a_refusal_between_texts_keep_their_order():
    builder = ReplyBuilder("x")
    place = builder.open("message")
    for write, text in ((builder.refuse, "a"), (builder.refuse, "b"), (builder.text, "c"), (builder.refuse, "d")):
        write(place, text)
    builder.close(place)
    (message,) = builder.items()
    assert message.parts == (RefusalPart(text="ab"), TextPart(text="c"), RefusalPart(text="d"))


def test_refusals_that_were_ended_one_by_one_are_one_part():
    builder = ReplyBuilder("test")
    place = builder.open("message")
    for text in ("I ", "can", "not."):
        builder.refuse(place, text)
        builder.end_text(place)
    builder.close(place)
    assert builder.items() == (Message(role="assistant", parts=(RefusalPart(text="I cannot."),)),)
