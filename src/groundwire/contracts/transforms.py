"""The names of transforms, as settings give them. What the names stand for is known where they are applied."""

from collections.abc import Iterable


def parse_names(value: str | Iterable[str]) -> tuple[str, ...]:
    """A list or a comma string as names: in the order given, each once, blanks left out."""
    given = value.split(",") if isinstance(value, str) else value
    return tuple(dict.fromkeys(name.strip() for name in given if name.strip()))
