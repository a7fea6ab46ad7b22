import pytest

from groundwire.codecs.wire.objects import ObjectReader
from tests.codecs.pieces import Piece

TEXT = b'[{"a": "}{\\" \\\\"}, {"b": [{}, {"c": 1}]},\n {}] {"d": "\\u007d"}'
OBJECTS = [b'{"a": "}{\\" \\\\"}', b'{"b": [{}, {"c": 1}]}', b"{}", b'{"d": "\\u007d"}']


def read(*pieces):
    reader = ObjectReader()
    return [found for piece in pieces for found in reader.feed(piece)]


@pytest.mark.parametrize("size", [1, 2, 3, 7, len(TEXT)])
def test_objects_are_found_however_the_bytes_are_cut(size):
    assert read(*(TEXT[start : start + size] for start in range(0, len(TEXT), size))) == OBJECTS


def test_an_object_of_many_pieces_is_put_together_once():
    assert read(b'{"a":"', *[Piece(b"x" * 10)] * 1000, b'"}') == [b'{"a":"' + b"x" * 10_000 + b'"}']


def test_an_object_may_be_as_long_as_the_limit_and_not_longer():
    reader = ObjectReader(limit=4)
    assert reader.feed(b"{123") == []
    with pytest.raises(ValueError, match="4 bytes"):
        reader.feed(b"4")
    assert ObjectReader(limit=4).feed(b"1234567890") == []
