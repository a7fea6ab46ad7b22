"""Errors as the caller's dialect says them: status, body and headers."""

from msgspec.structs import replace

from groundwire.codecs.dialects import codec_of
from groundwire.codecs.wire.json import dump
from groundwire.contracts.errors import (
    AccessError,
    BudgetExhausted,
    ConfigError,
    GroundwireError,
    NotAllowed,
    NotExpressible,
    NotReliable,
    ProviderError,
    RateLimited,
    RegistryError,
    SchemaTooComplex,
    StoreUnavailable,
    WireError,
)
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.redaction import redact
from groundwire.contracts.requests import Dialect
from groundwire.gateway.headers import headers_for
from groundwire.providers.catalogue import UNKNOWN_MODEL
from groundwire.serving.answers import Overloaded
from groundwire.serving.bodies import (
    BrokenBody,
    CompressionRatioTooHigh,
    RequestTooLarge,
    RequestTooSlow,
    UnreadableBody,
)
from groundwire.serving.exchanges import Exchange

_RETRY_SOON = 1.0


class Refused(GroundwireError):
    """A request that cannot be served, for the reason that `failure` gives."""

    code = "refused"

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def failure_of(error: GroundwireError) -> Failure:
    """The failure that a client gets for an error, without keys: within a stream, nothing hides them later."""
    failure = _failure_of(error)
    message = redact(failure.message)
    return failure if message == failure.message else replace(failure, message=message)


def _failure_of(error: GroundwireError) -> Failure:
    if isinstance(error, (ProviderError, Refused)):
        return error.failure
    if isinstance(error, AccessError):
        return _refused(error)
    if isinstance(error, (WireError, NotExpressible)):
        message = f"{error.message} ({error.hint})" if error.hint else error.message
        return Failure(kind=FailureKind.INVALID_REQUEST, message=message, status=400, param=error.path or None)
    if isinstance(
        error, (ConfigError, RegistryError, UnreadableBody, BrokenBody)
    ):  # what no run can be told, the request has said
        message = f"{error.message} ({error.hint})" if error.hint else error.message
        code = error.code if isinstance(error, NotReliable) else None
        param = None
        if isinstance(error, SchemaTooComplex):
            code, param = error.detail.value, error.path or None
        return Failure(kind=FailureKind.INVALID_REQUEST, message=message, status=400, code=code, param=param)
    if isinstance(error, RequestTooLarge):
        code = error.code if isinstance(error, CompressionRatioTooHigh) else None
        return Failure(kind=FailureKind.TOO_LARGE, message=error.message, status=413, code=code)
    if isinstance(error, RequestTooSlow):
        return Failure(kind=FailureKind.TIMEOUT, message=error.message, status=408, code=error.code)
    if isinstance(error, (Overloaded, StoreUnavailable)):
        return Failure(kind=FailureKind.OVERLOADED, message=error.message, status=503, retry_after=_RETRY_SOON)
    return Failure(kind=FailureKind.SERVER, message=error.message, status=500, code=error.code)


def _refused(error: AccessError) -> Failure:
    """401 for who is not known, 403 for what a key is not for, 429 for what it may not do yet."""
    message = f"{error.message} {error.hint}".strip()
    if isinstance(error, NotAllowed):
        return Failure(kind=FailureKind.PERMISSION, message=message, status=403, code=error.code)
    if isinstance(error, (RateLimited, BudgetExhausted)):
        kind = FailureKind.RATE_LIMIT if isinstance(error, RateLimited) else FailureKind.QUOTA
        return Failure(kind=kind, message=message, status=429, code=error.code, retry_after=error.retry_after)
    return Failure(kind=FailureKind.AUTHENTICATION, message=message, status=401, code=error.code)


def write_failure(exchange: Exchange, error: GroundwireError, dialect: Dialect, *, array: bool = False) -> None:
    """Answer with an error. `array`: the caller reads a list, and gets one."""
    failure = failure_of(error)
    if failure.code == UNKNOWN_MODEL and dialect == "openai-responses":
        failure = Failure(
            kind=FailureKind.INVALID_REQUEST, message=failure.message, status=400, code="model_not_found", param="model"
        )
    status, body = codec_of(dialect).encode_error(failure)
    headers = headers_for(exchange, dialect)
    if failure.retry_after is not None:
        headers.append(("retry-after", f"{max(1, round(failure.retry_after))}"))
    if failure.should_retry is not None and isinstance(error, Refused):  # which the vendors' SDKs listen to
        headers.append(("x-should-retry", "true" if failure.should_retry else "false"))
    if dialect == "anthropic":
        body = {**body, "request_id": exchange.request_id}
    exchange.answer(status, headers, b"[%b]" % dump(body) if array else dump(body))
