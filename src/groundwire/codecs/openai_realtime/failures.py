"""Errors of OpenAI Realtime: an event that mostly leaves the session alive, or the status of a failed response."""

from groundwire.codecs.wire.failures import STATUS_OF, is_context_full, value_text
from groundwire.codecs.wire.openai import ERROR_CODES, ERROR_TYPES
from groundwire.codecs.wire.reading import text_or_none
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.failures import Failure, FailureKind

_CODES = {
    **ERROR_CODES,
    "conversation_already_has_active_response": FailureKind.CONFLICT,
    "session_expired": FailureKind.TIMEOUT,
}
_TYPES = {
    **ERROR_TYPES,
    "not_found_error": FailureKind.NOT_FOUND,
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
    code, kind, message = (
        text_or_none(error.get("code")),
        text_or_none(error.get("type")),
        text_or_none(error.get("message")),
    )
    named = _CODES.get(code or "") or _TYPES.get(kind or "") or FailureKind.SERVER
    if message and is_context_full(message):
        named = FailureKind.CONTEXT_FULL
    return Failure(
        kind=named,
        message=message or "The server reported an error without a message.",
        status=STATUS_OF[named],
        code=code,
        type=kind,
        param=text_or_none(error.get("param")),
        body=value_text(error),
    )


def write_error(failure: Failure) -> JsonObject:
    default = "invalid_request_error" if failure.kind in _CLIENTS else "server_error"
    return {
        "type": _TYPE_OF.get(failure.kind, default),
        "code": failure.code or failure.kind.value,
        "message": failure.message,
        "param": failure.param,
    }
