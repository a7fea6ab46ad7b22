"""Tools that only answer what a scenario says."""

from pathlib import Path

import pytest

from groundwire import ConfigError, Runtime
from groundwire.evals.environments import open_environment
from groundwire.evals.scenarios import Scenario
from groundwire.evals.stubs import StubEnvironment, placed
from groundwire.registry.sample import write_sample

ADD = {
    "name": "calc.add",
    "description": "Add two numbers.",
    "parameters": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    },
}


async def call_all(setup, *calls):
    async with Runtime(StubEnvironment(setup).registry, "memory://") as runtime:
        return [await runtime.call(name, arguments) for name, arguments in calls]


async def test_a_stub_answers_by_its_arguments_and_otherwise_by_its_name():
    answers = [
        {"tool": "calc.add", "arguments": {"b": 2, "a": 1}, "data": 3},
        {"tool": "calc.add", "data": "much"},
    ]
    results = await call_all(
        {"tools": [ADD], "answers": answers}, ("calc.add", {"a": 1, "b": 2}), ("calc__add", {"a": 9, "b": 9})
    )
    assert [result.data for result in results] == [3, "much"]


async def test_answers_to_the_same_call_come_in_order_and_the_last_one_again():
    answers = [{"tool": "calc.add", "data": 1}, {"tool": "calc.add", "data": 2}]
    environment = StubEnvironment({"tools": [ADD], "answers": answers})
    assert [environment.answer("calc.add", {}) for _ in range(3)] == [1, 2, 2]


async def test_an_answer_may_be_an_error():
    error = {"type": "CONFLICT", "message": "Taken.", "detail": "VERSION"}
    setup = {"tools": [ADD], "answers": [{"tool": "*", "error": error}]}
    (result,) = await call_all(setup, ("calc.add", {"a": 1, "b": 2}))
    assert (result.error.type, result.error.message, result.error.detail) == ("CONFLICT", "Taken.", "VERSION")


async def test_a_call_without_an_answer_fails_by_name():
    (result,) = await call_all({"tools": [ADD]}, ("calc.add", {"a": 1, "b": 2}))
    assert (result.error.type, result.error.detail) == ("NOT_FOUND", "NOT_RECORDED")


async def test_arguments_are_checked_as_those_of_any_tool():
    setup = {"tools": [ADD], "answers": [{"tool": "*", "data": 1}]}
    (result,) = await call_all(setup, ("calc.add", {"a": 1}))
    assert result.error.detail == "MISSING_ARGUMENT"


def test_stubs_of_a_folder_have_its_words_and_schemas_and_begin_where_the_file_is(tmp_path):
    write_sample(tmp_path)
    setup = placed({"tools": "../tools"}, tmp_path / "evals")
    assert Path(setup["tools"]).resolve() == tmp_path / "tools"
    (tmp_path / "evals").mkdir()
    opened = open_environment(Scenario(id="s", environment="stubs", setup=setup))
    assert [tool.tool_id for tool in opened.registry] == ["get_weather", "send_note"]
    weather = opened.registry.find("get_weather").spec
    assert weather.parameters["required"] == ["city"]
    assert weather.description
    assert opened.state() is None


def test_declared_tools_stay_where_they_are():
    assert placed({"tools": [ADD]}, Path("anywhere")) == {"tools": [ADD]}


@pytest.mark.parametrize(
    ("setup", "said"),
    [
        ({}, "missing required field `tools`"),
        ({"tools": [ADD], "replies": []}, "unknown field `replies`"),
        ({"tools": "nowhere"}, "There is no folder nowhere"),
        ({"tools": [ADD, ADD]}, "Two tools have the id"),
        ({"tools": [{"name": "x", "parameters": {"type": 1}}]}, "declares a tool that cannot be"),
    ],
)
def test_a_setup_that_is_none_is_refused_by_name(setup, said):
    with pytest.raises(ConfigError, match=said):
        StubEnvironment(setup)
