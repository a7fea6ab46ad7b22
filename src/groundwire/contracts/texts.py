"""Text from outside: models, handlers and their exceptions can put anything into a string. Pure."""

from fnmatch import fnmatchcase

_BLANK_RANGES = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xE0100, 0xE01EF),
)
"""Fillers, joiners and variation selectors: Unicode counts them as letters or marks, but they are invisible."""
_BLANKS = frozenset(chr(code) for first, last in _BLANK_RANGES for code in range(first, last + 1))

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


def remove_invisible(text: str) -> str:
    """Return the text without characters that do not show, or that change how others show: zero-width, bidi, control.

    For sentences by which a person decides. Line breaks and unusual spaces become a space.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char if char.isprintable() and char not in _BLANKS else " " if char.isspace() else "" for char in text
    )


def matches_glob(name: str, glob: str) -> bool:
    """Only `*` and `?` stand for other characters: names may hold brackets, and must not be missed for that."""
    return fnmatchcase(name, glob.replace("[", "[[]"))
