"""Errors of OpenAI Realtime: an event that mostly leaves the session alive, or the status of a failed response."""

from typing import Any

from groundwire.codecs.wire.failures import STATUS_OF, is_context_full
from groundwire.codecs.wire.json import dump_text
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.replies import Failure, FailureKind

_CODES = {
    "conversation_already_has_active_response": FailureKind.CONFLICT,
    "context_length_exceeded": FailureKind.CONTEXT_FULL,
    "insufficient_quota": FailureKind.QUOTA,
    "invalid_api_key": FailureKind.AUTHENTICATION,
    "model_not_found": FailureKind.NOT_FOUND,
    "rate_limit_exceeded": FailureKind.RATE_LIMIT,
    "session_expired": FailureKind.TIMEOUT,
}
_TYPES = {
    "authentication_error": FailureKind.AUTHENTICATION,
    "insufficient_quota": FailureKind.QUOTA,
    "invalid_request_error": FailureKind.INVALID_REQUEST,
    "not_found_error": FailureKind.NOT_FOUND,
    "permission_error": FailureKind.PERMISSION,
    "rate_limit_error": FailureKind.RATE_LIMIT,
    "server_error": FailureKind.SERVER,
}
_TYPE_OF = {
    FailureKind.AUTHENTICATION: "authentication_error",
    FailureKind.PERMISSION: "permission_error",
    FailureKind.NOT_FOUND: "not_found_error",
    FailureKind.RATE_LIMIT: "rate_limit_error",
    FailureKind.QUOTA: "insufficient_quota",
}
_CLIENTS = frozenset({
    FailureKind.INVALID_REQUEST, FailureKind.CONFLICT, FailureKind.TOO_LARGE, FailureKind.CONTEXT_FULL,
    FailureKind.CONTENT_FILTER, FailureKind.BILLING, FailureKind.CANCELLED,
})  # fmt: skip


def read_error(error: JsonObject) -> Failure:
    """Whatever stands under `error`: the code tells more than the type."""
    code, kind, message = _text(error.get("code")), _text(error.get("type")), _text(error.get("message"))
    named = _CODES.get(code or "") or _TYPES.get(kind or "") or FailureKind.SERVER
    if message and is_context_full(message):
        named = FailureKind.CONTEXT_FULL
    return Failure(
        kind=named,
        message=message or "The server reported an error without a message.",
        status=STATUS_OF[named],
        code=code,
        type=kind,
        param=_text(error.get("param")),
        body=dump_text(error),
    )


def write_error(failure: Failure) -> JsonObject:
    default = "invalid_request_error" if failure.kind in _CLIENTS else "server_error"
    return {
        "type": _TYPE_OF.get(failure.kind, default),
        "code": failure.code or failure.kind.value,
        "message": failure.message,
        "param": failure.param,
    }


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
