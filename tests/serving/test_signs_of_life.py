"""A stream ends when its transport is let go of, and signs of life must not hold it."""

import asyncio
import gc
import weakref

import pytest

from groundwire.serving.exchanges import SignOfLife, _Heart


class Transport:
    def __init__(self):
        self.is_sending = asyncio.Event()

    async def send_bytes(self, _):
        self.is_sending.set()
        await asyncio.Event().wait()


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


async def gone(transport):
    while transport() is not None:  # noqa: ASYNC110 - what is freed sets no event
        await asyncio.sleep(0)
    return True


@pytest.mark.parametrize("is_under_way", [True, False])
async def test_a_stream_that_ends_while_a_sign_is_sent_has_ended_at_once(no_collector, is_under_way):
    """It ended when the garbage collector ran, minutes later perhaps."""
    transport = Transport()
    heart = _Heart(transport, SignOfLife(b"ping", 0.001))
    if is_under_way:
        await transport.is_sending.wait()
    else:
        heart._look()
    kept = weakref.ref(transport)
    heart.stop()
    del transport
    assert await asyncio.wait_for(gone(kept), 10)
