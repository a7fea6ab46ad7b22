import contextlib

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.codecs.wire.json import dump, dump_text, read_object, read_value, whole_text
from groundwire.contracts.errors import WireError

BIG = 123456789012345678901234567890


@pytest.mark.quirk(25)
def test_big_integers_keep_all_their_digits_both_ways():
    assert read_object(b'{"a":%d}' % BIG) == {"a": BIG}
    assert dump({"a": BIG}) == b'{"a":%d}' % BIG


@pytest.mark.quirk(21)
def test_halves_of_a_character_are_joined_or_replaced_unless_a_stream_asks_for_them():
    assert read_object(b'{"a":"\\ud83d"}') == {"a": "�"}
    assert read_object(b'{"a":"\\ud83d\\ude00"}') == {"a": "😀"}
    assert read_object(b'{"a":"\\ud83d"}', keep_halves=True) == {"a": "\ud83d"}
    assert whole_text("x\ud83d\ude00y\ud83d") == "x😀y�"
    assert dump_text({"a": "\ud83d"}) == '{"a":"�"}'


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b'{"a":NaN}', "not JSON"),
        (b'{"a":1}x', "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b'"\xff"', "not JSON"),
        (b'{"a":1e999}', "not JSON"),
        (b'{"a":"\\ud800",}', "not JSON"),
        (b"[1]", "not an array"),
        (b"null", "not null"),
        (b"[" * 100_000, "deep"),
        (b'{"a":' * 100_000, "deep"),
    ],
)
def test_anything_else_than_an_object_is_a_named_error(body, words):
    with pytest.raises(WireError, match=words) as caught:
        read_object(body)
    assert caught.value.code == "invalid_body"


def test_a_byte_order_mark_is_overlooked():
    assert read_object(b"\xef\xbb\xbf{}") == {}


def test_fragments_are_written_as_they_are_even_beside_what_the_fast_writer_refuses():
    assert dump({"a": orjson.Fragment(b"[1]")}) == b'{"a":[1]}'
    assert dump({"a": orjson.Fragment(b"[1]"), "b": BIG}) == b'{"a":[1],"b":%d}' % BIG


def test_deep_values_are_written_and_bottomless_ones_refused():
    value: list = []
    for _ in range(300):
        value = [value]
    assert read_value(dump(value)) == value
    for _ in range(100_000):
        value = [value]
    with pytest.raises(WireError, match="deep"):
        dump(value)


@given(st.binary())
def test_any_bytes_are_a_value_or_a_named_error(data):
    with contextlib.suppress(WireError):
        read_value(data)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda v: st.lists(v) | st.dictionaries(st.text(), v)
    )
)
def test_what_is_written_is_read_again(value):
    assert read_value(dump(value)) == value


@pytest.mark.parametrize("depth", [700, 100_000])
def test_half_a_character_that_is_nested_too_deeply_is_refused(depth):
    with pytest.raises(WireError, match="nested too deeply"):
        read_object(b'{"a": ' + b"[" * depth + b'"\\ud800"' + b"]" * depth + b"}")
