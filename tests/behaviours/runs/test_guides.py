"""Tools from folders in runs: what the model is told of them in text and by voice, and when they are read."""

import json
import shutil

import pytest

from groundwire import Registry
from groundwire.contracts.runs import decode_entry
from groundwire.testing import Answer, Ask, runtime_for
from tests.behaviours.runs.stage import UPSTREAMS, staged, verdicts

SUMMARY = "Look a word up."
GUIDE = f"# look\n\n{SUMMARY}\n\n## Watch Out\n\nNever look the same word up twice.\n"
LOOK = Answer(calls=(Ask("look", {"word": "sky"}),))
HANDLER = """
from pathlib import Path

with Path(__file__).with_name("loads").open("a") as loads:
    loads.write("loaded\\n")


def execute(word):
    return word.upper()
"""


@pytest.fixture
def tools(tmp_path):
    folder = tmp_path / "tools" / "look"
    folder.mkdir(parents=True)
    parameters = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
    (folder / "schema.json").write_text(
        json.dumps({"toolId": "look", "category": "retrieval", "parameters": parameters})
    )
    (folder / "guide.md").write_text(GUIDE)
    (folder / "handler.py").write_text(HANDLER)
    return tmp_path / "tools"


def told(request):
    """The system prompt, wherever its dialect has it."""
    messages = [item.text for item in request.items if item.kind == "message" and item.role == "system"]
    return "".join([*(part.text for part in request.instructions), *messages])


@pytest.mark.requirement("B-056", "B-073", "B-188", "B-189", "X-07")
@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize(
    ("mode", "prompt"),
    [
        ("text", f"Be brief.\n\n# Tools\n\n## look\n\n{GUIDE}"),
        ("voice", f"Be brief.\n\n# Tools\n\n- look: {SUMMARY}"),
    ],
)
async def test_a_model_reads_whole_guides_in_text_and_summaries_by_voice(tools, upstream, mode, prompt):
    async with staged(upstream, LOOK, "Done.") as stage:
        result = await stage.agent(tools=tools, instructions="Be brief.", mode=mode).run("Go.")
        assert [told(request) for request in stage.script.asked] == [prompt, prompt]
        assert verdicts(result.events) == ["look ok"]
    assert Registry.build(tools).find("look").spec.documentation == GUIDE  # for whoever needs it there


@pytest.mark.requirement("B-141")
@pytest.mark.parametrize("mode", ["text", "voice"])
async def test_a_guide_is_the_only_place_where_a_tool_is_described(tools, mode):
    guide = tools / "look" / "guide.md"
    for summary in (SUMMARY, "Find what a word means."):
        guide.write_text(GUIDE.replace(SUMMARY, summary))
        async with staged("openai-chat", "Done.") as stage:
            await stage.agent(tools=tools, mode=mode).run("Go.")
            (body,) = stage.bodies
        assert body["tools"][0]["function"]["description"] == summary
        assert [message["content"].count(summary) for message in body["messages"]] == [1, 0]


@pytest.mark.requirement("B-046", "B-052", "B-191")
async def test_text_and_voice_share_registry_state_and_errors_and_text_may_do_more(tools):
    calls = [Answer(calls=(Ask("look", {"word": word}),)) for word in ("a", "b", "c")]
    wrong = Answer(calls=(Ask("look", {}),))
    async with runtime_for(*Registry.build(tools)) as runtime:
        seen, sizes = {}, {}
        for mode in ("text", "voice"):
            async with staged("in-process", wrong, *calls, "Done.") as stage:
                result = await stage.agent(runtime=runtime, mode=mode).run("Go.", session="s")
                seen[mode], sizes[mode] = verdicts(result.events), len(told(stage.script.asked[0]))
        assert seen == {
            "text": ["look VALIDATION/MISSING_ARGUMENT", "look ok", "look ok", "look ok"],
            "voice": ["look VALIDATION/MISSING_ARGUMENT", "look ok", "look ok", "look BUDGET_EXCEEDED"],
        }
        assert sizes["text"] > sizes["voice"]
        stored = await runtime.store.session_entries("default", "s")
        assert len(stored) == 2
        assert len({decode_entry(run[0].body).registry_version for run in stored.values()}) == 1


@pytest.mark.requirement("B-048")
async def test_the_first_request_that_needs_a_tool_loads_it(tools):
    loads = tools / "look" / "loads"
    async with staged("in-process", LOOK, "Done.") as stage:
        agent = stage.agent(tools=tools)
        assert not loads.exists()
        await agent.run("Go.")
        assert loads.read_text() == "loaded\n"


@pytest.mark.requirement("B-187")
async def test_tools_are_read_once_however_many_sessions_talk(tools):
    async with staged("in-process", LOOK, "Done.", LOOK, "Done.", LOOK, "Done.") as stage:
        agent = stage.agent(tools=tools, mode="voice")
        assert (await agent.run("Go.", session="a")).ok
        assert (tools / "look" / "loads").read_text() == "loaded\n"
        shutil.rmtree(tools)
        for session in ("b", "c"):
            assert verdicts((await agent.run("Go.", session=session)).events) == ["look ok"]
