"""One table: every error type, one way to get it from the runtime, and what it promises."""

import asyncio

import pytest

from groundwire import Budget, ErrorType, Ground, Settings, Tool, ToolError
from groundwire.runtime.ledger import LedgerTimes
from groundwire.testing import assert_failed


async def hang():
    await asyncio.Event().wait()


def crash():
    raise ValueError


def fails(type_, **options):
    def handler():
        raise ToolError(type_, "no", **options)

    return handler


def action(handler, **options):
    return Tool(name="t", description="T.", handler=handler, category="action", **options)


async def plain(runtime, **options):
    return await runtime.call("t", {}, **options)


async def unknown_tool(runtime):
    return await runtime.call("nothing", {})


async def bad_arguments(runtime):
    return await runtime.call("t", "[]")


async def large_arguments(runtime):
    return await runtime.call("t", " " * 200_001)


async def looping(runtime):
    async with runtime.turn() as turn:
        for _ in range(3):
            result = await runtime.call("t", {}, turn=turn, caller="model")
    return result


async def ended_session(runtime):
    await runtime.call("t", {}, session="s")
    await runtime.end_session("s")
    return await runtime.call("t", {}, session="s")


async def twice(runtime):
    await runtime.call("t", {}, idempotency_key="k")
    return await runtime.call("t", {}, idempotency_key="k")


async def reused_key(runtime):
    await runtime.call("t", {}, idempotency_key="k")
    return await runtime.call("t", {"other": 1}, idempotency_key="k")


async def reused_call_id(runtime):
    await runtime.call("t", {}, call_id="c", session="s")
    return await runtime.call("t", {"other": 1}, call_id="c", session="s")


async def at_once(runtime):
    async with runtime.turn() as turn:
        first = asyncio.ensure_future(runtime.call("t", {}, turn=turn, call_id="c1"))
        await asyncio.sleep(0)
        second = await runtime.call("t", {}, turn=turn)
        turn.cancel("c1")
        await first
    return second


async def cancelled(runtime):
    async with runtime.turn() as turn:
        call = asyncio.ensure_future(runtime.call("t", {}, turn=turn, call_id="c1"))
        await asyncio.sleep(0)
        turn.cancel("c1")
        return await call


OK = action(lambda **_: "fine", parameters={"type": "object"})
READ = Tool(name="t", description="T.", handler=lambda: "fine", category="retrieval")
READ_HANGING = Tool(name="t", description="T.", handler=hang, category="retrieval", hard_ms=10)
QUOTED = {"type": "object", "properties": {"quote": {"type": "string"}}}

TABLE = [
    # type, detail, retryable, partial side effects, tool, how
    (ErrorType.VALIDATION, "NOT_AN_OBJECT", False, False, OK, bad_arguments),
    (ErrorType.NOT_FOUND, "UNKNOWN_TOOL", False, False, OK, unknown_tool),
    (ErrorType.INTERNAL, "HANDLER_RAISED", False, True, action(crash), plain),
    (ErrorType.INTERNAL, "NOT_JSON", False, True, action(lambda: {1}), plain),
    (ErrorType.INTERNAL, "RESULT_SCHEMA", False, True, action(lambda: 1, result={"type": "string"}), plain),
    (ErrorType.MODE_RESTRICTED, None, False, False, action(lambda: 1, modes="voice"), plain),
    (ErrorType.BUDGET_EXCEEDED, None, False, False, action(lambda: 1, budget=[Budget(name="b", max=0)]), plain),
    (ErrorType.CONFIRMATION_REQUIRED, None, False, False, action(lambda: 1, confirm=True), plain),
    (ErrorType.SESSION_INACTIVE, None, False, False, OK, ended_session),
    (ErrorType.TRANSIENT, None, True, False, action(fails(ErrorType.TRANSIENT)), plain),
    (ErrorType.PERMANENT, None, False, False, action(fails(ErrorType.PERMANENT)), plain),
    (ErrorType.PERMANENT, "DISABLED", False, False, action(lambda: 1, gates=["NOPE"]), plain),
    (ErrorType.CONFLICT, "KEY_REUSED", False, False, OK, reused_key),
    (ErrorType.CONFLICT, "DUPLICATE_CALL_ID", False, False, OK, reused_call_id),
    (ErrorType.CONFLICT, "IN_FLIGHT", True, False, action(hang), at_once),
    (ErrorType.AUTH, None, False, False, action(fails(ErrorType.AUTH)), plain),
    (ErrorType.RATE_LIMIT, None, True, False, action(fails(ErrorType.RATE_LIMIT)), plain),
    (ErrorType.LOOP_DETECTED, "REPEATED_CALL", False, False, READ, looping),
    (ErrorType.ARGUMENTS_TOO_LARGE, None, False, False, OK, large_arguments),
    (ErrorType.TOOL_OUTPUT_TOO_LARGE, None, False, True, action(lambda: "x" * 200_000), plain),
    (
        ErrorType.UNGROUNDED,
        None,
        False,
        False,
        action(lambda quote: 1, parameters=QUOTED, ground={"quote": Ground()}),
        plain,
    ),
    (ErrorType.OUTCOME_UNKNOWN, None, False, False, action(crash), twice),
    (ErrorType.TIMEOUT, None, False, True, action(hang, hard_ms=10), plain),
    (ErrorType.TIMEOUT, None, True, False, READ_HANGING, plain),
    (ErrorType.CANCELLED, None, False, True, action(hang), cancelled),
    (ErrorType.CANCELLED, None, True, False, action(hang, commits=True), cancelled),
]


@pytest.mark.requirement("B-109", "B-196", "B-197", "B-198", "X-31", "X-03")
@pytest.mark.parametrize(
    ("type_", "detail", "retryable", "partial", "tool", "how"),
    TABLE,
    ids=[f"{row[0]}-{row[1]}-{row[3]}" for row in TABLE],
)
async def test_an_error_promises_what_the_table_says(make, type_, detail, retryable, partial, tool, how):
    runtime = make(tool, settings=Settings(ledger=LedgerTimes(wait_seconds=0.01)))
    result = await how(runtime)
    error = assert_failed(result, type_)
    assert (error.detail, error.retryable, error.partial_side_effects) == (detail, retryable, partial)
    assert error.message
    assert result.errors[0] == error
    assert result.data is None


def test_every_error_type_stands_in_the_table():
    assert {row[0] for row in TABLE} == set(ErrorType)
