import pytest

from groundwire.codecs.dialects import codec_of
from groundwire.codecs.wire.failures import failure_from_http, failure_from_object, failure_from_success
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.requests import DIALECTS


def read(value, status, text):
    """A reader that repeats what it was given."""
    delay = value.get("delay") if isinstance(value, dict) else None
    return Failure(kind=FailureKind.SERVER, message=repr(value), status=status or 0, retry_after=delay, body=text)


@pytest.mark.parametrize(
    ("body", "value"), [(b'{"a":1}', {"a": 1}), (b'[{"a":1},2]', {"a": 1}), (b"[]", []), (b"<html>", None), (b"", None)]
)
def test_any_body_is_read_and_an_error_in_a_list_is_taken_out(body, value):
    failure = failure_from_http(503, body, {}, read)
    assert (failure.message, failure.status, failure.body) == (repr(value), 503, body.decode())


@pytest.mark.parametrize(("status", "delay"), [(200, None), (299, None), (300, 7.0), (429, 7.0)])
def test_a_delay_beside_a_success_is_no_request_to_wait(status, delay):
    assert failure_from_http(status, b"", {"retry-after": "7"}, read).retry_after == delay


def test_a_delay_in_the_body_counts_before_the_header():
    assert failure_from_http(429, b'{"delay":1.5}', {"retry-after": "7"}, read).retry_after == 1.5


@pytest.mark.parametrize(
    ("headers", "request_id"),
    [
        ({}, None),
        ({"x-request-id": "x"}, "x"),
        ({"request-id": "r"}, "r"),
        ({"x-request-id": "x", "request-id": "r"}, "r"),
    ],
)
def test_the_request_is_named_by_its_headers(headers, request_id):
    assert failure_from_http(500, b"", headers, read).request_id == request_id


def test_an_error_that_claims_success_is_read_from_bytes_and_from_objects_alike():
    def find(body):
        return body if "error" in body else None

    for body in ({"error": 1}, b'{"error":1}', b'[{"error":1}]'):
        assert failure_from_success(body, find, read) == failure_from_object({"error": 1}, read)
    for body in ({}, b"{}", b"[]", b"<html>", b""):
        assert failure_from_success(body, find, read) is None


def test_the_text_of_an_object_is_cut_to_what_a_log_can_bear():
    assert len(failure_from_object({"error": "x" * 30_000}, read).body) == 20_000
    assert failure_from_object({"error": "x"}, read).body == '{"error":"x"}'


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_failure_without_a_status_of_its_own_gets_that_of_its_kind(dialect):
    assert codec_of(dialect).encode_error(Failure(kind=FailureKind.SERVER, message="gone", status=0))[0] == 500
