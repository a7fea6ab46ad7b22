"""Whatever a model sends and whatever a handler does: one valid envelope, one row, one audit record, no exception."""

import asyncio
import math

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire import ErrorType, Intent, Progress, Tool, ToolError, ToolResult
from groundwire.contracts.schemas import envelope_problems
from groundwire.testing import runtime_for

LOOP = asyncio.new_event_loop()


@pytest.fixture(scope="module", autouse=True)
def loop():
    yield LOOP
    LOOP.close()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just(object()) | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text() | st.integers(), inner, max_size=4),
    max_leaves=12,
)
SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "integer"},
        "b": {"type": "array", "items": {"type": "string", "maxLength": 3}},
        "c": {"oneOf": [{"type": "null"}, {"enum": [1, "x", None]}, {"type": "object", "required": ["d"]}]},
    },
    "required": ["a"],
}


def recording():
    return Tool(name="act", description="Act.", parameters=SCHEMA, handler=lambda **given: given, category="action")


def free():
    return Tool(name="free", description="Free.", parameters={"type": "object"}, handler=lambda **given: given)


NAMES = st.sampled_from(["act", "free", "ACT", "", "act ", "fr.ee"]) | st.text()
RAW = (
    st.text()
    | VALUES
    | st.sampled_from(['{"a":1}', '{"a":1,"a":2}', '{"a":1e400}', '{"a":"\\ud800"}', "[" * 300, '{"a":1}x', "\x00"])
    | st.builds(
        lambda pairs: "{" + ",".join(pairs) + "}", st.lists(st.sampled_from(['"a":1', '"b":["x"]', '"c":null']))
    )
)


async def check(runtime, result):
    envelope = msgspec.json.decode(msgspec.json.encode(result))
    assert envelope_problems(envelope) == []
    rows = await runtime.store.list_calls("default", limit=10)
    records = await runtime.store.list_audit("default", limit=10)
    assert [row.call_id for row in rows] == [result.meta.call_id]
    assert [record.entry.call_id for record in records if record.entry.kind == "call"] == [result.meta.call_id]
    assert msgspec.json.decode(rows[0].result) == envelope
    assert rows[0].ok is records[0].entry.success is result.ok
    assert (await runtime.verify_audit()).ok


@given(name=NAMES, arguments=RAW, caller=st.sampled_from(["model", "api"]), session=st.sampled_from([None, "s"]))
@settings(max_examples=200, deadline=None)
def test_any_name_and_any_arguments_end_in_one_envelope_one_row_and_one_record(name, arguments, caller, session):
    async def call():
        runtime = runtime_for(recording(), free())
        result = await runtime.call(name, arguments, caller=caller, session=session)
        await check(runtime, result)
        assert result.ok or result.error.type in (
            ErrorType.NOT_FOUND,
            ErrorType.VALIDATION,
            ErrorType.INTERNAL,
            ErrorType.ARGUMENTS_TOO_LARGE,
        )

    LOOP.run_until_complete(call())


INTENTS = st.builds(Intent, type=st.sampled_from(["SUPPRESS_AUDIO", "MOVE", ""]) | st.text() | VALUES, payload=VALUES)
RESULTS = st.builds(
    ToolResult,
    ok=st.booleans(),
    data=VALUES,
    warnings=st.tuples(st.text()) | st.tuples(VALUES) | st.just(()),
    intents=st.tuples(INTENTS) | st.just(()),
) | st.builds(
    ToolResult.failure,
    type=st.sampled_from([*ErrorType, "AUTH", "NONSENSE"]),
    message=st.text() | VALUES,
    detail=st.none() | st.text() | VALUES,
    retryable=st.booleans(),
    partial_side_effects=st.booleans(),
)
ERRORS = st.sampled_from(
    [
        ValueError("x"),
        SystemExit(1),
        KeyboardInterrupt(),
        GeneratorExit(),
        asyncio.CancelledError(),
        StopIteration(),
        KeyError("\ud800"),
        RecursionError(),
        BaseExceptionGroup("x", [SystemExit(1)]),
    ]
) | st.builds(ToolError, st.sampled_from(list(ErrorType)), st.text() | VALUES, detail=st.none() | st.text() | VALUES)
OUTCOMES = VALUES | RESULTS | ERRORS | st.sampled_from([math.nan, 10**400, {1}, Progress(value=1)])


def ending(outcome, kind):
    def finish():
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    async def finish_async():
        return finish()

    async def finish_stream():
        yield finish()

    return {"plain": finish, "async": finish_async, "stream": finish_stream}[kind]


@given(
    outcome=OUTCOMES,
    kind=st.sampled_from(["plain", "async", "stream"]),
    category=st.sampled_from(["action", "retrieval"]),
    spill=st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_anything_that_a_handler_returns_or_raises_ends_in_one_envelope(outcome, kind, category, spill):
    async def call():
        tool = Tool(
            name="t", description="T.", handler=ending(outcome, kind), category=category, blocking=False, spill=spill
        )
        runtime = runtime_for(tool)
        result = await runtime.call("t", session="s")
        await check(runtime, result)

    LOOP.run_until_complete(call())
