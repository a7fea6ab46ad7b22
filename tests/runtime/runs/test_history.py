"""The conversation of a session: read run by run, stored once."""

import pytest

from groundwire import Agent, Outcome, Runtime, tool
from groundwire.contracts.errors import StoreError
from groundwire.contracts.runs import Started, decode_entry
from groundwire.registry import Registry
from groundwire.store import MemoryStore
from groundwire.testing import Answer, Ask, FakeClock, ScriptedModel, ScriptedProvider


@tool(category="action", confirm=True)
async def book(place: str) -> dict[str, str]:
    """Book a table."""
    return {"booked": place}


def book_or_count(request):
    last = request.items[-1]
    if last.kind == "message" and "Book" in last.text:
        return Answer(calls=(Ask("book", {"place": "Nonna"}),))
    return Answer(text=f"{len(request.items)} items")


def agent_of(model, store="memory://"):
    runtime = Runtime(Registry([book]), store)
    return Agent("sim/any", runtime=runtime, models=ScriptedProvider(model, clock=runtime.clock))


async def beginning(agent, run_id):
    entries = await agent.runtime.store.run_entries("default", run_id)
    return entries[0].body, decode_entry(entries[0].body)


async def test_what_was_said_earlier_is_sent_to_the_model_and_not_stored_again():
    agent = agent_of(ScriptedModel(otherwise=lambda request: Answer(text=f"{len(request.items)} items")))
    results = [await agent.run("A question of a certain length.", session="s") for _ in range(12)]
    assert [result.text for result in results] == [f"{2 * turn + 1} items" for turn in range(12)]
    assert [len(result.items) for result in results] == [2] * 12
    sizes = [len((await beginning(agent, result.run_id))[0]) for result in results]
    assert sizes[11] - sizes[1] == 2  # each names the run before it; its turn, and the tokens so far, have a digit more


async def test_a_paused_run_goes_on_with_the_conversation_as_it_was():
    agent = agent_of(ScriptedModel(otherwise=book_or_count))
    await agent.run("Hello.", session="s")
    paused = await agent.run("Book it.", session="s")
    assert paused.outcome is Outcome.AWAITING_APPROVAL
    between = await agent.run("And by the way?", session="s")
    assert between.text == "5 items"  # two of the first run, question and call of the second, and its own
    await agent.runtime.approve(paused.approvals[0], by="ann")
    done = await agent.resume(paused.run_id)
    assert done.text == "5 items"  # two of the first run, then question, call and result: nothing of what came later
    _, started = await beginning(agent, between.run_id)
    assert isinstance(started, Started)
    assert (started.after.run_id, started.changed) == (paused.run_id, ())
    assert (await agent.replay(between.run_id)).same


async def test_a_run_names_what_the_one_before_it_could_not_know():
    agent = agent_of(ScriptedModel(otherwise=book_or_count))
    paused = await agent.run("Book it.", session="s")
    between = await agent.run("And by the way?", session="s")
    apart = await agent.run("Once more:", history=between.history, session="s")
    await agent.runtime.approve(paused.approvals[0], by="ann")
    await agent.resume(paused.run_id)
    last = [await agent.run("What now?", session="s") for _ in range(2)]
    assert last[0].text == "9 items"  # four of the first run, two each of the others, and its own
    _, started = await beginning(agent, last[0].run_id)
    assert started.after.run_id == between.run_id
    assert [(one.run_id, one.entries) for one in started.changed] == [(paused.run_id, 8), (apart.run_id, 4)]
    _, started = await beginning(agent, last[1].run_id)
    assert (started.after.run_id, started.changed) == (last[0].run_id, ())
    assert last[1].text == "11 items"
    for result in (between, *last):
        assert (await agent.replay(result.run_id)).same


class CountingStore(MemoryStore):
    def __init__(self, **options):
        super().__init__(**options)
        self.reads = []

    async def session_entries(self, tenant, session_id):
        self.reads.append("session_entries")
        return await super().session_entries(tenant, session_id)

    async def run_entries(self, tenant, run_id):
        self.reads.append("run_entries")
        return await super().run_entries(tenant, run_id)

    async def list_runs(self, tenant, **options):
        self.reads.append("list_runs")
        return await super().list_runs(tenant, **options)


async def test_a_conversation_of_any_length_is_read_at_once():
    store = CountingStore()
    models = ScriptedProvider(ScriptedModel(*["Well."] * 30), clock=FakeClock())
    agent = Agent("sim/any", runtime=Runtime(Registry([]), store), models=models)
    for _ in range(30):
        result = await agent.run("And?", session="s")
    assert store.reads == ["session_entries"] * 30
    store.reads.clear()
    assert (await agent.replay(result.run_id)).same
    assert store.reads == ["run_entries", "session_entries"]


async def test_a_session_goes_on_with_what_is_left_of_it_and_can_be_resumed():
    agent = agent_of(ScriptedModel(otherwise=book_or_count), MemoryStore(max_rows=10))
    for _ in range(21):
        await agent.run("Hello.", session="s")
    paused = await agent.run("Book it.", session="s")
    left = len(paused.history) - 2
    assert 0 < left < 42
    await agent.runtime.approve(paused.approvals[0], by="ann")
    done = await agent.resume(paused.run_id)
    assert (done.outcome, done.text) == (Outcome.COMPLETED, f"{left + 3} items")
    assert (await agent.replay(paused.run_id)).same


async def test_a_history_that_is_given_is_kept_with_the_run():
    agent = agent_of(ScriptedModel(otherwise=lambda request: Answer(text=f"{len(request.items)} items")))
    first = await agent.run("One.")
    second = await agent.run("Two.", history=first.history)
    assert second.text == "3 items"
    _, started = await beginning(agent, second.run_id)
    assert (started.inherited, len(started.items), started.after) == (2, 3, None)


async def test_a_run_whose_conversation_is_gone_from_the_store_is_not_resumed():
    model = ScriptedModel("Hello.", Answer(calls=(Ask("book", {"place": "Nonna"}),)), *["Well."] * 20)
    runtime = Runtime(Registry([book]), MemoryStore(max_rows=10))
    agent = Agent("sim/any", runtime=runtime, models=ScriptedProvider(model, clock=runtime.clock))
    first = await agent.run("Hello.", session="s")
    paused = await agent.run("Book it.", session="s")
    for _ in range(20):
        await agent.run("Something else.")
    with pytest.raises(StoreError, match=first.run_id):
        await agent.resume(paused.run_id)
    with pytest.raises(StoreError, match=first.run_id):
        await agent.replay(paused.run_id)
