"""How Gemini Live ends badly: by closing the connection with a code and a sentence, never with a message."""

from groundwire.codecs.wire.failures import STATUS_OF, is_context_full
from groundwire.contracts.failures import Failure, FailureKind

_KINDS = {
    1000: FailureKind.CANCELLED,
    1001: FailureKind.OVERLOADED,
    1006: FailureKind.SERVER,
    1007: FailureKind.INVALID_REQUEST,
    1008: FailureKind.PERMISSION,
    1009: FailureKind.TOO_LARGE,
    1011: FailureKind.SERVER,
    1012: FailureKind.OVERLOADED,
    1013: FailureKind.OVERLOADED,
}
# 1008 stands for many refusals; only the sentence tells them apart.
_WORDS = (
    ("quota", FailureKind.QUOTA),
    ("billing", FailureKind.BILLING),
    ("api key", FailureKind.AUTHENTICATION),
    ("authentication", FailureKind.AUTHENTICATION),
    ("not found", FailureKind.NOT_FOUND),
    ("deadline", FailureKind.TIMEOUT),
    ("unavailable", FailureKind.OVERLOADED),
)
_CODES = {
    FailureKind.INVALID_REQUEST: 1007,
    FailureKind.MALFORMED_CALL: 1007,
    FailureKind.CONTEXT_FULL: 1007,
    FailureKind.AUTHENTICATION: 1008,
    FailureKind.BILLING: 1008,
    FailureKind.PERMISSION: 1008,
    FailureKind.NOT_FOUND: 1008,
    FailureKind.QUOTA: 1008,
    FailureKind.RATE_LIMIT: 1008,
    FailureKind.CONTENT_FILTER: 1008,
    FailureKind.TOO_LARGE: 1009,
    FailureKind.OVERLOADED: 1013,
}
_MAX_REASON = 123
"""Bytes that a close frame has for its sentence."""


def decode_close(code: int, reason: str) -> Failure:
    """What a close says. Any code may be resumed from with a handle; whether that helps, the kind tells."""
    words = reason.lower()
    kind = next((kind for word, kind in _WORDS if word in words), _KINDS.get(code, FailureKind.SERVER))
    if is_context_full(reason):
        kind = FailureKind.CONTEXT_FULL
    message = reason or f"The connection was closed with code {code}."
    return Failure(kind=kind, message=message, status=STATUS_OF[kind], code=str(code), body=reason)


def encode_close(failure: Failure) -> tuple[int, str]:
    """The code and the sentence to close with, the sentence cut to what a close frame takes."""
    data = failure.message.encode("utf-8", "replace")[:_MAX_REASON]
    return _CODES.get(failure.kind, 1011), data.decode("utf-8", "ignore")
