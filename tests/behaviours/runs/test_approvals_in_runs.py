"""A call that needs a person's agreement pauses its run; the decision is what the model hears when the run goes on."""

import pytest

from groundwire import Outcome, tool
from groundwire.testing import Answer, Ask, runtime_for
from tests.behaviours.runs.stage import UPSTREAMS, events_of, staged, verdicts


def make_tools(done):
    @tool(category="action", confirm=True)
    def book(place: str) -> str:
        """Book a table."""
        done.append(place)
        return place

    @tool(category="action")
    def note(word: str) -> str:
        """Note a word."""
        done.append(word)
        return word

    @tool(category="retrieval")
    def look(word: str) -> str:
        """Look a word up."""
        done.append(word)
        return word

    return [book, note, look]


ASKING = Answer(
    "I will book.",
    (Ask("note", {"word": "before"}), Ask("book", {"place": "Nonna's"}), Ask("note", {"word": "after"}), Ask("look", {"word": "sky"})),
    reasoning="A table is wanted.",
)  # fmt: skip


@pytest.mark.parametrize("how", ["whole", "streamed"])
@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize(
    ("decision", "verdict", "done"),
    [
        ("approve", "book ok", ["before", "sky", "Nonna's", "after"]),
        ("deny", "book CONFIRMATION_REQUIRED/DENIED", ["before", "sky", "after"]),
    ],
)
async def test_a_run_waits_for_a_decision_and_goes_on_with_it(upstream, how, decision, verdict, done):
    did = []
    async with runtime_for(*make_tools(did)) as runtime, staged(upstream, ASKING, "Done.") as stage:
        agent = stage.agent(runtime=runtime)
        events = await events_of(agent, "A table, please.", how, session="s")
        assert (events[-1].outcome, sorted(did)) == (Outcome.AWAITING_APPROVAL, ["before", "sky"])
        (asked,) = [event for event in events if event.event == "approval.requested"]
        await getattr(runtime, decision)(asked.confirmation_id, by="ada")
        resumed = await agent.resume(events[0].run_id)
        assert (resumed.outcome, resumed.text, resumed.approvals) == (Outcome.COMPLETED, "Done.", ())
        assert verdict in verdicts(resumed.events)
        assert (sorted(did), did[-1]) == (sorted(done), "after")
        results = [item for item in resumed.history if item.kind == "result"]
        assert [item.name for item in results] == ["note", "book", "note", "look"]
