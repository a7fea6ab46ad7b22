"""The kinds of handlers there are, what they may return, and how they fail on purpose."""

import asyncio
import dataclasses
import enum
import threading

import pydantic
import pytest

from groundwire import Context, ErrorType, Intent, Progress, Tool, ToolError, ToolResult, say, tool
from groundwire.testing import assert_failed, assert_ok


def of_kind(kind, returned=7):
    def plain(**_):
        return (returned, threading.current_thread() is threading.main_thread())

    async def awaited(**_):
        return plain()

    async def streamed(**_):
        yield Progress(value=1)
        yield plain()

    def wrapping(**_):
        return awaited()

    return {"sync": plain, "async": awaited, "stream": streamed, "wrapper": wrapping}[kind]


@pytest.mark.requirement("C-028", "B-107", "B-139")
@pytest.mark.parametrize("category", ["retrieval", "action", "utility"])
@pytest.mark.parametrize("kind", ["sync", "async", "stream", "wrapper"])
async def test_every_kind_of_handler_is_run_to_its_result(make, kind, category):
    runtime = make(Tool(name="t", description="T.", handler=of_kind(kind), category=category))
    assert assert_ok(await runtime.call("t"))[0] == 7


@pytest.mark.parametrize(
    ("category", "blocking", "on_the_loop"),
    [
        ("retrieval", None, True),
        ("utility", None, True),
        ("action", None, False),
        ("retrieval", True, False),
        ("action", False, True),
    ],
)
async def test_a_plain_function_runs_in_a_thread_when_it_may_block(make, category, blocking, on_the_loop):
    runtime = make(Tool(name="t", description="T.", handler=of_kind("sync"), category=category, blocking=blocking))
    assert assert_ok(await runtime.call("t")) == [7, on_the_loop]


async def test_a_blocking_handler_does_not_stop_the_others(make):
    gate = threading.Event()

    @tool(category="action")
    def wait() -> str:
        """Wait for the other."""
        return "went on" if gate.wait(timeout=10) else "stuck"

    @tool(category="retrieval")
    def open_gate() -> None:
        """Let the other go on."""
        gate.set()

    runtime = make(wait, open_gate)
    waiting = asyncio.ensure_future(runtime.call("wait"))
    await asyncio.sleep(0)
    assert_ok(await runtime.call("open_gate"))
    assert assert_ok(await waiting) == "went on"


class Colour(enum.StrEnum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    colour: Colour


class Hit(pydantic.BaseModel):
    title: str
    where: Point | None = None


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (None, None),
        ({"a": 1}, {"a": 1}),
        ([1, "x", None], [1, "x", None]),
        ((1, 2), [1, 2]),
        ("text", "text"),
        (1.5, 1.5),
        (True, True),
        (10**40, 10**40),
        (Point(1, Colour.RED), {"x": 1, "colour": "red"}),
        (Hit(title="t", where=Point(1, Colour.RED)), {"title": "t", "where": {"x": 1, "colour": "red"}}),
        ([Hit(title="a")], [{"title": "a", "where": None}]),
        (ToolResult.success({"a": 1}), {"a": 1}),
        (ToolResult.success(Hit(title="a")), {"title": "a", "where": None}),
    ],
    ids=repr,
)
async def test_what_a_handler_returns_becomes_plain_data(make, value, data):
    runtime = make(Tool(name="t", description="T.", handler=lambda: value))
    result = await runtime.call("t")
    assert assert_ok(result) == data
    assert type(result.data) is type(data)


async def test_changing_what_was_returned_does_not_change_the_result(make):
    shared = {"hits": [1]}
    runtime = make(Tool(name="t", description="T.", handler=lambda: shared))
    result = await runtime.call("t")
    shared["hits"].append(2)
    assert assert_ok(result) == {"hits": [1]}


async def test_an_envelope_of_the_handler_keeps_its_warnings_intents_and_details(make):
    returned = ToolResult.success(
        {"a": 1}, warnings=("careful",), intents=(Intent(type="SUPPRESS_AUDIO"),), meta=dataclass_free_meta({"page": 2})
    )
    runtime = make(Tool(name="t", description="T.", handler=lambda: returned))
    result = await runtime.call("t", call_id="c1")
    assert assert_ok(result) == {"a": 1}
    assert result.warnings == ("careful",)
    assert result.intents == (Intent(type="SUPPRESS_AUDIO"),)
    assert result.meta.details == {"page": 2}
    assert result.meta.call_id == "c1"


def dataclass_free_meta(details):
    from groundwire.contracts.results import Meta

    return Meta(call_id="somebody else's", duration_ms=-5, replayed=True, details=details)


HANDLER_ERRORS = [
    pytest.param(ErrorType.SESSION_INACTIVE, False, marks=pytest.mark.requirement("B-116")),
    pytest.param(ErrorType.TRANSIENT, True, marks=pytest.mark.requirement("B-117")),
    pytest.param(ErrorType.PERMANENT, False, marks=pytest.mark.requirement("B-118")),
    pytest.param(ErrorType.CONFLICT, False, marks=pytest.mark.requirement("B-119")),
    pytest.param(ErrorType.AUTH, False, marks=pytest.mark.requirement("B-120")),
    pytest.param(ErrorType.RATE_LIMIT, True, marks=pytest.mark.requirement("B-121")),
    pytest.param(ErrorType.NOT_FOUND, False),
    pytest.param(ErrorType.VALIDATION, False, marks=pytest.mark.requirement("B-194")),
]


@pytest.mark.requirement("B-197", "B-194")
@pytest.mark.parametrize("how", ["raise", "return"])
@pytest.mark.parametrize(("type_", "retryable"), HANDLER_ERRORS)
async def test_a_handler_fails_with_a_type_of_its_choice(make, type_, retryable, how):
    def fail():
        if how == "return":
            return ToolResult.failure(type_, "told to the model", detail="MINE")
        raise ToolError(type_, "told to the model", detail="MINE")

    result = await make(Tool(name="t", description="T.", handler=fail, category="action")).call("t")
    error = assert_failed(result, type_, detail="MINE")
    assert (error.message, error.retryable, error.partial_side_effects) == ("told to the model", retryable, False)
    assert result.data is None


@pytest.mark.requirement("B-197")
@pytest.mark.parametrize("retryable", [True, False])
@pytest.mark.parametrize("partial", [True, False])
async def test_a_handler_says_itself_whether_to_retry_and_what_was_left_behind(make, retryable, partial):
    def fail():
        raise ToolError(ErrorType.PERMANENT, "no", retryable=retryable, partial_side_effects=partial)

    result = await make(Tool(name="t", description="T.", handler=fail, category="action")).call("t")
    error = assert_failed(result, ErrorType.PERMANENT)
    assert (error.retryable, error.partial_side_effects) == (retryable, partial)


async def test_several_errors_of_a_handler_are_all_kept(make):
    from groundwire.contracts.results import ErrorInfo

    errors = tuple(ErrorInfo(type=ErrorType.VALIDATION, message=text) for text in ("first", "second"))
    runtime = make(Tool(name="t", description="T.", handler=lambda: ToolResult(ok=False, errors=errors)))
    result = await runtime.call("t")
    assert result.errors == errors
    assert result.error == errors[0]


@pytest.mark.requirement("B-005", "B-136")
async def test_a_handler_is_told_about_its_call_and_cannot_change_the_session(make):
    seen = {}

    @tool(category="action")
    async def look(context: Context) -> None:
        """Look around."""
        seen.update(
            call_id=context.call_id,
            session_id=context.session_id,
            tenant=context.tenant,
            mode=context.mode,
            caller=context.caller,
            actor=context.actor,
            user=context.user,
            organisation=context.organisation,
            request_id=context.request_id,
            key=context.idempotency_key,
            history=[message.text for message in context.history],
            resource=context.resources["db"],
        )
        with pytest.raises(TypeError):
            context.state["mine"] = True
        with pytest.raises(AttributeError):
            context.session_id = "another"

    runtime = make(look, resources={"db": "connection"})
    result = await runtime.call(
        "look",
        session="s",
        mode="voice",
        caller="model",
        actor="admin",
        user="ada",
        organisation="acme",
        request_id="r",
        call_id="c",
        idempotency_key="k",
        history=[say("user", "hi")],
    )
    assert_ok(result)
    assert seen == {
        "call_id": "c",
        "session_id": "s",
        "tenant": "default",
        "mode": "voice",
        "caller": "model",
        "actor": "admin",
        "user": "ada",
        "organisation": "acme",
        "request_id": "r",
        "key": "k",
        "history": ["hi"],
        "resource": "connection",
    }


@pytest.mark.requirement("B-139")
def test_a_decorated_function_can_be_called_by_itself():
    @tool
    def add(a: int, b: int = 1) -> int:
        """Add."""
        return a + b

    assert add(2) == 3
    assert add(a=2, b=2) == 4


async def test_a_result_that_breaks_the_tools_own_result_schema_is_not_passed_on(make):
    schema = {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}
    answers = [{"id": 1}, {"id": "one"}, {}]
    runtime = make(Tool(name="t", description="T.", handler=lambda: answers.pop(0), result=schema, category="action"))
    assert assert_ok(await runtime.call("t")) == {"id": 1}
    for _ in range(2):
        error = assert_failed(await runtime.call("t"), ErrorType.INTERNAL, detail="RESULT_SCHEMA")
        assert error.partial_side_effects is True
        assert "one" not in error.message
