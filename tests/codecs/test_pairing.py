import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.codecs.wire.pairing import MISSING_RESULT, paired
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.messages import CallItem, Message, ReasoningItem, ResultItem, TextPart, say


def call(call_id, **options):
    return CallItem(call=ToolCall(call_id=call_id, name=f"tool_{call_id}", raw="{}"), **options)


def result(call_id, text="done"):
    return ResultItem(call_id=call_id, parts=(TextPart(text=text),))


def pair(*items):
    losses = Losses()
    return [item for _, item in paired(items, losses)], [warning.code for warning in losses.taken()]


USER = say("user", "hi")
BOT = say("assistant", "one moment")


@pytest.mark.parametrize(
    "items",
    [
        (),
        (USER, BOT),
        (USER, call("a"), result("a"), BOT),
        (USER, BOT, call("a"), call("b"), result("b"), result("a"), BOT),
        (USER, call("a"), BOT, result("a")),
        (USER, ReasoningItem(text="hm"), call("a"), result("a"), call("b"), result("b"), USER),
        (call("a"), result("a"), call("a"), result("a")),
    ],
)
def test_a_conversation_in_order_comes_back_as_it_is(items):
    losses = Losses()
    assert list(paired(items, losses)) == list(enumerate(items))
    assert losses.taken() == ()


@pytest.mark.quirk(70)
def test_a_call_without_a_result_gets_one_that_says_so():
    items, codes = pair(USER, call("a"), USER)
    made = ResultItem(call_id="a", name="tool_a", parts=(TextPart(text=MISSING_RESULT),), failed=True)
    assert items == [USER, call("a"), made, USER]
    assert codes == ["result_added"]


@pytest.mark.quirk(65)
def test_of_parallel_calls_only_the_one_without_a_result_gets_a_made_one_in_the_order_of_the_calls():
    items, codes = pair(call("a"), call("b"), result("b"))
    assert [item.call_id for item in items[2:]] == ["a", "b"]
    assert [item.failed for item in items[2:]] == [True, False]
    assert codes == ["result_added"]


def test_a_message_between_calls_and_results_moves_behind_them():
    items, codes = pair(call("a"), USER, result("a"), BOT)
    assert items == [call("a"), result("a"), USER, BOT]
    assert codes == ["message_moved"]


def test_a_result_without_a_call_becomes_what_the_user_says():
    items, codes = pair(USER, result("x", "42"))
    assert items[0] == USER
    assert isinstance(items[1], Message)
    assert items[1].role == "user"
    assert items[1].text == "Result of the earlier call x: 42"
    assert codes == ["result_orphaned"]


def test_a_second_result_for_one_call_is_kept_as_text():
    items, codes = pair(call("a"), result("a", "1"), result("a", "2"))
    assert [item.kind for item in items] == ["call", "result", "message"]
    assert codes == ["result_orphaned"]


def test_an_id_that_is_used_again_keeps_each_result_with_its_own_call():
    items, codes = pair(call("a"), USER, call("a"), result("a", "second"))
    assert [getattr(item, "text", "") for item in items] == ["", MISSING_RESULT, "hi", "", "second"]
    assert codes == ["result_added"]


@pytest.mark.quirk(57)
def test_calls_and_results_that_alternate_within_a_step_stay_pairs():
    items, codes = pair(call("a"), result("a"), call("b"), result("b"))
    assert [item.kind for item in items] == ["call", "result", "call", "result"]
    assert codes == []


def test_a_message_of_its_own_with_calls_before_the_results_of_the_last_one_gets_its_own_results():
    items, _ = pair(call("a"), call("b", split=True), result("a"), result("b"))
    assert [item.kind for item in items] == ["call", "result", "call", "result"]


@pytest.mark.quirk(11)
def test_two_calls_of_one_step_with_one_id_get_two_and_keep_their_results_in_order():
    items, codes = pair(call("a"), call("a"), result("a", "one"), result("a", "two"))
    assert [item.call.call_id for item in items[:2]] == ["a", "a_2"]
    assert [(item.call_id, item.text) for item in items[2:]] == [("a", "one"), ("a_2", "two")]
    assert codes == ["call_id_rewritten"]


ITEMS = st.sampled_from("abc").flatmap(lambda i: st.sampled_from([call(i), call(i, split=True), result(i), USER, BOT]))


@given(st.lists(ITEMS, max_size=12))
def test_whatever_the_order_was_every_call_has_one_result_afterwards_and_no_text_is_lost(items):
    ordered = [item for _, item in paired(items, Losses())]
    assert [item for _, item in paired(ordered, Losses())] == ordered
    texts = [item.text for item in items if not isinstance(item, CallItem)]
    joined = "\n".join(item.text for item in ordered if not isinstance(item, CallItem))
    assert all(text in joined for text in texts)
    assert sum(isinstance(item, CallItem) for item in ordered) == sum(isinstance(item, CallItem) for item in items)


def test_every_item_comes_with_its_place_and_an_added_result_with_that_of_its_call():
    losses = Losses()
    items = (USER, call("a"), call("b"), USER, result("a"), result("x"))
    placed = list(paired(items, losses))
    assert [(place, item.kind) for place, item in placed] == [
        (0, "message"), (1, "call"), (2, "call"), (4, "result"), (2, "result"), (3, "message"), (5, "message"),
    ]  # fmt: skip
    assert [(warning.code, warning.path) for warning in losses.taken()] == [
        ("message_moved", "items[4]"), ("result_added", "items[2]"), ("result_orphaned", "items[5]"),
    ]  # fmt: skip


def test_places_of_a_part_of_a_request_are_those_of_the_request():
    losses = Losses()
    placed = list(paired((call("a"), USER), losses, places=range(3, 5)))
    assert [place for place, _ in placed] == [3, 3, 4]
    assert [warning.path for warning in losses.taken()] == ["items[3]"]
