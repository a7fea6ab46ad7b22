"""Docstrings as data: the summary, the text for the model, and what is said about each parameter.

Reads the Google, NumPy and reST conventions by their shape. Knows nothing of functions or schemas.
"""

import inspect
import re
from collections.abc import Iterator

from msgspec import Struct, field

_ARGUMENT_SECTIONS = frozenset({"args", "arguments", "parameters", "params", "keyword args", "keyword arguments"})
_OTHER_SECTIONS = frozenset({"returns", "return", "yields", "yield", "raises", "other parameters", "receives", "warns"})
_GOOGLE_HEADING = re.compile(r"([A-Z][A-Za-z ]*):\s*")
_GOOGLE_ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")
_NUMPY_ENTRY = re.compile(r"(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?")
_FIELD = re.compile(r"[:@](\w+)(?:\s+([^:]*))?:\s*(.*)")
_PARAMETER_FIELDS = frozenset({"param", "parameter", "arg", "argument", "key", "keyword"})
_KNOWN_FIELDS = _PARAMETER_FIELDS | {"type", "return", "returns", "rtype", "raise", "raises", "yield", "yields"}


class Docstring(Struct, frozen=True, kw_only=True):
    summary: str = ""
    description: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


def read_docstring(text: str | None) -> Docstring:
    lines = inspect.cleandoc(text or "").splitlines()
    parameters: dict[str, str] = {}
    kept: list[str] = []
    position = 0
    while position < len(lines):
        taken = _read_section(lines, position, parameters) or _read_field(lines, position, parameters)
        if not taken:
            kept.append(lines[position])
        position += taken or 1
    description = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()
    return Docstring(summary=first_paragraph(description), description=description, parameters=parameters)


def first_paragraph(text: str) -> str:
    return " ".join(text.strip().split("\n\n", 1)[0].split())


def _read_section(lines: list[str], position: int, parameters: dict[str, str]) -> int:
    """The number of lines of the section that begins here; 0 when none does."""
    heading = lines[position]
    if _is_numpy_heading(lines, position):
        end = next((at for at in range(position + 2, len(lines)) if _is_numpy_heading(lines, at)), len(lines))
        entries, title = lines[position + 2 : end], heading.strip().lower()
        if title in _ARGUMENT_SECTIONS:
            parameters.update(_numpy_entries(entries))
        return end - position if title in _ARGUMENT_SECTIONS | _OTHER_SECTIONS else 0
    match = _GOOGLE_HEADING.fullmatch(heading)
    if match is None or match[1].lower() not in _ARGUMENT_SECTIONS | _OTHER_SECTIONS:
        return 0
    end = position + 1
    while end < len(lines) and (not lines[end].strip() or lines[end].startswith((" ", "\t"))):
        end += 1
    if match[1].lower() in _ARGUMENT_SECTIONS:
        parameters.update(_google_entries(lines[position + 1 : end]))
    return end - position


def _is_numpy_heading(lines: list[str], position: int) -> bool:
    if position + 1 >= len(lines) or not lines[position].strip() or lines[position].startswith(" "):
        return False
    return re.fullmatch(r"-{3,}", lines[position + 1].strip()) is not None


def _google_entries(lines: list[str]) -> Iterator[tuple[str, str]]:
    depth = min((_depth(line) for line in lines if line.strip()), default=0)
    name, text = "", list[str]()
    for line in lines:
        match = _GOOGLE_ENTRY.fullmatch(line.strip()) if _depth(line) == depth else None
        if match is None:
            text.append(line.strip())
            continue
        if name:
            yield name, _joined(text)
        name, text = match[1], [match[2]]
    if name:
        yield name, _joined(text)


def _numpy_entries(lines: list[str]) -> Iterator[tuple[str, str]]:
    names, text = list[str](), list[str]()
    for line in lines:
        match = _NUMPY_ENTRY.fullmatch(line) if line and not line.startswith((" ", "\t")) else None
        if match is None:
            text.append(line.strip())
            continue
        yield from ((name, _joined(text)) for name in names)
        names, text = [name.strip(" *") for name in match[1].split(",")], []
    yield from ((name, _joined(text)) for name in names)


def _read_field(lines: list[str], position: int, parameters: dict[str, str]) -> int:
    match = _FIELD.fullmatch(lines[position])
    if match is None or match[1].lower() not in _KNOWN_FIELDS:
        return 0
    end = position + 1
    while end < len(lines) and lines[end].startswith((" ", "\t")):
        end += 1
    words = (match[2] or "").split()
    if match[1].lower() in _PARAMETER_FIELDS and words:
        parameters[words[-1].lstrip("*")] = _joined([match[3], *lines[position + 1 : end]])
    return end - position


def _joined(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
