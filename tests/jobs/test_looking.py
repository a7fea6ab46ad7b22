from groundwire.jobs.looking import EXPECTED_SECONDS, Looks


class Seconds:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def looks_within(looks, seconds, duration, *, every=0.125, queue="jobs.greet"):
    asked = 0
    end = seconds.now + duration
    while seconds.now < end:
        asked += looks.is_due(queue)
        seconds.now += every
    return asked


def test_a_queue_is_looked_into_each_time_while_something_is_expected_and_then_seldom():
    seconds = Seconds()
    looks = Looks(0.125, now=seconds)
    assert looks_within(looks, seconds, EXPECTED_SECONDS) == EXPECTED_SECONDS / 0.125
    assert looks_within(looks, seconds, 10) == 8
    looks.expect()
    assert looks_within(looks, seconds, EXPECTED_SECONDS) == EXPECTED_SECONDS / 0.125


def test_each_queue_is_looked_into_as_often():
    seconds = Seconds()
    looks = Looks(0.125, now=seconds)
    seconds.now += EXPECTED_SECONDS
    assert [looks.is_due(queue) for queue in ("a", "b", "a", "b")] == [True, True, False, False]
    seconds.now += 1.25
    assert [looks.is_due(queue) for queue in ("a", "b", "a", "b")] == [True, True, False, False]
