"""Unknown, masked, hidden, of the other mode, in an ended session: the first steps of the pipeline."""

import msgspec
import pytest

from groundwire import ErrorType, Overrides, PolicyRule, Profile, Registry, Settings, Tool, tool
from groundwire.testing import FakeClock, assert_failed, assert_ok


@tool(category="retrieval")
def search(query: str) -> dict:
    """Search."""
    return {"hits": [query]}


@tool(exposure="internal")
def internals() -> str:
    """Not for models."""
    return "inside"


@tool(modes="voice")
def hang_up() -> str:
    """End the call."""
    return "bye"


PROFILES = Settings(
    profiles={
        "narrow": Profile(allow=("internals",)),
        "closed": Profile(deny=("search",)),
        "everything": Profile(allow=("all",)),
        "nothing": Profile(allow=()),
    }
)


def bytes_without(result, *names):
    """The envelope's JSON without what must differ: the call's id and name."""
    text = msgspec.json.encode(result).decode()
    for name in (result.meta.call_id, *names):
        text = text.replace(name, "?")
    return text


@pytest.mark.requirement("B-111", "C-027", "X-16")
async def test_an_unknown_tool_is_not_found_and_stays_in_the_record(make, calls_of):
    runtime = make(search, clock=FakeClock())
    result = await runtime.call("serach", {"query": "x"}, caller="model")
    assert_failed(result, ErrorType.NOT_FOUND, detail="UNKNOWN_TOOL")
    (row,) = await calls_of(runtime)
    assert (row.tool, row.raw, row.executed, row.ok) == ("serach", '{"query":"x"}', False, False)


@pytest.mark.requirement("C-153", "X-05")
async def test_unknown_masked_and_hidden_tools_get_the_same_bytes(make):
    runtime = make(search, internals, clock=FakeClock(), settings=PROFILES)
    options = {"caller": "model", "session": "s"}
    unknown = await runtime.call("nothing_like_it", {"query": "x"}, **options)
    masked = await runtime.call("search", {"query": "x"}, profile="closed", **options)
    hidden = await runtime.call("internals", {"query": "x"}, **options)
    shapes = {
        bytes_without(unknown, "nothing_like_it"),
        bytes_without(masked, "search"),
        bytes_without(hidden, "internals"),
    }
    assert len(shapes) == 1


async def test_a_tool_masked_by_a_loop_looks_unknown_as_well(make):
    runtime = make(search, clock=FakeClock())
    async with runtime.turn(session="s") as turn:
        for _ in range(4):
            await runtime.call("search", {"query": "x"}, turn=turn, caller="model")
        masked = await runtime.call("search", {"query": "x"}, turn=turn, caller="model")
        unknown = await runtime.call("sarch", {"query": "x"}, turn=turn, caller="model")
    assert bytes_without(masked, "search") == bytes_without(unknown, "sarch")


async def test_a_refusal_never_lists_tools(make):
    runtime = make(search, internals, hang_up)
    for name in ("x", "internals", "serach", ""):
        error = assert_failed(await runtime.call(name, {}, caller="model"), ErrorType.NOT_FOUND)
        assert "search" not in error.message.replace(name, "")
        assert "hang_up" not in error.message


async def test_an_application_may_call_what_models_may_not(make):
    runtime = make(internals)
    assert assert_ok(await runtime.call("internals")) == "inside"


@pytest.mark.requirement("C-153", "C-149")
@pytest.mark.parametrize(
    ("profile", "search_ok", "internals_ok"),
    [
        ("", True, True),
        ("narrow", False, True),
        ("closed", False, True),
        ("everything", True, True),
        ("nothing", False, False),
    ],
)
async def test_a_mask_holds_when_executing_for_every_caller(make, profile, search_ok, internals_ok):
    runtime = make(search, internals, settings=PROFILES)
    assert (await runtime.call("search", {"query": "x"}, profile=profile)).ok is search_ok
    assert (await runtime.call("internals", profile=profile)).ok is internals_ok


@pytest.mark.requirement("C-150", "C-153", "C-154", "X-05", "B-006", "B-009")
@pytest.mark.parametrize(
    ("profile", "mode", "offered"),
    [
        ("", "text", ["search"]),
        ("", "voice", ["hang_up", "search"]),
        ("closed", "voice", ["hang_up"]),
        ("nothing", "voice", []),
        ("everything", "text", ["search"]),
    ],
)
async def test_what_is_masked_hidden_or_of_the_other_mode_is_not_declared(make, profile, mode, offered):
    runtime = make(search, internals, hang_up, settings=PROFILES)
    async with runtime.turn(mode=mode, profile=profile) as turn:
        assert [found.tool_id for found in turn.surface.offered()] == offered


@pytest.mark.requirement("X-05")
async def test_a_flag_shows_tools_of_the_other_mode_and_they_are_refused_all_the_same(make):
    runtime = make(search, hang_up)
    async with runtime.turn(mode="text") as turn:
        shown = [found.tool_id for found in turn.surface.offered(keep_other_modes=True)]
        assert shown == ["hang_up", "search"]
        assert_failed(await runtime.call("hang_up", turn=turn, caller="model"), ErrorType.MODE_RESTRICTED)


@pytest.mark.requirement("B-113", "B-039", "B-213", "B-195")
@pytest.mark.parametrize("caller", ["model", "api"])
async def test_a_tool_of_the_other_mode_is_mode_restricted(make, caller):
    runtime = make(hang_up)
    error = assert_failed(await runtime.call("hang_up", caller=caller), ErrorType.MODE_RESTRICTED)
    assert (error.retryable, error.partial_side_effects) == (False, False)
    assert assert_ok(await runtime.call("hang_up", caller=caller, mode="voice")) == "bye"


@pytest.mark.requirement("B-001")
async def test_one_definition_serves_text_and_voice(make):
    runtime = make(search)
    in_text = await runtime.call("search", {"query": "x"}, mode="text")
    in_voice = await runtime.call("search", {"query": "x"}, mode="voice")
    assert assert_ok(in_text) == assert_ok(in_voice) == {"hits": ["x"]}


@pytest.mark.requirement("B-181")
async def test_an_ended_session_takes_no_more_calls(make):
    runtime = make(search)
    assert_ok(await runtime.call("search", {"query": "x"}, session="s"))
    assert await runtime.end_session("s") is True
    assert_failed(await runtime.call("search", {"query": "x"}, session="s"), ErrorType.SESSION_INACTIVE)
    assert await runtime.end_session("s") is False
    assert await runtime.end_session("never opened") is False
    assert_ok(await runtime.call("search", {"query": "x"}, session="another"))


@pytest.mark.requirement("X-01")
async def test_a_dotted_tool_answers_to_its_id_and_to_its_wire_name(make):
    dotted = Tool(name="market.find", description="Find.", handler=lambda: 1)
    runtime = make(dotted)
    for name in ("market.find", "market__find"):
        result = await runtime.call(name, caller="model")
        assert assert_ok(result) == 1
        assert result.meta.tool == "market.find"
    assert_failed(await runtime.call("market_find", caller="model"), ErrorType.NOT_FOUND)


async def test_masks_and_rules_name_dotted_tools_by_either_name(make):
    dotted = Tool(name="market.find", description="Find.", handler=lambda: 1)
    settings = Settings(
        profiles={"p": Profile(deny=("market__*",))},
        policies=(PolicyRule(tools=("market.*",), modes=("voice",), limits=Overrides(max_args_bytes=1)),),
    )
    runtime = make(dotted, settings=settings)
    assert_failed(await runtime.call("market.find", profile="p"), ErrorType.NOT_FOUND)
    assert_failed(await runtime.call("market__find", {}, mode="voice"), ErrorType.ARGUMENTS_TOO_LARGE)
    assert_ok(await runtime.call("market__find", {}))


@pytest.mark.requirement("C-023", "C-024", "B-214")
async def test_there_are_no_tools_but_those_that_were_handed_in(make):
    assert list(Registry()) == []
    runtime = make(search)
    async with runtime.turn() as turn:
        assert [found.tool_id for found in turn.surface.offered(keep_other_modes=True)] == ["search"]
