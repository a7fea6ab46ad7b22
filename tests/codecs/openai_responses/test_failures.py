import json

import pytest

from groundwire.codecs.openai_responses import decode_error, encode_error, failure_in
from groundwire.codecs.wire.failures import STATUS_OF
from groundwire.contracts.failures import Failure, FailureKind


def error(**members):
    return json.dumps({"error": {"message": "m", **members}}).encode()


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, error(type="invalid_request_error"), FailureKind.INVALID_REQUEST),
        (400, error(type="invalid_request_error", code="model_not_found"), FailureKind.NOT_FOUND),
        (400, error(code="context_length_exceeded"), FailureKind.CONTEXT_FULL),
        (400, b'{"error":{"message":"maximum context length is 10"}}', FailureKind.CONTEXT_FULL),
        (400, error(code="content_filter"), FailureKind.CONTENT_FILTER),
        (400, error(type="rate_limit_error"), FailureKind.RATE_LIMIT),
        (401, error(code="invalid_api_key"), FailureKind.AUTHENTICATION),
        (401, b"", FailureKind.AUTHENTICATION),
        (403, error(), FailureKind.PERMISSION),
        (404, error(), FailureKind.NOT_FOUND),
        (409, error(), FailureKind.CONFLICT),
        (413, error(), FailureKind.TOO_LARGE),
        (422, b'{"detail":[{"loc":["body"],"msg":"bad"}]}', FailureKind.INVALID_REQUEST),
        (429, error(code="rate_limit_exceeded", type="tokens"), FailureKind.RATE_LIMIT),
        (429, error(code="insufficient_quota", type="insufficient_quota"), FailureKind.QUOTA),
        (500, error(type="server_error"), FailureKind.SERVER),
        (503, b"<html>overloaded</html>", FailureKind.OVERLOADED),
        (504, b"upstream timeout", FailureKind.TIMEOUT),
        (418, b"null", FailureKind.INVALID_REQUEST),
    ],
)
def test_every_error_has_a_kind(status, body, kind):
    failure = decode_error(status, body, {})
    assert (failure.kind, failure.status) == (kind, status)
    assert failure.message


@pytest.mark.quirk(75)
def test_a_filter_of_azure_is_no_fault_of_the_client():
    failure = decode_error(400, error(innererror={"content_filter_result": {"hate": {"filtered": True}}}), {})
    assert failure.kind is FailureKind.CONTENT_FILTER
    assert "hate" in failure.detail


@pytest.mark.quirk(48)
def test_a_call_that_a_server_refused_is_kept_for_the_model():
    failure = decode_error(400, error(code="tool_use_failed", failed_generation="<f>"), {})
    assert (failure.kind, failure.detail) == (FailureKind.MALFORMED_CALL, "<f>")


@pytest.mark.quirk(76)
def test_a_number_as_code_is_a_status():
    failure = decode_error(400, error(code=429, metadata={"raw": "slow down"}), {})
    assert (failure.kind, failure.code) == (FailureKind.RATE_LIMIT, "429")
    assert "slow down" in failure.detail


def test_the_words_of_the_provider_and_its_hints_are_kept():
    headers = {"retry-after-ms": "1500", "retry-after": "9", "x-should-retry": "true", "x-request-id": "req_1"}
    failure = decode_error(429, error(type="t", code="c", param="p"), headers)
    assert (failure.type, failure.code, failure.param, failure.message) == ("t", "c", "p", "m")
    assert (failure.retry_after, failure.should_retry, failure.request_id) == (1.5, True, "req_1")
    assert json.loads(failure.body)["error"]["param"] == "p"


@pytest.mark.quirk(81)
def test_a_success_asks_for_no_delay():
    assert decode_error(200, b"", {"retry-after": "3"}).retry_after is None


@pytest.mark.quirk(38)
@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        ({"status": "failed", "output": [], "error": {"code": "server_error", "message": "m"}}, FailureKind.SERVER, 500),
        ({"status": "failed", "output": [], "error": {"code": "rate_limit_exceeded", "message": "m"}}, FailureKind.RATE_LIMIT, 429),
        ({"status": "failed", "output": [], "error": {"code": "invalid_prompt", "message": "m"}}, FailureKind.CONTENT_FILTER, 400),
        ({"status": "failed", "output": [], "error": {"code": "vector_store_timeout", "message": "m"}}, FailureKind.TIMEOUT, 504),
        ({"status": "failed", "output": [], "error": {"code": "image_too_small", "message": "m"}}, FailureKind.INVALID_REQUEST, 400),
        ({"status": "failed", "output": [], "error": None}, FailureKind.SERVER, 500),
        ({"error": {"code": 429, "message": "m"}}, FailureKind.RATE_LIMIT, 429),
        ({"error": "went wrong"}, FailureKind.SERVER, 500),
    ],
)  # fmt: skip
def test_an_error_that_came_with_success_is_found(body, kind, status):
    failure = failure_in(json.dumps(body).encode())
    assert (failure.kind, failure.status) == (kind, status)
    assert failure.message


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b"{}",
        b'{"status":"completed","output":[],"error":null}',
        b'{"status":"incomplete","output":[]}',
    ],
)
def test_no_error_is_found_where_there_is_none(body):
    assert failure_in(body) is None


@pytest.mark.parametrize("kind", list(FailureKind))
def test_every_kind_has_a_status_and_words(kind):
    status, body = encode_error(Failure(kind=kind, message="m", code=None))
    assert status == STATUS_OF[kind]
    assert body["error"].keys() == {"message", "type", "param", "code"}
    assert body["error"]["message"] == "m"


@pytest.mark.parametrize(
    ("status", "kind", "sent"),
    [(529, FailureKind.OVERLOADED, 503), (408, FailureKind.TIMEOUT, 408), (500, FailureKind.INVALID_REQUEST, 400)],
)
def test_a_status_is_kept_if_it_means_the_same_here(status, kind, sent):
    assert encode_error(Failure(kind=kind, message="m", status=status))[0] == sent


def test_an_error_of_this_dialect_comes_back():
    body = error(type="invalid_request_error", param="input", code="string_above_max_length")
    assert encode_error(decode_error(400, body, {})) == (400, json.loads(body))
