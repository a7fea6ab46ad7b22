"""Running a handler under a time limit, so that control always comes back.

The coroutine is driven in the caller's own task. One that never waits costs no timer at all. One that waits is
cancelled when its time is up; if it does not give in to that within a grace period, it is left behind.
"""

import asyncio
import types
from collections.abc import Callable, Coroutine, Generator
from functools import partial
from typing import Any, Protocol

from groundwire.contracts.interrupts import is_from_signal

GRACE_SECONDS = 1.0


class TimeLimitReached(Exception):
    """The handler's time was up."""


class Interrupted(Exception):
    """The call was cancelled by its own turn, not by whoever awaits it."""


class GeneratorExitRaised(Exception):
    """The handler raised GeneratorExit itself, without its coroutine being closed."""


class Interruptible(Protocol):
    """What tells a cancellation of this call from a cancellation of the whole task.

    `cut_off` is set when the call's own time is up or its turn cancels it: calls that it made itself must know, because
    the task that they share is not cancelled any more.
    """

    cancel_requested: bool
    cut_off: bool


@types.coroutine
def run_limited(coroutine: Coroutine[Any, Any, Any], seconds: float, call: Interruptible) -> Generator[Any, Any, Any]:
    """Drive `coroutine` to its end, or raise TimeLimitReached or Interrupted."""
    try:
        waited_for = coroutine.send(None)
    except StopIteration as finished:
        return finished.value
    except GeneratorExit as error:
        raise GeneratorExitRaised from error
    return (yield from go_on_limited(coroutine, waited_for, seconds, call))


@types.coroutine
def go_on_limited(
    coroutine: Coroutine[Any, Any, Any], waited_for: Any, seconds: float, call: Interruptible
) -> Generator[Any, Any, Any]:
    """The same for one that was begun, and waits."""
    guard = _Guard(seconds)
    try:
        return (yield from _continue(coroutine, waited_for, guard, call))
    finally:
        guard.disarm()


class _Guard:
    """Cancels the current task when the time is up, and again when the grace period is over."""

    def __init__(self, seconds: float) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a handler can only run inside a task")
        self.task: asyncio.Task[Any] = task
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(seconds, self._fire)
        self.time_is_up = False
        self.grace_is_over = False

    def start_grace(self) -> None:
        self._timer.cancel()
        self._timer = self._loop.call_later(GRACE_SECONDS, self._end_grace)

    def disarm(self) -> None:
        self._timer.cancel()

    def _fire(self) -> None:
        self.time_is_up = True
        self.task.cancel()

    def _end_grace(self) -> None:
        self.grace_is_over = True
        self.task.cancel()


def _continue(
    coroutine: Coroutine[Any, Any, Any], waited_for: Any, guard: _Guard, call: Interruptible
) -> Generator[Any, Any, Any]:
    verdict: type[Exception] | None = None
    outside: asyncio.CancelledError | None = None
    step: Callable[[], Any]
    while True:
        try:
            step = partial(coroutine.send, (yield waited_for))
        except GeneratorExit:  # the whole call is being closed, with no event loop to wait on
            _abandon(coroutine)
            raise
        except asyncio.CancelledError as cancelled:
            if guard.grace_is_over and verdict is not None:
                guard.task.uncancel()
                _abandon(coroutine)
                raise outside or verdict from None
            if verdict is not None:  # somebody else cancels while our own cancellation is under way
                outside = cancelled
            elif (verdict := _verdict(guard, call)) is not None:
                guard.start_grace()
            step = partial(coroutine.throw, cancelled)
        except BaseException as error:  # noqa: BLE001 - whatever the event loop throws in belongs to the handler
            step = partial(coroutine.throw, error)
        try:
            waited_for = step()
        except StopIteration as finished:
            if verdict is not None:
                raise outside or verdict from None
            return finished.value
        except BaseException as error:
            if verdict is not None and not is_from_signal(error):
                raise outside or verdict from None
            if isinstance(error, GeneratorExit):  # raised by the handler itself; unchanged, it would close the call
                raise GeneratorExitRaised from error
            raise


def _verdict(guard: _Guard, call: Interruptible) -> type[Exception] | None:
    """Whose cancellation was this? Ours is undone on the task; anybody else's passes through."""
    if not guard.time_is_up and not call.cancel_requested:
        return None
    guard.task.uncancel()
    call.cut_off = True
    return TimeLimitReached if guard.time_is_up else Interrupted


def _abandon(coroutine: Coroutine[Any, Any, Any]) -> None:
    """Close a handler that does not stop. What it raises while it is closed is ignored."""
    try:
        coroutine.close()
    except BaseException as error:
        if is_from_signal(error):
            raise
