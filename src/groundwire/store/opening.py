"""From a URL to a store."""

from typing import cast
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from groundwire.contracts.audit import Chain
from groundwire.contracts.errors import ConfigError
from groundwire.contracts.ports import Store
from groundwire.store.memory import MemoryStore
from groundwire.store.transactions import Durability

_FORMS = (
    "memory://",
    "sqlite:///relative.db",
    "sqlite:////absolute/path.db",
    "postgresql://user:password@host/database",
)
_HINT = f"Accepted: {', '.join(_FORMS)}; with ?durability=process or ?durability=power."


def open_url(url: str, *, chain: Chain | None = None) -> Store:
    """The store that `url` names. It connects when first used."""
    try:
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
    except ValueError:
        raise ConfigError("the store's URL cannot be read", hint=_HINT) from None
    durability = options.pop("durability", None)
    if durability not in {None, "process", "power"}:
        raise ConfigError("a store's durability is process or power", hint=_HINT)
    level = cast("Durability | None", durability)
    if parts.scheme == "memory" and not parts.netloc and not parts.path.strip("/") and not options:
        return MemoryStore(chain)
    if parts.scheme == "sqlite" and not parts.netloc and len(parts.path) > 1 and not options:
        from groundwire.store.sqlite import SqliteStore

        return SqliteStore(unquote(parts.path[1:]), durability=level or "process", chain=chain)
    if parts.scheme in {"postgresql", "postgres"} and parts.netloc + parts.query:
        from groundwire.store.postgres import PostgresStore

        dsn = urlunsplit(parts._replace(query=urlencode(options)))
        return PostgresStore(dsn, durability=level or "power", chain=chain)
    # The scheme alone: what follows it may hold a password.
    raise ConfigError(f"no store has a URL of that form ({parts.scheme or 'without scheme'})", hint=_HINT)
