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
        ("银行", "在银行里"),
        (5, "单价5块"),
        ("5", "单价5块"),
        (0, "0"),
        (-5, "-5"),
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


ENOUGH = ["ok", "I8", "88", "好的", "5块", "行5", "é1", "ок", "はい", "네네", "५०", "a.b", "不\u200b行", "n\u0303o"]
TOO_LITTLE = [
    "I",
    "5",
    "，",
    "。。。",
    "...",
    "行",
    "👍👍",
    "一",
    "a\u200b",
    "\u200bI\u200b",
    "e\u0301",
    "好！",
    "-5",
    "？！",
]
INVISIBLE = [
    "\u200b",
    "\u200b\u200c\u200d",
    "\ufeff\ufeff",
    "\u00ad\u00ad",
    "\ufe0f\ufe0f",
    "\U000e0041\U000e0042",
    "\u202e\u202c",
    "\u2066\u2069",
    "\u3164\u3164",
    "\u115f\u1160",
    "\uffa0\uffa0",
    "\u0301\u0301",
    "\u034f\u034f",
    "\u2060 \u2060",
    " \t\n",
]


@pytest.mark.parametrize("words", ENOUGH)
@pytest.mark.parametrize("by", ["quote", "value"])
def test_two_letters_or_digits_are_enough(words, by):
    assert evidence(words, Ground(by=by), (say("user", f"so: {words} !", turn=1),)).grounded


@pytest.mark.parametrize("words", TOO_LITTLE)
def test_a_quote_of_fewer_is_trivial(words):
    assert evidence(words, messages=(say("user", f"x{words}y", turn=1), say("user", words, turn=2))) == Evidence(
        argument="quote", grounded=False, near_miss="trivial"
    )


@pytest.mark.parametrize("words", [words for words in TOO_LITTLE if words not in ("5", "-5")])
def test_a_value_of_fewer_is_trivial_unless_it_is_a_number(words):
    assert said(words, f"so {words} !").near_miss == "trivial"


@pytest.mark.parametrize("words", INVISIBLE)
@pytest.mark.parametrize("by", ["quote", "value"])
def test_what_cannot_be_seen_is_empty_although_it_was_sent(words, by):
    assert evidence(words, Ground(by=by), (say("user", f"a{words}b", turn=1),)).near_miss == "empty"


def priced(price, quote, text=None, rule=None, **others):
    """Whether a quote evidences the numbers of the arguments beside it."""
    arguments = {"price": price, "quote": quote, **others}
    found = find_evidence(arguments, {"quote": rule or Ground(value=True)}, (say("user", text or quote, turn=3),))
    return {item.argument: item.near_miss or item.grounded for item in found}


@pytest.mark.parametrize(
    ("price", "quote"),
    [
        (5, "单价5块"),
        (5.0, "单价5块"),
        ("5", "单价5块"),
        ("5元", "单价5块"),
        (5, "单价五块"),
        (5, "单价５块"),
        (500, "五百个起"),
        ("500个", "五百个起"),
        (2, "两天就好"),
        (1000, "1,000 pcs"),
        (5.5, "5.50 each"),
        (5.5, "5块5一个"),
        (0.05, "5% off"),
        (5, "5% off"),
        (-5, "-5 degrees"),
        ([3, 5], "3-5天"),
        ({"low": 3, "high": 5}, "3-5天"),
        ("3 to 5 days", "3-5天"),
        (50_000, "5万个"),
    ],
)
def test_numbers_that_stand_in_the_quote_are_evidenced_by_it(price, quote):
    assert priced(price, quote) == {"quote": True, "price": True}


@pytest.mark.parametrize(
    ("price", "quote"),
    [
        (0.01, "单价5块"),
        (50, "单价5块"),
        (5, "单价五十块"),
        (5.01, "单价5块"),
        (500, "五千个起"),
        (1, "1,000 pcs"),
        (5, "5万个"),
        (5, "-5 degrees"),
        (-5, "5 degrees"),
        ([3, 4], "3-5天"),
        ("3 to 6 days", "3-5天"),
        (0.5, "5% off"),
        (1, "the price is fine"),
        (500, "five hundred"),
        (10**400, "单价5块"),
        ("1" * 5000, "1" * 5000),
    ],
)
def test_numbers_that_do_not_are_not(price, quote):
    assert priced(price, quote) == {"quote": True, "price": "number"}


@pytest.mark.parametrize(
    ("price", "quote", "text"),
    [
        (5, "5块一个", "15块一个"),
        (1, "单价1", "单价15"),
        (5, "要5", "要5万个"),
        (5, "大约5", "大约5.5"),
        (5, "单价5块", "单价5块5"),
        (3, "13,", "13,500 pcs"),
        (1, "到１", "到１５号"),
        (5, "5块一个", "1\u200b5块一个"),
    ],
)
def test_a_number_that_the_quote_cuts_short_is_no_evidence(price, quote, text):
    assert priced(price, quote, text)["price"] == "number"


def test_words_and_truth_values_need_no_number():
    assert priced("red", "单价5块", free=True, note=None) == {"quote": True}


def test_a_tool_that_does_not_ask_for_numbers_gets_none():
    assert priced(0.01, "单价5块", rule=Ground()) == {"quote": True}


def test_arguments_can_be_named_and_the_others_are_free():
    rule = Ground(value=("price",))
    assert priced(5, "单价5块", rule=rule, number="A-7") == {"quote": True, "price": True}
    assert priced(5, "单价5块", number="A-7") == {"quote": True, "price": True, "number": "number"}


def test_arguments_with_a_rule_of_their_own_are_judged_by_that():
    arguments = {"price": 5, "quote": "单价5块", "when": "3天"}
    rules = {"quote": Ground(value=True), "when": Ground()}
    messages = (say("user", "单价5块", turn=1), say("user", "3天", turn=2))
    assert [item.grounded for item in find_evidence(arguments, rules, messages)] == [True, True, True]


def test_several_quotes_together_may_hold_the_numbers():
    messages = (say("user", "500起", turn=1), say("user", "单价5块", turn=2))
    arguments = {"terms": [5, 500], "quote": ["500起", "单价5块"]}
    found = find_evidence(arguments, {"quote": Ground(value=True)}, messages)
    assert [(item.argument, item.grounded, item.turn) for item in found][2] == ("terms", True, 2)


@pytest.mark.parametrize(
    ("arguments", "rule", "expected"),
    [
        ({"price": 0.01}, Ground(value=True, optional=True), [("quote", None)]),
        ({"price": 0.01}, Ground(value=True), [("quote", False)]),
        ({"price": 0.01, "quote": "never said"}, Ground(value=True), [("quote", False)]),
    ],
)
def test_without_a_quote_that_was_said_there_is_nothing_to_look_in(arguments, rule, expected):
    found = find_evidence(arguments, {"quote": rule}, (say("user", "单价5块", turn=1),))
    assert [(item.argument, item.grounded) for item in found] == expected


@pytest.mark.parametrize(("count", "expected"), [(200, True), (201, "too_many")])
def test_so_many_numbers_can_be_evidenced(count, expected):
    assert priced([5] * count, "单价5块")["price"] == expected


def test_the_evidence_of_a_number_is_its_quote():
    messages = (say("user", "嗯，单价5块", turn=4),)
    found = find_evidence({"price": 5, "quote": "单价5块"}, {"quote": Ground(value=True)}, messages)
    assert [(item.argument, item.turn, item.start, item.end) for item in found] == [
        ("quote", 4, 2, 6),
        ("price", 4, 2, 6),
    ]
