"""Invoking a handler, whatever its kind, and turning whatever happens into one outcome.

An outcome says what the ledger must do with the effect: it happened, it did not, or nobody knows.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import ErrorDetail, ErrorType, ToolError
from groundwire.contracts.events import CallProgress
from groundwire.contracts.intents import Intent
from groundwire.contracts.interrupts import is_from_signal
from groundwire.contracts.redaction import redact
from groundwire.contracts.results import ErrorInfo
from groundwire.contracts.texts import storable
from groundwire.registry import ArgumentFault, Handler
from groundwire.runtime.context import Context
from groundwire.runtime.limited import Interrupted, TimeLimitReached, go_on_limited
from groundwire.runtime.threads import DaemonThreads
from groundwire.runtime.validation import path_of

if TYPE_CHECKING:
    from groundwire.runtime.attempt import Attempt
    from groundwire.runtime.surface import Entry

log = logging.getLogger("groundwire")

OPERATOR_CHARS = 4_000
ITEMS_IN_A_ROW = 64


class Progress(Struct, frozen=True, kw_only=True):
    """Yielded by a streaming handler for what is only progress. Anything else it yields may be its result."""

    value: Any


class Outcome(Struct, eq=False):
    """How a handler ended. `happened` is None when nobody knows.

    The output guard makes `data` of the value, and `body`, the JSON of that; it is spilled when it is too large.
    """

    value: Any = None
    errors: tuple[ErrorInfo, ...] = ()
    happened: bool | None = True
    operator: str = ""
    data: JsonValue = None
    body: bytes = b"null"
    warnings: tuple[str, ...] = ()
    intents: tuple[Intent, ...] = ()
    details: JsonObject | None = None
    spills: bool = False


def invoke(
    attempt: Attempt, entry: Entry, handler: Handler, context: Context | None, threads: DaemonThreads
) -> Outcome | Coroutine[Any, Any, Outcome]:
    """Run the handler under its hard limit. Returns how it ended, or a coroutine that returns that.

    Raises only what is not about the handler: a cancellation of the task, and exceptions of signals.
    """
    arguments: dict[str, Any] = attempt.arguments
    try:
        if handler.convert is not None:
            arguments = handler.convert(arguments)
        if handler.wants_context:
            arguments = {**arguments, "context": context}
        attempt.began = True
        coroutine: Coroutine[Any, Any, Any]
        if handler.kind == "async":
            coroutine = handler.function(**arguments)
        elif handler.kind != "sync":
            coroutine = _drain(attempt, handler.function(**arguments))
        elif entry.is_blocking:
            coroutine = _in_thread(attempt, threads, partial(handler.function, **arguments))
        else:
            value = handler.function(**arguments)
            if not isinstance(value, Coroutine):
                return Outcome(value)
            coroutine = value  # a plain function around an asynchronous one
        try:
            waited_for = coroutine.send(None)
        except StopIteration as finished:  # it never waits: no other task and no limit could come between
            return Outcome(finished.value)
        return _go_on(attempt, entry, coroutine, waited_for)
    except GeneratorExit:  # the handler's own: nothing waits here, so nothing can be closed
        return crashed(attempt)
    except BaseException as error:  # noqa: BLE001 - the boundary to code that is not ours
        return _ended_by(error, attempt, entry)


async def _go_on(attempt: Attempt, entry: Entry, coroutine: Coroutine[Any, Any, Any], waited_for: Any) -> Outcome:
    try:
        return Outcome(await go_on_limited(coroutine, waited_for, entry.limits.hard_ms / 1000, attempt))
    except BaseException as error:  # noqa: BLE001 - as above
        return _ended_by(error, attempt, entry)


def _ended_by(error: BaseException, attempt: Attempt, entry: Entry) -> Outcome:
    """The outcome of a handler that raised `error`. Raises it again if it is not about the handler."""
    match error:
        case ToolError():
            try:
                return _declared_failure(error, attempt)
            except Exception:  # noqa: BLE001 - its fields were changed, and are the tool's own code
                return crashed(attempt)
        case ArgumentFault():
            return _bad_value(attempt, error)
        case TimeLimitReached():
            return _cut_off(attempt, ErrorType.TIMEOUT, f"{attempt.name} took longer than {entry.limits.hard_ms} ms.")
        case Interrupted():
            return _cut_off(attempt, ErrorType.CANCELLED, f"{attempt.name} was cancelled.")
        case asyncio.CancelledError() if attempt.is_being_cancelled():
            raise error
        case BaseExceptionGroup() if attempt.is_being_cancelled() and error.subgroup(asyncio.CancelledError):
            raise asyncio.CancelledError from error
        case GeneratorExit():  # the call is being closed; a handler's own has another type by now
            raise error
        case _ if is_from_signal(error):
            raise error
        case _:
            return crashed(attempt)


async def _in_thread(attempt: Attempt, threads: DaemonThreads, function: Callable[[], Any]) -> Any:
    try:
        value = await threads.run(function)
    except asyncio.CancelledError:
        await attempt.cancel_children()  # they run in tasks of their own
        raise
    return await value if isinstance(value, Coroutine) else value


async def _drain(attempt: Attempt, stream: Any) -> Any:
    """Every value is passed on as progress when it comes; the last one is the result."""
    last: Any = None
    count = 0
    try:
        async for item in stream:
            count += 1
            if count % ITEMS_IN_A_ROW == 0:  # a stream that never waits must not hold up everybody else, nor its limit
                await asyncio.sleep(0)
            is_progress = isinstance(item, Progress)
            last = None if is_progress else item
            shown = item.value if is_progress else item
            attempt.turn.emit(CallProgress(call_id=attempt.call_id, name=attempt.name, value=shown))
    finally:
        await stream.aclose()
    return last


def _declared_failure(error: ToolError, attempt: Attempt) -> Outcome:
    info = ErrorInfo(
        type=ErrorType(error.type),
        message=error.message,
        retryable=bool(error.retryable),
        partial_side_effects=bool(error.partial_side_effects),
        detail=error.detail,
    )
    return Outcome(
        errors=(info,), happened=None if error.partial_side_effects else False, operator=f"{attempt.name} failed"
    )


def _bad_value(attempt: Attempt, fault: ArgumentFault) -> Outcome:
    info = ErrorInfo(
        type=ErrorType.VALIDATION,
        message=f"Invalid arguments for {attempt.name}. {path_of(fault.path)}: {fault.message}",
        detail=ErrorDetail.INVALID_VALUE,
    )
    return Outcome(errors=(info,), happened=False)


def _cut_off(attempt: Attempt, type_: ErrorType, message: str) -> Outcome:
    """Timed out or cancelled: an action may have happened, unless it declares its commit and had not made it."""
    may_have_happened = attempt.withdraw_commit()
    advice = " Whether it took effect is not known." if may_have_happened else ""
    info = ErrorInfo(
        type=type_,
        message=message + advice,
        retryable=not may_have_happened,
        partial_side_effects=may_have_happened,
    )
    return Outcome(errors=(info,), happened=None if may_have_happened else False)


def crashed(attempt: Attempt) -> Outcome:
    """The outcome of a handler whose unexpected exception is being handled now.

    The model learns that it failed; the operator gets the traceback.
    """
    attempt.late_charges = ()
    operator = describe_failure()
    log.error("tool %s failed (call %s)\n%s", attempt.name, attempt.call_id, operator)
    may_have_acted = attempt.entry is not None and attempt.entry.is_action
    advice = "Whether it took effect is not known." if may_have_acted else "It gave no result."
    info = ErrorInfo(
        type=ErrorType.INTERNAL,
        message=f"{attempt.name} failed unexpectedly. {advice}",
        detail=ErrorDetail.HANDLER_RAISED,
        partial_side_effects=True,
    )
    return Outcome(errors=(info,), happened=None, operator=operator)


def describe_failure() -> str:
    """The traceback of the exception that is being handled, as it can be stored: its end, without credentials.

    Never raises, except for signals.
    """
    try:
        return storable(redact(traceback.format_exc())[-OPERATOR_CHARS:])
    except BaseException as error:  # formatting runs code of the exception and of the objects it names
        if is_from_signal(error):
            raise
        return "The traceback could not be formatted."
