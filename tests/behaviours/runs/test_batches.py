"""The calls of one answer: what only looks runs together, actions run in their order, and each has one result."""

import asyncio

import pytest

from groundwire import Outcome, tool
from groundwire.testing import Answer, Ask
from tests.behaviours.runs.stage import UPSTREAMS, events_of, staged, verdicts


@pytest.mark.requirement("C-036", "OQ-24")
@pytest.mark.parametrize("how", ["whole", "streamed"])
@pytest.mark.parametrize("upstream", UPSTREAMS)
async def test_calls_that_only_look_run_together(upstream, how):
    together = asyncio.Barrier(3)

    @tool(category="retrieval")
    async def look(word: str) -> str:
        """Look a word up."""
        await together.wait()
        return word

    @tool(category="utility")
    async def count(word: str) -> int:
        """Count letters."""
        await together.wait()
        return len(word)

    asking = Answer(calls=(Ask("look", {"word": "a"}), Ask("count", {"word": "b"}), Ask("look", {"word": "c"})))
    async with staged(upstream, asking, "Done.") as stage:
        events = await events_of(stage.agent(tools=[look, count]), "Go.", how)
        assert (sorted(verdicts(events)), events[-1].outcome) == (["count ok", "look ok", "look ok"], "completed")
        shown = [item.text for item in stage.script.asked[1].items if item.kind == "result"]
        assert shown == ['{"ok":true,"data":"a"}', '{"ok":true,"data":1}', '{"ok":true,"data":"c"}']


@pytest.mark.parametrize("upstream", UPSTREAMS)
async def test_actions_run_one_after_another_in_the_order_given(upstream):
    log = []

    @tool(category="action")
    async def note(word: str) -> str:
        """Note a word."""
        log.append(f"begin {word}")
        await asyncio.sleep(0)
        log.append(f"end {word}")
        return word

    asking = Answer(calls=tuple(Ask("note", {"word": word}) for word in "abc"))
    async with staged(upstream, asking, "Done.") as stage:
        await stage.agent(tools=[note]).run("Go.")
        assert log == ["begin a", "end a", "begin b", "end b", "begin c", "end c"]


@pytest.mark.parametrize("upstream", UPSTREAMS)
async def test_an_action_that_fails_does_not_keep_the_next_from_running(upstream):
    @tool(category="action")
    def halve(number: int) -> int:
        """Halve an even number."""
        if number % 2:
            raise RuntimeError("odd")
        return number // 2

    asking = Answer(calls=tuple(Ask("halve", {"number": number}) for number in (2, 3, 4)))
    async with staged(upstream, asking, "Done.") as stage:
        result = await stage.agent(tools=[halve]).run("Go.")
        assert verdicts(result.events) == ["halve ok", "halve INTERNAL/HANDLER_RAISED", "halve ok"]
        assert [call.call.raw for call in result.calls] == ['{"number":2}', '{"number":3}', '{"number":4}']
        assert result.outcome == Outcome.COMPLETED


@pytest.mark.requirement("C-001", "C-030", "C-032", "C-034", "C-036")
async def test_each_step_sends_the_whole_conversation_and_the_tools_in_the_openai_dialect():
    @tool(category="retrieval")
    def look(word: str) -> str:
        """Look a word up."""
        return "blue"

    asking = Answer("One moment.", (Ask("look", {"word": "sky"}, call_id="call_7"),))
    async with staged("openai-chat", asking, "Blue.") as stage:
        agent = stage.agent(tools=[look], instructions="Be brief.", sampling={"temperature": 0.5})
        await agent.run("What is sky?")
        first, second = stage.bodies
        begin = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is sky?"}]
        called = {"id": "call_7", "type": "function", "function": {"name": "look", "arguments": '{"word":"sky"}'}}
        assert first["messages"] == begin
        assert second["messages"] == [
            *begin,
            {"role": "assistant", "content": "One moment.", "tool_calls": [called]},
            {"role": "tool", "tool_call_id": "call_7", "content": '{"ok":true,"data":"blue"}'},
        ]
        assert {name: first[name] for name in ("model", "temperature")} == {"model": "gpt-4.1", "temperature": 0.5}
        assert [each["function"]["name"] for each in first["tools"]] == ["look"]
        assert {**second, "messages": first["messages"]} == first


@pytest.mark.requirement("OQ-25")
@pytest.mark.parametrize("upstream", UPSTREAMS)
async def test_events_come_in_order_and_streamed_text_is_the_answer(upstream):
    @tool(category="retrieval")
    def look(word: str) -> str:
        """Look a word up."""
        return "blue"

    text = "The sky is as blue as it ever was."
    async with staged(upstream, Answer(calls=(Ask("look", {"word": "sky"}),)), text) as stage:
        events = [event async for event in stage.agent(tools=[look]).stream("What is sky?")]
        kinds = [event.event for event in events]
        assert kinds[:3] == ["run.started", "call.started", "call.finished"]
        assert kinds[-2:] == ["turn.ended", "run.ended"]
        assert set(kinds[3:-2]) == {"text.delta"}
        assert len(kinds) > 6
        assert "".join(event.text for event in events[3:-2]) == text
