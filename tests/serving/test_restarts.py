"""When a worker that died is restarted, and when the server gives up."""

import pytest

from groundwire.serving.restarts import RestartPolicy

FOR_EVER = 0


def test_a_worker_is_restarted_at_once_and_then_after_delays_that_double_up_to_two_seconds():
    policy = RestartPolicy(FOR_EVER, 60)
    assert [policy.delay_after_death(1, now=n) for n in range(7)] == [0, 0.25, 0.5, 1, 2, 2, 2]


def test_deaths_of_another_worker_do_not_delay_a_restart():
    policy = RestartPolicy(FOR_EVER, 60)
    for now in range(5):
        policy.delay_after_death(1, now)
    assert policy.delay_after_death(2, now=5) == 0


@pytest.mark.parametrize(("last", "delay"), [(59.9, None), (60.0, 0.25)])
def test_deaths_of_all_workers_count_until_they_are_as_old_as_the_window(last, delay):
    policy = RestartPolicy(3, 60)
    assert policy.delay_after_death(1, now=0) == 0
    assert policy.delay_after_death(2, now=1) == 0
    assert policy.delay_after_death(2, now=last) == delay


def test_without_a_limit_it_never_gives_up():
    policy = RestartPolicy(FOR_EVER, 60)
    assert all(policy.delay_after_death(1, now=0) is not None for _ in range(3000))
