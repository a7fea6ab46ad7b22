"""Suites by name and from files: what is right is read, and what is wrong is named."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundwire.contracts.errors import ConfigError
from groundwire.evals.files import MAX_BYTES, read_plain
from groundwire.evals.loading import find_suite, load_suite
from groundwire.evals.scenarios import CallsCheck, ExpectedCall, TextCheck
from groundwire.evals.suites import WORKSPACE
from groundwire.providers.scripts import Answer, Ask

_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

YAML = """
title: Ours
scenarios:
  - id: greets
    turns: [Say hello.]
    checks:
      - {check: text, contains: [hello]}
      - {check: calls, none: ["*"]}
    ideal:
      - text: hello
  - id: reads
    turns: [Read the draft.]
    checks:
      - {check: calls, calls: [{name: state_get, arguments: {path: /draft}}]}
    ideal:
      - calls: [{name: state_get, arguments: {path: /draft}}]
      - text: Done.
presets:
  default: [greets]
"""


def write(folder, text, name="suite.yaml"):
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize(("name", "scenarios"), [("workspace", ""), ("smoke", "smoke"), ("faults", "faults")])
def test_a_suite_that_ships_is_found_by_its_name_or_by_a_preset(name, scenarios):
    assert find_suite(name, {}, {}) == (WORKSPACE, scenarios)


def test_a_file_wins_over_a_preset_of_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "smoke").mkdir()
    write(tmp_path / "smoke", YAML)
    assert find_suite("smoke", {}, {})[0].name == "smoke"
    assert [scenario.id for scenario in find_suite("smoke", {}, {})[0].scenarios] == ["greets", "reads"]


def test_a_name_that_leads_nowhere_is_refused_with_what_was_perhaps_meant():
    with pytest.raises(ConfigError, match="There is no suite 'smok'") as caught:
        find_suite("smok", {}, {})
    assert caught.value.hint == "did you mean smoke?"


def test_yaml_says_everything_that_python_can(tmp_path):
    suite = load_suite(write(tmp_path, YAML))
    greets, reads = suite.scenarios
    assert (suite.name, suite.title, suite.presets) == ("suite", "Ours", {"default": ("greets",)})
    assert greets.checks == (TextCheck(contains=("hello",)), CallsCheck(none=("*",)))
    assert reads.checks == (CallsCheck(calls=(ExpectedCall(name="state_get", arguments={"path": "/draft"}),)),)
    assert reads.ideal == (Answer(calls=(Ask("state_get", {"path": "/draft"}),)), Answer("Done."))


def test_json_toml_and_python_say_the_same(tmp_path):
    as_json = write(tmp_path, '[{"id": "a", "turns": ["Hi"], "checks": [{"check": "text", "equals": "x"}]}]', "s.json")
    as_toml = write(tmp_path, '[[scenarios]]\nid="a"\nturns=["Hi"]\nchecks=[{check="text", equals="x"}]\n', "s.toml")
    as_python = write(
        tmp_path,
        "from groundwire.evals.scenarios import Scenario, TextCheck\n"
        "scenarios = [Scenario(id='a', turns=('Hi',), checks=(TextCheck(equals='x'),))]\n",
        "s.py",
    )
    assert load_suite(as_json) == load_suite(as_toml) == load_suite(as_python)


def test_python_may_define_the_whole_suite(tmp_path):
    file = write(
        tmp_path,
        "from groundwire.evals.scenarios import Scenario, Suite\n"
        "SUITE = Suite(name='mine', scenarios=(Scenario(id='a', turns=('Hi',)),))\n",
        "s.py",
    )
    assert load_suite(file).name == "mine"


def test_the_suites_of_a_folder_are_one_and_python_beside_them_holds_functions(tmp_path):
    write(tmp_path, YAML, "a.yaml")
    write(
        tmp_path,
        '{"scenarios": [{"id": "c", "turns": ["Hi"], "checks": [{"check": "function", "function": "polite:check"}]}]}',
        "b.json",
    )
    write(tmp_path, "def check(evidence):\n    return None\n", "polite.py")
    suite = load_suite(tmp_path)
    assert [scenario.id for scenario in suite.scenarios] == ["greets", "reads", "c"]
    assert suite.scenarios[2].checks[0].function(None) is None


def test_a_folder_of_tools_is_found_from_where_the_file_is(tmp_path):
    (tmp_path / "suites" / "tools").mkdir(parents=True)
    file = write(tmp_path / "suites", "- {id: a, turns: [Hi], environment: tools}\n", "s.yaml")
    assert load_suite(file).scenarios[0].environment == str(tmp_path / "suites" / "tools")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- {id: a, turn: [Hi]}", "scenarios[0].turn: there is no such name"),
        ("- {id: a, turns: Hi}", "scenarios[0].turns: expected `array`, got `str`"),
        ("- {turns: [Hi]}", "scenarios[0]: object missing required field `id`"),
        ("- {id: a, turns: [Hi], checks: [{check: txt}]}", "scenarios[0].checks[0].check: invalid value 'txt'"),
        (
            "- {id: a, turns: [Hi], checks: [{check: text, equal: x}]}",
            "scenarios[0].checks[0].equal: there is no such name",
        ),
        ("- {id: a}", "'a': nobody says anything"),
        ("- {id: 'a b', turns: [Hi]}", "'a b' is no id"),
        ("- {id: a, turns: [Hi]}\n- {id: a, turns: [Ho]}", "'a' is there twice"),
        ("- {id: a, turns: [Hi], checks: [{check: text, matches: '('}]}", "'a': '(' is no pattern"),
        ("- {id: a, turns: [Hi], checks: [{check: text, matches: '(?=a)'}]}", "'a': '(?=a)' is no pattern"),
        ("- {id: a, user: {rules: [['(', x]]}}", "'a': '(' is no pattern"),
        ("- {id: a, user: {rules: [[x, '']]}}", "'a': user: the rule for 'x' says nothing"),
        ("- {id: a, user: {otherwise: x, maxTurns: 1001}}", "scenarios[0].user.maxTurns: it must be a whole number"),
        ("- {id: a, turns: [' ']}", "'a': turns: a turn says nothing"),
        ("- {id: a, turns: [Hi], history: [{kind: x}]}", "'a': The history of a is no conversation"),
        ("- {id: a, turns: [Hi], checks: [{check: rubric, question: x, votes: 100}]}", "checks[0].votes: it must be"),
        ("- {id: a, turns: [Hi], checks: [{check: state, path: b, absent: true}]}", "'a': 'b' is no path"),
        ("- {id: a, turns: [Hi], checks: [{check: grounding, tool: t, quotes: [b]}]}", "'a': 'b' is no path"),
        (
            "- {id: a, turns: [Hi], checks: [{check: outcome, equals: done}]}",
            "checks[0].equals: 'done' is not one of completed",
        ),
        (
            "- {id: a, turns: [Hi], checks: [{check: calls, calls: [{name: t, schema: {type: 5}}]}]}",
            "'a': The schema of the expected call of t is wrong at type",
        ),
        (
            "- {id: a, turns: [Hi], checks: [{check: calls, calls: [{name: t, schema: {$ref: 'http://[::1]:9/x'}}]}]}",
            "references out of the schema are not followed (http://[::1]:9/x)",
        ),
        ("- {id: a, turns: [Hi], environment: stubs}", "'a': The setup is none for stubs"),
        ("- {id: a, turns: [Hi], environment: stubs, setup: {tools: nowhere}}", "'a': There is no folder"),
        ("- {id: a, turns: [Hi], settings: {tool_use_mod: x}}", "'a': settings: tool_use_mod: there is no such name"),
        (
            "- {id: a, turns: [Hi], limits: {max_steps: 0}}",
            "'a': limits: max_steps: it must be a whole number at least 1",
        ),
        ("- {id: a, turns: [Hi], environment: nowhere}", "a: environment: there is no folder 'nowhere'"),
        ("- {id: a, turns: [Hi], environment: 7}", "a: environment: it must be text"),
        (
            "- {id: a, turns: [Hi], environment: 'gone:make'}",
            "a: environment: The function 'gone:make' cannot be found",
        ),
        (
            "- {id: a, turns: [Hi], checks: [{check: function, function: 'os:gone'}]}",
            "a: checks: The function 'os:gone' cannot be found",
        ),
        ("scenarios: []", "there is no scenario in it"),
        ("{scenarios: [{id: a, turns: [Hi]}], presets: {p: [b]}}", "presets.p: there is no scenario 'b'"),
        (
            "{scenarios: [{id: a, turns: [Hi]}], baseline: 'os:gone'}",
            "baseline: The function 'os:gone' cannot be found",
        ),
        ("just words", "it holds neither a list of scenarios nor a suite"),
        ("", "it holds neither a list of scenarios nor a suite"),
        ("a: [1", "is not YAML:"),
        ("a: 1\na: 2", "'a' is there twice"),
        ("1: x", "1 is no name; write it in quotes"),
        ("a: !!python/object/apply:os.system [x]", "is not YAML: could not determine a constructor"),
        ("a: !!timestamp 2024-01-01", "is not YAML: could not determine a constructor"),
        ("a: &x [*x]", "is not YAML:"),
        ("a: !!int x", "is not YAML:"),
        ("- {id: a, turns: [Hi], setup: {x: .5e999}}", "scenarios[0].setup.x: it cannot be inf"),
    ],
)
def test_what_is_wrong_in_a_file_is_named_with_its_place(tmp_path, text, message):
    file = write(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_suite(file)
    assert caught.value.message.startswith(str(file))
    assert message in caught.value.message


def test_yaml_is_read_as_its_second_version_has_it(tmp_path):
    text = "a: [no, on, 2024-01-01, 012, 1_000, true, null, ~, 1.5, -3, '7', 1e3]\n"
    assert read_plain(write(tmp_path, text)) == {
        "a": ["no", "on", "2024-01-01", 12, "1_000", True, None, None, 1.5, -3, "7", 1000.0]
    }


def test_a_file_that_unfolds_without_end_is_refused(tmp_path):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(ConfigError, match="unfolds to more than 200000 values"):
        read_plain(write(tmp_path, "\n".join(lines)))


def test_what_is_nested_too_deeply_is_refused(tmp_path):
    for name, text in (("s.yaml", "[" * 5000), ("s.json", "[" * 5000 + "]" * 5000), ("s.toml", "a=" + "[" * 5000)):
        with pytest.raises(ConfigError):
            read_plain(write(tmp_path, text, name))


def test_a_file_may_have_eight_mebibytes_and_no_more(tmp_path):
    for size, is_fine in ((MAX_BYTES, True), (MAX_BYTES + 1, False)):
        file = write(tmp_path, '"' + "x" * (size - 2) + '"', "s.json")
        if is_fine:
            assert len(read_plain(file)) == size - 2
        else:
            with pytest.raises(ConfigError, match="is larger than 8 MiB"):
                read_plain(file)


IMPORT = "from groundwire.evals.scenarios import OutcomeCheck, Scenario"


@pytest.mark.parametrize("name", ["gone.yaml", "s.txt", "gone.py"])
def test_a_file_that_is_not_there_or_of_no_known_form_is_refused(tmp_path, name):
    if name == "s.txt":
        write(tmp_path, "x", name)
    with pytest.raises(ConfigError):
        load_suite(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = (", "does not run: SyntaxError"),
        ("raise RuntimeError('no')", "does not run: RuntimeError: no"),
        ("import sys; sys.exit(3)", "does not run: SystemExit: 3"),
        ("x = 1", "it defines neither SUITE nor a list of scenarios"),
        ("SUITE = 1", "SUITE is no Suite"),
        ("scenarios = [1]", "it defines neither SUITE nor a list of scenarios"),
        (f"{IMPORT}; scenarios = [Scenario(id='a', turns='Hi')]", "a: turns: expected `array`, got `str`"),
        (f"{IMPORT}; scenarios = [Scenario(id=7, turns=['Hi'])]", "7: id: expected `str`, got `int`"),
        (
            f"{IMPORT}; scenarios = [Scenario(id='a', turns=['Hi'], checks=[OutcomeCheck(equals='done')])]",
            "a: checks[0].equals: 'done' is not one of completed",
        ),
    ],
)
def test_python_that_is_no_suite_is_refused(tmp_path, text, message):
    file = write(tmp_path, text, "s.py")
    with pytest.raises(ConfigError) as caught:
        load_suite(file)
    assert caught.value.message.startswith(str(file))
    assert message in caught.value.message


def test_two_files_of_a_folder_cannot_have_one_scenario(tmp_path):
    write(tmp_path, "- {id: a, turns: [Hi]}", "x.yaml")
    write(tmp_path, "- {id: a, turns: [Ho]}", "y.yaml")
    with pytest.raises(ConfigError, match=r"the scenario 'a' is in x\.yaml too"):
        load_suite(tmp_path)


@_PATIENT
@given(data=st.binary(max_size=300), suffix=st.sampled_from([".yaml", ".json", ".toml"]))
def test_any_bytes_give_a_suite_or_a_named_error(tmp_path_factory, data, suffix):
    file = tmp_path_factory.mktemp("any") / f"s{suffix}"
    file.write_bytes(data)
    with pytest.raises(ConfigError, match=file.name):
        load_suite(file)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@_PATIENT
@given(
    extra=st.dictionaries(
        st.sampled_from(["turns", "checks", "setup", "settings", "user", "ideal", "faults", "environment"]), _JSON
    )
)
def test_any_values_give_a_scenario_or_a_named_error(tmp_path_factory, extra):
    file = tmp_path_factory.mktemp("any") / "s.json"
    file.write_text(json.dumps([{"id": "a", **extra}]))
    try:
        assert load_suite(file).scenarios[0].id == "a"
    except ConfigError as error:
        assert error.message.startswith(str(file))  # noqa: PT017 - either outcome is right
