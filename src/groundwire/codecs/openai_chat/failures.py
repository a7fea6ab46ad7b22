"""Errors of Chat servers, in all the bodies that compatible servers and proxies send, and our errors as OpenAI's.

Never raises: whatever comes is at least a failure with its status and its text.
"""

from collections.abc import Mapping
from typing import Any

from groundwire.codecs.wire.failures import (
    STATUS_OF,
    body_text,
    failure_from_http,
    failure_from_object,
    failure_from_success,
    is_context_full,
    kind_of_status,
    value_text,
)
from groundwire.codecs.wire.openai import ERROR_CODES, ERROR_TYPES
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.failures import Failure, FailureKind

_BY_CODE = {
    **ERROR_CODES,
    "request_timeout": FailureKind.TIMEOUT,
}
_BY_TYPE = {
    **ERROR_TYPES,
    "permission_denied": FailureKind.PERMISSION,
    "billing_error": FailureKind.BILLING,
    "rate_limit_exceeded": FailureKind.RATE_LIMIT,
    "not_found_error": FailureKind.NOT_FOUND,
    "service_unavailable": FailureKind.OVERLOADED,
    "timeout_error": FailureKind.TIMEOUT,
    "timeout": FailureKind.TIMEOUT,
    "api_error": FailureKind.SERVER,
    "internal_error": FailureKind.SERVER,
}
_ANY_STATUS = frozenset({FailureKind.MALFORMED_CALL, FailureKind.CONTENT_FILTER, FailureKind.CONTEXT_FULL})
_WORDS: dict[FailureKind, tuple[str, str | None]] = {
    FailureKind.INVALID_REQUEST: ("invalid_request_error", None),
    FailureKind.AUTHENTICATION: ("invalid_request_error", "invalid_api_key"),
    FailureKind.BILLING: ("insufficient_quota", "insufficient_quota"),
    FailureKind.PERMISSION: ("permission_error", None),
    FailureKind.NOT_FOUND: ("invalid_request_error", "model_not_found"),
    FailureKind.CONFLICT: ("invalid_request_error", "conflict"),
    FailureKind.TOO_LARGE: ("invalid_request_error", "request_too_large"),
    FailureKind.CONTEXT_FULL: ("invalid_request_error", "context_length_exceeded"),
    FailureKind.CONTENT_FILTER: ("invalid_request_error", "content_filter"),
    FailureKind.MALFORMED_CALL: ("server_error", "malformed_call"),
    FailureKind.RATE_LIMIT: ("rate_limit_error", "rate_limit_exceeded"),
    FailureKind.QUOTA: ("insufficient_quota", "insufficient_quota"),
    FailureKind.CANCELLED: ("invalid_request_error", "cancelled"),
    FailureKind.TIMEOUT: ("server_error", "timeout"),
    FailureKind.OVERLOADED: ("server_error", "overloaded"),
    FailureKind.SERVER: ("server_error", None),
    FailureKind.BAD_RESPONSE: ("server_error", "bad_upstream_response"),
}
_MAX_MESSAGE = 2000


def decode_error(status: int, body: bytes, headers: Mapping[str, str]) -> Failure:
    return failure_from_http(status, body, headers, _read)


def failure_in(body: bytes | JsonObject) -> Failure | None:
    """The error that a server sent with status 200, if the body is one. A page of HTML counts; a reply does not."""
    if isinstance(body, bytes) and body.lstrip()[:1] == b"<":
        message = "The server answered with a page instead of JSON."
        return Failure(kind=FailureKind.BAD_RESPONSE, message=message, status=502, body=body_text(body))
    return failure_from_success(body, _error_in, _read)


def read_error(event: JsonObject) -> Failure:
    return failure_from_object(event, _read)


def _error_in(body: JsonObject) -> JsonObject | None:
    is_error = bool(body.get("error")) or body.get("object") == "error"
    return body if is_error and not body.get("choices") else None


def _read(value: JsonValue, status: int | None, text: str) -> Failure:
    error = _error_object(value)
    if status is None:  # some write it into the error; where nobody did, the words decide
        status = next((error[name] for name in ("status_code", "code", "status") if _is_status(error.get(name))), 0)
    code, kind_word = _word(error.get("code")), _word(error.get("type"))
    message = _message(error, value) or text.strip()[:_MAX_MESSAGE] or f"The server answered with status {status}."
    kind = _kind(error, code, kind_word, message, status)
    detail = error.get("failed_generation")
    if detail is None:
        metadata = error.get("metadata")
        detail = metadata.get("raw") if isinstance(metadata, dict) else None
    return Failure(
        kind=kind,
        message=message,
        status=status or STATUS_OF[kind],
        code=code,
        type=kind_word,
        param=_word(error.get("param")),
        detail=detail if detail is None or isinstance(detail, str) else value_text(detail),
        body=text,
    )


def _is_status(value: Any) -> bool:
    return type(value) is int and 400 <= value < 600


def _error_object(value: JsonValue) -> dict[str, Any]:
    """OpenAI nests the error; Mistral, FastAPI servers, Bedrock and others put its members at the top."""
    if not isinstance(value, dict):
        return {}
    inner = value.get("error")
    if isinstance(inner, dict):
        return inner
    if isinstance(inner, str):
        return {**value, "message": value.get("message") or inner}
    return value


def _message(error: JsonObject, value: JsonValue) -> str:
    for name in ("message", "detail", "Message", "error_description", "msg"):
        told = error.get(name)
        if isinstance(told, str) and told:
            return told[:_MAX_MESSAGE]
        if isinstance(told, (dict, list)) and told:
            return value_text(told)[:_MAX_MESSAGE]
    return value[:_MAX_MESSAGE] if isinstance(value, str) else ""


def _kind(error: JsonObject, code: str | None, kind_word: str | None, message: str, status: int) -> FailureKind:
    kind = _BY_CODE.get(code or "") or (_BY_CODE.get(kind_word or "") if status in (0, 400, 402, 429) else None)
    if kind in _ANY_STATUS or kind is FailureKind.QUOTA:
        return kind
    inner = error.get("innererror")
    if isinstance(inner, dict) and "content_filter_result" in inner:
        return FailureKind.CONTENT_FILTER
    if status in (0, 400, 413, 422) and is_context_full(message):
        return FailureKind.CONTEXT_FULL
    if kind is not None and status in (0, 400, 401, 404):
        return kind
    if status:
        return kind_of_status(status)
    return _BY_TYPE.get(kind_word or "") or FailureKind.SERVER


def _word(value: Any) -> str | None:
    if isinstance(value, str):
        return value or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def encode_error(failure: Failure) -> tuple[int, JsonObject]:
    """Status and body for a client. An overload that only Anthropic has a status for becomes 503."""
    kind_word, code = _WORDS[failure.kind]
    is_own = failure.status >= 300 and kind_of_status(failure.status) is failure.kind
    status = failure.status if is_own else STATUS_OF[failure.kind]
    error: JsonObject = {
        "message": failure.message,
        "type": kind_word,
        "param": failure.param,
        "code": failure.code or code,
    }
    if failure.kind is FailureKind.MALFORMED_CALL and failure.detail is not None:
        error["failed_generation"] = failure.detail
    return (503 if status == 529 else status), {"error": error}
