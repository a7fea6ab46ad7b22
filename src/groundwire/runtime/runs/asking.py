"""Asking the model once: whole or in pieces, with one `Reply` in the end, or the provider's failure."""

import asyncio
import hashlib
import logging
from collections.abc import Awaitable
from collections.abc import Set as AbstractSet
from contextlib import aclosing

from msgspec.structs import replace

from groundwire.contracts.errors import GroundwireError, ProviderError
from groundwire.contracts.events import TextDelta
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.messages import CallItem, Item, Message
from groundwire.contracts.ports import Provider
from groundwire.contracts.replies import Reply, ReplyEnded, ReplyFailed, ReplyTextDelta
from groundwire.contracts.requests import ModelRequest, SendOptions
from groundwire.runtime.runs.thoughts import LeakFilter, without_leaks
from groundwire.runtime.turns import Turn

MAX_TOKENS = 10**12
TIME_UP = "run_time_limit"
"""The code of a failure that is the run's own limit."""

log = logging.getLogger("groundwire")


async def ask(
    provider: Provider,
    request: ModelRequest,
    options: SendOptions,
    turn: Turn,
    step: int,
    *,
    seconds: float | None = None,
) -> Reply | Failure:
    """What the model says within so many seconds, whatever its provider does meanwhile."""
    try:
        if request.stream:
            answer: Awaitable[Reply | Failure] = _streamed(provider, request, options, turn, step)
        else:
            answer = provider.complete(request, options)
        said = await (answer if seconds is None else _within(seconds, answer))
        return said if isinstance(said, Failure) else without_leaks(said)
    except TimeoutError:
        message = "The model did not answer in the time that the run had left."
        return Failure(kind=FailureKind.TIMEOUT, message=message, status=0, code=TIME_UP)
    except ProviderError as error:
        return error.failure
    except GroundwireError:
        raise
    except Exception as error:  # a provider of somebody's own; a run ends by name all the same
        log.exception("the provider of %s failed", request.model)
        return Failure(kind=FailureKind.BAD_RESPONSE, message=f"The provider failed: {type(error).__name__}.", status=0)


async def _within(seconds: float, answer: Awaitable[Reply | Failure]) -> Reply | Failure:
    async with asyncio.timeout(seconds):
        return await answer


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
    if used is None:
        return reply
    counts = (used.input, used.output, used.total, used.cached or 0, used.cache_write or 0, used.reasoning or 0)
    is_sane = {*map(type, counts)} == {int} and min(counts) >= 0 and max(counts) <= MAX_TOKENS
    return reply if is_sane else replace(reply, usage=None)


def _tell(turn: Turn, text: str, step: int) -> None:
    if text:
        turn.emit(TextDelta(text=text, step=step))


def mark_of(run_id: str) -> str:
    """What the ids of a run's calls have in them where other runs share its session: those may number theirs alike."""
    return hashlib.sha256(run_id.encode()).hexdigest()[:8]


def with_new_ids(reply: Reply, known: AbstractSet[str], step: int, *, mark: str = "") -> Reply:
    """Some providers number their calls anew in every answer: an id that was there before gets the step behind it."""
    ids = [item.call.call_id for item in reply.calls]
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
