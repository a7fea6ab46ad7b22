"""Errors of OpenAI Responses: as an HTTP body, inside a body that came with 200, and as what a client is told."""

from collections.abc import Mapping

from groundwire.codecs.wire.failures import (
    STATUS_OF,
    failure_from_http,
    failure_from_object,
    failure_from_success,
    is_context_full,
    kind_of_status,
    value_text,
)
from groundwire.codecs.wire.openai import ERROR_CODES, ERROR_TYPES
from groundwire.codecs.wire.reading import text_or_none
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.failures import Failure, FailureKind

_BY_CODE = {
    **ERROR_CODES,
    "previous_response_not_found": FailureKind.NOT_FOUND,
    "image_content_policy_violation": FailureKind.CONTENT_FILTER,
    "invalid_prompt": FailureKind.CONTENT_FILTER,
    "bio_policy": FailureKind.CONTENT_FILTER,
    "misalignment_policy_violation": FailureKind.CONTENT_FILTER,
    "data_residency_mismatch": FailureKind.PERMISSION,
    "unsupported_country_region_territory": FailureKind.PERMISSION,
    "vector_store_timeout": FailureKind.TIMEOUT,
    "overloaded": FailureKind.OVERLOADED,
    "server_is_overloaded": FailureKind.OVERLOADED,
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


def decode_error(status: int, body: bytes, headers: Mapping[str, str]) -> Failure:
    return failure_from_http(status, body, headers, _read)


def failure_in(body: bytes | JsonObject) -> Failure | None:
    """An error that was reported with HTTP 200: a response that failed, or an error object instead of one."""
    return failure_from_success(body, _error_in, _read)


def read_error(error: JsonValue) -> Failure:
    """The failure that the error of a response or of a stream describes."""
    return failure_from_object({"error": error}, _read)


def _error_in(body: JsonObject) -> JsonObject | None:
    error = body.get("error")
    is_error = body.get("status") == "failed" or (error and not isinstance(body.get("output"), list))
    return {"error": error} if is_error else None


def _read(value: JsonValue, status: int | None, text: str) -> Failure:
    error = value.get("error") if isinstance(value, dict) else None
    source = error if isinstance(error, dict) else value if isinstance(value, dict) else {}
    message = next((words for key in ("message", "detail", "error", "msg") if (words := _words(source.get(key)))), "")
    if not message and not isinstance(value, dict):
        message = text.strip()[:500]
    raw_code = source.get("code")
    code = str(raw_code) if isinstance(raw_code, (str, int)) and not isinstance(raw_code, bool) else None
    error_type = text_or_none(source.get("type"))
    kind = _kind_of(code, error_type, message, 500 if status is None else status, source)
    status_words = "The response failed." if status is None else f"The provider answered with status {status}."
    return Failure(
        kind=kind,
        message=message or status_words,
        status=STATUS_OF[kind] if status is None else status,
        code=code or None,
        type=error_type,
        param=text_or_none(source.get("param")),
        detail=_detail_of(source),
        body=text,
    )


def _words(value: JsonValue) -> str:
    if isinstance(value, str):
        return value
    return value_text(value) if isinstance(value, (dict, list)) and value else ""


def _detail_of(source: JsonObject) -> str | None:
    """What the model wrote, where a server refused it; what another provider said, behind a router."""
    for key in ("failed_generation", "metadata", "innererror"):
        found = source.get(key)
        if found:
            return found if isinstance(found, str) else value_text(found)
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
    if error_type in ERROR_TYPES and status in (200, 400, 500):
        return ERROR_TYPES[error_type]
    if code is not None and (code.startswith(("invalid_", "image_", "unsupported_", "empty_")) and status == 500):
        return FailureKind.INVALID_REQUEST
    return kind_of_status(status)


def encode_error(failure: Failure) -> tuple[int, JsonObject]:
    """The status and the body that a client of this dialect expects."""
    is_own = failure.status >= 300 and kind_of_status(failure.status) is failure.kind
    status = failure.status if is_own else STATUS_OF[failure.kind]
    return 503 if status == 529 else status, {"error": write_error(failure)}


def write_error(failure: Failure) -> JsonObject:
    words, code = _WORDS.get(failure.kind, ("server_error", "server_error"))
    return {
        "message": failure.message,
        "type": failure.type if failure.type in ERROR_TYPES else words,
        "param": failure.param,
        "code": failure.code or code,
    }
