"""What providers' errors have in common: statuses, retry hints, and the three places in which an error comes: an answer
with an error's status, a body that came instead of an answer, and an object in a stream.

Which words mean which kind of failure is each dialect's own; it brings a `ReadError`.
"""

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec.structs import replace

from groundwire.codecs.wire.json import dump, read_value
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import WireError
from groundwire.contracts.failures import Failure, FailureKind

ReadError: TypeAlias = Callable[[JsonValue, int | None, str], Failure]
"""What an error says: from its JSON, its HTTP status (None if it has none), and its text. Takes anything."""

CLIENT_LATE = 408
_BY_STATUS = {
    400: FailureKind.INVALID_REQUEST,
    401: FailureKind.AUTHENTICATION,
    402: FailureKind.BILLING,
    403: FailureKind.PERMISSION,
    404: FailureKind.NOT_FOUND,
    408: FailureKind.TIMEOUT,
    409: FailureKind.CONFLICT,
    413: FailureKind.TOO_LARGE,
    422: FailureKind.INVALID_REQUEST,
    429: FailureKind.RATE_LIMIT,
    499: FailureKind.CANCELLED,
    503: FailureKind.OVERLOADED,
    504: FailureKind.TIMEOUT,
    529: FailureKind.OVERLOADED,
}

STATUS_OF: dict[FailureKind, int] = {
    FailureKind.INVALID_REQUEST: 400,
    FailureKind.AUTHENTICATION: 401,
    FailureKind.BILLING: 402,
    FailureKind.PERMISSION: 403,
    FailureKind.NOT_FOUND: 404,
    FailureKind.CONFLICT: 409,
    FailureKind.TOO_LARGE: 413,
    FailureKind.CONTEXT_FULL: 400,
    FailureKind.CONTENT_FILTER: 400,
    FailureKind.MALFORMED_CALL: 502,
    FailureKind.RATE_LIMIT: 429,
    FailureKind.QUOTA: 429,
    FailureKind.CANCELLED: 499,
    FailureKind.TIMEOUT: 504,
    FailureKind.OVERLOADED: 503,
    FailureKind.SERVER: 500,
    FailureKind.BAD_RESPONSE: 502,
}
"""The status with which each kind goes to a client, where its dialect has no other."""


def status_of(failure: Failure) -> int:
    """The status of its kind; a request that came too slowly is late in its own way."""
    is_clients = failure.kind is FailureKind.TIMEOUT and failure.status == CLIENT_LATE
    return CLIENT_LATE if is_clients else STATUS_OF[failure.kind]


_CONTEXT = re.compile(
    r"context.length|context size|context window|maximum context|too many tokens|prompt is too long"
    r"|input token count.{0,200}?exceed"
    r"|exceeds the maximum number of tokens",
    re.IGNORECASE | re.DOTALL,
)
_MAX_BODY = 20_000
_MAX_DELAY = 7 * 24 * 3600.0


def kind_of_status(status: int) -> FailureKind:
    """What a status alone says; anything unknown is the server's failure, except further 4xx."""
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return FailureKind.INVALID_REQUEST if 400 <= status < 500 else FailureKind.SERVER


def is_context_full(message: str) -> bool:
    return _CONTEXT.search(message) is not None


def failure_from_http(status: int, body: bytes, headers: Mapping[str, str], read: ReadError) -> Failure:
    """The failure that an answer with such a status tells, with what its headers say about another try."""
    failure = read(_first(_read_body(body)), status, body_text(body))
    delay = failure.retry_after
    if delay is None and status >= 300:  # a delay beside a success is no request to wait
        delay = retry_after(headers)
    return replace(
        failure,
        retry_after=delay,
        should_retry=should_retry(headers),
        request_id=failure.request_id or headers.get("request-id") or headers.get("x-request-id"),
    )


def failure_from_success(
    body: bytes | JsonObject, find: Callable[[JsonObject], JsonObject | None], read: ReadError
) -> Failure | None:
    """The failure that a body tells although its status claims success, if `find` sees an error in it."""
    value = body if isinstance(body, dict) else _first(_read_body(body))
    error = find(value) if isinstance(value, dict) else None
    return None if error is None else failure_from_object(error, read)


def failure_from_object(error: JsonObject, read: ReadError) -> Failure:
    """The failure that an object without a status of its own tells, such as an event of a stream."""
    return read(error, None, value_text(error))


def _read_body(body: bytes) -> JsonValue:
    """The JSON of an error body, or None: proxies send HTML, plain text, or nothing."""
    try:
        return read_value(body)
    except WireError:
        return None


def _first(value: JsonValue) -> JsonValue:
    """Some servers wrap their error in a list."""
    return value[0] if isinstance(value, list) and value else value


def body_text(body: bytes) -> str:
    """The body for the operator's eyes, cut to a length that a log can bear."""
    return body[:_MAX_BODY].decode("utf-8", "replace")


def value_text(value: JsonValue) -> str:
    """The same of a value that was read already."""
    try:
        return body_text(dump(value))
    except WireError:
        return ""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from `retry-after-ms` or `retry-after`. A date is the caller's to read: codecs have no clock."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    return _number(headers.get("retry-after"))


def should_retry(headers: Mapping[str, str]) -> bool | None:
    return {"true": True, "false": False}.get(headers.get("x-should-retry", "").lower())


def read_duration(text: object) -> float | None:
    """`34.4s`, as Google writes durations."""
    return _number(text[:-1]) if isinstance(text, str) and text.endswith("s") else None


def _number(text: str | None) -> float | None:
    try:
        number = float(text) if text else None
    except ValueError:
        return None
    return number if number is not None and 0 <= number <= _MAX_DELAY else None
