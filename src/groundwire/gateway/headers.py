"""Headers of answers: what every one has, whole or streamed, in the dialect of its client."""

from groundwire.contracts.requests import Dialect
from groundwire.providers.waiting import Stopwatch
from groundwire.serving.exchanges import Exchange, Headers

_EVENTS = "text/event-stream; charset=utf-8"
_JSON = "application/json"


def headers_for(exchange: Exchange, dialect: Dialect, kind: str = _JSON) -> Headers:
    """What the answer is, and the request's id where clients of the dialect look for it."""
    name = "request-id" if dialect == "anthropic" else "x-request-id"
    return [("content-type", kind), (name, exchange.request_id)]


def stream_headers(exchange: Exchange, dialect: Dialect, *, array: bool = False, kind: str = _EVENTS) -> Headers:
    """For an answer that comes in pieces: events, or with `array` those of one list, or whatever `kind` says."""
    return [*headers_for(exchange, dialect, _JSON if array else kind), ("cache-control", "no-cache")]


def overhead(watch: Stopwatch) -> tuple[str, str]:
    """The header that says what the gateway itself has taken so far, in microseconds."""
    return "x-groundwire-overhead-us", str(watch.own_microseconds)
