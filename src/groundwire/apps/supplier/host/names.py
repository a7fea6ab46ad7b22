"""Names that the host gives or takes: which may be kept, and what a step's run is called."""

import hashlib
import json

from groundwire import ConfigError

MAX_ID_CHARS = 256


def check_id(what: str, value: str) -> None:
    """Refuse what nobody could ask for again."""
    if not value.isprintable() or not 0 < len(value) <= MAX_ID_CHARS:
        raise ConfigError(f"{value[:40]!r} cannot be a {what} id", hint=f"use 1 to {MAX_ID_CHARS} printable characters")


def key_of(*parts: str) -> str:
    """The same for the same step, and no other's, whatever a session or a message is called."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def run_id_of(kind: str, *parts: str) -> str:
    return f"supplier.{kind}.{key_of(*parts)}"
