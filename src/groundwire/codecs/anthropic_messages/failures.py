"""Errors: as HTTP answers, as events of a stream, and as objects where a message was expected."""

from collections.abc import Mapping

from groundwire.codecs.wire.failures import (
    STATUS_OF,
    failure_from_http,
    failure_from_object,
    failure_from_success,
    is_context_full,
    kind_of_status,
    status_of,
)
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.failures import Failure, FailureKind

_KINDS = {
    "invalid_request_error": FailureKind.INVALID_REQUEST,
    "authentication_error": FailureKind.AUTHENTICATION,
    "billing_error": FailureKind.BILLING,
    "permission_error": FailureKind.PERMISSION,
    "not_found_error": FailureKind.NOT_FOUND,
    "conflict_error": FailureKind.CONFLICT,
    "request_too_large": FailureKind.TOO_LARGE,
    "rate_limit_error": FailureKind.RATE_LIMIT,
    "timeout_error": FailureKind.TIMEOUT,
    "api_error": FailureKind.SERVER,
    "overloaded_error": FailureKind.OVERLOADED,
}
_TYPES = {
    **{kind: name for name, kind in _KINDS.items()},
    FailureKind.CONTEXT_FULL: "invalid_request_error",
    FailureKind.CONTENT_FILTER: "invalid_request_error",
    FailureKind.QUOTA: "rate_limit_error",
}
_STATUSES = {FailureKind.OVERLOADED: 529}
_UNPAID = "credit balance is too low"


def decode_error(status: int, body: bytes, headers: Mapping[str, str]) -> Failure:
    return failure_from_http(status, body, headers, _read)


def failure_in(body: bytes | JsonObject) -> Failure | None:
    """The error that a body of HTTP 200 reports instead of a message, as some proxies do."""
    return failure_from_success(body, _error_in, _read)


def read_error(event: JsonObject) -> Failure:
    return failure_from_object(event, _read)


def _error_in(body: JsonObject) -> JsonObject | None:
    is_error = body.get("type") == "error" or (bool(body.get("error")) and "content" not in body)
    return body if is_error else None


def _read(value: JsonValue, status: int | None, text: str) -> Failure:
    source = value if isinstance(value, dict) else {}
    inner = source.get("error")
    error = inner if isinstance(inner, dict) else {}
    kind_name = _string(error.get("type"))
    message = _string(error.get("message")) or _string(inner) or _string(source.get("message"))
    message = message or _string(source.get("detail")) or text[:500].strip() or "The provider gave no reason."
    details = error.get("details")
    kind = _kind(kind_name, status, message)
    return Failure(
        kind=kind,
        message=message,
        status=_STATUSES.get(kind, STATUS_OF[kind]) if status is None else status,
        code=_string(details.get("error_code")) if isinstance(details, dict) else _string(error.get("code")),
        type=kind_name,
        request_id=_string(source.get("request_id")),
        body=text,
    )


def _string(value: JsonValue) -> str | None:
    return value if isinstance(value, str) and value else None


def _kind(name: str | None, status: int | None, message: str) -> FailureKind:
    kind = _KINDS.get(name or "")
    if kind is None:
        kind = FailureKind.SERVER if status is None else kind_of_status(status)
    if kind is FailureKind.INVALID_REQUEST:
        if is_context_full(message):
            return FailureKind.CONTEXT_FULL
        if _UNPAID in message.lower():
            return FailureKind.BILLING
    return kind


def encode_error(failure: Failure) -> tuple[int, JsonObject]:
    """The provider's own words keep their type and status; any other failure gets those of its kind."""
    is_own = failure.type in _KINDS
    name = failure.type if is_own else _TYPES.get(failure.kind, "api_error")
    error: JsonObject = {"type": name, "message": failure.message}
    if is_own and failure.code is not None:
        error["details"] = {"error_code": failure.code}
    body: JsonObject = {"type": "error", "error": error}
    if failure.request_id is not None:
        body["request_id"] = failure.request_id
    usual = _STATUSES.get(failure.kind, status_of(failure))
    return (failure.status if is_own and failure.status >= 400 else usual), body
