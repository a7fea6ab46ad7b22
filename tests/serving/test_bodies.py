"""Bodies that came packed: what they unpack to, up to a limit."""

import gzip
import zlib

import pytest
import zstandard

from groundwire.serving.bodies import RequestTooLarge, UnreadableBody, unpacked

RAW = zlib.compressobj(wbits=-zlib.MAX_WBITS)
DATA = b'{"a": [1, 2, 3]}'
PACKED = {
    "gzip": gzip.compress(DATA),
    "x-gzip": gzip.compress(DATA),
    "deflate": zlib.compress(DATA),
    "zstd": zstandard.ZstdCompressor().compress(DATA),
}
each = pytest.mark.parametrize("encoding", PACKED)


@each
def test_a_body_is_unpacked_to_the_last_byte_that_the_limit_allows(encoding):
    assert unpacked(PACKED[encoding], encoding.upper(), len(DATA)) == DATA
    with pytest.raises(RequestTooLarge):
        unpacked(PACKED[encoding], encoding, len(DATA) - 1)


def test_deflate_is_read_without_its_frame_too():
    assert unpacked(RAW.compress(DATA) + RAW.flush(), "deflate", 100) == DATA


def test_several_encodings_are_undone_from_the_last_to_the_first():
    assert unpacked(gzip.compress(PACKED["zstd"]), "zstd, gzip", 100) == DATA
    assert unpacked(DATA, "identity", 100) == DATA


def test_a_body_that_was_packed_more_often_than_twice_is_not_unpacked_at_all():
    twice = gzip.compress(gzip.compress(DATA))
    assert unpacked(twice, "gzip, identity, gzip", 100) == DATA
    with pytest.raises(UnreadableBody, match="packed 3 times"):
        unpacked(gzip.compress(twice), "gzip, gzip, gzip", 100)


@each
@pytest.mark.parametrize("size", [100_000_000])
def test_a_bomb_is_not_unpacked_beyond_the_limit(encoding, size):
    pack = {"deflate": zlib.compress, "zstd": zstandard.ZstdCompressor().compress}.get(encoding, gzip.compress)
    with pytest.raises(RequestTooLarge):
        unpacked(pack(bytes(size)), encoding, 1000)


@pytest.mark.parametrize("encoding", [*PACKED, "br", "novelty"])
def test_what_is_not_packed_so_is_unreadable(encoding):
    with pytest.raises(UnreadableBody):
        unpacked(DATA, encoding, 100)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_body_that_broke_off_is_unreadable(encoding):
    with pytest.raises(UnreadableBody):
        unpacked(PACKED[encoding][:-2], encoding, 100)
