"""A capture counts when one supplier message holds its words, exactly; strict mode removes what none holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.apps.supplier.contracts import GroundingMode, HistoryEntry, TraceEntry
from groundwire.apps.supplier.grounding import ground_quote, ground_trace, turn_at

HISTORY = (
    HistoryEntry(role="bot", content="您好，起订量是多少？"),
    HistoryEntry(role="supplier", content="[图片]"),
    HistoryEntry(role="supplier", content="印logo的话，最少200个起 哦"),
    HistoryEntry(role="bot", content="单价能到5块吗"),
    HistoryEntry(role="supplier", content="这款停产了"),
    HistoryEntry(role="supplier", content="【自动回复】上班时间早9点到晚6点"),
    HistoryEntry(role="supplier", content="[语音消息]"),
)


def capture(quote, name="log_data", **more):
    return TraceEntry(turn=2, name=name, args={"goalId": "moq", "value": "200", "supplierQuote": quote}, **more)


@pytest.mark.requirement("A-101", "A-168", "X-09")
def test_words_of_one_supplier_message_are_evidence_with_their_place():
    found = ground_quote("最少200个起", HISTORY)
    assert (found.grounded, found.matched_turn, found.message, found.start, found.end) == (True, 2, 2, 8, 15)
    assert HISTORY[2].content[8:15] == "最少200个起"


MISSES = {
    "punctuation_width": "印logo的话,最少200个起",
    "whitespace": "最少200个起哦",
    "merged_messages": "[图片]印logo的话，最少200个起",
    "paraphrase": "起订量二百",
    "bot_text": "单价能到5块吗",
    "empty": "",
}


@pytest.mark.requirement("A-163", "A-168", "X-09", "X-17")
@pytest.mark.parametrize("why", MISSES)
def test_a_near_miss_is_named_for_what_it_is(why):
    found = ground_quote(MISSES[why], HISTORY)
    assert (found.grounded, found.near_miss) == (False, why)


@pytest.mark.requirement("X-17")
def test_no_quote_at_all_is_not_judged_but_what_is_no_text_fails():
    assert ground_quote(None, HISTORY).grounded is None
    assert (ground_quote(7, HISTORY).grounded, ground_quote(7, HISTORY).near_miss) == (False, "empty")


@pytest.mark.requirement("A-159", "OQ-05")
@pytest.mark.parametrize("quote", ["早9点到晚6点", "[语音消息]"])
def test_a_machines_words_may_show_when_or_that_something_came_but_are_no_fact(quote):
    assert ground_quote(quote, HISTORY).grounded
    found = ground_quote(quote, HISTORY, is_fact=True)
    assert (found.grounded, found.near_miss) == (False, "canned")


@pytest.mark.requirement("A-102", "A-103", "A-161", "X-16")
def test_strict_removes_what_no_supplier_said_and_keeps_malformed_calls_marked_as_such():
    malformed = capture(None, valid=False, error="value is missing")
    trace = (capture("最少200个起"), capture("起订量二百"), malformed)
    kept = ground_trace(trace, HISTORY, GroundingMode.STRICT)
    assert [(entry.args["supplierQuote"], entry.valid) for entry in kept] == [("最少200个起", True), (None, False)]


@pytest.mark.requirement("A-104")
def test_report_keeps_everything_and_says_what_it_found():
    kept = ground_trace((capture("最少200个起"), capture("起订量二百")), HISTORY, GroundingMode.REPORT)
    assert [(entry.grounding.grounded, entry.grounding.near_miss) for entry in kept] == [
        (True, None),
        (False, "paraphrase"),
    ]


def test_a_line_is_answered_in_the_turn_after_the_bots_last_one():
    assert [turn_at(HISTORY, place) for place in range(len(HISTORY) + 1)] == [1, 2, 2, 2, 3, 3, 3, 3]


SIGNS = st.sampled_from("ab15好行，。! \u200b\ufe0f")
LINES = st.tuples(st.sampled_from(["bot", "supplier"]), st.text(SIGNS, max_size=12))


@given(st.lists(LINES, max_size=8), st.text(SIGNS, max_size=6))
def test_a_quote_is_grounded_exactly_when_it_says_something_that_a_supplier_message_holds(lines, quote):
    history = [HistoryEntry(role=role, content=content) for role, content in lines]
    held = any(role == "supplier" and quote in content for role, content in lines)
    found = ground_quote(quote, history)
    assert found.grounded is (held and sum(sign.isalnum() for sign in quote) >= 2)
    if found.grounded:
        assert history[found.message].content[found.start : found.end] == quote


@pytest.mark.parametrize(
    ("name", "kept"),
    [("log_data", 0), ("note_blocker", 0), ("note_file_request", 0), ("acknowledge_media", 1), ("extract_timing", 1)],
)
def test_what_settles_a_goal_needs_a_person_and_times_and_media_do_not(name, kept):
    entry = TraceEntry(turn=2, name=name, args={"supplierQuote": "早9点到晚6点"})
    assert len(ground_trace((entry,), HISTORY, GroundingMode.STRICT)) == kept
