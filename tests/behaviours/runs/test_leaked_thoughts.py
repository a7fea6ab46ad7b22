"""Thoughts at the beginning of a text are kept from the user however the text is cut into pieces."""

import pytest

from groundwire import Agent, tool
from groundwire.testing import Answer, Ask, FakeClock, ScriptedModel, ScriptedProvider


@tool(category="retrieval")
def look(word: str) -> str:
    """Look a word up."""
    return word


@pytest.mark.requirement("A-166")
@pytest.mark.parametrize("piece", [1, 2, 3, 7, 8, 1000])
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("<think>Hm. </think>Done.", "Done."),
        ("\n <think>Hm.\n</think>\n\nDone.", "Done."),
        ("<think></think>Done.", "Done."),
        ("<think>a</think>b</think>c", "b</think>c"),
        ("<thinking> is a word.", "<thinking> is a word."),
        ("<thin", "<thin"),
        (" Done. <think>not</think>", " Done. <think>not</think>"),
        ("<think>a</think>\n<think>b</think> c", "c"),
        ("<think>a</think> <thin", "<thin"),
    ],
)
async def test_what_is_streamed_is_what_is_kept(text, told, piece):
    asking = Answer(text, (Ask("look", {"word": "a"}),))
    model = ScriptedProvider(ScriptedModel(asking, text), clock=FakeClock(), piece=piece)
    agent = Agent("scripted/model", models=model, tools=[look])
    events = [event async for event in agent.stream("Go.")]
    deltas = [event for event in events if event.event == "text.delta"]
    assert ["".join(event.text for event in deltas if event.step == step) for step in (1, 2)] == [told, told]
    assert events[-1].text == told
