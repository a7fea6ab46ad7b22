"""Google's errors as a Failure and back. The wait before a retry stands in the body, not in a header."""

from collections.abc import Mapping
from typing import Any

from groundwire.codecs.wire.failures import (
    STATUS_OF,
    failure_from_http,
    failure_from_success,
    is_context_full,
    kind_of_status,
    read_duration,
    status_of,
    value_text,
)
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.failures import Failure, FailureKind

_KINDS = {
    "INVALID_ARGUMENT": FailureKind.INVALID_REQUEST,
    "FAILED_PRECONDITION": FailureKind.INVALID_REQUEST,
    "OUT_OF_RANGE": FailureKind.INVALID_REQUEST,
    "UNIMPLEMENTED": FailureKind.INVALID_REQUEST,
    "UNAUTHENTICATED": FailureKind.AUTHENTICATION,
    "PERMISSION_DENIED": FailureKind.PERMISSION,
    "NOT_FOUND": FailureKind.NOT_FOUND,
    "ALREADY_EXISTS": FailureKind.CONFLICT,
    "ABORTED": FailureKind.CONFLICT,
    "RESOURCE_EXHAUSTED": FailureKind.RATE_LIMIT,
    "CANCELLED": FailureKind.CANCELLED,
    "INTERNAL": FailureKind.SERVER,
    "UNKNOWN": FailureKind.SERVER,
    "DATA_LOSS": FailureKind.SERVER,
    "UNAVAILABLE": FailureKind.OVERLOADED,
    "DEADLINE_EXCEEDED": FailureKind.TIMEOUT,
}
_WORDS = {
    FailureKind.INVALID_REQUEST: "INVALID_ARGUMENT",
    FailureKind.AUTHENTICATION: "UNAUTHENTICATED",
    FailureKind.BILLING: "PERMISSION_DENIED",
    FailureKind.PERMISSION: "PERMISSION_DENIED",
    FailureKind.NOT_FOUND: "NOT_FOUND",
    FailureKind.CONFLICT: "ABORTED",
    FailureKind.TOO_LARGE: "INVALID_ARGUMENT",
    FailureKind.CONTEXT_FULL: "INVALID_ARGUMENT",
    FailureKind.CONTENT_FILTER: "INVALID_ARGUMENT",
    FailureKind.MALFORMED_CALL: "INTERNAL",
    FailureKind.RATE_LIMIT: "RESOURCE_EXHAUSTED",
    FailureKind.QUOTA: "RESOURCE_EXHAUSTED",
    FailureKind.CANCELLED: "CANCELLED",
    FailureKind.TIMEOUT: "DEADLINE_EXCEEDED",
    FailureKind.OVERLOADED: "UNAVAILABLE",
    FailureKind.SERVER: "INTERNAL",
    FailureKind.BAD_RESPONSE: "INTERNAL",
}
_TYPE = "type.googleapis.com/google.rpc."
_BAD_KEYS = frozenset({"API_KEY_INVALID", "API_KEY_EXPIRED", "ACCESS_TOKEN_EXPIRED", "CREDENTIALS_MISSING"})


def decode_error(status: int, body: bytes, headers: Mapping[str, str]) -> Failure:
    return failure_from_http(status, body, headers, _read)


def failure_in(body: bytes | JsonObject) -> Failure | None:
    """An error that came with the status of a success, or in a stream; None for anything else."""
    return failure_from_success(body, _error_in, _read)


def _error_in(body: JsonObject) -> JsonObject | None:
    return body if body.get("error") is not None and "candidates" not in body else None


def _read(value: JsonValue, status: int | None, text: str) -> Failure:
    error, message = _told(value, text)
    code, word = error.get("code"), error.get("status")
    if status is None or not 400 <= status <= 599:
        status = code if isinstance(code, int) and 400 <= code <= 599 else _status_of(word)
    word = word if isinstance(word, str) else None
    message = message or f"HTTP {status} without a message"
    details = [detail for detail in _list(error.get("details")) if isinstance(detail, dict)]
    reason = _first_text(details, "reason")
    delays = [read_duration(detail.get("retryDelay")) for detail in details]
    return Failure(
        kind=_kind(status, word, message, reason, details),
        message=message,
        status=status,
        code=reason,
        type=word,
        param=_param(details),
        retry_after=next((delay for delay in delays if delay is not None), None),
        request_id=_first_text(details, "requestId"),
        body=text,
    )


def _told(value: JsonValue, text: str) -> tuple[dict[str, Any], str]:
    """The error object and its message; a body that has none, such as a page of HTML, is a message itself."""
    error = value.get("error") if isinstance(value, dict) else None
    if error is None:
        return {}, text.strip()[:500]
    if isinstance(error, dict):
        message = error.get("message")
        return error, message if isinstance(message, str) else ""
    return {}, error if isinstance(error, str) else value_text(error)


def encode_error(failure: Failure) -> tuple[int, JsonObject]:
    """Status and body; an error that came from Google goes out as it was."""
    own = failure.type in _KINDS
    status = failure.status if own and 400 <= failure.status <= 599 else status_of(failure)
    word = failure.type if own else _WORDS[failure.kind]
    if failure.kind is FailureKind.BILLING and not own:
        status = 403  # Google's errors know no 402
    error: JsonObject = {"code": status, "message": failure.message, "status": word}
    details: list[JsonValue] = []
    if failure.code:
        info: JsonObject = {"@type": f"{_TYPE}ErrorInfo", "reason": failure.code}
        details.append({**info, "domain": "googleapis.com"} if own else info)
    if failure.param:
        details.append({"@type": f"{_TYPE}BadRequest", "fieldViolations": [{"field": failure.param}]})
    if failure.retry_after is not None:
        details.append({"@type": f"{_TYPE}RetryInfo", "retryDelay": f"{failure.retry_after:g}s"})
    if details:
        error["details"] = details
    return status, {"error": error}


def _kind(
    status: int, word: str | None, message: str, reason: str | None, details: list[dict[str, Any]]
) -> FailureKind:
    if reason in _BAD_KEYS or message.startswith(("API key not valid", "API key expired")):
        return FailureKind.AUTHENTICATION
    kind = _KINDS.get(word or "") or kind_of_status(status)
    if kind is FailureKind.INVALID_REQUEST and is_context_full(message):
        return FailureKind.CONTEXT_FULL
    if kind is FailureKind.RATE_LIMIT and _is_daily(details):
        return FailureKind.QUOTA
    return kind


def _is_daily(details: list[dict[str, Any]]) -> bool:
    """A quota of the day is not there again after the seconds that Google asks to wait."""
    violations = [entry for detail in details for entry in _list(detail.get("violations")) if isinstance(entry, dict)]
    return any("PerDay" in str(entry.get("quotaId", "")) for entry in violations)


def _param(details: list[dict[str, Any]]) -> str | None:
    violations = [entry for detail in details for entry in _list(detail.get("fieldViolations"))]
    return _first_text([entry for entry in violations if isinstance(entry, dict)], "field")


def _status_of(word: Any) -> int:
    kind = _KINDS.get(word) if isinstance(word, str) else None
    return 500 if kind is None else STATUS_OF[kind]


def _first_text(entries: list[dict[str, Any]], key: str) -> str | None:
    return next((entry[key] for entry in entries if isinstance(entry.get(key), str) and entry[key]), None)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
