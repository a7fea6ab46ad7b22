"""Sessions: opened once, pinned to a registry version, counted turn by turn, ended for good."""

import pytest

from groundwire import ErrorType, GroundwireError, Settings, Tool, tool
from groundwire.store import MemoryStore
from groundwire.testing import assert_failed, assert_ok


def search_v1():
    @tool(category="retrieval")
    def search(query: str) -> str:
        """Search the old way."""
        return f"v1 {query}"

    return search


def search_v2():
    @tool(category="retrieval")
    def search(query: str, limit: int) -> str:
        """Search the new way."""
        return f"v2 {query} {limit}"

    return search


def renamed():
    return Tool(name="find", description="Find.", handler=lambda: "found")


async def session_of(runtime, session="s"):
    return await runtime.store.load_session("default", session)


@pytest.mark.requirement("B-135", "X-04")
async def test_a_session_keeps_the_registry_version_that_it_started_with(make):
    store = MemoryStore()
    old, new = make(search_v1(), store=store), make(search_v2(), renamed(), store=store)
    started = await old.call("search", {"query": "a"}, session="s")
    assert old.registry.version != new.registry.version

    async with new.turn(session="s") as turn:
        assert turn.surface.registry.version == old.registry.version
        (offered,) = turn.surface.offered()
        assert offered.spec == old.registry.find("search").spec
        assert_failed(await new.call("find", turn=turn), ErrorType.NOT_FOUND, detail="UNKNOWN_TOOL")
    fresh = await new.call("search", {"query": "a", "limit": 1}, session="another")
    assert assert_ok(fresh) == "v2 a 1"
    assert (started.meta.registry_version, fresh.meta.registry_version) == (old.registry.version, new.registry.version)


@pytest.mark.requirement("B-135")
async def test_code_that_changed_since_is_not_run_in_the_place_of_the_old(make):
    store = MemoryStore()
    assert_ok(await make(search_v1(), store=store).call("search", {"query": "a"}, session="s"))
    changed = await make(search_v2(), store=store).call("search", {"query": "a"}, session="s")
    assert_failed(changed, ErrorType.NOT_FOUND, detail="HANDLER_CHANGED")
    gone = await make(renamed(), store=store).call("search", {"query": "a"}, session="s")
    assert_failed(gone, ErrorType.NOT_FOUND, detail="HANDLER_GONE")


@pytest.mark.requirement("B-135")
async def test_a_restart_with_the_same_tools_goes_on(make):
    store = MemoryStore()
    for _ in range(2):
        assert assert_ok(await make(search_v1(), store=store).call("search", {"query": "a"}, session="s")) == "v1 a"


async def test_the_tools_of_a_turn_do_not_change_under_it(make):
    store = MemoryStore()
    old, new = make(search_v1(), store=store), make(search_v2(), store=store)
    async with old.turn(session="s") as turn:
        assert_ok(await new.call("search", {"query": "a", "limit": 1}, session="other"))
        assert assert_ok(await old.call("search", {"query": "a"}, turn=turn)) == "v1 a"


@pytest.mark.requirement("B-177", "B-180", "B-181", "B-182", "B-184", "B-157")
async def test_a_session_has_a_start_turns_calls_and_an_end(make, clock):
    runtime = make(search_v1(), clock=clock)
    assert await session_of(runtime) is None
    async with runtime.turn(session="s", mode="voice") as turn:
        opened = await session_of(runtime)
        assert (opened.session_id, opened.status, opened.mode, opened.turns) == ("s", "active", "voice", 0)
        assert turn.number == 1
        for query in "ab":
            await runtime.call("search", {"query": query}, turn=turn)
    clock.advance(5)
    async with runtime.turn(session="s") as turn:
        assert turn.number == 2
        await runtime.call("nothing", turn=turn, caller="model")
    clock.advance(5)
    await runtime.end_session("s")
    ended = await session_of(runtime)
    assert (ended.status, ended.turns, ended.calls) == ("ended", 2, 3)
    assert ended.ended_at - ended.created_at == 10


@pytest.mark.requirement("B-178", "B-183", "D-001", "D-111")
async def test_each_call_of_a_session_is_recorded_with_arguments_duration_and_success(make, clock, calls_of):
    @tool(category="retrieval")
    async def wait(ms: int) -> int:
        """Wait."""
        clock.advance(ms / 1000)
        return ms

    runtime = make(wait, clock=clock)
    async with runtime.turn(session="s") as turn:
        await runtime.call("wait", {"ms": 250}, turn=turn)
        await runtime.call("wait", {"ms": "x"}, turn=turn)
    first, second = await calls_of(runtime, session_id="s")
    assert (first.tool, first.raw, first.ok, first.turn) == ("wait", '{"ms":250}', True, 1)
    assert first.duration_ms == 250
    assert (second.ok, second.error_type, second.executed) == (False, "VALIDATION", False)


@pytest.mark.requirement("B-152", "B-153", "B-185")
async def test_the_loop_history_of_the_last_five_turns_is_kept(make):
    @tool(category="retrieval")
    def nothing(query: str) -> list:
        """Find nothing."""
        return []

    runtime = make(nothing)
    for number in range(7):
        async with runtime.turn(session="s") as turn:
            for _ in range(2):
                await runtime.call("nothing", {"query": str(number)}, turn=turn, caller="model")
    history = (await session_of(runtime)).loop_history
    assert [entry["turn"] for entry in history] == [3, 4, 5, 6, 7]
    assert all(entry["empty"] == {"nothing": 2} for entry in history)
    assert all([repeat["calls"] for repeat in entry["repeats"]] == [2] for entry in history)


@pytest.mark.requirement("B-212")
async def test_turns_of_different_sessions_know_nothing_of_each_other(make):
    runtime = make(search_v1())
    async with runtime.turn(session="a") as first, runtime.turn(session="b") as second:
        for turn in (first, second):
            results = [await runtime.call("search", {"query": "x"}, turn=turn, caller="model") for _ in range(2)]
            assert all(result.ok for result in results)
    assert first.state is not second.state


async def test_tenants_may_use_the_same_session_id(make):
    runtime = make(search_v1())
    await runtime.call("search", {"query": "x"}, session="s", tenant="acme")
    await runtime.end_session("s", tenant="acme")
    assert_ok(await runtime.call("search", {"query": "x"}, session="s"))
    assert_failed(await runtime.call("search", {"query": "x"}, session="s", tenant="acme"), ErrorType.SESSION_INACTIVE)


@pytest.mark.parametrize("session", ["", "x" * 257, "a\nb"])
async def test_a_session_id_that_cannot_be_stored_is_a_mistake(make, session):
    with pytest.raises(GroundwireError) as raised:
        await make(search_v1()).call("search", {"query": "x"}, session=session)
    assert raised.value.code == "config_error"


@pytest.mark.parametrize("options", [{"mode": "smell"}, {"profile": "nobody"}])
async def test_an_unknown_mode_or_profile_is_a_mistake(make, options):
    with pytest.raises(GroundwireError) as raised:
        await make(search_v1(), settings=Settings()).call("search", {"query": "x"}, **options)
    assert raised.value.code == "config_error"


async def test_a_turn_that_breaks_off_is_closed_all_the_same(make, calls_of):
    runtime = make(search_v1())

    async def break_off():
        async with runtime.turn(session="s") as turn:
            await runtime.call("search", {"query": "x"}, turn=turn)
            raise RuntimeError("outside")

    with pytest.raises(RuntimeError, match="outside"):
        await break_off()
    assert (await session_of(runtime)).turns == 1
    assert len(await calls_of(runtime)) == 1
