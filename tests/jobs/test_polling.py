from groundwire.jobs.polling import EXPECTED_SECONDS, AdaptivePolling


class Seconds:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def count_polls(polling, seconds, duration, *, every=0.125, queue="jobs.greet"):
    polls = 0
    end = seconds.now + duration
    while seconds.now < end:
        polls += polling.is_due(queue)
        seconds.now += every
    return polls


def test_a_queue_is_polled_each_time_while_work_is_expected_and_then_rarely():
    seconds = Seconds()
    polling = AdaptivePolling(0.125, now=seconds)
    assert count_polls(polling, seconds, EXPECTED_SECONDS) == EXPECTED_SECONDS / 0.125
    assert count_polls(polling, seconds, 10) == 8
    polling.expect()
    assert count_polls(polling, seconds, EXPECTED_SECONDS) == EXPECTED_SECONDS / 0.125


def test_each_queue_is_polled_as_often():
    seconds = Seconds()
    polling = AdaptivePolling(0.125, now=seconds)
    seconds.now += EXPECTED_SECONDS
    assert [polling.is_due(queue) for queue in ("a", "b", "a", "b")] == [True, True, False, False]
    seconds.now += 1.25
    assert [polling.is_due(queue) for queue in ("a", "b", "a", "b")] == [True, True, False, False]
