"""A guide as data: its summary and its opening words. Knows Markdown only as far as headings go."""

import re

from msgspec import Struct

from groundwire.registry.docstrings import first_paragraph

_UNDERLINE = re.compile(r"(?:=+|-{3,}|\*{3,}|_{3,})")


class Guide(Struct, frozen=True, kw_only=True):
    """`summary` is the first plain line, empty when there is none; `rival` is the second line, where that differs."""

    summary: str = ""
    description: str = ""
    rival: str = ""


def read_guide(text: str) -> Guide:
    lines = [line.strip() for line in text.splitlines()]
    start = next((at for at, line in enumerate(lines) if line and not is_heading(lines, at)), None)
    if start is None:
        return Guide()
    end = next((at for at in range(start, len(lines)) if is_heading(lines, at)), len(lines))
    full = [line for line in lines if line]
    second = full[1] if len(full) > 1 else lines[start]
    return Guide(
        summary=lines[start],
        description=first_paragraph("\n".join(lines[start:end])),
        rival="" if second == lines[start] else second,
    )


def is_heading(lines: list[str], at: int) -> bool:
    """A line that begins with `#`, is underlined, or is such an underline itself."""
    if lines[at].startswith("#") or _UNDERLINE.fullmatch(lines[at]):
        return True
    return bool(lines[at]) and at + 1 < len(lines) and _UNDERLINE.fullmatch(lines[at + 1]) is not None
