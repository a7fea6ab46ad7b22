"""Asking the model once: whole or in pieces, with one `Reply` in the end, or the provider's failure."""

import asyncio
import logging
from collections.abc import Awaitable
from contextlib import aclosing

from groundwire.contracts.errors import GroundwireError, ProviderError
from groundwire.contracts.events import TextDelta
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.interrupts import is_from_signal
from groundwire.contracts.ports import Clock, Provider
from groundwire.contracts.replies import Reply, ReplyEnded, ReplyFailed, ReplyTextDelta
from groundwire.contracts.requests import ModelRequest, SendOptions
from groundwire.runtime.runs.hearing import hear
from groundwire.runtime.runs.state import RunState
from groundwire.runtime.runs.thoughts import LeakFilter
from groundwire.runtime.turns import Turn

TIME_UP = "run_time_limit"
"""The code of a failure that is the run's own limit."""

log = logging.getLogger("groundwire")


class RunStopped(asyncio.CancelledError):
    """The run ends here as if its task had been cancelled: a replay stops where the run was stopped."""


async def ask(
    provider: Provider,
    request: ModelRequest,
    state: RunState,
    turn: Turn,
    *,
    clock: Clock,
    seconds: float | None = None,
) -> Reply | Failure:
    """What the model says within so many seconds, whatever its provider does meanwhile."""
    step = state.steps + 1
    try:
        if request.stream:
            answer: Awaitable[object] = _streamed(provider, request, state.send_options, turn, step)
        else:
            answer = provider.complete(request, state.send_options)
        said = await (answer if seconds is None else _within(clock, seconds, answer))
        heard = hear(said, state.call_ids, step, mark=state.mark) if isinstance(said, Reply) else said
        if isinstance(heard, (Reply, Failure)):
            return heard
        return Failure(kind=FailureKind.BAD_RESPONSE, message="What the provider gave is no answer.", status=0)
    except ProviderError as error:
        return error.failure
    except GroundwireError:
        raise
    except RunStopped:
        raise
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        return Failure(kind=FailureKind.BAD_RESPONSE, message="The provider cancelled itself.", status=0)
    except GeneratorExit:  # the run is being closed
        raise
    except BaseException as error:  # the application's provider: a run always ends with an outcome
        if is_from_signal(error):
            raise
        log.exception("The provider of %s failed.", request.model)
        return Failure(kind=FailureKind.BAD_RESPONSE, message=f"The provider failed: {type(error).__name__}.", status=0)


async def _within(clock: Clock, seconds: float, answer: Awaitable[object]) -> object:
    loop = asyncio.get_running_loop()
    limit = asyncio.timeout(None)

    async def ring() -> None:
        await clock.sleep(seconds)
        limit.reschedule(loop.time())

    try:
        async with limit:
            alarm = loop.create_task(ring())
            try:
                return await answer
            finally:
                alarm.cancel()
    except TimeoutError:
        if not limit.expired():
            raise
        message = "The model did not answer in the time that the run had left."
        return Failure(kind=FailureKind.TIMEOUT, message=message, status=0, code=TIME_UP)


async def _streamed(
    provider: Provider, request: ModelRequest, options: SendOptions, turn: Turn, step: int
) -> Reply | Failure:
    """The turn's follower hears the words as they come."""
    leaks: dict[int, LeakFilter] = {}
    async with aclosing(provider.stream(request, options)) as parts:
        async for part in parts:
            if type(part) is ReplyTextDelta:
                _tell(turn, leaks.setdefault(part.index, LeakFilter()).feed(part.text), step)
            elif type(part) is ReplyEnded:
                for leak in leaks.values():
                    _tell(turn, leak.finish(), step)
                return part.reply
            elif type(part) is ReplyFailed:
                return part.failure
    return Failure(kind=FailureKind.BAD_RESPONSE, message="The model's stream ended without an answer.")


def _tell(turn: Turn, text: str, step: int) -> None:
    if text:
        turn.emit(TextDelta(text=text, step=step))
