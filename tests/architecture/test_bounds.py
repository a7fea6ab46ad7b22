"""Tests that hang."""

import asyncio

import pytest

from tests.bounds import bounded


async def wait_for_nothing(event):
    await event.wait()


async def test_a_test_that_hangs_fails_with_what_its_tasks_wait_for():
    async def hang():
        event = asyncio.Event()
        other = asyncio.create_task(wait_for_nothing(event))
        await asyncio.wait([other])

    with pytest.raises(pytest.fail.Exception, match=r"longer than 0\.01 s") as failed:
        await bounded(hang, 0.01)()
    assert "await asyncio.wait([other])" in str(failed.value)
    assert "await event.wait()" in str(failed.value)


async def test_a_test_that_ends_in_time_is_left_alone():
    async def fail():
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        await bounded(fail, 60.0)()
