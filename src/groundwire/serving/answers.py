"""Answers of our own endpoints: JSON, and errors with a code, a message for people and a status that fits.

Model endpoints speak their dialect's form instead.
"""

import msgspec
from starlette.responses import Response

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import (
    AccessError,
    AlreadyDecided,
    BudgetExhausted,
    ConfigError,
    GroundwireError,
    InvalidJson,
    NameTaken,
    NotAllowed,
    NotExpressible,
    NotFound,
    RateLimited,
    RunInProgress,
    StoreUnavailable,
    WireError,
)
from groundwire.serving.bodies import BrokenBody, RequestTooLarge, RequestTooSlow


class Overloaded(GroundwireError):
    code = "overloaded"
    retryable = True


JSON = "application/json"
STATUSES: tuple[tuple[type[GroundwireError], int], ...] = (
    (NotAllowed, 403),
    (RateLimited, 429),
    (BudgetExhausted, 429),
    (AccessError, 401),
    (AlreadyDecided, 409),
    (RunInProgress, 409),
    (NotFound, 404),
    (RequestTooLarge, 413),
    (RequestTooSlow, 408),
    (BrokenBody, 400),
    (StoreUnavailable, 503),
    (Overloaded, 503),
    (WireError, 400),
    (InvalidJson, 400),
    (NameTaken, 409),
    (ConfigError, 400),
    (NotExpressible, 400),
)
_RETRY_SOON = "1"


class NoSuchPath(NotFound):
    code = "no_such_path"


class MethodNotAllowed(GroundwireError):
    code = "method_not_allowed"

    def __init__(self, method: str, allowed: tuple[str, ...]) -> None:
        super().__init__(f"There is no {method} here.", hint=f"use {', '.join(allowed)}")
        self.allowed = allowed


def unexpected() -> GroundwireError:
    """For what nobody foresaw: whoever asked learns no more of it."""
    return GroundwireError("Something went wrong here; the log says what.")


def status_of(error: GroundwireError) -> int:
    if isinstance(error, MethodNotAllowed):
        return 405
    return next((status for kind, status in STATUSES if isinstance(error, kind)), 500)


def json_answer(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value), status, headers, JSON)


def error_answer(error: GroundwireError) -> Response:
    status = status_of(error)
    body: JsonObject = {"code": error.code, "message": error.message}
    if error.hint:
        body["hint"] = error.hint
    headers = {"retry-after": _RETRY_SOON} if status == 503 else {}
    if isinstance(error, (RateLimited, BudgetExhausted)):
        headers["retry-after"] = f"{max(1, round(error.retry_after))}"
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    if isinstance(error, MethodNotAllowed):
        headers["allow"] = ", ".join(error.allowed)
    return json_answer({"error": body}, status, headers)
