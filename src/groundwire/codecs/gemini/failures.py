"""Google's errors as a Failure and back. The wait before a retry stands in the body, not in a header."""

from collections.abc import Mapping
from typing import Any

from groundwire.codecs.wire.failures import (
    STATUS_OF,
    body_text,
    is_context_full,
    kind_of_status,
    read_body,
    read_duration,
    retry_after,
    should_retry,
)
from groundwire.codecs.wire.json import dump_text
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import WireError
from groundwire.contracts.replies import Failure, FailureKind

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
    """Any body, an HTML page included; errors of the unframed stream come wrapped in a list."""
    error = error_in(read_body(body))
    if error is None:
        text = body_text(body).strip()
        return Failure(
            kind=kind_of_status(status),
            message=text[:500] or f"HTTP {status} without a message",
            status=status,
            retry_after=retry_after(headers),
            should_retry=should_retry(headers),
            request_id=headers.get("x-request-id"),
            body=body_text(body),
        )
    return failure_of(error, status=status, headers=headers, body=body_text(body))


def failure_in(body: bytes | JsonObject) -> Failure | None:
    """An error that came with the status of a success; None for anything else, readable or not."""
    if isinstance(body, bytes):
        if b'"error"' not in body:
            return None
        value = read_body(body)
        error = error_in(value) if not (isinstance(value, dict) and "candidates" in value) else None
        return None if error is None else failure_of(error, body=body_text(body))
    error = error_in(body) if "candidates" not in body else None
    return None if error is None else failure_of(error)


def error_in(value: JsonValue) -> dict[str, Any] | None:
    """The error object of a body, wrapped in a list or not."""
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict) or value.get("error") is None:
        return None
    error = value["error"]
    if isinstance(error, dict):
        return error
    return {"message": error if isinstance(error, str) else _dumped(error)}


def failure_of(
    error: dict[str, Any], *, status: int = 0, headers: Mapping[str, str] | None = None, body: str | None = None
) -> Failure:
    """An error object, which may have come in a stream or in a body that claimed success."""
    headers = headers or {}
    code, word = error.get("code"), error.get("status")
    if not 400 <= status <= 599:
        status = code if isinstance(code, int) and 400 <= code <= 599 else _status_of(word)
    word = word if isinstance(word, str) else None
    message = error.get("message")
    message = message if isinstance(message, str) and message else f"HTTP {status} without a message"
    details = [detail for detail in _list(error.get("details")) if isinstance(detail, dict)]
    reason = _first_text(details, "reason")
    delays = [read_duration(detail.get("retryDelay")) for detail in details]
    delay = next((delay for delay in delays if delay is not None), None)
    return Failure(
        kind=_kind(status, word, message, reason, details),
        message=message,
        status=status,
        code=reason,
        type=word,
        param=_param(details),
        retry_after=delay if delay is not None else retry_after(headers),
        should_retry=should_retry(headers),
        request_id=headers.get("x-request-id") or _first_text(details, "requestId"),
        body=_dumped({"error": error}) if body is None else body,
    )


def encode_error(failure: Failure) -> tuple[int, JsonObject]:
    """Status and body; an error that came from Google goes out as it was."""
    own = failure.type in _KINDS
    status = failure.status if own and 400 <= failure.status <= 599 else STATUS_OF[failure.kind]
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


def _dumped(value: Any) -> str:
    try:
        return dump_text(value)
    except WireError:
        return ""
