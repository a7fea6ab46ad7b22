"""What a run did is stored before an action happens that follows from it, and nobody acts on a run that others continued."""

import pytest

from groundwire import Agent, Outcome, Runtime, tool
from groundwire.contracts.errors import RunOvertaken
from groundwire.contracts.runs import RunEntry, decode_entry
from groundwire.contracts.tools import Budget
from groundwire.registry import Registry
from groundwire.testing import Answer, Ask, ScriptedModel, ScriptedProvider


class Notes:
    """Two actions, one of them with a budget, a look-up; and what the store held of the run when each was at work."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, list[str]]] = []
        self.is_overtaken = False

        @tool(category="action")
        async def note(text: str) -> str:
            """Write a note."""
            return await self.work(text)

        @tool(category="action", budget=[Budget(name="notes", max=9, by="turn")])
        async def limited_note(text: str) -> str:
            """Write one of a few notes."""
            return await self.work(text)

        @tool(category="retrieval")
        async def look(text: str) -> str:
            """Look."""
            return await self.work(text)

        self.runtime = Runtime(Registry([note, limited_note, look]), "memory://")

    async def work(self, text: str) -> str:
        store = self.runtime.store
        (run,) = await store.list_runs("default")
        entries = await store.run_entries("default", run.run_id)
        self.seen.append((text, [decode_entry(entry.body).kind for entry in entries]))
        if self.is_overtaken:
            assert await store.append_run(run, [RunEntry(seq=run.entries + 1, body=entries[-1].body, created_at=1.0)])
        return text

    def agent(self, *answers):
        models = ScriptedProvider(ScriptedModel(*answers), clock=self.runtime.clock)
        return Agent("sim/any", runtime=self.runtime, models=models)


def asks(*names):
    return Answer(calls=tuple(Ask(name, {"text": f"{name} {place}"}) for place, name in enumerate(names)))


@pytest.mark.parametrize(
    "names", [("note",), ("note", "note"), ("limited_note",), ("limited_note", "note"), ("note", "look")]
)
async def test_an_action_finds_stored_what_led_to_it(names):
    notes = Notes()
    ended = await notes.agent(asks(*names), "Done.").run("Write.")
    assert ended.outcome is Outcome.COMPLETED
    assert len(notes.seen) == len(names)
    assert {tuple(kinds) for _, kinds in notes.seen} == {("started", "planned", "answered")}


async def test_what_a_model_said_is_stored_before_a_look_up_too():
    notes = Notes()
    await notes.agent(asks("look"), "Done.").run("Look.")
    assert notes.seen == [("look 0", ["started", "planned", "answered"])]


@pytest.mark.parametrize("name", ["note", "limited_note"])
async def test_who_was_overtaken_does_nothing_more(name):
    notes = Notes()
    notes.is_overtaken = True
    agent = notes.agent(asks(name), Answer(calls=(Ask(name, {"text": "late"}),)), "Done.")
    with pytest.raises(RunOvertaken):
        await agent.run("Write.")
    assert [text for text, _ in notes.seen] == [f"{name} 0"]
    assert [effect.status.value for effect in await notes.runtime.effects()] == ["settled"]


async def test_an_action_that_is_refused_leaves_its_entries_for_the_next():
    notes = Notes()
    refused = Answer(calls=(Ask("note", {"text": 1}),))
    ended = await notes.agent(refused, asks("note"), "Done.").run("Write.")
    assert ended.outcome is Outcome.COMPLETED
    assert notes.seen == [("note 0", ["started", "planned", "answered", "resulted", "answered"])]
