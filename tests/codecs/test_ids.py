import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.codecs.wire.ids import (
    ANTHROPIC_IDS,
    GEMINI_IDS,
    MISTRAL_IDS,
    OPENAI_CHAT_IDS,
    OPENAI_OWN_CHAT_IDS,
    OPENAI_RESPONSES_IDS,
    IdTable,
    fit_id,
    unique_id,
)
from groundwire.codecs.wire.warnings import Losses

RULES = [OPENAI_CHAT_IDS, OPENAI_OWN_CHAT_IDS, OPENAI_RESPONSES_IDS, ANTHROPIC_IDS, GEMINI_IDS, MISTRAL_IDS]


@pytest.mark.quirk(12)
@pytest.mark.parametrize(
    ("rule", "longest"),
    [(OPENAI_CHAT_IDS, 64), (OPENAI_OWN_CHAT_IDS, 40), (OPENAI_RESPONSES_IDS, 64), (ANTHROPIC_IDS, 64)],
)
def test_an_id_as_long_as_the_rule_allows_stays_and_one_longer_is_replaced(rule, longest):
    assert fit_id("a" * longest, rule) == "a" * longest
    assert fit_id("a" * (longest + 1), rule) != "a" * (longest + 1)


def test_mistral_gets_exactly_nine_alphanumerics():
    assert fit_id("abcDEF123", MISTRAL_IDS) == "abcDEF123"
    for other in ("abcDEF12", "abcDEF1234", "abc-EF123"):
        assert re.fullmatch(r"[A-Za-z0-9]{9}", fit_id(other, MISTRAL_IDS))


@pytest.mark.quirk(12)
def test_composite_ids_become_ids_that_anthropic_takes():
    wire = fit_id("fc_abc|call_def", ANTHROPIC_IDS)
    assert wire.startswith("toolu_")
    assert re.fullmatch(ANTHROPIC_IDS.pattern, wire)
    assert wire == fit_id("fc_abc|call_def", ANTHROPIC_IDS)


@given(st.text(min_size=1), st.sampled_from(RULES))
def test_every_id_fits_its_rule_and_fitting_twice_changes_nothing(call_id, rule):
    wire = fit_id(call_id, rule)
    assert re.fullmatch(rule.pattern, wire)
    assert fit_id(wire, rule) == wire


@given(st.lists(st.text(min_size=1, max_size=3), unique=True), st.sampled_from(RULES))
def test_different_ids_stay_different_and_lead_back(ids, rule):
    table = IdTable(rule)
    wires = [table.call(call_id) for call_id in ids]
    assert len(set(wires)) == len(ids)
    assert [table.original(wire) for wire in wires] == ids
    assert [table.result(call_id) for call_id in ids] == wires


@pytest.mark.quirk(10)
def test_an_id_that_comes_again_becomes_another_and_its_result_goes_with_it():
    losses = Losses()
    table = IdTable(ANTHROPIC_IDS, losses)
    first = table.call("call_0", "items[0]")
    assert (first, table.result("call_0")) == ("call_0", "call_0")
    second = table.call("call_0", "items[2]")
    assert second != "call_0"
    assert table.result("call_0") == second
    assert [warning.code for warning in losses.taken()] == ["call_id_rewritten"]
    again = IdTable(ANTHROPIC_IDS)
    again.call("call_0")
    assert again.call("call_0") == second


def test_an_id_made_up_for_one_call_never_meets_a_later_one():
    table = IdTable(MISTRAL_IDS)
    made = table.call("long-id-one")
    other = table.call(made)
    assert other != made
    assert (table.original(made), table.original(other)) == ("long-id-one", made)


@pytest.mark.quirk(11)
def test_ids_within_one_response_are_made_unique_by_numbers():
    assert unique_id("a", set()) == "a"
    assert unique_id("a", {"a"}) == "a_2"
    assert unique_id("a", {"a", "a_2"}) == "a_3"


def test_many_calls_of_one_id_are_numbered_in_a_row():
    taken = set()
    for _ in range(20_000):
        taken.add(unique_id("a", taken))
    assert taken == {"a", *(f"a_{number}" for number in range(2, 20_001))}
