"""A bound for tests with an event loop: one that hangs fails, and says what each of its tasks was waiting for."""

import asyncio
import functools
import traceback

import pytest

LONGEST_SECONDS = 300.0


def bounded(test, seconds=LONGEST_SECONDS):
    @functools.wraps(test)
    async def run(*arguments, **options):
        stacks = []
        handle = asyncio.get_running_loop().call_later(
            seconds, lambda: stacks.extend(map(_stack_of, asyncio.all_tasks()))
        )
        try:
            async with asyncio.timeout(seconds + 1):
                await test(*arguments, **options)
        except TimeoutError:
            if not stacks:
                raise
        finally:
            handle.cancel()
        if stacks:
            pytest.fail("\n".join([f"it takes longer than {seconds:g} s:", *stacks]), pytrace=False)

    return run


def _stack_of(task):
    """Where a task is, from its beginning to what it awaits. Python itself shows only the first of these."""
    frames, waiting = [], task.get_coro()
    while waiting is not None:
        frame = getattr(waiting, "cr_frame", None) or getattr(waiting, "ag_frame", None)
        if frame is None:
            break
        frames.append((frame, frame.f_lineno))
        waiting = getattr(waiting, "cr_await", None) or getattr(waiting, "ag_await", None)
    return f"{task.get_name()}:\n{''.join(traceback.StackSummary.extract(frames).format())}"
