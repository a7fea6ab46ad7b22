import pytest

from groundwire.contracts.decisions import Allow, Deny
from groundwire.contracts.errors import ErrorDetail, ErrorType
from groundwire.runtime.policies.loops import (
    KEPT_TURNS,
    empty_reminder,
    enough_refusals,
    is_empty,
    is_not_fruitless,
    is_not_repeating,
    repeat_reminder,
)


@pytest.mark.requirement("B-025", "B-143", "B-151")
@pytest.mark.parametrize(
    ("earlier", "limit", "allowed"),
    [(0, 3, True), (1, 3, True), (2, 3, False), (9, 3, False), (0, 1, False), (3, 5, True)],
)
def test_the_call_that_would_reach_the_limit_is_refused(earlier, limit, allowed):
    decision = is_not_repeating("kb_search", earlier, limit)
    assert isinstance(decision, Allow if allowed else Deny)
    if isinstance(decision, Deny):
        assert (decision.type, decision.detail) == (ErrorType.LOOP_DETECTED, ErrorDetail.REPEATED_CALL)
        assert decision.retryable is False


@pytest.mark.requirement("B-145")
def test_the_message_about_repetition_names_the_tool_the_count_and_a_way_out():
    message = is_not_repeating("kb_search", 2, 3).message
    assert "kb_search" in message
    assert "3" in message
    assert "another tool" in message


@pytest.mark.requirement("B-025", "B-146", "B-151")
@pytest.mark.parametrize(
    ("empty", "limit", "allowed"), [(0, 2, True), (1, 2, True), (2, 2, False), (3, 2, False), (2, 3, True)]
)
def test_a_tool_that_found_nothing_too_often_is_refused(empty, limit, allowed):
    decision = is_not_fruitless("kb_search", empty, limit)
    assert isinstance(decision, Allow if allowed else Deny)
    if isinstance(decision, Deny):
        assert (decision.type, decision.detail) == (ErrorType.LOOP_DETECTED, ErrorDetail.EMPTY_RESULTS)
        assert decision.retryable is False


@pytest.mark.requirement("B-147", "B-148")
def test_the_message_about_emptiness_names_the_tool_the_count_missing_data_and_alternatives():
    for message in (is_not_fruitless("kb_search", 2, 2).message, empty_reminder("kb_search", 2)):
        assert "kb_search" in message
        assert "2 times" in message
        assert "may not exist" in message
        assert "another tool" in message


def test_the_reminder_names_the_tool_and_says_what_comes_next():
    assert "kb_search" in repeat_reminder("kb_search")
    assert "refused" in repeat_reminder("kb_search")


@pytest.mark.parametrize(
    ("data", "field", "empty"),
    [
        (None, None, True),
        ([], None, True),
        ({}, None, True),
        ("", None, True),
        ("  \n\t", None, True),
        (0, None, False),
        (False, None, False),
        (0.0, None, False),
        ([None], None, False),
        ({"hits": []}, None, False),
        ({"hits": []}, "hits", True),
        ({"hits": " "}, "hits", True),
        ({"hits": {}}, "hits", True),
        ({"hits": None, "more": 1}, "hits", True),
        ({"more": 1}, "hits", True),
        ({"hits": [1]}, "hits", False),
        ({"hits": 0}, "hits", False),
        ([], "hits", True),
        ([1], "hits", False),
        ("x", "hits", False),
    ],
)
def test_empty_is_no_data_or_nothing_in_the_field_that_decides(data, field, empty):
    assert is_empty(data, field) is empty


@pytest.mark.parametrize(("count", "limit", "allowed"), [(0, 5, True), (4, 5, True), (5, 5, False), (6, 5, False)])
def test_five_refusals_in_a_row_are_enough(count, limit, allowed):
    decision = enough_refusals(count, limit)
    assert isinstance(decision, Allow if allowed else Deny)
    if isinstance(decision, Deny):
        assert (decision.type, decision.detail) == (ErrorType.BUDGET_EXCEEDED, ErrorDetail.REFUSALS_IN_A_ROW)


def test_five_turns_are_remembered():
    assert KEPT_TURNS == 5
