"""What an answer means, and how long to wait after it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.serving.webhooks.attempts import (
    WEBHOOK_DELAYS,
    AttemptOutcome,
    AttemptResult,
    judge_answer,
    read_retry_after,
    wait_after,
)

NOW = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT
FAILED = AttemptResult(outcome=AttemptOutcome.FAILED, status=500)


@pytest.mark.parametrize(
    ("status", "outcome", "error"),
    [
        (200, "delivered", ""),
        (204, "delivered", ""),
        (299, "delivered", ""),
        (300, "failed", "redirected"),
        (301, "failed", "redirected"),
        (308, "failed", "redirected"),
        (399, "failed", "redirected"),
        (400, "failed", "receiver_failed"),
        (401, "failed", "receiver_failed"),
        (409, "failed", "receiver_failed"),
        (410, "gone", "endpoint_gone"),
        (429, "slow_down", "receiver_busy"),
        (500, "failed", "receiver_failed"),
        (502, "slow_down", "receiver_busy"),
        (503, "failed", "receiver_failed"),
        (504, "slow_down", "receiver_busy"),
        (599, "failed", "receiver_failed"),
    ],
)
def test_a_status_means_one_thing(status, outcome, error):
    result = judge_answer(status, None, "said", now=NOW)
    assert (result.outcome, result.error, result.status, result.answer) == (outcome, error, status, "said")
    assert result.is_delivered is (200 <= status < 300)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (None, None),
        ("", None),
        ("0", 0.0),
        (" 120 ", 120.0),
        ("86400", 86_400.0),
        ("86401", 86_400.0),
        ("9" * 400, 86_400.0),
        ("Tue, 14 Nov 2023 22:14:20 GMT", 60.0),
        ("Tue, 14 Nov 2023 22:12:20 GMT", 0.0),
        ("Tue, 14 Nov 2090 22:12:20 GMT", 86_400.0),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("٣", None),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_at_most_a_day(text, seconds):
    assert read_retry_after(text, NOW) == seconds


@given(st.text())
def test_any_retry_after_is_read_or_left_alone(text):
    found = read_retry_after(text, NOW)
    assert found is None or 0 <= found <= 86_400


def test_the_delays_are_those_of_the_standard():
    hours = [wait_after(FAILED, attempt, 0.0) / 3600 for attempt in range(1, 10)]
    assert hours == pytest.approx([5 / 3600, 5 / 60, 0.5, 2, 5, 10, 14, 20, 24])
    assert len(WEBHOOK_DELAYS) == 9
    assert wait_after(FAILED, 10, 0.0) is None


@given(st.integers(1, 9), st.floats(0, 1))
def test_chance_makes_a_wait_at_most_a_tenth_longer_and_never_shorter(attempt, chance):
    wait = wait_after(FAILED, attempt, chance)
    assert WEBHOOK_DELAYS[attempt - 1] <= wait <= WEBHOOK_DELAYS[attempt - 1] * 1.1


def test_who_asks_for_more_time_gets_it_and_who_asks_for_less_does_not_hurry_us():
    asked = AttemptResult(outcome=AttemptOutcome.FAILED, status=503, retry_after=600.0)
    assert [wait_after(asked, attempt, 0.0) for attempt in (1, 2, 3)] == [600.0, 600.0, 1800.0]


def test_who_is_overwhelmed_is_left_alone_for_a_minute_at_least():
    busy = AttemptResult(outcome=AttemptOutcome.SLOW_DOWN, status=429)
    assert [wait_after(busy, attempt, 0.0) for attempt in (1, 2)] == [60.0, 300.0]


@pytest.mark.parametrize("outcome", ["delivered", "gone"])
def test_there_is_no_next_attempt_after_success_or_where_nobody_wants_one(outcome):
    assert wait_after(AttemptResult(outcome=AttemptOutcome(outcome)), 1, 0.0) is None
