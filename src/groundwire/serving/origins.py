"""Who may send requests from a browser: a page that a user happens to visit must not reach a server on their machine.

A name that suddenly means 127.0.0.1 gives itself away by the Host header, another site's page by its Origin.
"""

from collections.abc import Collection

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})


def origin_fault(host: str, origin: str | None, hosts: Collection[str] | None, origins: Collection[str]) -> str:
    """Why a request is refused; nothing if it is not. `hosts` None: it may be addressed by any name."""
    if hosts is not None and _name(host) not in hosts:
        return "The Host header names another server."
    if origin is None or origin in origins:
        return ""
    scheme, found, rest = origin.partition("://")
    if found and scheme in ("http", "https"):
        if hosts is not None and _name(rest) in hosts:
            return ""
        if rest.lower() == host.lower():
            return ""
    return "Pages of this origin may not use this server."


def _name(authority: str) -> str:
    """A host without its port, in lower case."""
    if authority.startswith("["):
        return authority.partition("]")[0].lower() + "]"
    return authority.partition(":")[0].lower()
