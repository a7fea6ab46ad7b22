"""mcp.lock: what each server's tools were when somebody first saw them, or last agreed to them.

A server can change its tools at any time, also their descriptions, which models read. What was pinned is what is
offered; what has changed is named and left out until it is pinned anew. Knows declarations, not servers.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct, field

from groundwire.contracts.canonical import JsonObject, digest
from groundwire.contracts.errors import ConfigError
from groundwire.registry.build import write_atomically

LOCK_FILE = "mcp.lock"
_PINNED = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")


class Pin(Struct, frozen=True, kw_only=True):
    """One tool as it was declared, and the hash of that."""

    hash: str
    declaration: JsonObject


class Lock(Struct, frozen=True, kw_only=True):
    """The pinned tools of each server, by their names there."""

    servers: dict[str, dict[str, Pin]] = field(default_factory=dict)


def pin(declaration: JsonObject) -> Pin:
    """Pin what a model or the runtime goes by; the rest of a declaration may change."""
    kept = {name: declaration[name] for name in _PINNED if declaration.get(name) is not None}
    return Pin(hash=digest(kept), declaration=kept)


def pin_all(declarations: Sequence[JsonObject]) -> dict[str, Pin]:
    return {str(declaration.get("name")): pin(declaration) for declaration in declarations}


def read_lock(path: Path) -> Lock:
    """The lock; an empty one if there is none. One that cannot be trusted is an error, never an empty one."""
    try:
        lock = msgspec.json.decode(path.read_bytes(), type=Lock)
    except FileNotFoundError:
        return Lock()
    except (OSError, msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ConfigError(f"{path} cannot be read: {error}", hint="`groundwire tools pin` writes it anew") from None
    for server, tools in lock.servers.items():
        for name, known in tools.items():
            if pin(known.declaration) != known or known.declaration.get("name") != name:
                raise ConfigError(
                    f"{path}: the entry of {name!r} of {server} does not have its hash",
                    hint="`groundwire tools pin` writes it anew",
                )
    return lock


def write_lock(path: Path, servers: Mapping[str, Mapping[str, Pin]]) -> None:
    ordered = {server: dict(sorted(tools.items())) for server, tools in sorted(servers.items())}
    body = msgspec.json.encode(Lock(servers=ordered))
    write_atomically(path, msgspec.json.format(body, indent=2) + b"\n")
