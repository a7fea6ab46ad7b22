"""What was waited for a provider, and what was not: every moment counts as one of the two."""

import asyncio
import contextlib

import pytest

from groundwire import ModelRequest, say
from groundwire.contracts.errors import ProviderError
from groundwire.contracts.failures import FailureKind
from groundwire.providers.endpoints import Endpoint
from groundwire.providers.http import HttpProvider
from groundwire.providers.retries import RetryPolicy
from groundwire.providers.transport import TransportError
from groundwire.providers.waiting import Stopwatch, waiting

ANSWER = b'{"id":"r1","model":"m","choices":[{"message":{"role":"assistant","content":"Hi."},"finish_reason":"stop"}]}'
PIECES = [
    b": wait\n\n",
    b'data: {"id":"r1","choices":[{"delta":{"content":"Hi."}}]}\n\n',
    b'data: {"id":"r1","choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
]
REQUEST = ModelRequest(model="m", items=(say("user", "Hello"),))


class Time:
    """Milliseconds that pass only where something takes them."""

    def __init__(self):
        self.now = 0

    def take(self, milliseconds):
        self.now += milliseconds * 1_000_000

    def nanoseconds(self):
        return self.now


class SlowTransport:
    """Each send takes 100, each read 30, and each piece 10; looking at an answer's headers is ours, and takes 1."""

    def __init__(self, time, failures=0):
        self._time = time
        self._failures = failures

    async def send(self, request):
        self._time.take(100)
        self._failures -= 1
        if self._failures >= 0:
            raise TransportError(FailureKind.OVERLOADED, "nobody is there")
        return SlowResponse(self._time)

    async def close(self):
        pass


class SlowResponse:
    def __init__(self, time):
        self.headers = {"content-type": "text/event-stream"}
        self._time = time
        self._left = list(PIECES)

    @property
    def status(self):
        self._time.take(1)
        return 200

    async def read(self):
        self._time.take(30)
        return ANSWER

    async def piece(self):
        if not self._left:
            return b""
        self._time.take(10)
        return self._left.pop(0)

    async def close(self):
        pass


class SlowClock:
    def __init__(self, time):
        self._time = time

    def now(self):
        return 0.0

    async def sleep(self, seconds):
        self._time.take(5000)


@pytest.fixture
def time():
    return Time()


def provider(time, **options):
    endpoint = Endpoint(name="here", dialect="openai-chat", base_url="http://x", retry=RetryPolicy(attempts=2))
    return HttpProvider(endpoint, SlowTransport(time, **options), clock=SlowClock(time))


async def test_what_is_done_to_an_answer_is_no_waiting(time):
    watch = Stopwatch(time.nanoseconds)
    time.take(7)
    await provider(time).complete(REQUEST)
    assert (time.now, watch.own_microseconds) == (138_000_000, 8_000)


async def test_pauses_between_attempts_are_waiting(time):
    watch = Stopwatch(time.nanoseconds)
    await provider(time, failures=1).complete(REQUEST)
    assert (time.now, watch.own_microseconds) == (5_231_000_000, 1_000)


async def test_a_request_that_fails_has_been_waited_for_too(time):
    watch = Stopwatch(time.nanoseconds)
    with pytest.raises(ProviderError):
        await provider(time, failures=2).complete(REQUEST)
    assert (time.now, watch.own_microseconds) == (5_200_000_000, 0)


async def test_every_piece_of_a_stream_is_waited_for(time):
    watch = Stopwatch(time.nanoseconds)
    async with contextlib.aclosing(provider(time).batches(REQUEST)) as batches:
        await anext(batches)
        assert (time.now, watch.own_microseconds) == (121_000_000, 1_000)
        time.take(3)
        async for _ in batches:
            pass
    assert (time.now, watch.own_microseconds) == (134_000_000, 4_000)


async def test_waits_that_overlap_count_once(time):
    watch = Stopwatch(time.nanoseconds)
    with waiting():
        time.take(10)
        with waiting():
            time.take(10)
        time.take(10)
        assert watch.own_microseconds == 0
    time.take(2)
    assert watch.own_microseconds == 2_000


async def test_each_task_has_its_own_and_those_that_it_starts_share_it(time):
    async def ask():
        watch = Stopwatch(time.nanoseconds)
        await asyncio.gather(wait(), wait())
        return watch.own_microseconds

    async def wait():
        with waiting():
            time.take(4)

    others = 8_000  # of 16: what the other one waits is none of one's own waiting
    assert await asyncio.gather(ask(), ask()) == [others, others]
