"""Errors of OpenAI Responses: as an HTTP body, inside a body that came with 200, and as what a client is told."""

from collections.abc import Mapping

from groundwire.codecs.openai_responses.dialect import text_or_none
from groundwire.codecs.wire.failures import (
    STATUS_OF,
    body_text,
    is_context_full,
    kind_of_status,
    read_body,
    retry_after,
    should_retry,
)
from groundwire.codecs.wire.json import dump_text, read_object
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import WireError
from groundwire.contracts.replies import Failure, FailureKind

_BY_CODE = {
    "insufficient_quota": FailureKind.QUOTA,
    "billing_hard_limit_reached": FailureKind.QUOTA,
    "rate_limit_exceeded": FailureKind.RATE_LIMIT,
    "context_length_exceeded": FailureKind.CONTEXT_FULL,
    "invalid_api_key": FailureKind.AUTHENTICATION,
    "model_not_found": FailureKind.NOT_FOUND,
    "previous_response_not_found": FailureKind.NOT_FOUND,
    "content_filter": FailureKind.CONTENT_FILTER,
    "content_policy_violation": FailureKind.CONTENT_FILTER,
    "image_content_policy_violation": FailureKind.CONTENT_FILTER,
    "invalid_prompt": FailureKind.CONTENT_FILTER,
    "bio_policy": FailureKind.CONTENT_FILTER,
    "misalignment_policy_violation": FailureKind.CONTENT_FILTER,
    "data_residency_mismatch": FailureKind.PERMISSION,
    "unsupported_country_region_territory": FailureKind.PERMISSION,
    "vector_store_timeout": FailureKind.TIMEOUT,
    "tool_use_failed": FailureKind.MALFORMED_CALL,
    "server_error": FailureKind.SERVER,
    "overloaded": FailureKind.OVERLOADED,
    "server_is_overloaded": FailureKind.OVERLOADED,
}
_BY_TYPE = {
    "authentication_error": FailureKind.AUTHENTICATION,
    "permission_error": FailureKind.PERMISSION,
    "insufficient_quota": FailureKind.QUOTA,
    "rate_limit_error": FailureKind.RATE_LIMIT,
    "tokens": FailureKind.RATE_LIMIT,
    "requests": FailureKind.RATE_LIMIT,
    "invalid_request_error": FailureKind.INVALID_REQUEST,
    "server_error": FailureKind.SERVER,
    "overloaded_error": FailureKind.OVERLOADED,
}
_WORDS: dict[FailureKind, tuple[str, str | None]] = {
    FailureKind.AUTHENTICATION: ("authentication_error", "invalid_api_key"),
    FailureKind.BILLING: ("insufficient_quota", "insufficient_quota"),
    FailureKind.QUOTA: ("insufficient_quota", "insufficient_quota"),
    FailureKind.PERMISSION: ("permission_error", None),
    FailureKind.CONTEXT_FULL: ("invalid_request_error", "context_length_exceeded"),
    FailureKind.CONTENT_FILTER: ("invalid_request_error", "content_filter"),
    FailureKind.RATE_LIMIT: ("rate_limit_error", "rate_limit_exceeded"),
    FailureKind.INVALID_REQUEST: ("invalid_request_error", None),
    FailureKind.NOT_FOUND: ("invalid_request_error", "not_found"),
    FailureKind.CONFLICT: ("invalid_request_error", "conflict"),
    FailureKind.TOO_LARGE: ("invalid_request_error", "request_too_large"),
}
_TYPES = frozenset(_BY_TYPE)


def decode_error(status: int, body: bytes, headers: Mapping[str, str]) -> Failure:
    """What an HTTP error says. Never raises: the body may be anything."""
    value = read_body(body)
    if isinstance(value, list) and value:
        value = value[0]
    failure = _read_failure(value, status, body_text(body))
    return Failure(
        kind=failure.kind,
        message=failure.message or f"The provider answered with status {status}.",
        status=status,
        code=failure.code,
        type=failure.type,
        param=failure.param,
        retry_after=retry_after(headers) if status >= 300 else None,
        should_retry=should_retry(headers),
        request_id=headers.get("x-request-id"),
        detail=failure.detail,
        body=failure.body,
    )


def failure_in(body: bytes | JsonObject) -> Failure | None:
    """An error that was reported with HTTP 200: a response that failed, or an error object instead of one."""
    try:
        wire = read_object(body)
    except WireError:
        return None
    error = wire.get("error")
    if wire.get("status") == "failed" or (error and not isinstance(wire.get("output"), list)):
        return failure_of(error)
    return None


def failure_of(error: JsonValue) -> Failure:
    """The failure that an error object of a response or of a stream describes."""
    text = "" if error is None else dump_text(error)
    failure = _read_failure({"error": error} if error else None, 500, text)
    kind = failure.kind
    return Failure(
        kind=kind,
        message=failure.message or "The response failed.",
        status=STATUS_OF[kind],
        code=failure.code,
        type=failure.type,
        param=failure.param,
        detail=failure.detail,
        body=failure.body,
    )


def _read_failure(value: JsonValue, status: int, body: str) -> Failure:
    error = value.get("error") if isinstance(value, dict) else None
    source = error if isinstance(error, dict) else value if isinstance(value, dict) else {}
    message = next((text for key in ("message", "detail", "error", "msg") if (text := _words(source.get(key)))), "")
    if not message and isinstance(error, str):
        message = error
    if not message and not isinstance(value, dict):
        message = body.strip()[:500]
    raw_code = source.get("code")
    code = str(raw_code) if isinstance(raw_code, (str, int)) and not isinstance(raw_code, bool) else None
    error_type = text_or_none(source.get("type"))
    return Failure(
        kind=_kind_of(code, error_type, message, status, source),
        message=message,
        code=code or None,
        type=error_type,
        param=text_or_none(source.get("param")),
        detail=_detail_of(source),
        body=body,
    )


def _words(value: JsonValue) -> str:
    if isinstance(value, str):
        return value
    return dump_text(value) if isinstance(value, (dict, list)) and value else ""


def _detail_of(source: JsonObject) -> str | None:
    """What the model wrote, where a server refused it; what another provider said, behind a router."""
    for key in ("failed_generation", "metadata", "innererror"):
        found = source.get(key)
        if found:
            return found if isinstance(found, str) else dump_text(found)
    return None


def _kind_of(code: str | None, error_type: str | None, message: str, status: int, source: JsonObject) -> FailureKind:
    if code in _BY_CODE and not (code == "server_error" and status > 500):  # then the status says more
        return _BY_CODE[code]
    inner = source.get("innererror")
    if isinstance(inner, dict) and ("content_filter_result" in inner or "content_filter_results" in inner):
        return FailureKind.CONTENT_FILTER
    if code is not None and len(code) == 3 and code.isascii() and code.isdigit() and code[0] in "45":
        status = int(code)
    if is_context_full(message) and status <= 500:
        return FailureKind.CONTEXT_FULL
    if error_type in _BY_TYPE and status in (200, 400, 500):
        return _BY_TYPE[error_type]
    if code is not None and (code.startswith(("invalid_", "image_", "unsupported_", "empty_")) and status == 500):
        return FailureKind.INVALID_REQUEST
    return kind_of_status(status)


def encode_error(failure: Failure) -> tuple[int, JsonObject]:
    """The status and the body that a client of this dialect expects."""
    status = failure.status if kind_of_status(failure.status) is failure.kind else STATUS_OF[failure.kind]
    return 503 if status == 529 else status, {"error": error_object(failure)}


def error_object(failure: Failure) -> JsonObject:
    words, code = _WORDS.get(failure.kind, ("server_error", "server_error"))
    return {
        "message": failure.message,
        "type": failure.type if failure.type in _TYPES else words,
        "param": failure.param,
        "code": failure.code or code,
    }
