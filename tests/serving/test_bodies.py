"""Bodies that came packed: what they unpack to, up to a limit."""

import gzip
import random
import zlib

import pytest
import zstandard

from groundwire.serving.bodies import (
    FREE_OF_RATIO,
    CompressionRatioTooHigh,
    RequestTooLarge,
    UnpackLimits,
    UnreadableBody,
    decoders_of,
    unpack,
)

RAW = zlib.compressobj(wbits=-zlib.MAX_WBITS)
DATA = b'{"a": [1, 2, 3]}'
PACKED = {
    "gzip": gzip.compress(DATA),
    "x-gzip": gzip.compress(DATA),
    "deflate": zlib.compress(DATA),
    "zstd": zstandard.ZstdCompressor().compress(DATA),
}
each = pytest.mark.parametrize("encoding", PACKED)


def unpacked(data, encodings, limit, ratio=1e9):
    return unpack(data, decoders_of(encodings), UnpackLimits(limit, ratio, len(data)))


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
    with pytest.raises(UnreadableBody, match="3 times"):
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


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "zstd"])
def test_a_body_that_broke_off_is_unreadable(encoding):
    with pytest.raises(UnreadableBody):
        unpacked(PACKED[encoding][:-2], encoding, 100)


PACKERS = {"gzip": gzip.compress, "deflate": zlib.compress, "zstd": zstandard.ZstdCompressor().compress}
each_packer = pytest.mark.parametrize("encoding", PACKERS)


@each_packer
@pytest.mark.parametrize("size", [0, 1, 65_536, 1_048_576, 1_048_577, 5_000_000])
def test_bodies_of_any_size_are_unpacked_piece_by_piece(encoding, size):
    for data in (bytes(size), random.Random(size).randbytes(size)):
        assert unpacked(PACKERS[encoding](data), encoding, size) == data


@each_packer
def test_a_ratio_is_allowed_up_to_its_bound(encoding):
    packed = PACKERS[encoding](bytes(4_000_000))
    ratio = 4_000_000 / len(packed)
    assert len(unpacked(packed, encoding, 4_000_000, ratio + 0.01)) == 4_000_000
    with pytest.raises(CompressionRatioTooHigh):
        unpacked(packed, encoding, 4_000_000, ratio - 0.01)


@each_packer
def test_what_unpacks_to_little_may_have_any_ratio(encoding):
    assert len(unpacked(PACKERS[encoding](bytes(FREE_OF_RATIO)), encoding, 10**9, 1)) == FREE_OF_RATIO
    with pytest.raises(CompressionRatioTooHigh):
        unpacked(PACKERS[encoding](bytes(FREE_OF_RATIO + 1)), encoding, 10**9, 1)


def test_a_ratio_counts_from_what_was_sent_however_often_it_was_packed():
    packed = gzip.compress(gzip.compress(bytes(50_000_000)))
    with pytest.raises(CompressionRatioTooHigh):
        unpacked(packed, "gzip, gzip", 10**9, 1000)
