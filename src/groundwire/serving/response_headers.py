"""Headers of every answer: against sniffing, framing and referrers, and for pages of allowed origins."""

from collections.abc import Collection
from typing import Any

SECURITY_HEADERS = [
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("content-security-policy", "frame-ancestors 'none'"),
]
_CSP, _FRAMES = "content-security-policy", "frame-ancestors"
_PREFLIGHT_SECONDS = "600"

Headers = list[tuple[str, str]]


def add_common_headers(headers: Headers, common: Headers) -> Headers:
    """Add common headers to those of an application. Its own take precedence; its content policy is completed."""
    own = {name for name, _ in headers}
    made = [
        (name, f"{value}; {SECURITY_HEADERS[2][1]}" if name == _CSP and _FRAMES not in value else value)
        for name, value in headers
    ]
    return made + [(name, value) for name, value in common if name not in own]


def common_headers(scope: Any, origins: Collection[str]) -> Headers:
    """Return the headers of every answer to this request: with those of CORS, if its page is of an allowed origin."""
    origin = scope.headers.get("origin") if origins else None
    if origin is None or origin.lower() not in origins:
        return SECURITY_HEADERS
    return [
        *SECURITY_HEADERS,
        ("access-control-allow-origin", origin),
        ("access-control-expose-headers", "*"),
        ("vary", "origin"),
    ]


def preflight_headers(scope: Any, common: Headers) -> Headers | None:
    """Return the headers of the answer to a preflight request of an allowed page; None for any other request."""
    method = scope.headers.get("access-control-request-method")
    if scope.method != "OPTIONS" or method is None or common is SECURITY_HEADERS:
        return None
    asked = scope.headers.get("access-control-request-headers")
    allowed = [("access-control-allow-headers", asked)] if asked else []
    return [
        *common,
        ("access-control-allow-methods", method),
        *allowed,
        ("access-control-max-age", _PREFLIGHT_SECONDS),
    ]
