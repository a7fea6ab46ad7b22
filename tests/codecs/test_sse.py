import itertools
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.codecs.wire.sse import Event, SseReader, write_event


def read(text, *, cuts=()):
    reader = SseReader()
    edges = [0, *sorted(cuts), len(text)]
    events = [event for start, end in itertools.pairwise(edges) for event in reader.feed(text[start:end])]
    return events + reader.finish()


@pytest.mark.quirk(42)
@pytest.mark.parametrize(
    ("text", "events"),
    [
        (b"data: 1\n\ndata: 2\n\n", [Event("", b"1"), Event("", b"2")]),
        (b"event: a\ndata: 1\n\n", [Event("a", b"1")]),
        (b"data: 1\nevent: a\n\n", [Event("a", b"1")]),
        (b"event: a\r\ndata: 1\r\n\r\n", [Event("a", b"1")]),
        (b"event: a\rdata: 1\r\r", [Event("a", b"1")]),
        (b"\xef\xbb\xbfdata: 1\n\n", [Event("", b"1")]),
        (b": keep-alive\n\ndata: 1\n\n", [Event("", b"1")]),
        (b"data: a\ndata: b\n\n", [Event("", b"a\nb")]),
        (b"data:1\n\n", [Event("", b"1")]),
        (b"data:  1\n\n", [Event("", b" 1")]),
        (b"data\n\n", [Event("", b"")]),
        (b"id: 7\nretry: 3\ndata: 1\n\n", [Event("", b"1")]),
        (b"event: only\n\n", []),
        (b"data: 1", [Event("", b"1")]),
        (b"data: 1\n", [Event("", b"1")]),
        (b"data: 1\r\n\n", [Event("", b"1")]),
        (b"", []),
        (b"\n\n\n", []),
    ],
)
def test_events_are_read_as_the_standard_says_and_the_end_closes_the_last(text, events):
    assert read(text) == events


@given(st.binary(max_size=60), st.lists(st.integers(0, 60), max_size=8))
def test_any_bytes_give_the_same_events_however_they_are_cut(data, cuts):
    assert read(data, cuts=[min(cut, len(data)) for cut in cuts]) == read(data)


def test_a_mixed_stream_gives_the_same_events_at_every_single_cut():
    text = b'\xef\xbb\xbfevent: a\r\ndata: {"x":"\xc3\xa9"}\r\n\r\n: c\n\ndata: 1\nevent: b\n\ndata: 2\r\rdata: 3'
    whole = read(text)
    assert [event.event for event in whole] == ["a", "b", "", ""]
    for cut in range(len(text) + 1):
        assert read(text, cuts=[cut]) == whole
    every_byte = random.Random(1).sample(range(len(text)), len(text))
    assert read(text, cuts=every_byte) == whole


def test_an_event_may_be_as_long_as_the_limit_and_not_longer():
    assert SseReader(limit=20).feed(b"data: " + b"x" * 14) == []
    with pytest.raises(ValueError, match="20 bytes"):
        SseReader(limit=20).feed(b"data: " + b"x" * 15)


def test_what_is_written_is_read_again():
    assert read(write_event(b"{}") + write_event(b"1", "done")) == [Event("", b"{}"), Event("done", b"1")]


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r"])
@pytest.mark.parametrize("size", [1, 2, 7])
def test_a_long_event_in_small_pieces_is_one_event_and_the_next_one_is_not_lost(end, size):
    text = b"data: " + b"x" * 50 + end + b"data: 2" + end + b"data: 3"
    events = [Event("", b"x" * 50), Event("", b"2"), Event("", b"3")]
    assert read(text, cuts=range(size, len(text), size)) == events


def test_an_event_of_many_pieces_is_not_copied_with_each_of_them():
    reader = SseReader()
    piece = b"x" * 64
    started = time.process_time()
    for _ in range(200_000):
        assert reader.feed(piece) == []
    assert time.process_time() - started < 10
    assert reader.finish() == []
