"""Whatever a handler does, its caller receives one envelope, and the runtime goes on."""

import asyncio
import math
import sys
import threading

import pytest

from groundwire import ErrorType, Intent, Overrides, PolicyRule, Settings, Tool, ToolError, ToolResult
from groundwire.testing import assert_failed, assert_ok

CATEGORIES = ["retrieval", "action"]


def handler_of(kind, function):
    """The same misbehaviour as a plain function, in a thread, as a coroutine function, as a stream."""

    async def awaited():
        return function()

    async def late():
        await asyncio.sleep(0)
        return function()

    async def streamed():
        yield function()

    return {"inline": function, "thread": function, "async": awaited, "late": late, "stream": streamed}[kind]


def made(function, kind="inline", **options):
    options.setdefault("blocking", kind == "thread")
    return Tool(name="t", description="T.", handler=handler_of(kind, function), **options)


class Unheard(BaseException):
    pass


def raiser(error):
    def fail():
        raise error

    return fail


@pytest.mark.requirement("B-112", "B-198", "B-107")
@pytest.mark.parametrize("kind", ["inline", "thread", "async", "late", "stream"])
@pytest.mark.parametrize(
    "error",
    [
        ValueError("secret detail"),
        SystemExit(3),
        StopIteration(1),
        StopAsyncIteration(),
        asyncio.CancelledError(),
        TimeoutError(),
        Unheard("secret detail"),
        RecursionError(),
        ExceptionGroup("secret detail", [ValueError()]),
        ValueError("lone \ud800 surrogate, NUL \x00"),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_whatever_is_raised_becomes_internal_and_the_model_is_not_told_how(make, audit_of, kind, error):
    runtime = make(made(raiser(error), kind, category="action"))
    failed = assert_failed(await runtime.call("t"), ErrorType.INTERNAL, detail="HANDLER_RAISED")
    assert (failed.retryable, failed.partial_side_effects) == (False, True)
    assert "secret" not in failed.message
    (entry,) = await audit_of(runtime)
    assert entry.success is False
    assert entry.reason.startswith("settle:")


class Speechless(Exception):
    def __str__(self):
        raise ValueError("no words")


async def test_an_exception_that_cannot_be_printed_is_internal_all_the_same(make):
    assert_failed(await make(made(raiser(Speechless()))).call("t"), ErrorType.INTERNAL)


def endless():
    loop: list = []
    loop.append(loop)
    return loop


def deep():
    value: list = []
    for _ in range(10_000):
        value = [value]
    return value


NOT_JSON = [math.nan, math.inf, {"a": [math.nan]}, {1, 2}, {1: 2}, object(), b"x", "\ud800", endless(), deep(), len]


@pytest.mark.requirement("B-107")
@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize("value", NOT_JSON, ids=range(len(NOT_JSON)))
async def test_what_cannot_be_json_is_internal_and_counts_as_done(make, value, category):
    runtime = make(made(lambda: value, category=category))
    error = assert_failed(await runtime.call("t", idempotency_key="k"), ErrorType.INTERNAL, detail="NOT_JSON")
    assert (error.retryable, error.partial_side_effects) == (False, category == "action")
    assert (await runtime.call("t", idempotency_key="k")).meta.replayed


BAD_ENVELOPES = [
    ToolResult(ok=True, warnings=(object(),)),
    ToolResult(ok=True, warnings=("\ud800",)),
    ToolResult(ok=True, warnings="text"),
    ToolResult(ok=True, intents=("END_VOICE_SESSION",)),
    ToolResult(ok=True, intents=(Intent(type="MOVE", payload={"a": object()}),)),
    ToolResult(ok=True, intents=(Intent(type=5),)),
    ToolResult(ok="yes"),
    ToolResult.failure("NO_SUCH_TYPE", "text"),
    ToolResult.failure(ErrorType.AUTH, 5),
    ToolResult(ok=False, errors=("text",)),
]


@pytest.mark.requirement("B-107")
@pytest.mark.parametrize("returned", BAD_ENVELOPES, ids=range(len(BAD_ENVELOPES)))
async def test_an_envelope_that_is_none_is_internal(make, returned):
    runtime = make(made(lambda: returned, category="action"))
    error = assert_failed(await runtime.call("t", session="s"), ErrorType.INTERNAL)
    assert error.partial_side_effects is True


async def test_the_name_of_an_error_type_is_as_good_as_the_type(make):
    runtime = make(made(lambda: ToolResult.failure("NOT_FOUND", "nothing there")))
    assert_failed(await runtime.call("t"), ErrorType.NOT_FOUND)


@pytest.mark.parametrize(
    "message", ["lone \ud800", "NUL \x00", 5, None, object()], ids=lambda value: type(value).__name__
)
async def test_an_error_with_an_odd_message_is_still_the_error(make, message):
    runtime = make(made(raiser(ToolError(ErrorType.AUTH, message, detail=message))))
    assert isinstance(assert_failed(await runtime.call("t"), ErrorType.AUTH).message, str)


async def test_an_endless_error_message_is_cut(make):
    runtime = make(made(raiser(ToolError(ErrorType.AUTH, "é" * 1_000_000))))
    assert len(assert_failed(await runtime.call("t"), ErrorType.AUTH).message.encode()) <= 200_000


@pytest.mark.requirement("C-140", "C-141")
@pytest.mark.parametrize("filler", ["x", "é", "🙂"])
async def test_an_output_of_exactly_the_limit_passes_and_one_byte_more_does_not(make, filler):
    width = len(filler.encode())
    count, rest = divmod(200_000 - 2, width)
    runtime = make(
        Tool(
            name="t",
            description="T.",
            parameters={"type": "object", "properties": {"more": {"type": "integer"}}},
            handler=lambda more: filler * count + "x" * (rest + more),
        )
    )
    assert assert_ok(await runtime.call("t", {"more": 0}))
    error = assert_failed(await runtime.call("t", {"more": 1}), ErrorType.TOOL_OUTPUT_TOO_LARGE)
    assert "200001" in error.message


@pytest.mark.requirement("C-140", "C-141")
async def test_the_output_limit_is_a_setting_and_the_call_counts_as_done(make):
    settings = Settings(policies=(PolicyRule(limits=Overrides(max_output_bytes=5)),))
    runs = []

    def act():
        runs.append(1)
        return "x" * 4

    runtime = make(made(act, category="action"), settings=settings)
    for replayed in (False, True):
        result = await runtime.call("t", idempotency_key="k")
        error = assert_failed(result, ErrorType.TOOL_OUTPUT_TOO_LARGE)
        assert (error.retryable, error.partial_side_effects) == (False, True)
        assert result.meta.replayed is replayed
    assert len(runs) == 1


async def hang():
    await asyncio.Event().wait()


async def hang_politely():
    try:
        await asyncio.Event().wait()
    finally:
        await asyncio.sleep(0)


@pytest.mark.requirement("X-28")
@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize("handler", [hang, hang_politely])
async def test_a_handler_that_hangs_is_stopped_at_its_hard_limit(make, handler, category):
    runtime = make(Tool(name="t", description="T.", handler=handler, category=category, hard_ms=10))
    error = assert_failed(await runtime.call("t", idempotency_key="k"), ErrorType.TIMEOUT)
    is_action = category == "action"
    assert (error.retryable, error.partial_side_effects) == (not is_action, is_action)
    again = await runtime.call("t", idempotency_key="k")
    assert_failed(again, ErrorType.OUTCOME_UNKNOWN if is_action else ErrorType.TIMEOUT)


async def test_a_thread_that_hangs_is_left_behind_at_the_hard_limit(make):
    gate = threading.Event()
    runtime = make(made(gate.wait, "thread", category="action", hard_ms=10))
    assert_failed(await runtime.call("t"), ErrorType.TIMEOUT)
    gate.set()


async def test_a_stream_that_hangs_is_closed_at_its_hard_limit(make):
    closed = []

    async def stream():
        try:
            yield 1
            await asyncio.Event().wait()
        finally:
            closed.append(True)

    runtime = make(Tool(name="t", description="T.", handler=stream, hard_ms=10))
    assert_failed(await runtime.call("t"), ErrorType.TIMEOUT)
    assert closed == [True]


async def test_a_handler_that_ignores_its_cancellation_is_left_behind_after_a_grace_period(make):
    ignored = []

    async def stubborn():
        while len(ignored) < 100:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                ignored.append(1)
            except GeneratorExit:
                return

    runtime = make(Tool(name="t", description="T.", handler=stubborn, hard_ms=10))
    assert_failed(await runtime.call("t"), ErrorType.TIMEOUT)
    assert ignored == [1]


async def test_a_handler_that_finishes_after_its_time_was_up_has_timed_out_all_the_same(make):
    async def late():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "too late"

    runtime = make(Tool(name="t", description="T.", handler=late, hard_ms=10, category="action"))
    assert assert_failed(await runtime.call("t"), ErrorType.TIMEOUT).partial_side_effects is True


async def test_a_handlers_own_timeout_is_its_own_failure(make):
    async def impatient():
        async with asyncio.timeout(0):
            await asyncio.Event().wait()

    assert_failed(await make(Tool(name="t", description="T.", handler=impatient)).call("t"), ErrorType.INTERNAL)


async def test_printing_does_no_harm(make, capsys):
    runtime = make(made(lambda: sys.stdout.write("hello\n")))
    assert_ok(await runtime.call("t"))
    assert capsys.readouterr().out == "hello\n"


async def test_a_handler_may_change_its_arguments_without_changing_the_record(make, audit_of, calls_of):
    def change(items):
        items.append(2)
        return items

    schema = {"type": "object", "properties": {"items": {"type": "array"}}}
    runtime = make(Tool(name="t", description="T.", parameters=schema, handler=change, category="action"))
    async with runtime.turn(session="s") as turn:
        results = [await runtime.call("t", {"items": [1]}, turn=turn) for _ in range(2)]
    assert [(result.data, result.meta.replayed) for result in results] == [([1, 2], False), ([1, 2], True)]
    assert {row.raw for row in await calls_of(runtime)} == {'{"items":[1]}'}
    assert len({entry.input_hash for entry in await audit_of(runtime)}) == 1


async def test_one_bad_call_leaves_the_others_alone(make):
    runtime = make(made(raiser(Unheard())), Tool(name="good", description="G.", handler=lambda: 1))
    async with runtime.turn(session="s") as turn:
        names = ["good", "t", "good"]
        results = await asyncio.gather(*(runtime.call(name, turn=turn) for name in names))
    assert [result.ok for result in results] == [True, False, True]
