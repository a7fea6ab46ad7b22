"""Which members of a request select a model, and where in it they may stand."""

import pytest

from groundwire.codecs.model_members import ModelMember, find_model_members, find_tool_models


def test_names_are_found_with_their_places():
    body = {"model": "m", "models": ["a", "b"], "plugins": [{"id": "x", "allowed_models": ["c"]}]}
    assert find_model_members(body) == [
        ModelMember("models[0]", "a"),
        ModelMember("models[1]", "b"),
        ModelMember("plugins[0].allowed_models[0]", "c"),
    ]


def test_a_choice_that_is_left_to_the_provider_has_no_name():
    assert find_model_members({"preset": "p"}) == [ModelMember("preset")]
    assert find_tool_models([{"type": "image_generation"}]) == [ModelMember("tools[0]")]


@pytest.mark.parametrize(
    "name", ["models", "Models", "MODELS", "fallback_models", "fallbackModels", "judge_model", "model-name"]
)
def test_a_member_is_recognised_however_its_name_is_written(name):
    assert [member.name for member in find_model_members({name: ["a"]})] == ["a"]


@pytest.mark.parametrize("kind", ["messages", "input", "contents"])
def test_in_a_conversation_only_declared_tools_are_searched(kind):
    said = {"role": "user", "model": "a", "content": [{"type": "text", "model": "a"}]}
    declared = {"type": "additional_tools", "tools": [{"type": "image_generation", "model": "b"}]}
    assert find_model_members({kind: [said, declared]}) == [ModelMember(f"{kind}[1].tools[0].model", "b")]


def test_depth_costs_no_stack():
    body = inner = {}
    for _ in range(100_000):
        inner["extra"] = inner = {}
    inner["model"] = "a"
    assert [member.name for member in find_model_members(body)] == ["a"]
