"""Whatever leaves the code of a tool, each call ends in one envelope and one record."""

import asyncio

import pydantic
import pytest

from groundwire import ErrorType, Intent, Settings, Tool, ToolResult
from groundwire.contracts.jobs import JobSettings
from groundwire.testing import assert_failed, assert_ok, runtime_for


class Own(BaseException):
    pass


ERRORS = [
    ValueError,
    GeneratorExit,
    KeyboardInterrupt,
    SystemExit,
    asyncio.CancelledError,
    StopIteration,
    StopAsyncIteration,
    RecursionError,
    MemoryError,
    Own,
    lambda: BaseExceptionGroup("several", [SystemExit(1), asyncio.CancelledError()]),
]
NAMES = [getattr(error, "__name__", "") for error in ERRORS[:-1]] + ["BaseExceptionGroup"]
each_error = pytest.mark.parametrize("error", ERRORS, ids=NAMES)


def raising(kind, error):
    """A handler that raises: at once, in a thread, after a wait, in a stream, or around a coroutine."""

    def fail(**_):
        raise error()

    async def fail_async(**_):
        raise error()

    async def fail_late(**_):
        await asyncio.sleep(0)
        raise error()

    async def fail_streaming(**_):
        yield 1
        await asyncio.sleep(0)
        raise error()

    async def fail_when_closed(**_):
        try:
            yield 1
        finally:
            raise error()

    kinds = {
        "plain": fail,
        "thread": fail,
        "async": fail_async,
        "late": fail_late,
        "stream": fail_streaming,
        "stream's end": fail_when_closed,
        "around": lambda **_: fail_late(),
        "thread around": lambda **_: fail_late(),
    }
    return kinds[kind]


KINDS = ["plain", "thread", "async", "late", "stream", "stream's end", "around", "thread around"]


@each_error
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.requirement("B-107")
async def test_whatever_a_handler_raises_is_one_envelope_and_one_record(make, audit_of, calls_of, kind, error):
    tool = Tool(
        name="t",
        description="T.",
        handler=raising(kind, error),
        category="action",
        blocking=kind.startswith("thread"),
    )
    runtime = make(tool)
    failed = assert_failed(await runtime.call("t", idempotency_key="k"), ErrorType.INTERNAL, detail="HANDLER_RAISED")
    assert (failed.retryable, failed.partial_side_effects) == (False, True)
    assert len(await audit_of(runtime)) == len(await calls_of(runtime)) == 1
    assert [effect.status for effect in await runtime.effects()] == ["unknown"]
    assert_failed(await runtime.call("t", idempotency_key="k"), ErrorType.OUTCOME_UNKNOWN)


@each_error
async def test_the_operator_reads_what_was_raised(make, audit_of, error):
    runtime = make(Tool(name="t", description="T.", handler=raising("late", error)))
    await runtime.call("t")
    (entry,) = await audit_of(runtime)
    assert "fail_late" in entry.reason


@each_error
async def test_a_returned_value_that_raises_while_it_is_encoded_is_a_failure_of_its_handler(make, audit_of, error):
    class Receipt(pydantic.BaseModel):
        number: int

        def model_dump(self, **_):
            raise error()

    runtime = make(Tool(name="t", description="T.", handler=lambda: Receipt(number=1), category="action"))
    failed = assert_failed(await runtime.call("t"), ErrorType.INTERNAL)
    assert failed.partial_side_effects is True
    assert len(await audit_of(runtime)) == 1


@each_error
@pytest.mark.parametrize("is_async", [False, True])
async def test_a_reconcile_hook_that_raises_leaves_the_outcome_unknown(make, audit_of, error, is_async):
    async def late(**_):
        await asyncio.sleep(0)
        raise error()

    def at_once(**_):
        raise error()

    tool = Tool(
        name="t",
        description="T.",
        handler=raising("plain", ValueError),
        category="action",
        reconcile=late if is_async else at_once,
    )
    runtime = make(tool)
    await runtime.call("t", idempotency_key="k")
    assert_failed(await runtime.call("t", idempotency_key="k"), ErrorType.OUTCOME_UNKNOWN)
    assert [effect.status for effect in await runtime.effects()] == ["unknown"]
    assert len(await audit_of(runtime)) == 2


class BrokenFlags:
    def __init__(self, error):
        self._error = error

    def is_on(self, flag):
        raise self._error()


@each_error
async def test_a_flag_that_raises_counts_as_off(make, audit_of, error):
    tool = Tool(name="t", description="T.", handler=lambda: 1, gates=("beta",))
    runtime = make(tool, flags=BrokenFlags(error))
    assert_failed(await runtime.call("t"), ErrorType.PERMANENT, detail="DISABLED")
    assert len(await audit_of(runtime)) == 1


@each_error
async def test_a_listener_that_raises_does_not_change_the_call(make, audit_of, error):
    def listen(event):
        raise error()

    runtime = make(Tool(name="t", description="T.", handler=lambda: 7))
    assert assert_ok(await runtime.call("t", on_event=listen)) == 7
    assert len(await audit_of(runtime)) == 1


@each_error
@pytest.mark.parametrize("kind", ["plain", "thread", "late", "stream"])
async def test_a_tool_that_another_tool_calls_fails_as_an_envelope(make, audit_of, kind, error):
    async def outer(context):
        return (await context.call("inner")).error.type

    inner = Tool(name="inner", description="I.", handler=raising(kind, error), blocking=kind == "thread")
    runtime = make(inner, Tool(name="outer", description="O.", handler=outer))
    assert assert_ok(await runtime.call("outer")) == "INTERNAL"
    assert [entry.tool_name for entry in await audit_of(runtime)] == ["inner", "outer"]


@each_error
async def test_a_reducer_that_raises_leaves_the_call_and_its_session_whole(make, error):
    def reduce(state, payload):
        raise error()

    tool = Tool(name="t", description="T.", handler=lambda: ToolResult.success(1, intents=(Intent(type="MOVE"),)))
    runtime = make(tool, reducers={"MOVE": reduce})
    assert assert_ok(await runtime.call("t", session="s")) == 1
    assert assert_ok(await runtime.call("t", session="s")) == 1


@each_error
async def test_a_background_tool_that_raises_is_a_failed_job_with_an_envelope(make, audit_of, error):
    tool = Tool(name="t", description="T.", handler=raising("late", error), category="action", background=True)
    runtime = make(tool, settings=Settings(jobs=JobSettings(poll_seconds=0.02)))
    handle = assert_ok(await runtime.call("t", idempotency_key="k"))
    await runtime.work()
    failed = assert_failed(await runtime.job_result(handle["job"]["id"]), ErrorType.INTERNAL, detail="HANDLER_RAISED")
    assert failed.partial_side_effects is True
    assert [entry.success for entry in await audit_of(runtime)] == [True, False]
    await runtime.close()


def test_tasks_that_a_handler_starts_cannot_end_the_loop_of_a_caller_without_one():
    for error in (SystemExit, KeyboardInterrupt, GeneratorExit):

        async def act(error=error):
            await asyncio.gather(raising("async", error)())

        runtime = runtime_for(
            Tool(name="t", description="T.", handler=act), Tool(name="ok", description="O.", handler=int)
        )
        assert_failed(runtime.call_sync("t"), ErrorType.INTERNAL, detail="HANDLER_RAISED")
        assert_ok(runtime.call_sync("ok"))
        runtime.run_sync(runtime.close())


class Unreadable(Exception):
    @property
    def __notes__(self):
        raise SystemExit(3)  # formatting a traceback reads them


async def test_an_exception_that_cannot_be_described_is_recorded_all_the_same(make, audit_of):
    runtime = make(Tool(name="t", description="T.", handler=raising("late", Unreadable)))
    assert_failed(await runtime.call("t"), ErrorType.INTERNAL)
    assert len(await audit_of(runtime)) == 1


async def test_a_handler_that_fails_because_its_caller_was_cancelled_is_cancelled(make, calls_of):
    begun = asyncio.Event()

    async def wait():
        try:
            begun.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError as cancelled:
            raise BaseExceptionGroup("several", [cancelled]) from None

    runtime = make(Tool(name="t", description="T.", handler=wait, category="action"))
    call = asyncio.ensure_future(runtime.call("t"))
    await begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    (record,) = await calls_of(runtime)
    assert b'"CANCELLED"' in record.result
