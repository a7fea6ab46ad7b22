"""Suites as YAML that people go on with: short where it can be, commented, and read back as what was written.

Writes only what is not at its default. It does not read YAML, and needs nobody who does.
"""

import re
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any

import msgspec
from msgspec import Struct

from groundwire.evals.scenarios import Scenario

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_/]*(?: [A-Za-z0-9_/]+)*")
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
"""What other readers of YAML take for something else than text."""
_STEP = "  "


def write_suite(name: str, title: str, scenarios: Iterable[tuple[str, Scenario]], *, head: str) -> str:
    """A suite's file. `head` and what comes with each scenario are comments."""
    lines = [*_comment(head), f"name: {_scalar(name)}"]
    if title:
        lines.append(f"title: {_scalar(title)}")
    lines.append("scenarios:")
    for remark, scenario in scenarios:
        lines += ["", *(f"{_STEP}{line}" for line in _comment(remark)), *_list_item(as_plain(scenario), _STEP)]
    return "\n".join(lines) + "\n"


def as_plain(value: Any) -> Any:
    """Plain values without what is at its default, under the names that files have."""
    if isinstance(value, Struct):
        tag, name = value.__struct_config__.tag, value.__struct_config__.tag_field
        plain = {name: tag} if name is not None else {}
        for member in msgspec.structs.fields(value):
            inner = getattr(value, member.name)
            if not _is_default(member, inner):
                plain[member.encode_name] = as_plain(inner)
        return plain
    if isinstance(value, dict):
        return {key: as_plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_plain(inner) for inner in value]
    return value.value if isinstance(value, Enum) else value


def _is_default(member: msgspec.structs.FieldInfo, value: Any) -> bool:
    if member.default_factory is not msgspec.NODEFAULT:
        return bool(value == member.default_factory())
    return type(value) is type(member.default) and value == member.default


def _comment(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield f"# {line}".rstrip()


def _list_item(value: Any, indent: str) -> Iterator[str]:
    first = True
    for line in _block(value, indent + _STEP):
        yield f"{indent}- {line[len(indent) + len(_STEP) :]}" if first else line
        first = False


def _block(value: Any, indent: str) -> Iterator[str]:
    """The lines of a value, each beginning with the indent."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _member(f"{indent}{_scalar(key)}:", inner, indent)
    elif isinstance(value, list) and value:
        for inner in value:
            yield from _list_item(inner, indent)
    else:
        yield f"{indent}{_scalar(value)}"


def _member(begun: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, (dict, list)) and value:
        yield begun
        yield from _block(value, indent + _STEP)
    elif isinstance(value, str) and _reads_as_block(value):
        yield begun + (" |" if value.endswith("\n") else " |-")
        yield from (f"{indent}{_STEP}{line}" if line else "" for line in value.removesuffix("\n").split("\n"))
    else:
        yield f"{begun} {_scalar(value)}"


def _reads_as_block(text: str) -> bool:
    lines = text.removesuffix("\n").split("\n")
    return (
        len(lines) > 1
        and all(line.isprintable() and line == line.rstrip() for line in lines)
        and all(lines[end] and not lines[end].startswith(" ") for end in (0, -1))
    )


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) and value.lower() not in _WORDS else _quoted(value)
    if isinstance(value, float):
        text = repr(value)
        return text.replace("e", ".0e") if "e" in text and "." not in text else text
    return msgspec.json.encode(value).decode() if not isinstance(value, int) or isinstance(value, bool) else str(value)


def _quoted(text: str) -> str:
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    if char == "\n":
        return "\\n"
    if char.isprintable() and char != "\ufeff":
        return char
    return f"\\u{ord(char):04x}" if ord(char) < 0x1_0000 else f"\\U{ord(char):08x}"
