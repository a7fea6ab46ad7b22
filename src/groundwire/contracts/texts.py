"""Text from outside: models, handlers and their exceptions can put anything into a string. Pure."""

from fnmatch import fnmatchcase

NAME_CHARS = 256
"""Of a tool name that a model invented, this much is kept."""


def count_of(count: float, noun: str) -> str:
    """`1 tool call`, `2 tool calls`."""
    return f"{plain(count)} {noun}" if count == 1 else f"{plain(count)} {noun}s"


def plain(number: float) -> str:
    """A number as people write it: 2, not 2.0."""
    return str(int(number) if number == int(number) else number)


def storable(text: str) -> str:
    """Text that every database and every log can keep: no lone surrogates, no NUL."""
    if text.isascii() and "\x00" not in text:
        return text
    return text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")


def matches_glob(name: str, glob: str) -> bool:
    """Only `*` and `?` stand for other characters: names may hold brackets, and must not be missed for that."""
    return fnmatchcase(name, glob.replace("[", "[[]"))
