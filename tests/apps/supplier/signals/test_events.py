"""A signal as the event that travels: its form, its ids and its length."""

import contextlib
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from groundwire import WireError
from groundwire.apps.supplier.signals.events import (
    MAX_EVENT,
    SignalTooLarge,
    decode_event,
    decode_signal,
    encode_event,
    identified,
    iso_time,
    webhook_id_of,
)
from tests.apps.supplier.signals.samples import FOLLOW_UP, signal

NOW = 1_700_000_000.0


@pytest.mark.requirement("A-060", "A-063", "A-064", "A-065", "A-066", "A-069", "A-071")
def test_an_event_has_a_stable_type_the_time_of_the_signal_and_the_signal():
    assert json.loads(encode_event(signal(), now=NOW)) == snapshot(
        {
            "type": "supplier.signal.created",
            "timestamp": "2026-03-11T02:00:00.000Z",
            "data": {
                "sessionId": "mes2-01",
                "signalType": "human_escalation",
                "severity": "medium",
                "reason": "quantity_too_low: 50个开不了机，印不了的",
                "signalId": "sig_1",
                "source": "summary-agent-llm",
                "timestamp": "2026-03-11T02:00:00.000Z",
                "goalId": "customization",
                "supplierQuote": "50个开不了机，印不了的",
            },
        }
    )


def test_a_signal_without_a_time_is_sent_with_the_time_of_sending():
    event = decode_event(encode_event(signal(timestamp=""), now=NOW))
    assert event.timestamp == "2023-11-14T22:13:20.000Z" == iso_time(NOW)


@pytest.mark.requirement("A-061", "A-062", "A-074", "A-076", "A-078", "A-079")
def test_what_was_encoded_is_decoded_and_supplier_fields_may_be_missing():
    for sent in (signal(), FOLLOW_UP, signal(supplier_id="s7", supplier_name="义乌小厂", suggested_unlock="raise qty")):
        assert decode_signal(decode_event(encode_event(sent, now=NOW)).data) == sent


def padded(size, **fields):
    """A signal whose event has so many bytes."""
    plain = len(encode_event(signal(**fields, supplier_quote="x"), now=NOW))
    return signal(**fields, supplier_quote="x" * (size - plain + 1))


def test_an_event_just_under_the_limit_is_sent_as_it_is():
    largest = padded(MAX_EVENT - 1)
    body = encode_event(largest, now=NOW)
    assert len(body) == 19_999
    assert decode_signal(decode_event(body).data) == largest


def test_one_byte_more_is_refused_where_only_the_evidence_could_be_cut():
    fits = padded(MAX_EVENT - 1)
    with pytest.raises(SignalTooLarge):
        encode_event(msgspec.structs.replace(fits, supplier_quote=fits.supplier_quote + "x"), now=NOW)


def test_long_free_texts_are_cut_with_a_mark_and_a_flag_and_the_quote_stays():
    long = signal(reason="r" * 30_000, suggested_unlock="u" * 2_000, flags=("earlier",))
    sent = decode_signal(decode_event(encode_event(long, now=NOW)).data)
    assert sent.reason == "r" * 2_000 + " … [cut]"
    assert (sent.suggested_unlock, sent.supplier_quote) == (long.suggested_unlock, long.supplier_quote)
    assert sent.flags == ("earlier", "cut:reason")


@pytest.mark.parametrize(("size", "flags"), [(2_000, ("cut:reason",)), (2_001, ("cut:reason", "cut:suggestedUnlock"))])
def test_a_text_is_cut_past_two_thousand_characters_and_not_before(size, flags):
    long = signal(reason="r" * 30_000, suggested_unlock="u" * size)
    assert decode_signal(decode_event(encode_event(long, now=NOW)).data).flags == flags


@pytest.mark.parametrize(
    "fields",
    [
        {"reason": "\ud800"},
        {"evidence": {"f": print}},
        {"session_id": ""},
        {"goal_id": "\n"},
    ],
)
def test_what_cannot_be_written_is_a_named_error(fields):
    with pytest.raises(WireError):
        encode_event(signal(**fields), now=NOW)


def test_a_signal_without_an_id_gets_one_that_is_made_of_what_it_says():
    one, again, other = (identified(signal(signal_id="", reason=reason)) for reason in ("a: x", "a: x", "b: x"))
    assert one.signal_id == again.signal_id != other.signal_id
    assert identified(signal()).signal_id == "sig_1"


@given(st.text())
def test_every_signal_has_a_webhook_id_that_may_be_signed(signal_id):
    webhook_id = webhook_id_of(signal_id)
    assert webhook_id == webhook_id_of(signal_id)
    assert webhook_id.removeprefix("msg_").isalnum()


@given(st.binary())
def test_any_bytes_are_an_event_or_a_named_error(body):
    with contextlib.suppress(WireError):
        decode_signal(decode_event(body).data)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"sessionId": ""},
        {"signalType": "party"},
        {"severity": "huge"},
        {"source": "me"},
        {"sessionId": "a\x00b"},
        {"signalId": "x" * 257},
        {"goalId": "a\nb"},
        {"reason": None},
        {"followUpTiming": {"delayHours": "24"}},
    ],
)
def test_what_is_no_signal_is_refused(data):
    good = json.loads(msgspec.json.encode(signal()))
    decode_signal(msgspec.json.encode(good))
    with pytest.raises(WireError):
        decode_signal(msgspec.json.encode({**good, **data} if data else data))


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_a_deeply_nested_event_is_a_named_error(opening):
    with pytest.raises(WireError):
        decode_event(b'{"type": "t", "timestamp": "", "data": ' + opening * 30_000)
