"""What a turn tells while it goes on, and in which order."""

import pytest

from groundwire import Context, ErrorType, Progress, Tool, ToolError, tool
from groundwire.testing import assert_ok


async def told(runtime, name, arguments=None, **options):
    events = []
    result = await runtime.call(name, arguments, on_event=events.append, **options)
    return result, events


def names(events):
    return [event.event for event in events]


async def test_a_call_is_started_then_finished_then_its_turn_ended(make):
    runtime = make(Tool(name="t", description="T.", handler=lambda: 1))
    result, events = await told(runtime, "t", session="s", call_id="c1")
    assert names(events) == ["call.started", "call.finished", "turn.ended"]
    started, finished, ended = events
    assert (started.call.call_id, started.call.name, started.call.raw) == ("c1", "t", "{}")
    assert (finished.call_id, finished.result) == ("c1", result)
    assert (ended.session_id, ended.turn, ended.calls) == ("s", 1, 1)


async def test_a_refusal_is_denied_with_its_step_before_it_is_finished(make):
    runtime = make(Tool(name="t", description="T.", handler=lambda: 1))
    result, events = await told(runtime, "nothing")
    assert names(events) == ["call.started", "call.denied", "call.finished", "turn.ended"]
    assert (events[1].step, events[1].error) == ("resolve", result.error)


async def test_a_failure_of_the_tool_itself_is_not_a_denial(make):
    def fail():
        raise ToolError(ErrorType.AUTH, "no")

    _, events = await told(make(Tool(name="t", description="T.", handler=fail)), "t")
    assert names(events) == ["call.started", "call.finished", "turn.ended"]


@pytest.mark.requirement("B-221", "OQ-21")
async def test_a_streaming_tool_shows_its_progress_before_its_result(make):
    async def stream():
        yield Progress(value={"done": 1})
        yield "a draft"
        yield "the result"

    result, events = await told(make(Tool(name="t", description="T.", handler=stream)), "t")
    assert assert_ok(result) == "the result"
    assert names(events) == ["call.started", *["call.progress"] * 3, "call.finished", "turn.ended"]
    assert [event.value for event in events if event.event == "call.progress"] == [
        {"done": 1},
        "a draft",
        "the result",
    ]


async def test_a_stream_that_ends_with_progress_has_no_result(make):
    async def stream():
        yield "a draft"
        yield Progress(value=100)

    result, _ = await told(make(Tool(name="t", description="T.", handler=stream)), "t")
    assert assert_ok(result) is None


@pytest.mark.requirement("B-221", "OQ-21")
@pytest.mark.parametrize("kind", ["inline", "async", "thread"])
async def test_progress_told_through_the_context_comes_before_the_result(make, kind):
    def report(context: Context):
        context.progress(1)
        context.progress(2)
        return "done"

    async def report_later(context: Context):
        return report(context)

    handler = report_later if kind == "async" else report
    runtime = make(Tool(name="t", description="T.", handler=handler, blocking=kind == "thread"))
    _, events = await told(runtime, "t")
    assert names(events) == ["call.started", "call.progress", "call.progress", "call.finished", "turn.ended"]
    assert [event.value for event in events[1:3]] == [1, 2]


async def test_a_nested_call_tells_its_story_inside_its_parents(make):
    async def outer(context: Context):
        return (await context.call("leaf")).data

    runtime = make(
        Tool(name="outer", description="O.", handler=outer), Tool(name="leaf", description="L.", handler=lambda: 1)
    )
    _, events = await told(runtime, "outer")
    assert names(events) == ["call.started", "call.started", "call.finished", "call.finished", "turn.ended"]
    assert [event.call.name for event in events[:2]] == ["outer", "leaf"]


async def test_a_replay_is_told_as_a_call_that_finished(make):
    @tool(category="action")
    def act() -> int:
        """Act."""
        return 1

    runtime = make(act)
    await runtime.call("act", idempotency_key="k")
    _, events = await told(runtime, "act", idempotency_key="k")
    assert names(events) == ["call.started", "call.finished", "turn.ended"]
    assert events[1].result.meta.replayed


async def test_a_follower_that_fails_breaks_neither_the_call_nor_the_turn(make, caplog, calls_of):
    def follow(event):
        raise RuntimeError("the listener hung up")

    runtime = make(Tool(name="t", description="T.", handler=lambda: 1, category="action"))
    assert assert_ok(await runtime.call("t", session="s", on_event=follow)) == 1
    assert len(await calls_of(runtime)) == 1
    assert "hung up" in caplog.text
