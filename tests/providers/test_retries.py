from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.contracts.failures import RETRYABLE_FAILURES, Failure, FailureKind
from groundwire.providers.retries import RetryPolicy, delay_before, seconds_until


def failure(kind=FailureKind.SERVER, **options):
    return Failure(kind=kind, message="x", **options)


def test_three_attempts_are_made_and_no_more():
    policy = RetryPolicy()
    assert delay_before(2, failure(), policy, Random(1)) is not None
    assert delay_before(3, failure(), policy, Random(1)) is not None
    assert delay_before(4, failure(), policy, Random(1)) is None


@given(st.integers(2, 60), st.integers())
def test_waits_grow_exponentially_with_half_left_to_chance_and_never_pass_the_longest(attempt, seed):
    policy = RetryPolicy(attempts=100, first=0.5, factor=2, longest=60)
    full = min(0.5 * 2 ** (attempt - 2), 60)
    delay = delay_before(attempt, failure(), policy, Random(seed))
    assert full / 2 <= delay <= full


@pytest.mark.parametrize("kind", sorted(FailureKind))
def test_only_what_can_succeed_later_is_tried_again(kind):
    delay = delay_before(2, failure(kind), RetryPolicy(), Random(1))
    assert (delay is not None) == (kind in RETRYABLE_FAILURES)


def test_the_provider_has_the_last_word_on_whether_to_come_back():
    assert delay_before(2, failure(should_retry=False), RetryPolicy(), Random(1)) is None
    assert delay_before(2, failure(FailureKind.QUOTA, should_retry=True), RetryPolicy(), Random(1)) is not None


@pytest.mark.quirk(82)
def test_the_wait_that_the_provider_asks_for_is_kept_up_to_the_longest_and_not_beyond():
    policy = RetryPolicy(longest=60)
    assert delay_before(2, failure(retry_after=34.4), policy, Random(1)) == 34.4
    assert delay_before(2, failure(retry_after=60), policy, Random(1)) == 60
    assert delay_before(2, failure(retry_after=60.1), policy, Random(1)) is None


def test_a_date_to_come_back_is_counted_from_now_and_never_negative():
    assert seconds_until("Wed, 21 Oct 2026 07:28:00 GMT", 1792567680 - 30) == 30
    assert seconds_until("Wed, 21 Oct 2026 07:28:00 GMT", 1792567680 + 30) == 0
    assert seconds_until("soon", 0) is None
