"""Large bodies at once: how many bytes of them are in memory, and what happens to those that do not fit."""

import asyncio
import gzip

import pytest

from groundwire.contracts.servers import ServerSettings
from groundwire.serving.answers import Overloaded
from groundwire.serving.bodies import RequestTooLarge, UnreadableBody
from groundwire.serving.body_unpacker import BODIES_IN_MEMORY, BodyUnpacker

SIZE = 1_000_000
SETTINGS = ServerSettings(max_body=SIZE)
LARGE = gzip.compress(bytes(SIZE))
SMALL = gzip.compress(b"{}")


@pytest.fixture
def unpacker():
    made = BodyUnpacker(SETTINGS)
    yield made
    made.close()


@pytest.fixture
def impatient():
    made = BodyUnpacker(SETTINGS, wait_seconds=0.01)
    yield made
    made.close()


def unpacking(unpacker, data=LARGE):
    return asyncio.create_task(unpacker.unpack(data, "gzip", SIZE))


async def test_bodies_wait_until_others_are_released_and_small_ones_do_not(unpacker):
    held = [await unpacking(unpacker) for _ in range(BODIES_IN_MEMORY)]
    waiting = unpacking(unpacker)
    assert (await unpacking(unpacker, SMALL)).data == b"{}"
    assert not waiting.done()
    unpacker.release(held[0].reserved)
    assert len((await waiting).data) == SIZE


async def test_a_body_that_waits_too_long_is_refused_and_takes_nothing(impatient):
    held = [await unpacking(impatient) for _ in range(BODIES_IN_MEMORY)]
    with pytest.raises(Overloaded):
        await unpacking(impatient)
    for body in held:
        impatient.release(body.reserved)
    assert [len((await unpacking(impatient)).data) for _ in range(BODIES_IN_MEMORY)] == [SIZE] * BODIES_IN_MEMORY


async def test_a_request_that_is_cancelled_while_it_waits_lets_the_next_one_through(unpacker):
    held = [await unpacking(unpacker) for _ in range(BODIES_IN_MEMORY)]
    first, second = unpacking(unpacker), unpacking(unpacker)
    await asyncio.sleep(0)
    first.cancel()
    unpacker.release(held[0].reserved)
    assert len((await second).data) == SIZE
    third = unpacking(unpacker)
    await asyncio.sleep(0)
    assert not third.done()
    unpacker.release(held[1].reserved)
    await third


@pytest.mark.parametrize(
    ("data", "error"), [(LARGE[:-10], UnreadableBody), (gzip.compress(bytes(SIZE + 1)), RequestTooLarge)]
)
async def test_a_body_that_cannot_be_unpacked_keeps_nothing_reserved(impatient, data, error):
    for _ in range(2 * BODIES_IN_MEMORY):
        with pytest.raises(error):
            await unpacking(impatient, data)
    assert len((await unpacking(impatient)).data) == SIZE
