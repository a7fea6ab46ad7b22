import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.codecs.wire.names import NameRule, NameTable, original_name
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.requests import FunctionTool

RULE = NameRule(first="[A-Za-z_]", further="[A-Za-z0-9_-]", max_length=16)


@pytest.mark.parametrize(
    ("name", "wire"),
    [
        ("get_weather", "get_weather"),
        ("a" * 16, "a" * 16),
        ("maps.find", "maps_find"),
        ("9lives", "_9lives"),
        ("find it", "find_it"),
    ],
)
def test_a_good_name_stays_and_a_bad_one_is_cleaned(name, wire):
    losses = Losses()
    table = NameTable(RULE, losses)
    assert table.declare(name, "tools[0]") == wire
    assert table.names == {wire: name}
    assert [warning.code for warning in losses.taken()] == ([] if wire == name else ["name_rewritten"])


def test_a_long_name_ends_in_its_digest():
    wire = NameTable(RULE, Losses()).wire("a" * 17)
    assert re.fullmatch(r"a{7}_[0-9a-f]{8}", wire)


def test_two_names_that_clean_alike_stay_apart():
    table = NameTable(RULE, Losses())
    assert table.wire("a.b") == "a_b"
    assert table.wire("a_b") != "a_b"
    assert table.wire("a.b") == "a_b"


@given(st.lists(st.text(min_size=1, max_size=30), unique=True, max_size=6))
def test_any_names_get_valid_different_wire_names_that_lead_back(names):
    table = NameTable(RULE, Losses())
    wires = [table.declare(name, "") for name in names]
    assert all(re.fullmatch("[A-Za-z_][A-Za-z0-9_-]{0,15}", wire) for wire in wires)
    assert [table.names[wire] for wire in wires] == names


@pytest.mark.quirk(13)
@pytest.mark.parametrize(
    "said",
    [
        "find",
        "functions.find",
        "default_api.find",
        "default_api:find",
        "find.json",
        "find ",
        "find<|channel|>commentary",
    ],
)
def test_what_models_add_around_a_name_is_taken_off_when_a_tool_of_that_name_exists(said):
    assert original_name(said, {"find": "maps.find"}) == "maps.find"


def test_a_name_that_is_a_tool_is_never_stripped_and_an_unknown_one_stays_as_it_is():
    names = {"functions.find": "one", "find": "two"}
    assert original_name("functions.find", names) == "one"
    assert original_name("functions.other", names) == "functions.other"
    assert original_name("anything", {}) == "anything"


def test_a_good_name_on_offer_stays_whatever_comes_before_it():
    tools = [FunctionTool(name="a.b"), FunctionTool(name="a_b")]
    table = NameTable(RULE, Losses(), tools)
    assert table.declare("a.b", "") != "a_b"
    assert table.declare("a_b", "") == "a_b"


def test_a_tool_that_is_called_as_another_would_be_rewritten_keeps_its_calls_to_itself():
    first = NameTable(RULE, Losses())
    first.declare("a_b", "")
    rewritten = first.declare("a b", "")
    table = NameTable(RULE, Losses())
    wires = [table.declare(name, "") for name in ("a_b", rewritten, "a b")]
    assert [table.names[wire] for wire in wires] == ["a_b", rewritten, "a b"]


def test_a_name_full_of_blanks_is_looked_up_in_one_pass():
    name = " " * 300_000 + "x"
    assert original_name(name, {"x": "x"}) == name
    assert original_name("x" + " " * 300_000, {"x": "y"}) == "y"
