import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from groundwire.codecs.wire.json import dump, dump_text
from groundwire.codecs.wire.results import (
    arguments_fragment,
    object_arguments,
    object_result,
    read_arguments,
    result_fragment,
    text_result,
    unwrap_arguments,
    wrap_arguments,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda v: st.lists(v) | st.dictionaries(st.text(), v)
)


@pytest.mark.quirk(5)
@pytest.mark.quirk(6)
@pytest.mark.parametrize(
    ("given_value", "raw"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ("", "{}"),
        (" \n", "{}"),
        (None, "{}"),
        ({"a": 1}, '{"a":1}'),
        ("nonsense", "nonsense"),
    ],
)
def test_arguments_become_text_whatever_a_server_sends(given_value, raw):
    assert read_arguments(given_value) == raw


@pytest.mark.parametrize("raw", ["", "[1]", "nonsense", '"text"', '{"a":', "null"])
def test_what_is_no_object_is_wrapped_and_unwrapped_again(raw):
    assert object_arguments(raw) is None
    assert unwrap_arguments(wrap_arguments(raw)) == raw


def test_arguments_that_only_look_wrapped_stay_themselves():
    assert unwrap_arguments({"_raw_arguments": "x", "more": 1}) == '{"_raw_arguments":"x","more":1}'
    assert unwrap_arguments({"_raw_arguments": 5}) == '{"_raw_arguments":5}'


@pytest.mark.quirk(66)
@pytest.mark.parametrize(
    ("text", "failed", "response"),
    [
        ("42", False, {"output": "42"}),
        ("", False, {"output": ""}),
        ("[1,2]", False, {"output": "[1,2]"}),
        ('{"temp":21}', False, {"temp": 21}),
        ("boom", True, {"error": "boom"}),
        ('{"code":5}', True, {"error": {"code": 5}}),
        ('{"output":"x"}', False, {"output": '{"output":"x"}'}),
        ('{"error":"x"}', False, {"output": '{"error":"x"}'}),
        ('{"output":5}', False, {"output": 5}),
    ],
)
@pytest.mark.requirement("E-032")
def test_a_result_is_sent_as_an_object_and_read_back_as_the_same_text(text, failed, response):
    assert object_result(text, failed=failed) == response
    assert text_result(response) == (text, failed)


@given(st.text() | JSON.map(dump_text), st.booleans())
def test_any_result_comes_back_and_says_the_same_about_failing(text, failed):
    back, has_failed = text_result(object_result(text, failed=failed))
    assert has_failed == failed
    assert back == text or object_arguments(back) == object_arguments(text)


@given(st.dictionaries(st.text(), JSON))
def test_any_object_keeps_its_meaning_through_text(response):
    text, failed = text_result(response)
    assert text_result(object_result(text, failed=failed)) == (text, failed)


TEXTS = st.one_of(
    st.text(),
    st.dictionaries(st.sampled_from(["a", "output", "error"]), st.none() | st.text() | st.integers(), max_size=2).map(
        json.dumps
    ),
    st.sampled_from(['{"a": 1,}', '{"a": "\\x"}', '{"a": 01}', '{"a": 1}}', '{"a": "\\ud800"}', " {}", "{"]),
)


@given(TEXTS, st.booleans())
def test_a_result_that_stays_text_says_what_the_parsed_one_says(text, failed):
    kept = json.loads(dump({"response": result_fragment(text, failed=failed)}))
    assume("Infinity" not in json.dumps(kept))  # a number that no float holds is kept only as text
    assert kept == json.loads(dump({"response": object_result(text, failed=failed)}))


@given(TEXTS)
def test_arguments_that_stay_text_say_what_the_parsed_ones_say(text):
    kept = json.loads(dump([arguments_fragment(text)]))
    assume("Infinity" not in json.dumps(kept))
    assert kept == json.loads(dump([object_arguments(text)]))


def test_an_object_keeps_its_text_to_the_letter():
    assert dump([result_fragment('{"n": 1.10, "big": 123456789012345678901}', failed=False)]) == (
        b'[{"n": 1.10, "big": 123456789012345678901}]'
    )
