"""From a store's URL to the jobs beside it. Imports nothing heavy."""

import re
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from groundwire.contracts.errors import ConfigError
from groundwire.contracts.jobs import Jobs, JobSettings
from groundwire.contracts.ports import Clock
from groundwire.contracts.texts import storable
from groundwire.jobs.dbos_jobs import DbosJobs
from groundwire.jobs.places import Place

SCHEMA = "groundwire_jobs"

_LIBPQ = re.compile(
    "host|hostaddr|port|dbname|user|password|passfile|connect_timeout|options|application_name|ssl[a-z]+|channel_binding"
    "|gssencmode|krbsrvname|service|target_session_attrs|keepalives[a-z_]*|tcp_user_timeout"
)
"""What a connection to PostgreSQL can be told. Everything else in a store's URL is a setting of its session."""


def open_jobs(url: str, *, clock: Clock | None = None, settings: JobSettings | None = None) -> Jobs:
    """The jobs that belong to the store of that URL. Connects when first used.

    Beside a SQLite file they are in a file of their own, `groundwire.jobs.db`; in PostgreSQL they have their own schema;
    with a store in memory they are gone when closed. With `clock`, jobs are due by it, in the process that works on them.
    """
    return DbosJobs(place_of(url), clock, settings or JobSettings())


def place_of(url: str) -> Place:
    try:
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
    except ValueError:
        raise ConfigError("the store's URL cannot be read") from None
    durability = options.pop("durability", "")
    match parts.scheme:
        case "memory":
            return Place()
        case "sqlite":
            store = Path(unquote(parts.path[1:]))
            if parts.netloc or store.name in ("", "..") or storable(store.name) != store.name:
                raise ConfigError("the store's URL names no file", hint="such as sqlite:///groundwire.db")
            return Place(file=str(store.with_suffix(f".jobs{store.suffix}")), survives_power=durability == "power")
        case "postgresql" | "postgres":
            search_path = options.pop("search_path", "")
            schema = f"{search_path.split(',')[0].strip()}_jobs" if search_path else SCHEMA
            dsn = _libpq(parts._replace(scheme="postgresql"), options)
            return Place(dsn=dsn, schema=schema, survives_power=durability != "process")
    raise ConfigError(f"no jobs are kept beside a store of that form ({parts.scheme or 'without scheme'})")


def _libpq(parts: SplitResult, options: dict[str, str]) -> str:
    """What the store's driver takes as a setting of the session, libpq takes as an option."""
    known = {name: value for name, value in options.items() if _LIBPQ.fullmatch(name)}
    settings = [f"-c {name}={value}" for name, value in options.items() if not _LIBPQ.fullmatch(name)]
    if settings:
        known["options"] = " ".join(filter(None, [known.get("options", ""), *settings]))
    return urlunsplit(parts._replace(query=urlencode(known, quote_via=quote)))
