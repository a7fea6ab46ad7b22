import hashlib
import math

import pytest

from groundwire.contracts.canonical import MAX_DEPTH, canonical_json, digest, dump_json, parse_json
from groundwire.contracts.errors import InvalidJson


def nested(depth, opening="[", closing="]"):
    return opening * depth + closing * depth


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (-0.0, "0"),
        (1e21, "1e+21"),
        (1e20, "100000000000000000000"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (0.1, "0.1"),
        (1.5e300, "1.5e+300"),
        (5e-324, "5e-324"),
        (123456789.125, "123456789.125"),
        (2**53, "9007199254740992"),
        (10**40, "1" + "0" * 40),
        (-(2**63) - 1, "-9223372036854775809"),
        (True, "true"),
        (None, "null"),
        ('\u20ac\u0000"\\\n', '"€\\u0000\\"\\\\\\n"'),
        ({"b": 1, "a": 2}, '{"a":2,"b":1}'),
        ({"\U0001f600": 1, "\ufb33": 2}, '{"\U0001f600":1,"\ufb33":2}'),
        ([1.0, {"a": 1e30}], '[1,{"a":1e+30}]'),
        ({"": []}, '{"":[]}'),
        ([], "[]"),
        ({}, "{}"),
        (["1.0", "x:1.0,"], '["1.0","x:1.0,"]'),
    ],
)
def test_canonical_form_is_that_of_the_standard(value, text):
    assert canonical_json(value) == text.encode()


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        [-math.inf],
        {"a": [None, math.nan]},
        {1, 2},
        b"bytes",
        {1: 2},
        object(),
        "\ud800",
        {"\ud800": 1},
        [10**40, math.nan],
        {"a": 10**40, "b": {1}},
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_json_is_refused_in_both_forms(value):
    for dump in (canonical_json, dump_json):
        with pytest.raises(InvalidJson):
            dump(value)


def test_a_list_that_holds_itself_is_refused():
    loop: list = []
    loop.append(loop)
    for dump in (canonical_json, dump_json):
        with pytest.raises(InvalidJson):
            dump(loop)


@pytest.mark.requirement("D-115", "D-116")
def test_a_digest_is_sha256_over_the_canonical_form():
    assert digest({"b": 1.0, "a": "x"}) == hashlib.sha256(b'{"a":"x","b":1}').hexdigest()


def test_plain_dumping_keeps_the_order_and_all_digits():
    assert dump_json({"b": 10**30, "a": 1.0}) == b'{"b":%d,"a":1.0}' % 10**30


@pytest.mark.parametrize("text", ["", "{", "nul", "NaN", "[1]]", '{"a":1} x', b"\xff", "'a'", '"\\ud800"', "[1,]"])
def test_a_text_that_is_not_one_json_value_is_refused(text):
    with pytest.raises(InvalidJson) as raised:
        parse_json(text)
    assert raised.value.too_deep is False


def test_integers_keep_all_their_digits():
    assert parse_json("123456789012345678901234567890") == 123456789012345678901234567890
    assert parse_json("-9223372036854775809") == -9223372036854775809


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_nesting_is_read_up_to_the_limit_and_refused_past_it(opening, closing):
    middle = "1" if ":" in opening else ""
    parse_json(opening * MAX_DEPTH + middle + closing * MAX_DEPTH)
    for depth in (MAX_DEPTH + 1, 10_000):
        with pytest.raises(InvalidJson) as raised:
            parse_json(opening * depth + middle + closing * depth)
        assert raised.value.too_deep is True


def test_many_shallow_brackets_are_not_deep():
    assert len(parse_json("[" + "[]," * 500 + "[]]")) == 501
    assert parse_json('"' + "[" * 500 + '"') == "[" * 500
