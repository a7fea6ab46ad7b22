"""What is signed can be verified, by us and by the official library; and nothing else can."""

import base64
import pickle
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from groundwire.contracts.errors import ConfigError
from groundwire.serving.webhooks.signing import (
    VerifiedWebhook,
    WebhookHeaderInvalid,
    WebhookHeaderMissing,
    WebhookKey,
    WebhookRefused,
    WebhookSignatureWrong,
    WebhookTooNew,
    WebhookTooOld,
    new_webhook_key,
    sign_webhook,
    verify_webhook,
)

NOW = 1_700_000_000
OLD, NEW = (f"whsec_{base64.b64encode(bytes([number]) * 32).decode()}" for number in (1, 2))
BODY = '{"text": "明天给你准信"}'.encode()
ids = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="."), min_size=1, max_size=256)


def signed(*keys, webhook_id="msg_1", timestamp=NOW, body=BODY):
    return sign_webhook([WebhookKey(key) for key in keys or (OLD,)], webhook_id, timestamp, body)


def verified(headers, body=BODY, *, keys=(OLD,), now=NOW):
    return verify_webhook([WebhookKey(key) for key in keys], headers, body, now=now)


def key_of(size):
    return f"whsec_{base64.b64encode(bytes(size)).decode()}"


# Against the official library


def test_the_example_of_the_standard_gives_the_signature_that_is_printed_there():
    key = WebhookKey("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    headers = sign_webhook([key], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, b'{"test": 2432232314}')
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@given(body=st.text(), webhook_id=ids, key=st.binary(min_size=24, max_size=64))
def test_the_official_library_verifies_what_we_sign_and_signs_what_we_verify(body, webhook_id, key):
    text, now = f"whsec_{base64.b64encode(key).decode()}", int(time.time())
    official, data = Webhook(text), body.encode()
    headers = sign_webhook([WebhookKey(text)], webhook_id, now, data)

    official.verify(data, headers, json_parse=False)

    theirs = official.sign(webhook_id, datetime.fromtimestamp(now, UTC), body)
    assert headers["webhook-signature"] == theirs
    proved = verify_webhook([WebhookKey(text)], {**headers, "webhook-signature": theirs}, data, now=now)
    assert proved == VerifiedWebhook(webhook_id, now)


@given(body=st.text(), change=st.text(min_size=1))
def test_the_official_library_refuses_what_was_changed_after_we_signed_it(body, change):
    headers = sign_webhook([WebhookKey(OLD)], "msg_1", int(time.time()), body.encode())
    with pytest.raises(WebhookVerificationError):
        Webhook(OLD).verify(body + change, headers)


# What is proved


@given(body=st.binary(), webhook_id=ids, timestamp=st.integers(0, 10**12 - 1))
def test_any_bytes_under_any_id_are_verified_as_they_were_signed(body, webhook_id, timestamp):
    headers = signed(webhook_id=webhook_id, timestamp=timestamp, body=body)
    assert verified(headers, body, now=timestamp) == VerifiedWebhook(webhook_id, timestamp)


@given(body=st.binary(min_size=1), data=st.data())
def test_a_single_flipped_bit_of_the_body_is_found(body, data):
    place, bit = data.draw(st.integers(0, len(body) - 1)), data.draw(st.integers(0, 7))
    changed = bytearray(body)
    changed[place] ^= 1 << bit
    with pytest.raises(WebhookSignatureWrong):
        verified(signed(body=body), bytes(changed))


@pytest.mark.parametrize(
    ("header", "value"), [("webhook-id", "msg_2"), ("webhook-id", "msg_11"), ("webhook-timestamp", str(NOW - 1))]
)
def test_another_id_or_time_than_was_signed_is_found(header, value):
    with pytest.raises(WebhookSignatureWrong):
        verified({**signed(), header: value})


def test_the_parts_cannot_be_shifted_into_each_other():
    """An id with a full stop would let a sender's id and time be read as another's."""
    headers = signed(webhook_id="a", body=b"x")
    with pytest.raises(WebhookHeaderInvalid):
        verified({**headers, "webhook-id": f"a.{NOW}"}, b"x")
    with pytest.raises(ConfigError):
        signed(webhook_id="a.b")


def test_names_of_headers_are_read_in_any_case():
    assert verified({name.title(): value for name, value in signed().items()}).webhook_id == "msg_1"


# Keys


def test_the_wrong_key_proves_nothing():
    with pytest.raises(WebhookSignatureWrong):
        verified(signed(OLD), keys=[NEW])
    with pytest.raises(WebhookSignatureWrong):
        verified(signed(OLD), keys=[])


def test_during_a_rotation_the_old_key_and_the_new_are_both_good_enough():
    headers = signed(OLD, NEW)
    assert headers["webhook-signature"].count("v1,") == 2
    assert verified(headers, keys=[OLD]) == verified(headers, keys=[NEW]) == VerifiedWebhook("msg_1", NOW)
    assert verified(signed(OLD), keys=[NEW, OLD]) == verified(signed(NEW), keys=[NEW, OLD])


@pytest.mark.parametrize("junk", ["v1a,AAAA", "v2,AAAA", "v1,not base64", "v1", ",", "v1,€", "v1,AAA"])
def test_signatures_of_other_kinds_are_passed_over(junk):
    own = signed()["webhook-signature"]
    assert verified({**signed(), "webhook-signature": f"{junk} {own} {junk}"}).webhook_id == "msg_1"
    with pytest.raises(WebhookSignatureWrong):
        verified({**signed(), "webhook-signature": junk})


@pytest.mark.parametrize(("size", "is_good"), [(23, False), (24, True), (64, True), (65, False)])
def test_a_key_has_24_to_64_bytes(size, is_good):
    if is_good:
        assert verified(signed(key_of(size)), keys=[key_of(size)]).webhook_id == "msg_1"
    else:
        with pytest.raises(ConfigError):
            WebhookKey(key_of(size))


@pytest.mark.parametrize("text", ["", "whsec_", "whsec_%%%", OLD.removeprefix("whsec_"), "whsec_é" + "A" * 40])
def test_what_is_no_key_is_refused_without_being_repeated(text):
    with pytest.raises(ConfigError) as caught:
        WebhookKey(text)
    assert caught.value.code == "config_error"
    assert "%%%" not in str(caught.value)


def test_a_key_may_lack_its_padding_and_stand_on_a_line():
    assert verified(signed(OLD), keys=[f" {OLD.rstrip('=')}\n"]).webhook_id == "msg_1"


def test_a_new_key_is_good_and_never_the_same():
    one, other = new_webhook_key(), new_webhook_key()
    assert one != other
    assert len(base64.b64decode(one.removeprefix("whsec_"))) == 32
    assert verified(signed(one), keys=[one]).webhook_id == "msg_1"


def test_a_key_shows_itself_to_nobody():
    key = WebhookKey(OLD)
    assert (repr(key), str(key)) == ("WebhookKey(…)", "WebhookKey(…)")
    with pytest.raises(TypeError):
        pickle.dumps(key)


# Time and headers


@pytest.mark.parametrize(
    ("skew", "error"),
    [(300, None), (301, WebhookTooOld), (300.5, WebhookTooOld), (-300, None), (-301, WebhookTooNew)],
)
def test_clocks_may_differ_by_five_minutes_and_no_more(skew, error):
    if error is None:
        assert verified(signed(), now=NOW + skew).timestamp == NOW
    else:
        with pytest.raises(error):
            verified(signed(), now=NOW + skew)


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
@pytest.mark.parametrize("value", [None, ""])
def test_a_missing_header_is_named(name, value):
    headers = {key: text for key, text in {**signed(), name: value}.items() if text is not None}
    with pytest.raises(WebhookHeaderMissing, match=name):
        verified(headers)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("webhook-timestamp", "soon"),
        ("webhook-timestamp", "-1"),
        ("webhook-timestamp", "1700000000.5"),
        ("webhook-timestamp", "١٧"),
        ("webhook-timestamp", "1" * 13),
        ("webhook-id", "a.b"),
        ("webhook-id", "a b"),
        ("webhook-id", "é"),
        ("webhook-id", "x" * 257),
    ],
)
def test_a_header_of_another_form_is_refused(name, value):
    with pytest.raises(WebhookHeaderInvalid, match=name):
        verified({**signed(), name: value})


@given(
    st.dictionaries(st.sampled_from(["webhook-id", "webhook-timestamp", "webhook-signature"]), st.text()), st.binary()
)
def test_whatever_comes_is_refused_by_name_and_nothing_else_is_raised(headers, body):
    with pytest.raises(WebhookRefused):
        verified(headers, body)


def test_nothing_is_signed_without_a_key():
    with pytest.raises(ConfigError):
        sign_webhook([], "msg_1", NOW, BODY)
