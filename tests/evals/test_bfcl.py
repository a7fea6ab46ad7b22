"""Function suites in the form of BFCL, with questions of our own."""

import json
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from groundwire import ConfigError
from groundwire.evals.environments import open_environment
from groundwire.evals.graders import Evidence
from groundwire.evals.peers import load_bfcl
from groundwire.evals.peers.answers import PossibleAnswer, PossibleAnswers, first_choice
from groundwire.evals.peers.schemas import SchemaFault, to_json_schema
from groundwire.evals.records import CallTrace
from groundwire.evals.scenarios import said_before
from tests.evals.trying import told, try_suite

DATA = Path(__file__).parent / "data" / "bfcl"
NONE = Evidence(outcome="step_limit", text="", calls=(), state=None, conversation=())


@pytest.fixture
def folder(tmp_path):
    return Path(shutil.copytree(DATA, tmp_path / "bfcl"))


async def test_every_category_is_run_and_the_right_calls_pass():
    suite = load_bfcl(DATA)
    assert (suite.name, suite.title) == ("bfcl:bfcl", "Functions in the form of BFCL; without BFCL_v4_multi_turn_base")
    assert suite.presets == {
        "irrelevance": ("irrelevance_0",),
        "live_relevance": ("relevance_0",),
        "multiple": ("multiple_0",),
        "parallel": ("parallel_0",),
        "simple_python": ("simple_0", "simple_1"),
    }
    records = await try_suite(suite, "perfect", "tags")
    assert set(told(records, "perfect").values()) == {("passed", "")}
    assert told(records, "tags") == {
        "irrelevance_0": ("passed", ""),
        "relevance_0": ("failed", "missing_call"),
        "multiple_0": ("failed", "missing_call"),
        "parallel_0": ("failed", "missing_call"),
        "simple_0": ("failed", "missing_call"),
        "simple_1": ("failed", "missing_call"),
    }
    assert [call.name for call in records["perfect", "simple_0"].calls] == ["post__transit_days"]
    assert records["perfect", "parallel_0"].steps == 1


def test_functions_are_declared_in_json_schema():
    scenario = next(one for one in load_bfcl(DATA).scenarios if one.id == "simple_1")
    parameters = open_environment(scenario).registry.find("mix_paint").spec.parameters
    assert parameters["type"] == "object"
    assert {name: inner.get("type") for name, inner in parameters["properties"].items()} == {
        "litres": "number",
        "order": "object",
        "coats": "array",
        "note": None,
    }


def test_what_was_said_before_the_question_is_instructions_and_history():
    scenario = next(one for one in load_bfcl(DATA).scenarios if one.id == "simple_1")
    assert scenario.instructions == "Be brief."
    assert [(item.role, item.text) for item in said_before(scenario)] == [("user", "Hello."), ("assistant", "Hello!")]
    assert scenario.turns[0].startswith("Mix 2.5 litres")


async def test_a_call_where_none_fits_fails():
    suite = load_bfcl(DATA)
    eager = replace(suite.scenarios[0], ideal=suite.scenarios[1].ideal)
    records = await try_suite(replace(suite, scenarios=(eager,)), "perfect")
    assert told(records, "perfect") == {"irrelevance_0": ("failed", "forbidden_call")}


def finding(answers, *calls):
    made = tuple(CallTrace(name=name, arguments=arguments, ok=True) for name, arguments in calls)
    check = PossibleAnswers(answers=tuple(PossibleAnswer(name=name, arguments=of) for name, of in answers))
    found = check(replace(NONE, calls=made))
    return found.code


RING = [("ring", {"where": ["the tower"], "times": [2]}), ("ring", {"where": ["hall"], "times": [1]})]


def test_calls_may_come_in_any_order():
    calls = [("ring", {"where": "hall", "times": 1}), ("ring", {"where": "The-Tower.", "times": 2})]
    assert finding(RING, *calls) == ""
    assert finding(RING, *calls[:1]) == "missing_call"
    assert finding(RING, *calls, calls[0]) == "extra_call"
    assert finding(RING, calls[0], calls[0]) == "wrong_arguments"
    assert finding(RING, calls[1], ("sing", {})) == "missing_call"


@pytest.mark.parametrize(
    ("alternatives", "given", "code"),
    [
        ({"a": ["April 1, 2024"]}, {"a": "april 1 2024"}, ""),
        ({"a": ["x"]}, {"a": "y"}, "wrong_arguments"),
        ({"a": [2]}, {"a": 2.0}, ""),
        ({"a": [1]}, {"a": True}, "wrong_arguments"),
        ({"a": ["2"]}, {"a": 2}, "wrong_arguments"),
        ({"a": [1], "b": ["", 5]}, {"a": 1}, ""),
        ({"a": [1], "b": ["", 5]}, {"a": 1, "b": 5}, ""),
        ({"a": [1], "b": [5]}, {"a": 1}, "wrong_arguments"),
        ({"a": [1]}, {"a": 1, "c": 1}, "wrong_arguments"),
        ({"a": [[1, 2], [3]]}, {"a": [3]}, ""),
        ({"a": [[1, 2], [3]]}, {"a": [2, 1]}, "wrong_arguments"),
        ({"a": [["X", "y"]]}, {"a": ["x", "Y"]}, ""),
        ({"a": [{"k": ["v", "w"], "o": [""]}]}, {"a": {"k": "W"}}, ""),
        ({"a": [{"k": ["v"]}]}, {"a": {"k": "v", "z": 1}}, "wrong_arguments"),
        ({"a": [{"k": ["v"]}]}, {"a": {}}, "wrong_arguments"),
        ({"a": [[{"k": [1]}, {"k": [2]}]]}, {"a": [{"k": 1}, {"k": 2}]}, ""),
        ({"a": [{"p": [{"x": 1}]}]}, {"a": {"p": {"x": 1}}}, ""),
        ({"a": [None]}, {"a": None}, ""),
        ({"a": [1]}, "no object", "wrong_arguments"),
    ],
)
def test_an_argument_is_right_where_one_of_its_alternatives_is(alternatives, given, code):
    assert finding([("f", alternatives)], ("f", given)) == code


def test_the_first_alternatives_are_right_themselves():
    alternatives = {"a": [{"k": ["v", "w"], "o": ["", 1]}], "b": ["", 2], "c": [[{"n": [1, 2]}]]}
    assert first_choice(alternatives) == {"a": {"k": "v"}, "c": [{"n": 1}]}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "matrix"},
        {"type": ["dict"]},
        {"type": "string"},
        {"type": "dict", "properties": []},
        {"type": "dict", "properties": {"a": 5}},
        {"type": "dict", "properties": {"a": {"type": "array", "items": "integer"}}},
    ],
)
def test_a_schema_that_cannot_be_said_is_refused(schema):
    with pytest.raises(SchemaFault):
        to_json_schema(schema)


@pytest.mark.parametrize(("depth", "is_refused"), [(50, False), (51, True)])
def test_schemas_are_read_to_a_depth(depth, is_refused):
    schema = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "dict", "properties": {"a": schema}}
    if is_refused:
        with pytest.raises(SchemaFault, match="too deeply"):
            to_json_schema(schema)
    else:
        assert to_json_schema(schema)["type"] == "object"


def change_line(file, number, **members):
    lines = file.read_text().splitlines()
    lines[number - 1] = json.dumps({**json.loads(lines[number - 1]), **members})
    file.write_text("\n".join(lines))


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"question": [[], []]}, "has 2 turns"),
        ({"question": [[]]}, "does not end with the user"),
        (
            {"question": [[{"role": "oracle", "content": "x"}, {"role": "user", "content": "x"}]]},
            "unknown role 'oracle'",
        ),
        ({"id": "simple_9"}, "simple_9 has no answer in possible_answer/BFCL_v4_simple_python.json"),
        ({"function": [{"name": "f", "parameters": {"type": "matrix"}}]}, "f: 'matrix' is no type"),
        ({"function": 5}, "Expected `array`, got `int`"),
    ],
)
def test_a_question_that_is_none_is_named_with_its_line(folder, members, said):
    file = folder / "BFCL_v4_simple_python.json"
    change_line(file, 2, **members)
    with pytest.raises(ConfigError) as error:
        load_bfcl(folder)
    assert str(error.value).startswith(f"{file}:2: ")
    assert said in str(error.value)


@pytest.mark.parametrize("truth", [[], [{}], [{"f": {}, "g": {}}], [{"f": {"a": 1}}]])
def test_an_answer_that_is_none_is_named_with_its_line(folder, truth):
    file = folder / "possible_answer" / "BFCL_v4_simple_python.json"
    change_line(file, 2, ground_truth=truth)
    with pytest.raises(ConfigError, match=rf"{file}:2: "):
        load_bfcl(folder)


def test_a_category_without_answers_is_refused(folder):
    (folder / "possible_answer" / "BFCL_v4_multiple.json").unlink()
    with pytest.raises(ConfigError, match=r"BFCL_v4_multiple\.json cannot be read: No such file"):
        load_bfcl(folder)


def test_an_id_stands_for_one_question(folder):
    change_line(folder / "BFCL_v4_irrelevance.json", 1, id="simple_0")
    with pytest.raises(ConfigError, match="two questions with the id 'simple_0'"):
        load_bfcl(folder)


def test_a_folder_without_questions_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="has no questions"):
        load_bfcl(tmp_path)
    with pytest.raises(ConfigError, match="There is no folder"):
        load_bfcl(tmp_path / "nowhere")
