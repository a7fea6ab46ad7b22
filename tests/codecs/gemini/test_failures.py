import json

import pytest

from groundwire.codecs import gemini
from groundwire.contracts.failures import Failure, FailureKind

RPC = "type.googleapis.com/google.rpc."


def failed(status, error, headers=None):
    return gemini.decode_error(status, json.dumps({"error": error}).encode(), headers or {})


@pytest.mark.parametrize(
    ("status", "word", "kind"),
    [
        (400, "INVALID_ARGUMENT", FailureKind.INVALID_REQUEST),
        (400, "FAILED_PRECONDITION", FailureKind.INVALID_REQUEST),
        (401, "UNAUTHENTICATED", FailureKind.AUTHENTICATION),
        (403, "PERMISSION_DENIED", FailureKind.PERMISSION),
        (404, "NOT_FOUND", FailureKind.NOT_FOUND),
        (409, "ABORTED", FailureKind.CONFLICT),
        (429, "RESOURCE_EXHAUSTED", FailureKind.RATE_LIMIT),
        (499, "CANCELLED", FailureKind.CANCELLED),
        (500, "INTERNAL", FailureKind.SERVER),
        (503, "UNAVAILABLE", FailureKind.OVERLOADED),
        (504, "DEADLINE_EXCEEDED", FailureKind.TIMEOUT),
        (418, "NEW_WORD", FailureKind.INVALID_REQUEST),
    ],
)
def test_every_status_has_a_kind_and_comes_back(status, word, kind):
    failure = failed(status, {"code": status, "message": "m", "status": word})

    assert (failure.kind, failure.message, failure.status, failure.type) == (kind, "m", status, word)
    if word != "NEW_WORD":
        assert gemini.encode_error(failure) == (status, {"error": {"code": status, "message": "m", "status": word}})


@pytest.mark.quirk(82)
def test_the_wait_is_read_from_the_body_and_written_there():
    failure = failed(
        429,
        {
            "code": 429,
            "message": "slow down",
            "status": "RESOURCE_EXHAUSTED",
            "details": [
                {"@type": f"{RPC}QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerMinutePerProject"}]},
                {"@type": f"{RPC}RetryInfo", "retryDelay": "34.4s"},
            ],
        },
    )

    assert (failure.kind, failure.retry_after, failure.retryable) == (FailureKind.RATE_LIMIT, 34.4, True)
    assert gemini.encode_error(failure)[1]["error"]["details"] == [{"@type": f"{RPC}RetryInfo", "retryDelay": "34.4s"}]


def test_a_quota_of_the_day_is_not_worth_a_retry():
    details = [{"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]

    failure = failed(429, {"message": "m", "status": "RESOURCE_EXHAUSTED", "details": details})

    assert (failure.kind, failure.retryable) == (FailureKind.QUOTA, False)


def test_a_bad_key_is_an_authentication_error_although_google_calls_it_an_argument():
    details = [{"@type": f"{RPC}ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}]

    failure = failed(
        400, {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT", "details": details}
    )

    assert (failure.kind, failure.code) == (FailureKind.AUTHENTICATION, "API_KEY_INVALID")
    assert gemini.encode_error(failure)[0] == 400


def test_a_full_context_and_a_named_field_are_recognised():
    full = failed(
        400,
        {
            "message": "The input token count (9) exceeds the maximum number of tokens allowed (8).",
            "status": "INVALID_ARGUMENT",
        },
    )
    field = failed(
        400, {"message": "m", "details": [{"fieldViolations": [{"field": "contents[0]", "description": "d"}]}]}
    )

    assert full.kind is FailureKind.CONTEXT_FULL
    assert field.param == "contents[0]"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'[{"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}]', "busy"),
        (b"<html>Bad Gateway</html>", "<html>Bad Gateway</html>"),
        (b"", "HTTP 503 without a message"),
        (b'{"error": "text"}', "text"),
        (b'{"error": {"message": 5, "details": {}, "status": 7}}', "HTTP 503 without a message"),
        (b"\xff\xfe", "\ufffd\ufffd"),
    ],
)
def test_any_body_of_an_error_is_read(body, message):
    failure = gemini.decode_error(503, body, {"retry-after": "2", "x-should-retry": "false"})

    assert (failure.kind, failure.message, failure.status) == (FailureKind.OVERLOADED, message, 503)
    assert (failure.retry_after, failure.should_retry) == (2.0, False)


@pytest.mark.quirk(38)
def test_an_error_in_a_successful_body_is_found():
    error = {"error": {"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED"}}

    found = gemini.failure_in(json.dumps(error).encode())
    assert found is not None
    assert (found.kind, found.status) == (FailureKind.RATE_LIMIT, 429)
    assert gemini.failure_in(error).kind is FailureKind.RATE_LIMIT
    assert gemini.failure_in(json.dumps([error]).encode()).kind is FailureKind.RATE_LIMIT
    assert gemini.failure_in(b'{"error": {"message": "m"}}').status == 500


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b'{"candidates": []}', b'{"candidates": [], "error": {}}', b'{"x": "\\"error\\""}', {}]
)
def test_a_body_without_an_error_has_no_failure(body):
    assert gemini.failure_in(body) is None


@pytest.mark.parametrize("kind", FailureKind)
def test_every_kind_has_a_status_and_a_word(kind):
    status, body = gemini.encode_error(Failure(kind=kind, message="m", code="c", param="p", retry_after=1.5))

    error = body["error"]
    assert 400 <= status <= 599
    assert (error["code"], error["message"]) == (status, "m")
    assert error["status"].isupper()
    assert error["details"][0] == {"@type": f"{RPC}ErrorInfo", "reason": "c"}
    assert error["details"][1]["fieldViolations"] == [{"field": "p"}]
    assert error["details"][2]["retryDelay"] == "1.5s"
