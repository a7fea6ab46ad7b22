"""Where jobs are kept."""

from msgspec import Struct


class Place(Struct, frozen=True, kw_only=True):
    """A SQLite file (without a name: a temporary one), or a schema of a PostgreSQL database."""

    file: str = ""
    dsn: str = ""
    schema: str = ""
    survives_power: bool = False
