"""What is done about work that takes long: it is ended, and whoever waits for it hears why."""

import asyncio

import pytest

from groundwire.contracts.errors import GroundwireError
from groundwire.serving.watching import ClientWatch, Rounds, TimeLimit


class Late(GroundwireError):
    code = "late"


class Gone(GroundwireError):
    code = "gone"


def late():
    return Late("too late")


def gone():
    return Gone("nobody there")


def soon(seconds=0.01):
    return asyncio.get_running_loop().time() + seconds


async def for_ever():
    await asyncio.get_running_loop().create_future()


async def test_work_that_is_over_its_time_ends_with_the_error_that_was_given():
    with pytest.raises(Late), TimeLimit(Rounds(), soon(), late):
        await for_ever()
    assert asyncio.current_task().cancelling() == 0


async def test_work_that_ends_in_time_is_left_alone_and_nobody_looks_after_it_any_more():
    rounds = Rounds()
    with TimeLimit(rounds, soon(), late):
        pass
    with pytest.raises(Late), TimeLimit(rounds, soon(), late):  # by then the first was due as well
        await for_ever()
    assert asyncio.current_task().cancelling() == 0


async def test_only_what_is_due_is_ended():
    rounds = Rounds()

    async def limited(seconds):
        with TimeLimit(rounds, soon(seconds), late):
            await for_ever()

    short, long = asyncio.create_task(limited(0.01)), asyncio.create_task(limited(1000))
    done, waiting = await asyncio.wait({short, long}, return_when=asyncio.FIRST_COMPLETED)
    long.cancel()
    await asyncio.wait({long})
    assert ([type(task.exception()) for task in done], waiting, long.cancelled()) == ([Late], {long}, True)


@pytest.mark.parametrize("is_watched", [False, True], ids=["limited", "watched"])
async def test_work_that_somebody_else_cancels_is_cancelled_and_not_late(is_watched):
    begun = asyncio.Event()

    async def work():
        around = ClientWatch(Rounds(), for_ever, gone, 0.0) if is_watched else TimeLimit(Rounds(), soon(1000), late)
        with around:
            begun.set()
            await for_ever()

    task = asyncio.create_task(work())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_work_ends_when_the_client_has_gone():
    left = asyncio.Event()
    left.set()
    with pytest.raises(Gone), ClientWatch(Rounds(), left.wait, gone, 0.0):
        await for_ever()
    assert asyncio.current_task().cancelling() == 0


async def test_nobody_asks_for_a_client_whose_answer_is_given_before_its_time():
    rounds, asked = Rounds(), []

    async def ask():
        asked.append(True)
        await for_ever()

    with ClientWatch(rounds, ask, gone, 1000), pytest.raises(Late), TimeLimit(rounds, soon(), late):
        await for_ever()
    assert asked == []
