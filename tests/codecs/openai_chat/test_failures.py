import json

import pytest

from groundwire.codecs import openai_chat as chat
from groundwire.contracts.failures import Failure, FailureKind

K = FailureKind


def openai(message="m", **members):
    return {"error": {"message": message, **members}}


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, openai(type="invalid_request_error"), K.INVALID_REQUEST),
        (400, openai(code="context_length_exceeded"), K.CONTEXT_FULL),
        (400, openai("This model's maximum context length is 8 tokens"), K.CONTEXT_FULL),
        pytest.param(400, openai(code="tool_use_failed"), K.MALFORMED_CALL, marks=pytest.mark.quirk(48)),
        pytest.param(400, openai(code="content_filter", innererror={}), K.CONTENT_FILTER, marks=pytest.mark.quirk(75)),
        pytest.param(
            400, openai(innererror={"content_filter_result": {}}), K.CONTENT_FILTER, marks=pytest.mark.quirk(75)
        ),
        (400, openai(code="model_not_found"), K.NOT_FOUND),
        (401, openai(code="invalid_api_key"), K.AUTHENTICATION),
        (402, openai(), K.BILLING),
        (403, openai(), K.PERMISSION),
        (404, openai(code="model_not_found"), K.NOT_FOUND),
        (408, openai(), K.TIMEOUT),
        (409, openai(), K.CONFLICT),
        (413, openai(), K.TOO_LARGE),
        (422, {"detail": [{"loc": ["body"], "msg": "x"}]}, K.INVALID_REQUEST),
        (429, openai(code="rate_limit_exceeded", type="requests"), K.RATE_LIMIT),
        (429, openai(code="insufficient_quota"), K.QUOTA),
        (429, openai(type="insufficient_quota"), K.QUOTA),
        pytest.param(429, openai(code=429, metadata={"raw": "upstream"}), K.RATE_LIMIT, marks=pytest.mark.quirk(76)),
        (500, openai(), K.SERVER),
        (502, {}, K.SERVER),
        (503, openai(), K.OVERLOADED),
        (504, openai(), K.TIMEOUT),
        (418, openai(), K.INVALID_REQUEST),
    ],
)
def test_an_error_is_known_by_its_words_and_status(status, body, kind):
    failure = chat.decode_error(status, json.dumps(body).encode(), {})
    assert (failure.kind, failure.status) == (kind, status)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (openai("nested"), "nested"),
        ({"object": "error", "message": "mistral", "type": "x", "code": 3}, "mistral"),
        ({"detail": "fastapi"}, "fastapi"),
        ({"detail": [{"msg": "x"}]}, '[{"msg":"x"}]'),
        ({"message": "bedrock"}, "bedrock"),
        ({"error": "plain"}, "plain"),
        ([openai("wrapped")], "wrapped"),
        ("text", "text"),
    ],
)
def test_the_message_is_found_in_every_body(body, message):
    assert chat.decode_error(500, json.dumps(body).encode(), {}).message == message


@pytest.mark.quirk(38)
@pytest.mark.parametrize("body", [b"", b"<html>Bad gateway</html>", b"\xff\xfe", b"upstream timed out"])
def test_a_body_that_is_no_json_is_still_a_failure(body):
    failure = chat.decode_error(502, body, {})
    assert failure.kind is K.SERVER
    assert failure.message
    assert failure.body == body.decode("utf-8", "replace")


def test_the_headers_tell_when_to_try_again():
    headers = {"retry-after": "3", "retry-after-ms": "1500", "x-should-retry": "false", "x-request-id": "req"}
    failure = chat.decode_error(429, b"{}", headers)
    assert (failure.retry_after, failure.should_retry, failure.request_id) == (1.5, False, "req")
    assert failure.retryable is False


@pytest.mark.quirk(48)
@pytest.mark.quirk(73)
def test_a_failed_generation_is_the_detail():
    body = openai(code="tool_use_failed", failed_generation="<tool>")
    assert chat.decode_error(400, json.dumps(body).encode(), {}).detail == "<tool>"
    assert chat.failure_in({"error": {"code": "tool_use_failed", "failed_generation": {"a": 1}}}).detail == '{"a":1}'


@pytest.mark.quirk(38)
@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (openai(code=402), K.BILLING, 402),
        (openai(code=429), K.RATE_LIMIT, 429),
        (openai(type="overloaded_error"), K.OVERLOADED, 503),
        (openai(), K.SERVER, 500),
        ({"object": "error", "message": "x", "type": "invalid_request_error"}, K.INVALID_REQUEST, 400),
        ({"error": "broken"}, K.SERVER, 500),
    ],
)
def test_an_error_with_status_200_is_found(body, kind, status):
    failure = chat.failure_in(json.dumps(body).encode())
    assert (failure.kind, failure.status) == (kind, status)


@pytest.mark.parametrize("body", [b'{"choices":[{}],"error":null}', b'{"choices":[]}', b"5", b"", b"[]", b"{"])
def test_an_answer_is_no_failure(body):
    assert chat.failure_in(body) is None


def test_a_page_with_status_200_is_a_bad_response():
    assert chat.failure_in(b" <!doctype html>").kind is K.BAD_RESPONSE


@pytest.mark.parametrize(
    ("failure", "status", "type_", "code"),
    [
        (Failure(kind=K.RATE_LIMIT, message="m", status=429), 429, "rate_limit_error", "rate_limit_exceeded"),
        (Failure(kind=K.OVERLOADED, message="m", status=529), 503, "server_error", "overloaded"),
        (
            Failure(kind=K.CONTEXT_FULL, message="m", status=400),
            400,
            "invalid_request_error",
            "context_length_exceeded",
        ),
        (Failure(kind=K.MALFORMED_CALL, message="m", status=400), 502, "server_error", "malformed_call"),
        (Failure(kind=K.SERVER, message="m", status=507), 507, "server_error", None),
        (Failure(kind=K.INVALID_REQUEST, message="m", status=422, code="odd"), 422, "invalid_request_error", "odd"),
    ],
)
def test_a_failure_is_told_in_openais_words(failure, status, type_, code):
    assert chat.encode_error(failure) == (
        status,
        {"error": {"message": "m", "type": type_, "param": None, "code": code}},
    )


@pytest.mark.parametrize("kind", list(K))
def test_every_kind_can_be_told_and_most_are_read_again(kind):
    status, body = chat.encode_error(Failure(kind=kind, message="m"))
    assert 400 <= status < 600
    read = chat.decode_error(status, json.dumps(body).encode(), {})
    told_as = {K.BILLING: K.QUOTA, K.MALFORMED_CALL: K.SERVER, K.BAD_RESPONSE: K.SERVER}
    assert read.kind is told_as.get(kind, kind)
