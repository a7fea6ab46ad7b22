"""The settings that change what goes over the wire: overrides, the five lists of transforms, and presets."""

import json

import pytest

from groundwire import ConfigError, Outcome, RunSettings, Settings, open_models, presets, tool
from groundwire.runtime.runs.traces import read_trace
from groundwire.testing import Answer, Ask
from tests.behaviours.runs.stage import REMOTE, canned, events_of, staged, verdicts

ARGUMENTS = {"word": "sky"}
TAGGED = '<tool_call>{"name": "look", "arguments": {"word": "sky"}}</tool_call>'
DONE = {"content": "Done."}


@tool(category="retrieval")
def look(word: str = "nothing") -> dict:
    """Look a word up."""
    return {"found": word}


def called(**function):
    return {"id": "call_1", "type": "function", "function": {"name": "look", **function}}


def plain_call():
    return {"content": "", "tool_calls": [called(arguments=json.dumps(ARGUMENTS))]}


@pytest.mark.requirement("C-163", "C-164")
async def test_overrides_are_merged_into_every_request():
    overrides = {"route": "fallback", "provider": {"only": ["azure"]}, "transforms": ["middle-out"], "temperature": 0.2}
    async with canned(plain_call(), DONE) as stage:
        result = await stage.agent(tools=[look], settings={"request_overrides": overrides}).run("Go.")
        assert result.outcome == Outcome.COMPLETED
        assert [{name: body[name] for name in overrides} for body in stage.bodies] == [overrides, overrides]


@pytest.mark.requirement("C-165")
@pytest.mark.parametrize("upstream", REMOTE)
async def test_overrides_of_what_the_request_owns_are_ignored(upstream):
    reserved = {
        "model": "another",
        "messages": [],
        "input": "Something else.",
        "contents": [],
        "tools": [],
        "tool_choice": "none",
        "response_format": {"type": "json_object"},
    }
    async with staged(upstream, "Done.", "Done.") as stage:
        agent = stage.agent(tools=[look])
        await agent.run("Go.")
        result = await agent.run("Go.", settings={"request_overrides": reserved})
        assert (result.outcome, result.text) == (Outcome.COMPLETED, "Done.")
        assert stage.bodies[0] == stage.bodies[1]


@pytest.mark.requirement("C-166")
async def test_what_all_runs_share_stands_in_the_providers_own_settings_and_a_run_may_differ():
    async with canned(DONE, DONE, overrides={"temperature": 0.1, "route": "fallback"}) as stage:
        await stage.agent().run("Go.")
        await stage.agent(settings={"request_overrides": {"temperature": 0.9}}).run("Go.")
        assert [(body["temperature"], body["route"]) for body in stage.bodies] == [(0.1, "fallback"), (0.9, "fallback")]


SIGNATURE = {"google": {"thought_signature": "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="}}


@pytest.mark.requirement("C-031")
@pytest.mark.parametrize("form", [list, ",".join])
@pytest.mark.parametrize(
    ("name", "change"),
    [
        pytest.param(
            "assistant_tool_calls_content_null_if_blank",
            {"content": None},
            marks=pytest.mark.requirement("C-173", "C-174"),
        ),
        pytest.param(
            "assistant_tool_calls_reasoning_content_empty_if_missing",
            {"reasoning_content": ""},
            marks=pytest.mark.requirement("C-173", "C-175", "C-208", "OQ-31"),
        ),
        pytest.param(
            "assistant_tool_calls_signature_skip_validator_if_missing",
            {"tool_calls": [{**called(arguments='{"word": "sky"}'), "extra_content": SIGNATURE}]},
            marks=pytest.mark.requirement("C-173", "C-176"),
        ),
    ],
)
async def test_a_message_transform_changes_the_models_own_call_on_its_way_out(name, change, form):
    async with canned(plain_call(), DONE, plain_call(), DONE) as stage:
        await stage.agent(tools=[look]).run("Go.")
        await stage.agent(tools=[look], settings={"message_transforms": form([name])}).run("Go.")
        before, after = (_assistant(stage.bodies[place]) for place in (1, 3))
        assert after == {**before, **change}


def _assistant(body):
    (message,) = [message for message in body["messages"] if message["role"] == "assistant"]
    return message


@pytest.mark.requirement("C-177", "C-178")
@pytest.mark.parametrize(
    "names", [["openai_tools_strip_function_descriptions"], "openai_tools_strip_function_descriptions, "]
)
async def test_a_tool_transform_changes_the_tools_on_their_way_out(names):
    async with staged("openai-chat", "Done.", "Done.") as stage:
        await stage.agent(tools=[look]).run("Go.")
        await stage.agent(tools=[look], settings={"tool_transforms": names}).run("Go.")
        before, after = (body["tools"][0]["function"] for body in stage.bodies)
        assert before.pop("description") == "Look a word up."
        assert after == before


@pytest.mark.requirement("C-031")
@pytest.mark.parametrize("how", ["whole", "streamed"])
@pytest.mark.parametrize("form", [list, ",".join])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param(
            "assistant_function_call_to_tool_calls",
            {"content": None, "function_call": {"name": "look", "arguments": '{"word": "sky"}'}},
            marks=pytest.mark.requirement("C-179", "C-180"),
        ),
        pytest.param(
            "assistant_tool_calls_object_to_array",
            {"content": None, "tool_calls": called(arguments='{"word": "sky"}')},
            marks=pytest.mark.requirement("C-179", "C-181"),
        ),
        pytest.param(
            "assistant_tool_calls_arguments_json_string_if_hash",
            {"content": None, "tool_calls": [called(arguments={"word": "sky"})]},
            marks=pytest.mark.requirement("C-179", "C-182"),
        ),
        pytest.param(
            "assistant_content_tool_call_tags_to_tool_calls",
            {"content": TAGGED},
            marks=pytest.mark.requirement("C-179", "C-183"),
        ),
    ],
)
async def test_a_response_transform_brings_a_call_to_light(name, message, form, how):
    async with canned(message, DONE) as stage:
        agent = stage.agent(tools=[look], settings={"response_transforms": form([name])})
        events = await events_of(agent, "Go.", how)
        assert [event.result.data for event in events if event.event == "call.finished"] == [{"found": "sky"}]
        assert (events[-1].outcome, events[-1].text) == (Outcome.COMPLETED, "Done.")


@pytest.mark.requirement("C-183", "C-207")
async def test_tags_in_a_text_are_text_unless_asked_for():
    async with canned({"content": TAGGED}) as stage:
        result = await stage.agent(tools=[look]).run("Go.")
        assert (result.text, result.calls) == (TAGGED, ())


@pytest.mark.parametrize("upstream", ["openai-responses", "anthropic", "gemini"])
@pytest.mark.parametrize(
    "settings",
    [
        {"message_transforms": "assistant_tool_calls_content_null_if_blank"},
        {"tool_transforms": "openai_tools_strip_function_descriptions"},
        {"response_transforms": "assistant_content_tool_call_tags_to_tool_calls"},
    ],
)
async def test_other_dialects_skip_transforms_of_the_wire_and_say_so(upstream, settings):
    async with staged(upstream, "Done.", "Done.") as stage:
        await stage.agent(tools=[look]).run("Go.")
        result = await stage.agent(tools=[look], settings=settings).run("Go.")
        assert stage.bodies[0] == stage.bodies[1]
        assert [warning.code for warning in result.warnings] == ["transforms_skipped"]


BLANK = "assistant_tool_calls_arguments_blank_to_empty_object"


@pytest.mark.requirement("C-184", "C-185")
@pytest.mark.parametrize(
    ("names", "verdict"),
    [([], "look VALIDATION/INVALID_JSON"), ([BLANK], "look ok"), (BLANK, "look ok"), (f" {BLANK} ,", "look ok")],
)
async def test_a_call_transform_corrects_calls_before_they_run(names, verdict):
    """In process, because the dialects themselves read a blank as no arguments."""
    blank = Answer(calls=(Ask("look", raw=" "),))
    async with staged("in-process", blank, "Done.") as stage:
        result = await stage.agent(tools=[look], settings={"tool_call_transforms": names}).run("Go.")
        assert verdicts(result.events) == [verdict]


@pytest.mark.requirement("C-186", "C-187")
@pytest.mark.parametrize("names", [["tool_result_compact_envelope"], "tool_result_compact_envelope"])
@pytest.mark.parametrize("upstream", ["in-process", *REMOTE])
async def test_a_result_transform_changes_what_the_model_is_shown(upstream, names):
    wrong = Answer(calls=(Ask("look", {"word": 7}),))
    shown = {}
    for key, value in (("whole", []), ("compact", names)):
        async with staged(upstream, wrong, "Done.") as stage:
            await stage.agent(tools=[look], settings={"tool_result_transforms": value}).run("Go.")
            shown[key] = json.loads(stage.script.asked[1].items[-1].text)["error"]
    assert shown["whole"] == {**shown["compact"], "retryable": False, "partialSideEffects": False}
    assert shown["compact"]["detail"] == "TYPE_MISMATCH"


@pytest.mark.requirement("C-156", "C-188", "C-189", "C-190", "C-191")
def test_presets_are_settings_in_their_dict_form():
    assert presets.openai_compatible_reliability(fallback_retry_count=2) == {
        "tool_use_mode": "relaxed",
        "fallback_retry_count": 2,
        "fix_empty_final": True,
        "message_transforms": ["assistant_tool_calls_content_null_if_blank"],
        "response_transforms": [
            "assistant_function_call_to_tool_calls",
            "assistant_tool_calls_object_to_array",
            "assistant_tool_calls_arguments_json_string_if_hash",
        ],
        "tool_call_transforms": ["assistant_tool_calls_arguments_blank_to_empty_object"],
    }
    assert presets.content_tag_tool_call_fallback() == {
        "response_transforms": ["assistant_content_tool_call_tags_to_tool_calls"]
    }
    assert presets.deepseek_openrouter_compat() == {
        "message_transforms": ["assistant_tool_calls_reasoning_content_empty_if_missing"]
    }
    assert presets.gemini_openrouter_compat() == {
        "message_transforms": ["assistant_tool_calls_signature_skip_validator_if_missing"]
    }


@pytest.mark.requirement("C-188")
@pytest.mark.parametrize(
    "message",
    [
        {"content": None, "function_call": {"name": "look", "arguments": '{"word": "sky"}'}},
        {"content": None, "tool_calls": called(arguments='{"word": "sky"}')},
        {"content": None, "tool_calls": [called(arguments={"word": "sky"})]},
    ],
)
async def test_the_reliable_preset_reads_what_lax_servers_send(message):
    async with canned(message, {"content": ""}, DONE) as stage:
        result = await stage.agent(tools=[look], settings=presets.openai_compatible_reliability()).run("Go.")
        assert (result.outcome, verdicts(result.events)) == (Outcome.COMPLETED, ["look ok"])
        assert [bool(body.get("tools")) for body in stage.bodies] == [True, True, False]


@pytest.mark.requirement("C-156", "C-189")
async def test_presets_are_joined_and_the_settings_have_the_last_word():
    settings = presets.merge_settings(
        presets.openai_compatible_reliability(),
        presets.content_tag_tool_call_fallback(),
        {"fallback_retry_count": 0, "response_transforms": "assistant_tool_calls_object_to_array"},
    )
    assert (settings["fallback_retry_count"], settings["response_transforms"]) == (
        0,
        [
            "assistant_function_call_to_tool_calls",
            "assistant_tool_calls_object_to_array",
            "assistant_tool_calls_arguments_json_string_if_hash",
            "assistant_content_tool_call_tags_to_tool_calls",
        ],
    )
    async with canned({"content": TAGGED}, DONE) as stage:
        result = await stage.agent(tools=[look], settings=settings).run("Go.")
        assert (verdicts(result.events), result.text) == (["look ok"], "Done.")


TAGS = "assistant_content_tool_call_tags_to_tool_calls"
BOTH = ("content_tag_tool_call_fallback", "deepseek_openrouter_compat")


@pytest.mark.requirement("C-127")
async def test_presets_that_the_catalogue_has_for_a_model_are_settings_of_its_runs_and_of_their_record():
    async with canned({"content": TAGGED}, DONE, presets=BOTH) as stage:
        agent = stage.agent(tools=[look], settings={"tool_use_mode": "relaxed"})
        result = await agent.run("Go.")
        assert (verdicts(result.events), result.text) == (["look ok"], "Done.")
        assert stage.bodies[1]["messages"][1]["reasoning_content"] == ""
        trace = await read_trace(agent.runtime.store, "default", result.run_id)
        assert trace.options.settings.response_transforms == (TAGS,)
        (plan,) = [body.plan for body in trace.entries if body.kind == "planned"]
        assert (plan.response_transforms, plan.message_transforms) == (
            (TAGS,), ("assistant_tool_calls_reasoning_content_empty_if_missing",),
        )  # fmt: skip


@pytest.mark.requirement("C-127")
@pytest.mark.parametrize(
    ("settings", "retries", "transforms"),
    [
        (None, 1, ["assistant_tool_calls_content_null_if_blank"]),
        ({"fallback_retry_count": 0}, 0, ["assistant_tool_calls_content_null_if_blank"]),
        ({"message_transforms": []}, 1, []),
        (
            {"message_transforms": "assistant_tool_calls_reasoning_content_empty_if_missing"},
            1,
            ["assistant_tool_calls_content_null_if_blank", "assistant_tool_calls_reasoning_content_empty_if_missing"],
        ),
        (RunSettings(fallback_retry_count=3), 3, ["assistant_tool_calls_content_null_if_blank"]),
    ],
)
@pytest.mark.parametrize("of", ["agent", "run"])
async def test_explicit_settings_win_over_presets_of_the_catalogue(settings, retries, transforms, of):
    async with canned(DONE, presets=["openai_compatible_reliability"]) as stage:
        agent = stage.agent(**({"settings": settings} if of == "agent" else {}))
        result = await agent.run("Go.", **({"settings": settings} if of == "run" else {}))
        used = (await read_trace(agent.runtime.store, "default", result.run_id)).options.settings
        assert (used.fallback_retry_count, [*used.message_transforms]) == (retries, transforms)


async def test_a_run_with_another_model_has_the_presets_of_that_one():
    async with canned(DONE, DONE, presets=["openai_compatible_reliability"]) as stage:
        agent = stage.agent(settings={"tool_failure_policy": "tolerated"})
        result = await agent.run("Go.", model="up/another-model")
        used = (await read_trace(agent.runtime.store, "default", result.run_id)).options.settings
        assert used == RunSettings(tool_failure_policy="tolerated")


def test_a_preset_that_is_none_is_refused_with_the_catalogue():
    settings = Settings(models=[{"id": "m", "provider": "sim", "presets": ["deepseek_openrouter_compatt"]}])
    with pytest.raises(ConfigError, match=r"deepseek_openrouter_compatt.*did you mean deepseek_openrouter_compat"):
        open_models(settings, environ={})
