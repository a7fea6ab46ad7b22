"""Suites as YAML: read back as what was written."""

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from groundwire.evals.scenarios import CallsCheck, ExpectedCall, LimitsCheck, OutcomeCheck, Scenario, StateCheck
from groundwire.evals.yaml_writing import as_plain, write_suite
from groundwire.providers.scripts import Answer, Ask

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


def written(**fields):
    scenario = Scenario(id="s", **fields)
    text = write_suite("suite", "A title: with a colon", [("Why it is there.", scenario)], head="One.\n\nTwo.")
    return scenario, text


@given(JSON, TEXT)
def test_whatever_a_scenario_holds_is_read_back(value, words):
    scenario, text = written(setup={"value": value, words: [value]}, turns=(words,), instructions=words)
    read = yaml.safe_load(text)
    assert read["title"] == "A title: with a colon"
    assert msgspec.convert(read["scenarios"], tuple[Scenario, ...]) == (scenario,)


@pytest.mark.parametrize("word", ["yes", "No", "null", "1", "1e5", "2026-01-01", "", " ", "a: b", "# x", "- x", "|"])
def test_words_that_yaml_takes_for_something_else_stay_words(word):
    _, text = written(setup={word: word})
    assert yaml.safe_load(text)["scenarios"][0]["setup"] == {word: word}


@pytest.mark.parametrize(("ending", "style"), [("", "|-"), ("\n", "|")])
def test_lines_stay_lines_for_people(ending, style):
    words = f"First.\n\n  Second.\nThird.{ending}"
    _, text = written(instructions=words)
    assert f"    instructions: {style}\n      First.\n\n        Second.\n      Third.\n" in text
    assert yaml.safe_load(text)["scenarios"][0]["instructions"] == words


@pytest.mark.parametrize("words", ["\n", "a\n", "a\n\n", "a\n\n\n", "\na", " a\nb", "a\nb ", "a\n\tb", "a\n b\n\n"])
def test_whatever_lines_there_are_they_are_read_back(words):
    _, text = written(instructions=words, setup={"inner": {"words": words}})
    (read,) = yaml.safe_load(text)["scenarios"]
    assert (read["instructions"], read["setup"]["inner"]["words"]) == (words, words)


def test_defaults_are_left_out_and_checks_have_their_names():
    scenario = Scenario(
        id="s",
        checks=(
            CallsCheck(mode="order", calls=(ExpectedCall(name="a", ok=False),)),
            StateCheck(path="/x", equals=None),
            OutcomeCheck(),
            LimitsCheck(latency_ms=5),
        ),
        ideal=(Answer(calls=(Ask("a"),)),),
    )
    assert as_plain(scenario) == {
        "id": "s",
        "checks": [
            {"check": "calls", "mode": "order", "calls": [{"name": "a", "ok": False}]},
            {"check": "state", "path": "/x", "equals": None},
            {"check": "outcome"},
            {"check": "limits", "latencyMs": 5},
        ],
        "ideal": [{"calls": [{"name": "a"}]}],
    }


def test_comments_stand_before_what_they_are_about():
    _, text = written()
    assert text.splitlines()[:8] == [
        "# One.",
        "#",
        "# Two.",
        "name: suite",
        'title: "A title: with a colon"',
        "scenarios:",
        "",
        "  # Why it is there.",
    ]
