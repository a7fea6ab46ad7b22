"""Asking the model once: whole or in pieces, with one `Reply` in the end, or the provider's failure."""

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Iterable
from collections.abc import Set as AbstractSet
from contextlib import aclosing

from msgspec.structs import replace

from groundwire.contracts.errors import GroundwireError, ProviderError
from groundwire.contracts.events import TextDelta
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.messages import CallItem, Item, Message
from groundwire.contracts.ports import Clock, Provider
from groundwire.contracts.replies import (
    Finish,
    FinishReason,
    Reply,
    ReplyEnded,
    ReplyFailed,
    ReplyTextDelta,
    WireWarning,
)
from groundwire.contracts.requests import ModelRequest, SendOptions
from groundwire.runtime.runs.thoughts import LeakFilter, without_leaks
from groundwire.runtime.turns import Turn

MAX_TOKENS = 10**12
TIME_UP = "run_time_limit"
"""The code of a failure that is the run's own limit."""

log = logging.getLogger("groundwire")


class RunStopped(asyncio.CancelledError):
    """The run ends here as if its task had been cancelled: a replay stops where the run was stopped."""


async def ask(
    provider: Provider,
    request: ModelRequest,
    options: SendOptions,
    turn: Turn,
    step: int,
    *,
    clock: Clock,
    seconds: float | None = None,
) -> Reply | Failure:
    """What the model says within so many seconds, whatever its provider does meanwhile."""
    try:
        if request.stream:
            answer: Awaitable[object] = _streamed(provider, request, options, turn, step)
        else:
            answer = provider.complete(request, options)
        said = await (answer if seconds is None else _within(clock, seconds, answer))
        if isinstance(said, Failure):
            return said
        if not isinstance(said, Reply) or not _is_readable(said):
            return Failure(kind=FailureKind.BAD_RESPONSE, message="What the provider gave is no answer.", status=0)
        return without_leaks(said)
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
    except Exception as error:  # a provider of somebody's own; a run ends by name all the same
        log.exception("the provider of %s failed", request.model)
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


def _is_readable(reply: Reply) -> bool:
    """Whether it holds what a reply holds. A provider of somebody's own may put anything into one."""
    finish = reply.finish
    if type(finish) is not Finish or type(finish.reason) is not FinishReason or type(reply.model) is not str:
        return False
    items: Iterable[object] = reply.items
    for item in items:
        if type(item) is CallItem:
            call = item.call
            if type(call.name) is not str or type(call.raw) is not str or type(call.call_id) is not str:
                return False
        elif not isinstance(item, Item):
            return False
    return not reply.warnings or all(type(warning) is WireWarning for warning in reply.warnings)


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


def as_the_model_said(reply: Reply) -> Reply:
    """Without words of others. A provider of somebody's own may repeat them, and they would prove what nobody said."""
    for item in reply.items:
        if type(item) is Message and item.role != "assistant":
            kept = [item for item in reply.items if type(item) is not Message or item.role == "assistant"]
            return replace(reply, items=tuple(kept))
    return reply


def with_sane_usage(reply: Reply) -> Reply:
    """Counts that no model can have used say nothing; a limit would be blind to them, and a store cannot hold them."""
    used = reply.usage
    if used is None or (
        _is_count(used.input)
        and _is_count(used.output)
        and _is_count(used.total)
        and (not used.cached or _is_count(used.cached))
        and (not used.cache_write or _is_count(used.cache_write))
        and (not used.reasoning or _is_count(used.reasoning))
    ):
        return reply
    return replace(reply, usage=None)


def _is_count(value: int) -> bool:
    return type(value) is int and 0 <= value <= MAX_TOKENS


def _tell(turn: Turn, text: str, step: int) -> None:
    if text:
        turn.emit(TextDelta(text=text, step=step))


def mark_of(run_id: str) -> str:
    """What the ids of a run's calls have in them where other runs share its session: those may number theirs alike."""
    return hashlib.sha256(run_id.encode()).hexdigest()[:8]


def with_new_ids(reply: Reply, known: AbstractSet[str], step: int, *, mark: str = "") -> Reply:
    """Some providers number their calls anew in every answer: an id that was there before gets the step behind it."""
    ids = [item.call.call_id for item in reply.items if type(item) is CallItem]
    if not ids or (not mark and known.isdisjoint(ids) and len(set(ids)) == len(ids)):
        return reply
    given: set[str] = set()
    numbers: dict[str, int] = {}
    items: list[Item] = []
    for item in reply.items:
        if isinstance(item, CallItem):
            call_id = wanted = f"{item.call.call_id}_{mark}" if mark else item.call.call_id
            while call_id in known or call_id in given:
                number = numbers.get(wanted, step)
                call_id, numbers[wanted] = f"{wanted}_{number}", number + 1
            given.add(call_id)
            items.append(replace(item, call=replace(item.call, call_id=call_id)))
        else:
            items.append(item)
    return replace(reply, items=tuple(items))
