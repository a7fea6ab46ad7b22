"""What a run knows of what was said before: nothing, the history it is given, or its session."""

import asyncio
import base64
import re

import pytest

from groundwire import Context, Ground, GroundwireError, Outcome, attach, say, tool
from groundwire.runtime.runs.settings import FINISH_NOW
from groundwire.testing import Answer, Ask, runtime_for
from tests.behaviours.runs.stage import REMOTE, UPSTREAMS, staged, verdicts

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@tool(category="retrieval")
def look(word: str) -> str:
    """Look a word up."""
    return f"{word} is a word"


LOOK = Answer(calls=(Ask("look", {"word": "sky"}),))


def said(request):
    """The conversation in short: who said what, and which tools were called."""
    return [f"{item.role}: {item.text}" if item.kind == "message" else item.kind for item in request.items]


@pytest.mark.parametrize("upstream", UPSTREAMS)
async def test_a_history_goes_out_of_one_run_and_into_the_next(upstream):
    async with staged(upstream, LOOK, "It is.", "You asked about the sky.") as stage:
        agent = stage.agent(tools=[look])
        first = await agent.run("Is sky a word?")
        second = await agent.run("What did I ask?", history=first.history)
        assert said(stage.script.asked[-1]) == [
            "user: Is sky a word?", "call", "result", "assistant: It is.", "user: What did I ask?",
        ]  # fmt: skip
        assert second.text == "You asked about the sky."
        assert second.history == (*first.history, *second.items)
        assert [item.text for item in second.items] == ["What did I ask?", "You asked about the sky."]


@pytest.mark.parametrize("upstream", UPSTREAMS)
async def test_a_history_may_be_all_that_a_run_is_given(upstream):
    async with staged(upstream, "It is.") as stage:
        result = await stage.agent().run(history=[say("user", "Is sky a word?")])
        assert (result.text, said(stage.script.asked[0])) == ("It is.", ["user: Is sky a word?"])


async def test_a_run_without_anything_to_answer_is_refused():
    async with staged("in-process") as stage:
        with pytest.raises(GroundwireError, match=r"^there is nothing to ask(?: \(|$)"):
            await stage.agent().run()


@pytest.mark.parametrize(
    ("prompt", "history", "fault"),
    [
        ("", None, "the prompt says nothing"),
        (" \n", None, "the prompt says nothing"),
        ([], None, "the prompt says nothing"),
        (say("user", " "), None, "the prompt says nothing"),
        (7, None, "a prompt cannot hold 7"),
        (b"Go.", None, "a prompt is text, not bytes"),
        (bytearray(b"Go."), None, "a prompt is text, not bytes"),
        ("Go.", 7, "a history cannot be 7"),
        (["Look:", {"url": "x"}], None, "a prompt cannot hold {'url': 'x'}"),
        ("Go.", ["Hello."], "a history cannot hold 'Hello.'"),
        (say("assistant", "Go."), None, "a prompt is what the user says, not the assistant"),
        (say("system", "Go."), None, "a prompt is what the user says, not the system"),
    ],
)
async def test_what_is_no_prompt_and_no_history_is_refused(prompt, history, fault):
    async with staged("in-process", "Done.") as stage:
        with pytest.raises(GroundwireError, match=rf"^{re.escape(fault)}(?: \(|$)"):
            await stage.agent().run(prompt, history=history)
        assert stage.script.asked == []


async def test_a_message_as_a_prompt_belongs_to_the_turn_in_which_it_is_said():
    async with staged("in-process", "One.", "Two.") as stage:
        agent = stage.agent()
        first = await agent.run(say("user", "Once."))
        second = await agent.run(say("user", "Twice.", turn=7), history=first.history)
        assert [item.turn for item in second.history if item.role == "user"] == [1, 2]


@pytest.mark.parametrize("upstream", UPSTREAMS)
async def test_what_we_ask_in_the_users_place_is_sent_and_proves_nothing(upstream):
    heard = []

    @tool(category="retrieval", ground={"quote": Ground()})
    def note(quote: str, context: Context) -> str:
        """Note what the user said."""
        heard.extend(message.text for message in context.history)
        return quote

    quotes = Answer(calls=(Ask("note", {"quote": "final answer"}), Ask("note", {"quote": "Go on."})))
    async with staged(upstream, Answer(), "Well.", quotes, "Noted.") as stage:
        agent = stage.agent(tools=[note])
        first = await agent.run("Go.")
        second = await agent.run("Go on.", history=first.history)
        assert said(stage.script.asked[1])[-1].endswith(FINISH_NOW)  # neighbours may share a message
        assert heard == ["Go.", "Well.", "Go on."]
        assert verdicts(second.events) == ["note UNGROUNDED", "note ok"]
        assert "private_dropped" not in {one.code for one in (*first.warnings, *second.warnings)}


@pytest.mark.parametrize("upstream", UPSTREAMS)
async def test_a_session_remembers_and_runs_without_one_do_not(upstream):
    async with staged(upstream, LOOK, "It is.", "Again.", "Who are you?") as stage:
        agent = stage.agent(tools=[look])
        await agent.run("Is sky a word?", session="ada")
        await agent.run("Are you sure?", session="ada")
        await agent.run("And sea?")
        assert said(stage.script.asked[2]) == [
            "user: Is sky a word?", "call", "result", "assistant: It is.", "user: Are you sure?",
        ]  # fmt: skip
        assert said(stage.script.asked[3]) == ["user: And sea?"]


async def test_a_session_is_remembered_by_another_agent_in_another_process(tmp_path):
    store = f"sqlite:///{tmp_path}/runs.db"
    for number, prompt in enumerate(["One.", "Two.", "Three."]):
        async with staged("in-process", f"Answer to {prompt}") as stage, stage.agent(store=store) as agent:
            await agent.run(prompt, session="ada")
            assert len(stage.script.asked[0].items) == 2 * number + 1
    assert said(stage.script.asked[0]) == [
        "user: One.", "assistant: Answer to One.", "user: Two.", "assistant: Answer to Two.", "user: Three.",
    ]  # fmt: skip


async def test_sessions_that_talk_at_the_same_time_never_mix():
    async with staged("openai-chat", *["Yes."] * 40) as stage:
        agent = stage.agent()
        for _ in range(4):
            await asyncio.gather(*[agent.run(f"I am {name}.", session=name) for name in "abcdefghij"])
        heard = [{item.text for item in request.items if item.role == "user"} for request in stage.script.asked]
        assert [len(names) for names in heard] == [1] * 40


async def test_tenants_with_sessions_of_one_name_never_mix():
    async with staged("in-process", "Yes.", "Yes.") as stage:
        agent = stage.agent()
        await agent.run("I am Ada.", session="s", tenant="one")
        await agent.run("I am Bob.", session="s", tenant="two")
        assert said(stage.script.asked[1]) == ["user: I am Bob."]


@pytest.mark.requirement("C-199")
@pytest.mark.parametrize("upstream", UPSTREAMS)
async def test_a_call_id_that_a_session_has_seen_is_a_new_call_in_its_next_turn(upstream):
    words = []

    @tool(category="action")
    def note(word: str) -> str:
        """Note a word."""
        words.append(word)
        return word

    noting = Answer(calls=(Ask("note", {"word": "sky"}, call_id="call_0"),))
    async with staged(upstream, noting, "Done.", noting, "Done.") as stage:
        agent = stage.agent(tools=[note])
        results = [await agent.run("Note sky.", session="ada") for _ in range(2)]
        assert [result.outcome for result in results] == [Outcome.COMPLETED] * 2
        assert words == ["sky", "sky"]


@pytest.mark.parametrize("upstream", REMOTE)
async def test_an_image_in_the_prompt_reaches_the_model(upstream):
    async with staged(upstream, "A dot.", "Still a dot.") as stage:
        agent = stage.agent()
        await agent.run(["What is this?", attach(PNG, "image/png")], session="s")
        await agent.run("Sure?", session="s")
        for request in stage.script.asked:
            text, image = request.items[0].parts
            assert (text.text, image.media_type, image.data) == ("What is this?", "image/png", PNG)
        assert base64.b64encode(PNG).decode() in str(stage.bodies[1])


async def test_a_file_is_attached_by_its_path_or_its_address(tmp_path):
    file = tmp_path / "dot.png"
    file.write_bytes(PNG)
    by_path, by_url = attach(file), attach("https://example.com/dot.jpg")
    assert (by_path.media_type, by_path.data, by_path.name) == ("image/png", PNG, "dot.png")
    assert (by_url.media_type, by_url.url) == ("image/jpeg", "https://example.com/dot.jpg")
    with pytest.raises(GroundwireError, match=r"^bytes need their media type(?: \(|$)"):
        attach(PNG)
    with pytest.raises(GroundwireError, match=r"nowhere\.png cannot be read: No such file or directory(?: \(|$)"):
        attach(tmp_path / "nowhere.png")
    with pytest.raises(GroundwireError, match=r"^'a\\x00b' is no path: embedded null byte(?: \(|$)"):
        attach("a\0b")
    with pytest.raises(GroundwireError, match=r"^7 cannot be attached(?: \(|$)"):
        attach(7)


async def test_several_agents_share_a_runtime_and_its_sessions():
    async with (
        runtime_for(look) as runtime,
        staged("in-process", LOOK, "It is.") as one,
        staged("openai-chat", "I have no tools.") as two,
    ):
        async with one.agent(runtime=runtime, instructions="Be brief.") as first:
            await first.run("Is sky a word?", session="s")
        second = two.agent(runtime=runtime, settings={"tool_use_mode": "disabled"})
        result = await second.run("And now?", session="s")
        assert result.text == "I have no tools."
        assert (one.script.offered, two.script.offered) == ([["look"], ["look"]], [[]])
        assert one.script.asked[0].instructions[0].text == "Be brief."
        assert two.script.asked[0].instructions == ()
        assert len(two.script.asked[0].items) == 5


async def test_who_closes_an_agent_leaves_models_that_it_was_given():
    async with staged("openai-chat", "One.", "Two.") as stage:
        async with stage.agent() as first:
            assert (await first.run("Go.")).text == "One."
        async with stage.agent() as second:
            assert (await second.run("Go.")).text == "Two."
