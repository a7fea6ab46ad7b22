"""What the runtime measures, as its users see it."""

import logging

import pytest

from groundwire import ErrorType, Overrides, PolicyRule, Settings, Tool, ToolError, tool
from groundwire.runtime.metrics import to_prometheus
from groundwire.store import MemoryStore
from groundwire.testing import assert_ok


@tool(category="retrieval")
def search(query: str) -> list:
    """Search."""
    return [query]


@tool(category="action")
def book(place: str) -> str:
    """Book."""
    if not place:
        raise ToolError(ErrorType.RATE_LIMIT, "later")
    return place


@pytest.mark.requirement("B-024", "B-162", "B-163", "B-164", "B-165", "B-156", "B-160", "B-179")
async def test_the_snapshot_has_sizes_tokens_times_context_and_loop_detection(make, clock):
    runtime = make(search, clock=clock)
    for query in ("a", "abcd"):
        await runtime.call("search", {"query": query}, session="s")
    snapshot = await runtime.metrics()
    assert snapshot["responseSizes"] == {"search": {"p50": 5, "p95": 8, "p99": 8}}
    assert snapshot["responseTokens"] == {"search": {"avg": 2.0, "p95": 2}}
    assert snapshot["latencyMs"]["search"].keys() == {"p50", "p95", "p99"}
    assert snapshot["context"].keys() == {"sessionInitTokens", "systemPromptTokens", "toolDeclTokens"}
    assert snapshot["loopDetection"] == {"activeSessions": 1, "totalTurnsTracked": 2}


@pytest.mark.requirement("B-157", "B-024", "B-165")
async def test_sessions_turns_and_calls_are_counted(make):
    runtime = make(search)
    for session in ("a", "b"):
        async with runtime.turn(session=session) as turn:
            for query in "xyz":
                await runtime.call("search", {"query": query}, turn=turn)
    await runtime.end_session("b")
    sessions = (await runtime.metrics())["sessions"]
    assert sessions == {"total": 2, "active": 1, "turns": 2, "calls": 6, "peakTokens": 0}


async def test_calls_are_counted_by_their_outcome_and_replays_are_no_samples(make):
    runtime = make(search, book)
    await runtime.call("book", {"place": "x"}, idempotency_key="k")
    await runtime.call("book", {"place": "x"}, idempotency_key="k")
    await runtime.call("book", {"place": ""})
    await runtime.call("search", {"query": 1})
    snapshot = await runtime.metrics()
    assert snapshot["calls"] == {"book": {"RATE_LIMIT": 1, "ok": 2}, "search": {"VALIDATION": 1}}
    assert 'groundwire_calls_total{tool="book",outcome="ok"} 2' in to_prometheus(snapshot)


async def test_names_that_a_model_invents_do_not_fill_the_metrics(make):
    runtime = make(search)
    for number in range(5):
        await runtime.call(f"invented_{number}", {}, caller="model")
    await runtime.call("search", {"query": "a"})
    snapshot = await runtime.metrics()
    assert list(snapshot["responseSizes"]) == list(snapshot["responseTokens"]) == ["search"]
    assert "invented" not in to_prometheus(snapshot)


@pytest.mark.requirement("B-159")
async def test_large_responses_are_logged_as_a_warning(make, caplog):
    runtime = make(Tool(name="large", description="L.", handler=lambda: "x" * 1_600))
    await runtime.call("large")
    with caplog.at_level(logging.WARNING, logger="groundwire"):
        snapshot = await runtime.metrics()
    assert len(snapshot["alerts"]) == 1
    assert ["large" in record.getMessage() for record in caplog.records] == [True]


async def test_metrics_are_of_all_processes_and_of_one_tenant(make):
    store = MemoryStore()
    for tenant in ("default", "default", "acme"):
        assert_ok(await make(search, store=store).call("search", {"query": "x"}, tenant=tenant))
    assert (await make(search, store=store).metrics())["calls"] == {"search": {"ok": 2}}
    assert (await make(search, store=store).metrics(tenant="acme"))["calls"] == {"search": {"ok": 1}}


class PerCharacter:
    def estimate(self, text):
        return len(text)


@pytest.mark.requirement("B-155", "X-29")
async def test_the_estimate_of_tokens_can_be_replaced(make):
    runtime = make(search, estimator=PerCharacter())
    await runtime.call("search", {"query": "汉字"})
    assert (await runtime.metrics())["responseTokens"] == {"search": {"avg": 6.0, "p95": 6}}


@pytest.mark.requirement("B-016", "B-167", "B-168", "B-172")
async def test_the_start_is_logged_with_three_figures_and_the_number_of_tools(make, caplog):
    caplog.set_level(logging.INFO, logger="groundwire")
    runtime = make(search, book, settings=Settings(system_prompt="x" * 400))
    await runtime.open()
    usage = runtime.context_usage()
    assert usage["systemPromptTokens"] == 100
    assert usage["sessionInitTokens"] == 100 + usage["toolDeclTokens"]
    (line,) = [record.getMessage() for record in caplog.records if "session starts" in record.getMessage()]
    for figure in (usage["sessionInitTokens"], usage["systemPromptTokens"], usage["toolDeclTokens"], "2 tools"):
        assert str(figure) in line


@pytest.mark.requirement("B-172")
async def test_more_tools_show_in_the_tokens_of_their_declarations(make):
    one, two = make(search), make(search, book)
    assert one.context_usage()["toolDeclTokens"] < two.context_usage()["toolDeclTokens"]


async def test_only_offered_tools_cost_tokens(make):
    hidden = Tool(name="hidden", description="H.", handler=lambda: 1, exposure="internal")
    spoken = Tool(name="spoken", description="S.", handler=lambda: 1, modes="voice")
    assert make(search, hidden).context_usage() == make(search).context_usage()
    runtime = make(search, spoken)
    assert runtime.context_usage(mode="text")["toolDeclTokens"] < runtime.context_usage(mode="voice")["toolDeclTokens"]


@pytest.mark.requirement("B-018", "B-171")
async def test_the_fullest_context_is_kept_and_warned_of(make, caplog):
    runtime = make(search)
    for tokens in (899_999, 10):
        async with runtime.turn(session="s") as turn:
            turn.note_context(tokens)
    assert caplog.records == []
    assert (await runtime.metrics())["sessions"]["peakTokens"] == 899_999
    async with runtime.turn(session="s") as turn:
        turn.note_context(900_000)
        turn.note_context(115_200, window=128_000)
    assert len(caplog.records) == 2
    assert (await runtime.metrics())["sessions"]["peakTokens"] == 900_000


async def test_a_prompt_that_fills_the_context_is_warned_of_at_once(make, caplog):
    runtime = make(search, settings=Settings(system_prompt="x" * 3_600_000))
    runtime.context_usage()
    assert len(caplog.records) == 1


async def test_a_rule_that_refuses_everything_still_measures(make):
    runtime = make(search, settings=Settings(policies=(PolicyRule(limits=Overrides(max_args_bytes=0)),)))
    await runtime.call("search", {"query": "x"})
    snapshot = await runtime.metrics()
    assert snapshot["calls"] == {"search": {"ARGUMENTS_TOO_LARGE": 1}}
    assert snapshot["responseSizes"] == {}
