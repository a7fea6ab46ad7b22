"""Requests that a browser sends for a page: which pages may use a server, and how.

Without a key, a server answers every program on its machine, and a browser is one: any page that it shows can make it send
requests. Pages of other origins are recognised by the Origin header, names that were rebound to 127.0.0.1 by the Host header.
"""

from collections.abc import Collection
from typing import Any

from groundwire.contracts.errors import NotAllowed

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
"""Methods that change nothing."""

_PORTS = {"http": "80", "https": "443"}
_FORM_TYPES = frozenset({"text/plain", "application/x-www-form-urlencoded"})
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


def origin_fault(host: str, origin: str | None, hosts: Collection[str] | None, origins: Collection[str]) -> str:
    """Why a request is refused; empty if it is not. With `hosts` None, it may be addressed by any name."""
    if hosts is not None and _name(host) not in hosts:
        return "The Host header names another server."
    if origin is None or is_own_origin(origin, host) or origin.lower() in origins:
        return ""
    return "Pages of this origin may not use this server."


def is_own_origin(origin: str, host: str) -> bool:
    """Whether a page of that origin was served from that host and port."""
    scheme, found, authority = origin.lower().partition("://")
    port = _PORTS.get(scheme)
    return bool(found) and port is not None and _with_port(authority, port) == _with_port(host.lower(), port)


def check_page_request(scope: Any, origins: Collection[str]) -> None:
    """Raise NotAllowed for a request with an Origin that changes something, unless its page is allowed to send it.

    The scope is RSGI's. A header that cannot be read counts as one that is not allowed. Content types that a form can send
    are refused, because a browser sends them to any server without a preflight request.
    """
    headers = scope.headers
    origin = headers.get("origin") or ""
    host = headers.get("host") or scope.authority or ""
    if not (is_own_origin(origin, host) or origin.lower() in origins):
        raise _refusal("Pages of this origin may not use this server.")
    if (headers.get("sec-fetch-site") or "").lower() == "cross-site":
        raise _refusal("Pages of other sites may not use this server.")
    if scope.proto == "http" and _is_form(scope):
        raise NotAllowed(
            "A page may not send a body of this content type.",
            subject="page",
            hint="Send JSON with `Content-Type: application/json`, or a file under its own media type.",
        )


def _refusal(fault: str) -> NotAllowed:
    return NotAllowed(
        fault,
        subject="page",
        hint="Without a key, only the server's own pages may change something, and pages of the same site that are listed in"
        " allowedOrigins of [server]. Requests without an Origin are not affected.",
    )


def _is_form(scope: Any) -> bool:
    headers = scope.headers
    given = headers.get("content-type")
    if given is None:
        return "content-type" in headers or _may_have_body(scope)
    essence = given.partition(";")[0].strip().lower()
    return "/" not in essence or essence in _FORM_TYPES or essence.startswith("multipart/")


def _may_have_body(scope: Any) -> bool:
    length = scope.headers.get("content-length")
    if length is not None:
        return bool(length.strip() != "0")
    if "transfer-encoding" in scope.headers:
        return True
    return scope.http_version.startswith("2") and scope.method in _WITH_BODY  # which need not have a length there


def _name(authority: str) -> str:
    """A host without its port, in lower case."""
    if authority.startswith("["):
        return authority.partition("]")[0].lower() + "]"
    return authority.partition(":")[0].lower()


def _with_port(authority: str, port: str) -> str:
    return authority if ":" in authority.rpartition("]")[2] else f"{authority}:{port}"
