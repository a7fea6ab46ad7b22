"""Words for a value that does not fit its type: which name is at fault, what it may be, and what was perhaps meant."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from enum import Enum
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from groundwire.contracts.canonical import MAX_DEPTH, JsonObject, JsonValue
from groundwire.contracts.errors import ConfigError

S = TypeVar("S", bound=msgspec.Struct)

_AT = re.compile(r"(?P<fault>.*?)(?: - at `(?:key in )?\$(?P<path>.*)`)?", re.DOTALL)
_STEP = re.compile(r"\.(?P<name>[^.\[]+)|\[(?P<any>\.\.\.)\]|\[\d+\]")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_WORDS = {"float": "a number", "int": "a whole number", "str": "text", "bool": "true or false"}


def read_as(kind: type[S], values: JsonObject, where: str, otherwise: str = "") -> S:
    """A value of that kind from plain ones; a ConfigError says which of them is wrong, and what it may be.

    `otherwise` is the hint where there is no better one.
    """
    try:
        read = msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        fault, hint = explain_misfit(str(error), kind)
        raise ConfigError(f"{where}: {name_entry(fault, str(error), values, kind)}", hint=hint or otherwise) from None
    for name, value in values.items():
        _refuse_endless(value, f"{where}: {name}")
    return read


def _refuse_endless(value: JsonValue, where: str) -> None:
    """JSON has no such numbers, so they would be other ones when they are read again."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{where}: it cannot be {value}")
    for name, one in value.items() if isinstance(value, dict) else ():
        _refuse_endless(one, f"{where}.{name}")
    for place, one in enumerate(value) if isinstance(value, list) else ():
        _refuse_endless(one, f"{where}[{place}]")


def plain_members(values: Mapping[str, object] | msgspec.Struct, where: str) -> JsonObject:
    """What a caller gave by name, in what JSON is made of; a ConfigError names what is not."""
    given = _members(values) if isinstance(values, msgspec.Struct) else values
    return {_plain_name(name, where): plain_value(value, f"{where}: {name}") for name, value in given.items()}


def _members(value: msgspec.Struct) -> dict[str, object]:
    names = zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
    return {encoded: getattr(value, name) for name, encoded in names}


def plain_value(value: object, where: str, depth: int = 0) -> JsonValue:
    if depth > MAX_DEPTH:
        raise ConfigError(f"{where}: it is nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, msgspec.Struct):
        value = _members(value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
            raise ConfigError(f"{where}: it holds half a character, which no text can")
        return value
    if isinstance(value, Mapping):
        return {_plain_name(name, where): plain_value(one, f"{where}.{name}", depth + 1) for name, one in value.items()}
    if isinstance(value, frozenset):
        value = sorted(value, key=repr)
    if isinstance(value, (list, tuple)):
        return [plain_value(one, f"{where}[{place}]", depth + 1) for place, one in enumerate(value)]
    raise ConfigError(f"{where}: it cannot be {value!r:.200}")


def _plain_name(name: object, where: str) -> str:
    if not isinstance(name, str):
        raise ConfigError(f"{where}: {name!r:.200} is no name; names are texts")
    plain_value(name, where)
    return name


def explain_misfit(message: str, kind: type[msgspec.Struct]) -> tuple[str, str]:
    """What msgspec says about a value of `kind`, in a sentence that starts with the name at fault, and a hint."""
    found = _AT.fullmatch(message)
    fault, path = (found["fault"], found["path"] or "") if found else (message, "")
    types = list(_types_at(inspect.type_info(kind), path))
    where = path.removeprefix(".")
    if unknown := _UNKNOWN.fullmatch(fault):
        known = [field.encode_name for each in types if isinstance(each, inspect.StructType) for field in each.fields]
        name = f"{where}.{unknown[1]}" if where else unknown[1]
        return f"{name}: there is no such name", did_you_mean(unknown[1], known) or f"known: {', '.join(known)}"
    prefix = f"{where}: " if where else ""
    if fault.startswith("Invalid enum value "):
        allowed = [str(value) for each in types for value in _choices(each)]
        given = fault.removeprefix("Invalid enum value ").strip("'")
        return f"{prefix}{given!r} is not one of {', '.join(allowed)}", did_you_mean(given, allowed)
    bounds = [text for each in types if (text := _bounds(each))]
    if bounds:
        return f"{prefix}it must be {bounds[0]}", ""
    return f"{prefix}{fault[:1].lower()}{fault[1:]}", ""


def name_entry(fault: str, message: str, values: Any, kind: type[msgspec.Struct]) -> str:
    """The fault with the name of the entry of a table that it is in, which msgspec does not tell."""
    for section, entries in values.items() if isinstance(values, dict) else ():
        for name, entry in entries.items() if isinstance(entries, dict) else ():
            try:
                msgspec.convert({section: {name: entry}}, kind)
            except msgspec.ValidationError as error:
                if str(error) == message:
                    return fault.replace(f"{section}[...]", f"{section}.{name}", 1)
    return fault


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A question that names what was perhaps meant; empty when nothing comes near."""
    near = get_close_matches(name, list(names), n=3, cutoff=0.5)
    return f"did you mean {' or '.join(near)}?" if near else ""


def describe_bounds(*, whole: bool, gt: float | None, ge: float | None, le: float | None) -> str:
    """`a number more than 0, at most 10`."""
    parts = [f"more than {gt:g}" if gt is not None else "", f"at least {ge:g}" if ge is not None else ""]
    if le is not None:
        parts.append(f"at most {le:,.0f}".replace(",", " "))
    return f"{_WORDS['int' if whole else 'float']} {', '.join(part for part in parts if part)}"


def _types_at(kind: inspect.Type, path: str) -> Iterator[inspect.Type]:
    """The types that a value at `path` may have."""
    if isinstance(kind, inspect.Metadata):
        kind = kind.type
    if isinstance(kind, inspect.UnionType):
        for each in kind.types:
            yield from _types_at(each, path)
        return
    step = _STEP.match(path)
    if step is None:
        yield kind
        return
    rest = path[step.end() :]
    if isinstance(kind, inspect.StructType) and step["name"]:
        for field in kind.fields:
            if field.encode_name == step["name"]:
                yield from _types_at(field.type, rest)
    elif isinstance(kind, inspect.DictType):
        yield from _types_at(kind.value_type, rest)
    elif isinstance(kind, (inspect.VarTupleType, inspect.ListType)):
        yield from _types_at(kind.item_type, rest)


def _choices(kind: inspect.Type) -> Iterable[object]:
    if isinstance(kind, inspect.LiteralType):
        return kind.values
    return list(kind.cls) if isinstance(kind, inspect.EnumType) else ()


def _bounds(kind: inspect.Type) -> str:
    if not isinstance(kind, (inspect.IntType, inspect.FloatType)) or (kind.gt, kind.ge, kind.le) == (None, None, None):
        return ""
    return describe_bounds(whole=isinstance(kind, inspect.IntType), gt=kind.gt, ge=kind.ge, le=kind.le)
