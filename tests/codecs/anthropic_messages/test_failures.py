import json

import pytest

from groundwire.codecs import anthropic_messages
from groundwire.contracts.failures import Failure, FailureKind


def error(kind, message="no", **members):
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1", **members}


def decode(status, body, **headers):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return anthropic_messages.decode_error(
        status, data, {name.replace("_", "-"): value for name, value in headers.items()}
    )


TABLE = [
    (400, "invalid_request_error", FailureKind.INVALID_REQUEST, False),
    (401, "authentication_error", FailureKind.AUTHENTICATION, False),
    (402, "billing_error", FailureKind.BILLING, False),
    (403, "permission_error", FailureKind.PERMISSION, False),
    (404, "not_found_error", FailureKind.NOT_FOUND, False),
    (409, "conflict_error", FailureKind.CONFLICT, True),
    (413, "request_too_large", FailureKind.TOO_LARGE, False),
    (429, "rate_limit_error", FailureKind.RATE_LIMIT, True),
    (500, "api_error", FailureKind.SERVER, True),
    (504, "timeout_error", FailureKind.TIMEOUT, True),
    (529, "overloaded_error", FailureKind.OVERLOADED, True),
]


@pytest.mark.parametrize(("status", "name", "kind", "retryable"), TABLE)
def test_errors_are_read_and_written_again(status, name, kind, retryable):
    failure = decode(status, error(name))

    assert (failure.kind, failure.status, failure.type, failure.message) == (kind, status, name, "no")
    assert (failure.retryable, failure.request_id) == (retryable, "req_1")
    assert anthropic_messages.encode_error(failure) == (status, error(name))


@pytest.mark.parametrize(("status", "name", "kind"), [(status, name, kind) for status, name, kind, _ in TABLE])
def test_failures_of_other_providers_get_type_and_status_of_their_kind(status, name, kind):
    failure = Failure(kind=kind, message="no", status=418, type="theirs", code="x")

    assert anthropic_messages.encode_error(failure) == (
        status,
        {"type": "error", "error": {"type": name, "message": "no"}},
    )


@pytest.mark.parametrize("kind", list(FailureKind))
def test_every_kind_of_failure_has_a_form(kind):
    status, body = anthropic_messages.encode_error(Failure(kind=kind, message="no"))

    assert status >= 400
    assert body["error"]["type"].endswith(("_error", "request_too_large"))


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("prompt is too long: 210000 tokens > 200000 maximum", FailureKind.CONTEXT_FULL),
        ("Your credit balance is too low to access the API.", FailureKind.BILLING),
        ("messages: at least one message is required", FailureKind.INVALID_REQUEST),
    ],
)
def test_a_bad_request_says_more_in_its_words(message, kind):
    assert decode(400, error("invalid_request_error", message)).kind is kind


def test_codes_of_errors_are_kept():
    body = error("permission_error")
    body["error"]["details"] = {"error_code": "organization_on_hold"}
    failure = decode(403, body)

    assert failure.code == "organization_on_hold"
    assert anthropic_messages.encode_error(failure)[1] == body


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>Bad gateway</html>", "<html>Bad gateway</html>"),
        (b"", "The provider gave no reason."),
        ({"error": "plain"}, "plain"),
        ({"message": "from a proxy"}, "from a proxy"),
        ({"detail": "from another"}, "from another"),
        ([1], "[1]"),
        ({"error": {"message": 7}}, '{"error": {"message": 7}}'),
    ],
)
def test_bodies_of_any_shape_are_read(body, message):
    failure = decode(502, body)

    assert (failure.kind, failure.status, failure.message) == (FailureKind.SERVER, 502, message)


@pytest.mark.quirk(81)
def test_delays_count_only_beside_an_error():
    assert decode(429, error("rate_limit_error"), retry_after="7").retry_after == 7
    assert decode(429, error("rate_limit_error"), retry_after="7", retry_after_ms="1500").retry_after == 1.5
    assert decode(200, error("api_error"), retry_after="7").retry_after is None
    assert decode(500, error("api_error"), x_should_retry="false").retryable is False
    assert decode(500, b"", request_id="req_9").request_id == "req_9"


@pytest.mark.quirk(38)
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (error("overloaded_error"), FailureKind.OVERLOADED),
        ({"error": {"message": "no"}}, FailureKind.SERVER),
        ({"error": "no"}, FailureKind.SERVER),
        (b'{"type":"error","error":{"type":"rate_limit_error","message":"no"}}', FailureKind.RATE_LIMIT),
    ],
)
def test_an_error_inside_a_success_is_found(body, kind):
    failure = anthropic_messages.failure_in(body)

    assert failure is not None
    assert (failure.kind, failure.message) == (kind, "no")
    assert failure.status >= 400


@pytest.mark.parametrize("body", [{"type": "message", "content": [], "error": None}, {"content": []}, b"<html>", b"[]"])
def test_no_error_is_found_where_none_is(body):
    assert anthropic_messages.failure_in(body) is None
