"""A turn that was cut off is counted again from its stored calls, and goes on where it was."""

import pytest

from groundwire import Budget, ErrorType, Gate, Tool, ToolError, tool
from groundwire.contracts.results import decode_result
from groundwire.testing import FakeClock, StaticFlags, assert_failed, assert_ok

CLOCK = FakeClock()


@tool(category="retrieval", empty_field="hits", budget=[Budget(name="searches", max=6)])
def search(query: str) -> dict:
    """Search."""
    return {"hits": [] if query.startswith("nothing") else [query]}


@tool(category="action", budget=[Budget(name="tokens", unit="tokens", max=1_000)])
def book(place: str) -> str:
    """Book."""
    if place == "full":
        raise ToolError(ErrorType.TRANSIENT, "later")
    return f"booked {place}"


async def slow(ms):
    CLOCK.advance(ms / 1000)


SLOW = Tool(
    name="slow",
    description="Slow.",
    parameters={"type": "object", "properties": {"ms": {"type": "integer"}}},
    handler=slow,
    category="action",
    budget=[Budget(name="time", unit="ms", max=10_000)],
)
GATED = Tool(name="gated", description="G.", handler=lambda: 1, gates=[Gate(flag="OFF", answer=[])])

STORIES = {
    "calls": [("search", {"query": "a"}), ("search", {"query": "b"}), ("book", {"place": "x"})],
    "replays": [("book", {"place": "x"}), ("book", {"place": "x"})],
    "failures": [("book", {"place": "full"}), ("book", {"place": "x"})],
    "refusals": [("no", {}), ("search", {"query": 1}), ("no", {})],
    "a refusal between": [("no", {}), ("search", {"query": "a"}), ("no", {})],
    "a loop": [("search", {"query": "a"})] * 3,
    "a loop until masked": [("search", {"query": "a"})] * 5,
    "empty": [("search", {"query": "nothing"}), ("search", {"query": "a"})],
    "empty twice": [("search", {"query": f"nothing {n}"}) for n in range(5)],
    "an answer": [("no", {}), ("gated", {}), ("no", {})],
    "time": [("slow", {"ms": 250}), ("slow", {"ms": 500})],
}


def counts(turn):
    return {
        "calls": turn.calls,
        "refusals": turn.refusals,
        "repeats": {key: count for key, count in turn.repeats.items() if count},
        "used": {name: used for name, used in turn.used.items() if used},
        "empty": turn.empty_results,
        "outputs": turn.last_outputs,
        "looped": turn.looped,
        "masked": turn.masked,
    }


async def play(make, story, caller="model"):
    runtime = make(search, book, SLOW, GATED, clock=CLOCK, flags=StaticFlags())
    async with runtime.turn(session="s", run_id="r") as turn:
        for number, (name, arguments) in enumerate(story):
            await runtime.call(name, arguments, turn=turn, call_id=f"c{number}", caller=caller)
    return runtime, turn


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
async def test_counting_again_gives_the_same_counts(make, calls_of, story):
    runtime, lived = await play(make, story)
    async with runtime.turn(session="s", run_id="r") as turn:
        turn.rebuild(await calls_of(runtime, turn=1), decode_result)
        assert counts(turn) == counts(lived)
        assert turn.closed == lived.closed


async def test_an_applications_calls_count_in_no_loop_and_no_row_of_refusals(make, calls_of):
    runtime, lived = await play(make, [("no", {}), *STORIES["empty twice"]], caller="api")
    async with runtime.turn(session="s", run_id="r") as turn:
        turn.rebuild(await calls_of(runtime, turn=1), decode_result)
        assert counts(turn) == counts(lived)
        assert turn.repeats == {}
        assert turn.refusals == 0


async def test_a_rebuilt_turn_goes_on_where_it_was(make, calls_of):
    runtime, _ = await play(make, [("search", {"query": "a"}), ("search", {"query": "a"}), ("book", {"place": "x"})])
    async with runtime.turn(session="s", run_id="r") as turn:
        turn.rebuild(await calls_of(runtime, turn=1), decode_result)
        third = await runtime.call("search", {"query": "a"}, turn=turn, caller="model")
        assert_failed(third, ErrorType.LOOP_DETECTED)
        replay = await runtime.call("book", {"place": "x"}, turn=turn, caller="model", call_id="c2")
        assert assert_ok(replay) == "booked x"
        assert replay.meta.replayed
        again = await runtime.call("book", {"place": "x"}, turn=turn, caller="model", call_id="new")
        assert again.meta.replayed
