"""Keeps a task of a tool from ending the event loop that it runs on.

asyncio hands the SystemExit or KeyboardInterrupt of any task to the loop, which stops, and closes the coroutine that awaits
a task which raised GeneratorExit. A handler may start tasks of its own, so loops that belong to us (a server's worker, a
worker on jobs, `call_sync`) turn these into a plain failure of the task. Loops of an application are not changed.
"""

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import Any

from groundwire.contracts.interrupts import is_from_signal


class TaskExit(Exception):
    """What a task raises in place of SystemExit, KeyboardInterrupt or GeneratorExit, which is its cause."""


def contain_task_exits(loop: asyncio.AbstractEventLoop) -> None:
    """Keep the tasks that are created on this loop from now on from ending it. Signals still can."""

    def create(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
        return asyncio.Task(_Contained(coroutine), loop=loop, **options)

    loop.set_task_factory(create)


class _Contained(Coroutine[Any, Any, Any]):
    """Passes everything on to a coroutine, which it holds without starting it: a task may be cancelled before that."""

    __slots__ = ("_inner",)

    def __init__(self, inner: Coroutine[Any, Any, Any]) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)  # `cr_frame` and others, for tools that inspect tasks

    def __await__(self) -> Any:
        return self._inner.__await__()

    def send(self, value: Any) -> Any:
        try:
            return self._inner.send(value)
        except (SystemExit, KeyboardInterrupt, GeneratorExit) as error:
            raise _contained(error) from error

    def throw(self, kind: Any, value: BaseException | object = None, traceback: TracebackType | None = None, /) -> Any:
        try:
            # One argument where there is one: the form with three is deprecated.
            return self._inner.throw(kind) if value is None else self._inner.throw(kind, value, traceback)
        except (SystemExit, KeyboardInterrupt, GeneratorExit) as error:
            raise _contained(error) from error

    def close(self) -> None:
        self._inner.close()


def _contained(error: BaseException) -> BaseException:
    if is_from_signal(error):
        raise error
    return TaskExit(f"a task raised {type(error).__name__}")
