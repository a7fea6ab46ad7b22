"""JSON in and out, for anything that anybody may send."""

import json
import math
import random

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from groundwire.contracts.canonical import canonical_json, digest, dump_json, parse_json
from groundwire.contracts.errors import InvalidJson
from groundwire.contracts.schemas import envelope_problems

TEXT = st.text(alphabet=st.characters(exclude_categories=("Cs",)))
KEYS = TEXT | st.text(alphabet="\U0001f600\U00010000\ufb33\uffee\u20aca1", max_size=4)
SAFE_INTEGERS = st.integers(min_value=-(2**53) + 1, max_value=2**53 - 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def values(*leaves):
    return st.recursive(
        st.one_of(st.none(), st.booleans(), TEXT, *leaves),
        lambda inner: st.lists(inner, max_size=5) | st.dictionaries(KEYS, inner, max_size=5),
        max_leaves=20,
    )


JSON = values(SAFE_INTEGERS, FLOATS)
ANY_JSON = values(st.integers(), FLOATS)
ANYTHING = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(),
        st.binary(max_size=5),
        st.just(object()),
        st.complex_numbers(),
        st.sets(st.integers(), max_size=2),
    ),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers() | st.none(), inner, max_size=4)
    ),
    max_leaves=15,
)


@given(JSON)
def test_the_canonical_form_is_that_of_the_reference_implementation(value):
    assert canonical_json(value) == rfc8785.dumps(value)


@given(FLOATS)
def test_every_float_is_spelled_as_the_standard_says(value):
    assert canonical_json([value]) == rfc8785.dumps([value])


def shuffled(value, chance):
    """The same value with the members of every object in another order."""
    if isinstance(value, dict):
        items = [(key, shuffled(item, chance)) for key, item in value.items()]
        chance.shuffle(items)
        return dict(items)
    return [shuffled(item, chance) for item in value] if isinstance(value, list) else value


@given(ANY_JSON, st.integers())
def test_a_digest_does_not_depend_on_the_order_of_members(value, seed):
    assert digest(shuffled(value, random.Random(seed))) == digest(value)


@given(ANY_JSON)
def test_a_digest_survives_writing_and_reading(value):
    assert digest(parse_json(dump_json(value))) == digest(value)


@given(ANY_JSON)
def test_writing_and_reading_gives_the_same_value_with_the_same_types(value):
    again = parse_json(dump_json(value))
    assert again == value
    assert repr(again) == repr(value)


@given(st.integers())
def test_integers_of_any_size_keep_their_digits(number):
    assert parse_json(str(number)) == number
    assert canonical_json(number) == str(number).encode()


@given(st.binary() | st.text())
def test_reading_gives_a_value_or_says_that_it_is_not_json(text):
    try:
        value = parse_json(text)
    except InvalidJson:
        return
    assert json.loads(text) == value


@given(st.text(alphabet='{}[]",:0123456789.eE+-truefalsn \\ud8', max_size=40))
def test_nothing_is_read_that_the_standard_library_refuses(text):
    try:
        parse_json(text)
    except InvalidJson:
        return
    json.loads(text)


@given(ANYTHING)
def test_writing_gives_json_or_says_that_it_is_none(value):
    for dump in (dump_json, canonical_json):
        try:
            written = dump(value)
        except InvalidJson:
            continue
        json.loads(written)
        assert b"NaN" not in written
        assert not _has_non_finite(value)


def _has_non_finite(value):
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, dict):
        return any(_has_non_finite(item) for item in value.values())
    return isinstance(value, list | tuple) and any(_has_non_finite(item) for item in value)


@given(ANY_JSON)
def test_any_json_value_gets_a_list_of_what_keeps_it_from_being_an_envelope(value):
    problems = envelope_problems(value)
    assert problems
    assert all(isinstance(problem, str) for problem in problems)


@given(ANYTHING)
def test_even_what_is_not_json_only_gets_a_list(value):
    assert isinstance(envelope_problems(value), list)


@pytest.mark.parametrize("depth", [99, 100, 101, 5_000, 100_000])
def test_depth_is_no_way_to_break_the_reader(depth):
    for text in ("[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth, "[" * depth, '{"a":' * depth):
        try:
            parse_json(text)
        except InvalidJson:
            continue
        assert depth <= 100
