"""Trust files: what is signed is read again, and nothing else."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from groundwire import TrustError
from groundwire.contracts.requests import Sampling
from groundwire.contracts.trust import Trust, Trusted, sampling_of, seal, strictest, unseal
from groundwire.runtime.clock import to_iso
from tests.evals.trusted import card, file_of

KEY, OTHER = b"0123456789abcdef", b"fedcba9876543210"
NOW = to_iso(1_800_000_000.0)
FILE = file_of(card("m", "pay", "reliable", sampling={"temperature": 0.5, "top_k": 40.0}), card("m", "look", "deny"))


def reason_of(data, key=KEY, now=NOW):
    with pytest.raises(TrustError) as caught:
        unseal(data, key, now=now)
    return caught.value.reason


def changed(data, change):
    value = json.loads(data)
    change(value)
    return json.dumps(value).encode()


def test_what_was_sealed_is_read_again():
    assert unseal(seal(FILE, KEY), KEY, now=NOW) == FILE


def test_white_space_and_the_order_of_members_are_not_part_of_what_is_signed():
    value = json.loads(seal(FILE, KEY))
    turned = json.dumps({name: value[name] for name in reversed(value)}).encode()
    assert unseal(turned, KEY, now=NOW) == FILE


def test_the_key_is_not_in_the_file():
    data = seal(FILE, KEY)
    assert KEY not in data
    assert KEY.hex().encode() not in data


@pytest.mark.parametrize(
    "change",
    [
        lambda value: value["trust"]["cards"][1].update(trust="reliable"),
        lambda value: value["trust"].update(expiresAt="2999-01-01T00:00:00.000Z"),
        lambda value: value["trust"]["cards"].pop(),
        lambda value: value["trust"].update(more=1),
        lambda value: value["signature"].update(value="0" * 64),
        lambda value: value["signature"].update(value="é"),
    ],
)
def test_a_file_that_was_changed_is_tampered_with(change):
    assert reason_of(changed(seal(FILE, KEY), change)) == "tampered"


def test_another_key_reads_nothing():
    assert reason_of(seal(FILE, KEY), key=OTHER) == "tampered"


@pytest.mark.parametrize(
    "change",
    [
        lambda value: value.pop("signature"),
        lambda value: value.update(signature="abc"),
        lambda value: value["signature"].pop("value"),
        lambda value: value["signature"].update(value=""),
        lambda value: value["signature"].update(algorithm="none"),
    ],
)
def test_a_file_without_a_signature_is_unsigned(change):
    assert reason_of(changed(seal(FILE, KEY), change)) == "unsigned"


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"{}", b"\xff\xfe", b"[" * 5000, b'{"cards": []}', b'{"trust": "\\ud800"}']
)
def test_what_is_no_trust_file_is_unreadable(data):
    assert reason_of(data) == "unreadable"


def test_a_signed_file_of_another_version_is_unreadable():
    assert reason_of(seal(replace(FILE, version=2), KEY)) == "unreadable"


def test_a_file_expires_at_its_moment_and_not_before():
    data = seal(file_of(card("m", "pay", "ask"), expires=1_800_000_000.0), KEY)
    assert unseal(data, KEY, now=to_iso(1_799_999_999.999)).cards[0].tool == "pay"
    assert reason_of(data, now=to_iso(1_800_000_000.0)) == "expired"


def test_a_key_has_sixteen_bytes():
    assert unseal(seal(FILE, b"k" * 16), b"k" * 16, now=NOW) == FILE
    for key in (b"k" * 15, b""):
        assert reason_of(seal(FILE, KEY), key=key) == "no_key"
        with pytest.raises(TrustError):
            seal(FILE, key)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_file_or_a_named_error(data):
    assert reason_of(data) in ("unreadable", "unsigned", "tampered")


def test_the_strictest_of_several_counts():
    order = [Trusted(trust=trust, why=trust.value) for trust in Trust]
    assert [one.why for one in order] == ["reliable", "ask", "read-only", "deny"]
    assert strictest(order[:1]).why == "reliable"
    assert strictest([order[1], order[0]]).why == "ask"
    assert strictest([order[2], order[3], order[1]]).why == "deny"


def test_sampling_is_what_a_request_says_of_it_without_its_seed():
    assert sampling_of(Sampling(temperature=0.5, seed=7), {"min_p": 0.1}) == {"temperature": 0.5, "min_p": 0.1}
    assert sampling_of(Sampling(seed=7), {}) == {}
    assert sampling_of(Sampling(top_k=40), {"top_k": 20}) == {"top_k": 20}
