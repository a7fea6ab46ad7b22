"""Providers of somebody's own, whose answers are none: a run ends by name all the same, and its session goes on."""

import asyncio

import pytest

from groundwire import Agent, Outcome, say, tool
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.messages import CallItem
from groundwire.contracts.replies import Finish, FinishReason, Reply, ReplyEnded, ReplyFailed, ReplyTextDelta
from tests.behaviours.runs.stage import events_of

END = Finish(reason=FinishReason.END)
DONE = Reply(items=(say("assistant", "Done."),), finish=END)


class OddProvider:
    """Gives what it was made with, or raises it; after that, an answer."""

    def __init__(self, *odd):
        self._odd = [*odd]

    async def complete(self, request, options=None):
        if not self._odd:
            return DONE
        odd = self._odd.pop(0)
        if isinstance(odd, BaseException):
            raise odd
        return odd

    async def stream(self, request, options=None):
        yield ReplyTextDelta(index=0, text="Do")
        yield ReplyEnded(reply=await self.complete(request, options))

    async def close(self):
        return None


@tool(category="retrieval")
def look(word: str) -> str:
    """Look a word up."""
    return word


def called(**members):
    return Reply(
        items=(CallItem(call=ToolCall(**{"call_id": "c", "name": "look", "raw": '{"word": "a"}', **members})),),
        finish=END,
    )


@pytest.mark.parametrize("how", ["whole", "streamed"])
@pytest.mark.parametrize(
    ("odd", "message"),
    [
        (None, "What the provider gave is no answer."),
        ("Done.", "What the provider gave is no answer."),
        (Reply(items=(), finish=None), "What the provider gave is no answer."),
        (Reply(items=DONE.items, finish=Finish(reason="stop")), "What the provider gave is no answer."),
        (Reply(items=("Done.",), finish=END), "What the provider gave is no answer."),
        (Reply(items=DONE.items, finish=END, model=7), "What the provider gave is no answer."),
        (Reply(items=DONE.items, finish=END, warnings=("no",)), "What the provider gave is no answer."),
        (called(name=None), "What the provider gave is no answer."),
        (called(raw=None), "What the provider gave is no answer."),
        (called(call_id=None), "What the provider gave is no answer."),
        (Reply(items=None, finish=END), "The provider failed: TypeError."),
        (RuntimeError("x"), "The provider failed: RuntimeError."),
        (TimeoutError(), "The provider failed: TimeoutError."),
        (asyncio.CancelledError(), "The provider cancelled itself."),
        (SystemExit(3), "The provider failed: SystemExit."),
        (KeyboardInterrupt(), "The provider failed: KeyboardInterrupt."),
    ],
)
async def test_what_is_no_answer_is_a_failure_of_the_provider(odd, message, how):
    agent = Agent("own/model", tools=[look], models=OddProvider(odd))
    events = await events_of(agent, "Go.", how, session="s", limits={"max_seconds": 60})
    assert (events[-1].outcome, events[-1].failure.message) == (Outcome.PROVIDER_ERROR, message)
    assert (await agent.replay(events[0].run_id)).differences == ()
    assert (await agent.resume(events[0].run_id)).text == "Done."
    assert (await agent.run("And now?", session="s")).text == "Done."


@pytest.mark.parametrize(
    ("parts", "outcome", "text"),
    [
        ([], Outcome.PROVIDER_ERROR, ""),
        ([ReplyTextDelta(index=0, text="half")], Outcome.PROVIDER_ERROR, ""),
        ([ReplyEnded(reply=None)], Outcome.PROVIDER_ERROR, ""),
        ([ReplyFailed(failure=None)], Outcome.PROVIDER_ERROR, ""),
        ([7, None, "x", ReplyEnded(reply=DONE)], Outcome.COMPLETED, "Done."),
        ([ReplyEnded(reply=DONE), ReplyEnded(reply=called())], Outcome.COMPLETED, "Done."),
    ],
)
async def test_a_stream_counts_up_to_its_first_end_and_not_without_one(parts, outcome, text):
    class Streaming(OddProvider):
        async def stream(self, request, options=None):
            for part in parts:
                yield part

    agent = Agent("own/model", tools=[look], models=Streaming(), notices=False)
    events = await events_of(agent, "Go.", "streamed")
    assert (events[-1].outcome, events[-1].text) == (outcome, text)
    assert "call.started" not in [event.event for event in events]


async def test_what_is_done_to_the_usage_of_one_run_is_not_seen_in_another():
    results = [await Agent("odd/model", models=OddProvider()).run("Go.") for _ in range(2)]
    results[0].usage.private["mine"] = 1
    assert results[1].usage.private == {}


async def test_a_tool_whose_schema_cannot_be_used_does_not_keep_a_run_from_its_end():
    @tool(parameters={"type": "object", "properties": {"word": {"type": "wrong"}}})
    def look(word):
        """Look a word up."""

    result = await Agent("odd/model", tools=[look], models=OddProvider(called())).run("Go.")
    assert (result.outcome, result.calls[0].result.error.detail) == (Outcome.COMPLETED, "INVALID_PARAMETERS")
