import pytest

from groundwire.contracts.errors import ErrorType
from groundwire.contracts.messages import say
from groundwire.contracts.results import Evidence
from groundwire.contracts.tools import Ground
from groundwire.runtime.grounding import find_evidence, refusal_for

TALK = (
    say("user", "Hello, do you print boxes?", turn=1),
    say("assistant", "Yes, what quantity?", turn=1),
    say("user", "MOQ is 500 pieces,  price 3.5 USD.", turn=2),
    say("user", "Delivery takes 15 days。", turn=3),
)
QUOTE = {"quote": Ground()}


def evidence(value, rule=None, messages=TALK):
    return find_evidence({"quote": value}, {"quote": rule or Ground()}, messages)[0]


@pytest.mark.parametrize(
    ("words", "turn", "start", "end"),
    [
        ("MOQ is 500 pieces", 2, 0, 17),
        ("500", 2, 7, 10),
        ("15 days。", 3, 15, 23),
        ("Hello", 1, 0, 5),
    ],
)
def test_words_that_were_said_are_found_with_their_place(words, turn, start, end):
    found = evidence(words)
    assert found == Evidence(argument="quote", grounded=True, turn=turn, start=start, end=end)
    assert TALK[[message.turn for message in TALK].index(turn)].text[start:end] == words


def test_the_newest_message_that_holds_the_words_is_the_evidence():
    assert evidence("15", messages=(say("user", "15", turn=1), say("user", "15!", turn=2))).turn == 2


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("", "empty"),
        (True, "empty"),
        ({"a": 1}, "empty"),
        ("MOQ is 500 pieces, price", "whitespace"),
        ("moq is 500", "case"),
        ("15 days.", "punctuation_width"),
        ("500 pieces price", "punctuation_width"),
        ("Yes, what quantity?", "other_speaker"),
        ("price 3.5 USD. Delivery takes", "merged_messages"),
        ("five hundred pieces", "paraphrase"),
    ],
)
def test_a_miss_is_explained(words, reason):
    found = evidence(words)
    assert found == Evidence(argument="quote", grounded=False, near_miss=reason)


def test_the_other_speakers_words_count_when_the_rule_says_so():
    assert evidence("what quantity", Ground(speaker="assistant")).grounded is True


@pytest.mark.parametrize(
    ("arguments", "optional", "grounded", "reason"),
    [
        ({}, False, False, "absent"),
        ({}, True, None, None),
        ({"quote": None}, True, None, None),
        ({"quote": ""}, True, False, "empty"),
        ({"quote": []}, True, False, "empty"),
    ],
)
def test_absence_may_be_allowed_but_emptiness_is_a_failure(arguments, optional, grounded, reason):
    found = find_evidence(arguments, {"quote": Ground(optional=optional)}, TALK)
    assert [(item.grounded, item.near_miss) for item in found] == [(grounded, reason)]


def test_each_value_of_a_list_needs_its_own_evidence():
    found = find_evidence({"quote": ["500", "600"]}, QUOTE, TALK)
    assert [item.grounded for item in found] == [True, False]


@pytest.mark.parametrize(("value", "grounded"), [(500, True), (3.5, True), (501, False), (15, True)])
def test_a_number_is_looked_for_as_it_is_written(value, grounded):
    assert evidence(value, Ground(by="value")).grounded is grounded


def test_evidence_follows_the_order_of_the_rules():
    rules = {"b": Ground(), "a": Ground()}
    assert [item.argument for item in find_evidence({"a": "500", "b": "15"}, rules, TALK)] == ["b", "a"]


def test_a_refusal_names_every_missed_argument_and_nothing_else():
    found = find_evidence({"a": "500", "b": "600"}, {"a": Ground(), "b": Ground(), "c": Ground()}, TALK)
    refusal = refusal_for("log_data", found)
    assert refusal.type is ErrorType.UNGROUNDED
    assert refusal.retryable is False
    assert "b:" in refusal.operator
    assert "c:" in refusal.operator
    assert "a:" not in refusal.operator


def test_all_grounded_is_no_reason_to_refuse():
    assert refusal_for("t", find_evidence({"quote": "500"}, QUOTE, TALK)) is None
    assert refusal_for("t", find_evidence({}, {"quote": Ground(optional=True)}, TALK)) is None


VALUE = Ground(by="value")


def said(value, text):
    return evidence(value, VALUE, (say("user", text, turn=1),))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (45, "45"),
        (45, "It is 45."),
        (45, "45, and no more"),
        (45, "(45)"),
        (45, "€45"),
        (45, "共45元"),
        (45, "四五45か"),
        (45, "No.45"),
        (45, "450 or 45"),
        (45, "45kg"),
        (45, "USD45"),
        (500, "MOQ 500pcs"),
        (4.5, "4.5 kg"),
        ("45", "45%"),
        ("A-45", "room A-45"),
        ("no", "no, thanks"),
        ("Ann", "ask Ann!"),
        ("Rome", "Rome"),
        ("Paris", "the Parisian way"),
        ("行", "银行"),
    ],
)
def test_a_value_that_stands_by_itself_is_evidenced(value, text):
    found = said(value, text)
    assert found.grounded
    assert text[found.start : found.end] == str(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (45, "450"),
        (45, "145"),
        (45, "3.45"),
        (45, "45.5"),
        (45, "45,50"),
        (450, "1,450"),
        (4.5, "14.5"),
        (4.5, "4.55"),
        ("A-45", "room A-450"),
        ("no", "I know"),
        ("Ann", "Annabel"),
        ("Rome", "Romeo"),
    ],
)
def test_a_value_inside_a_longer_word_or_number_is_no_evidence(value, text):
    assert said(value, text) == Evidence(argument="quote", grounded=False, near_miss="part")


def test_a_quote_may_begin_and_end_anywhere():
    assert evidence("00 pie").grounded


def test_evidence_is_the_place_where_the_value_stands_by_itself():
    found = said(45, "Not 450 but 45.")
    assert (found.start, found.end) == (12, 14)


def test_a_value_that_is_a_whole_text_may_stand_anywhere():
    words = "x" * 199 + "1"
    assert not said(words, words + "2").grounded
    assert said("x" + words, "x" + words + "2").grounded
