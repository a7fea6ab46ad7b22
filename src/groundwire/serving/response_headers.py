"""Headers that every answer has, whoever makes it: against being sniffed, framed or referred to, and for allowed pages."""

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


def secured(headers: Headers, common: Headers) -> Headers:
    """Headers of an application with the common ones. What it says itself counts, and its policy for content is completed."""
    own = {name for name, _ in headers}
    made = [
        (name, f"{value}; {SECURITY_HEADERS[2][1]}" if name == _CSP and _FRAMES not in value else value)
        for name, value in headers
    ]
    return made + [(name, value) for name, value in common if name not in own]


def common_headers(scope: Any, origins: Collection[str]) -> Headers:
    """The headers of all answers to this request: with those for its page, where that is of an allowed origin."""
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
    """What a browser is told that asks whether an allowed page may send a request; None for any other request."""
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
