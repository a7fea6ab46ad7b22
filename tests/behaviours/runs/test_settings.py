"""The settings of tool calling that are decided in the loop: their defaults, their dict form, and what they do."""

import msgspec
import pytest

from groundwire import Agent, ErrorType, GroundwireError, Outcome, RunSettings, ToolError, tool
from groundwire.testing import Answer, Ask, Fault, FaultKind, ModelFaults
from tests.behaviours.runs.stage import REMOTE, UPSTREAMS, staged, verdicts

FINISH_NOW = "Please give your final answer now, in words for the user, based on the results above."
DEFAULTS = {
    "tool_use_mode": "relaxed",
    "tool_failure_policy": "fatal",
    "max_tool_args_bytes": 200_000,
    "max_tool_output_bytes": 200_000,
    "tool_choice": "auto",
    "fallback_retry_count": 0,
    "tool_allowlist": None,
    "tool_denylist": (),
    "fix_empty_final": True,
    "fix_empty_final_user_text": FINISH_NOW,
    "fix_empty_final_disable_tools": True,
    "request_overrides": {},
    "message_transforms": (),
    "tool_transforms": (),
    "response_transforms": (),
    "tool_call_transforms": (),
    "tool_result_transforms": (),
}


@tool(category="retrieval")
def look(word: str) -> str:
    """Look a word up; what begins with x cannot be found out."""
    if word.startswith("x"):
        raise ToolError(ErrorType.PERMANENT, "No such word.")
    return f"{word} is a word"


@tool(category="retrieval")
def spell(word: str) -> str:
    """Spell a word; what begins with x cannot be spelled."""
    if word.startswith("x"):
        raise ToolError(ErrorType.PERMANENT, "No such word.")
    return "-".join(word)


def looks(*words):
    return Answer(calls=tuple(Ask("look", {"word": word}) for word in words))


def spells(word):
    return Answer(calls=(Ask("spell", {"word": word}),))


@pytest.mark.requirement("C-135", "C-138", "C-140", "C-142", "C-146", "C-158")
def test_every_setting_has_the_default_of_the_requirement():
    assert msgspec.structs.asdict(RunSettings()) == DEFAULTS


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({"tool_use_mode": "strict"}, "tool_use_mode: 'strict' is not one of disabled, enforced, relaxed"),
        ({"tool_failure_policy": "ignored"}, "tool_failure_policy: 'ignored' is not one of fatal, tolerated"),
        ({"max_tool_args_bytes": -1}, "max_tool_args_bytes: it must be a whole number at least 0"),
        ({"max_tool_output_bytes": -1}, "max_tool_output_bytes: it must be a whole number at least 0"),
        ({"fallback_retry_count": -1}, "fallback_retry_count: it must be a whole number at least 0"),
        ({"tool_choice": "sometimes"}, "tool_choice: 'sometimes' is not one of auto, none, required, any"),
        ({"tool_choice": {"type": "function"}}, "tool_choice: the object names no tool"),
        ({"tool_call_transforms": "no_such"}, "tool_call_transforms: there is no 'no_such'"),
        ({"tool_result_transforms": ["no_such"]}, "tool_result_transforms: there is no 'no_such'"),
        ({"tool_allow_list": ["look"]}, "tool_allow_list: there is no such name"),
    ],
)
def test_a_setting_that_cannot_mean_anything_is_refused_by_name(values, fault):
    with pytest.raises(GroundwireError, match=rf"^settings: {fault}(?: \(|$)"):
        Agent("sim/model", settings=values)


@pytest.mark.parametrize("name", ["message_transforms", "tool_transforms", "response_transforms"])
async def test_a_transform_that_no_provider_has_is_refused_by_name(name):
    async with staged("openai-chat", "Done.") as stage:
        with pytest.raises(GroundwireError, match=r"^There is no transform no_such\.(?: \(|$)"):
            await stage.agent(settings={name: ["no_such"]}).run("Go.")


async def test_an_option_that_does_not_exist_is_refused_by_name():
    async with staged("in-process", "Done.") as stage:
        with pytest.raises(GroundwireError, match=r"^options of the run: sesion: there is no such name(?: \(|$)"):
            await stage.agent().run("Go.", sesion="s")


@pytest.mark.requirement("C-132", "C-133")
@pytest.mark.parametrize("upstream", UPSTREAMS)
async def test_disabled_sends_no_tools_and_runs_none_that_is_called_all_the_same(upstream):
    sneaky = Answer(calls=(Ask("look", {"word": "sky"}, offered=False),))
    async with staged(upstream, sneaky, "Done.") as stage:
        result = await stage.agent(tools=[look], settings={"tool_use_mode": "disabled"}).run("Go.")
        assert stage.script.offered == [[], []]
        assert verdicts(result.events) == ["look NOT_FOUND/UNKNOWN_TOOL"]
        assert (result.outcome, result.text) == (Outcome.COMPLETED, "Done.")
        if upstream in REMOTE:
            assert not {"tools", "tool_choice", "toolConfig"} & stage.bodies[0].keys()


@pytest.mark.requirement("C-133")
@pytest.mark.parametrize("upstream", REMOTE)
async def test_enforced_asks_for_a_call_by_outcome_and_leaves_the_choice_to_the_model(upstream):
    async with staged(upstream, looks("sky"), "Done.") as stage:
        result = await stage.agent(tools=[look], settings={"tool_use_mode": "enforced"}).run("Go.")
        assert result.outcome == Outcome.COMPLETED
        assert all(not {"tool_choice", "toolConfig"} & body.keys() for body in stage.bodies)


@pytest.mark.requirement("C-135", "C-136", "C-137")
@pytest.mark.parametrize(
    ("policy", "answers", "outcome"),
    [
        pytest.param("fatal", [looks("xyz")], Outcome.TOOL_FAILED, id="fatal: a failure"),
        pytest.param("fatal", [looks("xyz"), looks("sky")], Outcome.COMPLETED, id="fatal: corrected"),
        pytest.param("fatal", [looks("sky"), looks("xyz")], Outcome.TOOL_FAILED, id="fatal: worse at last"),
        pytest.param("fatal", [looks("xyz", "sky")], Outcome.COMPLETED, id="fatal: corrected at once"),
        pytest.param("fatal", [looks("sky"), spells("xyz")], Outcome.TOOL_FAILED, id="fatal: another tool"),
        pytest.param("tolerated", [looks("xyz")], Outcome.TOOL_FAILED, id="tolerated: nothing worked"),
        pytest.param("tolerated", [looks("sky"), spells("xyz")], Outcome.COMPLETED, id="tolerated: one worked"),
        pytest.param("tolerated", [looks("sky"), looks("xyz")], Outcome.COMPLETED, id="tolerated: one call worked"),
    ],
)
async def test_what_a_failed_tool_means_is_the_policys_word(policy, answers, outcome):
    settings = {"tool_use_mode": "enforced", "tool_failure_policy": policy}
    async with staged("in-process", *answers, "Done.") as stage:
        result = await stage.agent(tools=[look, spell], settings=settings).run("Go.")
        assert (result.outcome, result.text) == (outcome, "Done.")


@pytest.mark.requirement("C-146", "C-131")
@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize(
    ("mode", "count", "failing", "outcome", "offered"),
    [
        ("relaxed", 0, {0}, Outcome.PROVIDER_ERROR, []),
        ("relaxed", 1, {0}, Outcome.COMPLETED, [[]]),
        ("relaxed", 1, {1}, Outcome.COMPLETED, [["look"], []]),
        ("relaxed", 1, {0, 1}, Outcome.PROVIDER_ERROR, []),
        ("enforced", 1, {0}, Outcome.PROVIDER_ERROR, []),
    ],
)
async def test_a_failed_request_is_tried_again_without_tools_where_tools_are_best_effort(
    upstream, mode, count, failing, outcome, offered
):
    faults = ModelFaults(at={number: Fault(kind=FaultKind.STATUS) for number in failing})
    answers = ["Done."] if 0 in failing else [looks("sky"), "Done."]
    async with staged(upstream, *answers, faults=faults) as stage:
        settings = {"tool_use_mode": mode, "fallback_retry_count": count}
        result = await stage.agent(tools=[look], settings=settings).run("Go.")
        assert (result.outcome, stage.script.offered) == (outcome, offered)


@pytest.mark.requirement("C-157", "C-160", "C-161", "C-162")
@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize(
    ("settings", "words", "offered"),
    [
        ({}, FINISH_NOW, []),
        ({"fix_empty_final_user_text": "Well?"}, "Well?", []),
        ({"fix_empty_final_disable_tools": False}, FINISH_NOW, ["look"]),
    ],
)
async def test_an_empty_answer_after_calls_is_asked_for_again(upstream, settings, words, offered):
    async with staged(upstream, looks("sky"), Answer(), "Done.") as stage:
        result = await stage.agent(tools=[look], settings=settings).run("Go.")
        assert (result.outcome, result.text) == (Outcome.COMPLETED, "Done.")
        assert stage.script.offered == [["look"], ["look"], offered]
        last = stage.script.asked[2].items[-1]
        assert (last.role, last.text) == ("user", words)


@pytest.mark.requirement("C-158")
async def test_an_empty_answer_is_not_asked_for_again_where_that_is_switched_off():
    async with staged("in-process", looks("sky"), Answer(), "Done.") as stage:
        result = await stage.agent(tools=[look], settings={"fix_empty_final": False}).run("Go.")
        assert (result.outcome, len(stage.script.asked)) == (Outcome.EMPTY_ANSWER, 2)


async def test_an_empty_answer_before_any_call_keeps_its_tools():
    async with staged("in-process", Answer(), looks("sky"), "Done.") as stage:
        result = await stage.agent(tools=[look]).run("Go.")
        assert (result.outcome, stage.script.offered) == (Outcome.COMPLETED, [["look"]] * 3)


@pytest.mark.requirement("C-150", "C-151", "C-152", "C-153", "C-154")
@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize(
    ("settings", "offered"),
    [
        ({"tool_allowlist": ["spell"]}, ["spell"]),
        ({"tool_allowlist": "spell, count"}, ["count", "spell"]),
        ({"tool_allowlist": []}, []),
        ({"tool_allowlist": "sp*"}, ["spell"]),
        ({"tool_denylist": ["look"]}, ["count", "spell"]),
        ({"tool_denylist": "look,count"}, ["spell"]),
        ({"tool_allowlist": "all", "tool_denylist": "look"}, ["count", "spell"]),
        ({"tool_allowlist": ["look", "count"], "tool_denylist": ["look"]}, ["count"]),
    ],
)
async def test_a_masked_tool_is_neither_offered_nor_run(upstream, settings, offered):
    ran = []

    @tool(category="retrieval", name="look")
    def look(word: str) -> str:
        """Look a word up."""
        ran.append(word)
        return word

    @tool(category="utility")
    def count(word: str) -> int:
        """Count letters."""
        return len(word)

    sneaky = Answer(calls=(Ask("look", {"word": "sky"}, offered=False),))
    async with staged(upstream, sneaky, "Done.") as stage:
        result = await stage.agent(tools=[look, spell, count], settings=settings).run("Go.")
        assert stage.script.offered == [offered, offered]
        assert (verdicts(result.events), ran) == (["look NOT_FOUND/UNKNOWN_TOOL"], [])
        if upstream in REMOTE:
            assert all('"look"' not in msgspec.json.encode(body.get("tools", [])).decode() for body in stage.bodies)


@pytest.mark.requirement("C-149")
async def test_all_in_the_allow_list_offers_everything():
    async with staged("in-process", "Done.") as stage:
        await stage.agent(tools=[look, spell], settings={"tool_allowlist": "all"}).run("Go.")
        assert stage.script.offered == [["look", "spell"]]


@pytest.mark.requirement("C-143", "C-144")
@pytest.mark.parametrize(
    ("choice", "mode", "names"),
    [
        ("none", "none", ()),
        ("required", "required", ()),
        ("any", "required", ()),
        ({"type": "function", "function": {"name": "look"}}, "required", ("look",)),
        ({"type": "function", "name": "look"}, "required", ("look",)),
        ({"type": "tool", "name": "look"}, "required", ("look",)),
        ({"type": "any"}, "required", ()),
    ],
)
@pytest.mark.parametrize("upstream", UPSTREAMS)
async def test_the_tool_choice_reaches_the_model_however_it_is_written(upstream, choice, mode, names):
    async with staged(upstream, "Done.") as stage:
        await stage.agent(tools=[look, spell], settings={"tool_choice": choice}).run("Go.")
        (asked,) = stage.script.asked
        assert (asked.tool_choice.mode, asked.tool_choice.names) == (mode, names)
        assert [each.name for each in asked.tools] == ["look", "spell"]


@pytest.mark.requirement("C-142")
@pytest.mark.parametrize("upstream", REMOTE)
async def test_the_usual_choice_is_not_written_at_all(upstream):
    async with staged(upstream, "Done.") as stage:
        await stage.agent(tools=[look], settings={"tool_choice": "auto"}).run("Go.")
        assert not {"tool_choice", "toolConfig"} & stage.bodies[0].keys()


ONE_OF = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [{"name": "look"}]}}


@pytest.mark.requirement("C-143")
@pytest.mark.parametrize(
    ("upstream", "choice", "later"),
    [
        *[(upstream, "required", None) for upstream in UPSTREAMS],
        *[(upstream, {"type": "function", "function": {"name": "look"}}, None) for upstream in UPSTREAMS],
        ("in-process", ONE_OF, ("auto", ("look",))),
    ],
)
async def test_a_choice_forces_the_first_call_and_not_a_second_one(upstream, choice, later):
    async with staged(upstream, looks("sky"), "Done.") as stage:
        result = await stage.agent(tools=[look, spell], settings={"tool_choice": choice}).run("Go.")
        assert result.outcome == Outcome.COMPLETED
        first, last = (request.tool_choice for request in stage.script.asked)
        assert first.mode == "required"
        assert (None if last is None else (last.mode, last.names)) == later
