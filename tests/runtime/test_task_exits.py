import asyncio
import inspect
import warnings

import pytest

from groundwire.runtime.task_exits import TaskExit, contain_task_exits


@pytest.fixture
def loop():
    loop = asyncio.new_event_loop()
    contain_task_exits(loop)
    yield loop
    loop.close()


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_a_task_that_would_end_the_loop_fails_instead(loop, error):
    async def leave():
        await asyncio.sleep(0)
        raise error

    async def leave_when_cancelled():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise error from None

    async def run():
        tasks = [asyncio.ensure_future(leave()), asyncio.ensure_future(leave_when_cancelled())]
        await asyncio.sleep(0)
        tasks[1].cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    results = loop.run_until_complete(run())
    assert [type(result) for result in results] == [TaskExit, TaskExit]
    assert [type(result.__cause__) for result in results] == [error, error]


def test_every_other_end_of_a_task_is_its_own(loop):
    async def end(what):
        await asyncio.sleep(0)
        if isinstance(what, BaseException):
            raise what
        return what

    ends = [7, ValueError("mine"), asyncio.CancelledError()]

    async def run():
        return await asyncio.gather(*(asyncio.ensure_future(end(each)) for each in ends), return_exceptions=True)

    number, error, cancelled = loop.run_until_complete(run())
    assert (number, error) == (7, ends[1])
    assert isinstance(cancelled, asyncio.CancelledError)


def test_a_task_that_is_cancelled_before_it_begins_leaves_nothing_behind(loop):
    async def never():
        raise AssertionError

    async def run():
        task = asyncio.ensure_future(never())
        task.cancel()
        await asyncio.wait((task,))
        return task.cancelled()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert loop.run_until_complete(run())


def test_a_task_that_is_closed_is_closed_as_ever(loop):
    closed = []

    async def wait():
        try:
            await asyncio.Event().wait()
        except GeneratorExit:
            closed.append(True)
            raise

    async def run():
        task = asyncio.ensure_future(wait())
        await asyncio.sleep(0)
        state = inspect.getcoroutinestate(task.get_coro())
        task.get_coro().close()
        task.cancel()
        await asyncio.wait((task,))
        return state

    assert loop.run_until_complete(run()) == inspect.CORO_SUSPENDED
    assert closed == [True]
