"""Outputs that are too large: kept whole for tools that ask for it, and read back in portions."""

import msgspec
import pytest

from groundwire import ErrorType, Overrides, PolicyRule, Profile, Settings, Tool
from groundwire.testing import assert_failed, assert_ok

TEXT = "".join(chr(0x4E00 + number % 5_000) for number in range(100_000))


def dump(**options):
    return Tool(name="dump", description="Dump.", handler=lambda: {"text": TEXT}, category="retrieval", **options)


async def read_all(runtime, turn, ref):
    text, offset = "", 0
    while offset is not None:
        portion = assert_ok(
            await runtime.call("read_spilled", {"ref": ref, "offset": offset}, turn=turn, caller="model")
        )
        text += portion["text"]
        offset = portion["next_offset"]
    return text


async def test_a_tool_that_asks_for_it_spills_and_the_whole_can_be_read_back(make):
    runtime = make(dump(spill=True))
    async with runtime.turn(session="s") as turn:
        result = await runtime.call("dump", turn=turn, caller="model")
        notice = assert_ok(result)["spilled"]
        assert result.meta.spilled == notice["ref"]
        assert notice["read_with"] == "read_spilled"
        assert len(notice["preview"]) <= 1_000
        text = await read_all(runtime, turn, notice["ref"])
    assert msgspec.json.decode(text) == {"text": TEXT}
    assert len(text) == notice["chars"]


@pytest.mark.parametrize(
    ("offset", "limit", "length", "more"),
    [(0, 10, 10, True), (100_000, 20_000, 11, False), (100_010, 1, 1, False), (200_000, 5, 0, False)],
)
async def test_a_portion_is_what_was_asked_for(make, offset, limit, length, more):
    runtime = make(dump(spill=True))
    async with runtime.turn(session="s") as turn:
        ref = assert_ok(await runtime.call("dump", turn=turn))["spilled"]["ref"]
        portion = await runtime.call("read_spilled", {"ref": ref, "offset": offset, "limit": limit}, turn=turn)
    data = assert_ok(portion)
    assert len(data["text"]) == length
    assert (data["next_offset"] is not None) is more


@pytest.mark.requirement("C-141")
async def test_a_tool_that_does_not_ask_for_it_fails_and_is_settled(make):
    runtime = make(dump())
    result = await runtime.call("dump", idempotency_key="k")
    error = assert_failed(result, ErrorType.TOOL_OUTPUT_TOO_LARGE)
    assert error.retryable is False
    assert (await runtime.call("dump", idempotency_key="k")).meta.replayed


async def test_the_reading_tool_exists_only_in_the_turn_that_spilled(make):
    runtime = make(dump(spill=True))
    async with runtime.turn(session="s") as turn:
        assert_failed(await runtime.call("read_spilled", {"ref": "x"}, turn=turn), ErrorType.NOT_FOUND)
        ref = assert_ok(await runtime.call("dump", turn=turn))["spilled"]["ref"]
        assert_ok(await runtime.call("read_spilled", {"ref": ref}, turn=turn))
        assert list(turn.extra) == ["read_spilled"]
    async with runtime.turn(session="s") as turn:
        refused = await runtime.call("read_spilled", {"ref": ref}, turn=turn)
        assert_failed(refused, ErrorType.NOT_FOUND, detail="UNKNOWN_TOOL")


async def test_the_reading_tool_obeys_the_masks(make):
    settings = Settings(profiles={"narrow": Profile(allow=("dump",))})
    runtime = make(dump(spill=True), settings=settings)
    async with runtime.turn(session="s", profile="narrow") as turn:
        ref = assert_ok(await runtime.call("dump", turn=turn))["spilled"]["ref"]
        refused = await runtime.call("read_spilled", {"ref": ref}, turn=turn, caller="model")
        assert_failed(refused, ErrorType.NOT_FOUND, detail="UNKNOWN_TOOL")


async def test_the_reading_tool_counts_in_the_budget(make):
    runtime = make(dump(spill=True))
    async with runtime.turn(session="s", mode="voice") as turn:
        ref = assert_ok(await runtime.call("dump", turn=turn))["spilled"]["ref"]
        assert_ok(await runtime.call("read_spilled", {"ref": ref}, turn=turn))
        refused = await runtime.call("read_spilled", {"ref": ref, "offset": 1}, turn=turn)
        assert_failed(refused, ErrorType.BUDGET_EXCEEDED)


async def test_another_session_cannot_read_it(make):
    runtime = make(dump(spill=True))
    async with runtime.turn(session="mine") as mine, runtime.turn(session="theirs") as theirs:
        ref = assert_ok(await runtime.call("dump", turn=mine))["spilled"]["ref"]
        assert_ok(await runtime.call("dump", turn=theirs))
        stolen = await runtime.call("read_spilled", {"ref": ref}, turn=theirs)
        error = assert_failed(stolen, ErrorType.NOT_FOUND)
        assert error.detail != "UNKNOWN_TOOL"


@pytest.mark.parametrize("arguments", [{}, {"ref": 1}, {"ref": "x", "offset": -1}, {"ref": "x", "limit": 20_001}])
async def test_the_reading_tool_checks_its_arguments(make, arguments):
    runtime = make(dump(spill=True))
    async with runtime.turn(session="s") as turn:
        await runtime.call("dump", turn=turn)
        assert_failed(await runtime.call("read_spilled", arguments, turn=turn), ErrorType.VALIDATION)


async def test_what_just_fits_is_not_spilled(make):
    settings = Settings(policies=(PolicyRule(limits=Overrides(max_output_bytes=6)),))
    sized = Tool(
        name="sized",
        description="S.",
        parameters={"type": "object", "properties": {"n": {"type": "integer"}}},
        handler=lambda n: "x" * n,
        spill=True,
    )
    runtime = make(sized, settings=settings)
    assert assert_ok(await runtime.call("sized", {"n": 4})) == "xxxx"
    assert "spilled" in assert_ok(await runtime.call("sized", {"n": 5}))


async def test_an_action_that_spilled_is_replayed_with_its_reference(make):
    runtime = make(Tool(name="dump", description="D.", handler=lambda: TEXT, category="action", spill=True))
    async with runtime.turn(session="s") as turn:
        first, second = [await runtime.call("dump", turn=turn) for _ in range(2)]
        assert second.meta.replayed
        assert first.data == second.data
        assert await read_all(runtime, turn, second.data["spilled"]["ref"]) == f'"{TEXT}"'


async def test_the_reading_tool_is_offered_when_a_later_turn_replays_a_spilled_result(make):
    spilling = Tool(name="dump", description="D.", handler=lambda: TEXT, category="action", spill=True)
    runtime = make(spilling)
    for _ in range(2):
        async with runtime.turn(session="s") as turn:
            result = await runtime.call("dump", turn=turn, idempotency_key="k")
            assert await read_all(runtime, turn, result.data["spilled"]["ref"]) == f'"{TEXT}"'
    assert result.meta.replayed
