"""What commands print: JSON as bytes, text without surprises, tables that line up.

Colours are left to click: it drops them where no terminal reads, and everywhere when NO_COLOR is set.
"""

import contextlib
import os
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, TextIO

import click

LINE_CHARS = 200


def clean(text: str) -> str:
    """Text that cannot steer a terminal or disguise itself: what is not printable is spelled out."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else _spell(char) for char in text)


def _spell(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def print_json(value: Any, *, file: IO[Any] | None = None) -> None:
    """Compact JSON on one line, in UTF-8 whatever the terminal speaks."""
    import msgspec

    click.echo(msgspec.json.encode(value), file=file)


def pretty_json(value: Any) -> str:
    """JSON to be read by people."""
    import msgspec

    return clean(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def one_line(value: Any) -> str:
    """A value on one line of bearable length."""
    import msgspec

    try:
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):  # what a tool yields need not be JSON; only its result must be
        text = repr(value)
    text = text.replace("\n", " ")
    return text if len(text) <= LINE_CHARS else f"{text[: LINE_CHARS - 1]}…"


def print_text(text: str, *, file: IO[Any] | None = None) -> None:
    click.echo(text, file=file or _readable_stdout())


def print_table(headers: Sequence[str], rows: Iterable[Sequence[str]], *, empty: str) -> None:
    """Columns as wide as they need to be, or the sentence `empty` when there is no row."""
    cells = [[clean(cell).replace("\n", "\\n") for cell in row] for row in rows]
    if not cells:
        print_text(empty)
        return
    widths = [max(map(_width, column)) for column in zip(headers, *cells, strict=True)]
    print_text(click.style(_line(headers, widths), bold=True))
    for row in cells:
        print_text(_line(row, widths))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (width - _width(cell)) for cell, width in zip(cells, widths, strict=True))
    return "  ".join(padded).rstrip()


def _width(text: str) -> int:
    """How many columns a terminal needs for a text."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def nearest(name: str, names: Iterable[str]) -> str:
    """A question that names what was perhaps meant; empty when nothing comes near."""
    from groundwire.contracts.shapes import did_you_mean

    return did_you_mean(name, names)


def note(text: str) -> None:
    """A remark beside the output, on stderr."""
    click.echo(clean(text), err=True)


def _readable_stdout() -> TextIO | None:
    """Standard output that spells out what its encoding cannot say, instead of failing."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None and sys.stdout.errors == "strict":
        reconfigure(errors="backslashreplace")
    return sys.stdout


@contextlib.contextmanager
def reserved_stdout() -> Iterator[TextIO]:
    """Standard output for the command alone; whatever else the process prints goes to stderr.

    It stays so until the process ends, because a tool's thread or child may still be printing then.
    """
    if sys.stdout is not sys.__stdout__:  # somebody has put another stream in its place, as test runners do
        own = sys.stdout
        with contextlib.redirect_stdout(sys.stderr):
            yield own
        return
    with _take_stdout() as own:
        yield own


def _take_stdout() -> TextIO:
    """Give descriptor 1 away to stderr, so that C code and child processes follow too, and keep a copy of it."""
    encoding = "utf-8" if sys.stdout is None else sys.stdout.encoding
    if sys.stdout is not None:
        sys.stdout.flush()
    own = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return os.fdopen(own, "w", encoding=encoding, errors="backslashreplace")


def hold_descriptors() -> None:
    """Fill a standard stream that was closed, so that no file that is opened later ends up in its place."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != descriptor:
                os.dup2(nowhere, descriptor)
                os.close(nowhere)
