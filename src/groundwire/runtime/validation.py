"""Words for what is wrong with arguments: where, what, and what to send instead. Never names another tool."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import orjson

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.decisions import Deny, Fault
from groundwire.contracts.errors import ErrorDetail, ErrorType
from groundwire.contracts.texts import count_of
from groundwire.contracts.tools import ToolSpec
from groundwire.registry.validators import CompiledSchema

MAX_FAULTS = 8
SHOWN_CHARS = 80
MAX_LONG_NUMBERS = 1_000
"""Integers beyond 2**53 that one value may hold where they matter. Those beyond 64 bits count for each 64 of them."""
_ODD_TEXT = re.compile(r"\d\.0|\d[eE]|\d{16}")
_ODD_BYTES = re.compile(_ODD_TEXT.pattern.encode())
_EXACT = 2**53
_SMALLEST = 1e-15
TOO_LARGE_TO_TELL = (
    "They do not fit the schema, and are too large or nested too deeply to say where, "
    f"or hold more than {MAX_LONG_NUMBERS} numbers of more than 15 digits, which have to be sent as text."
)
TOO_MANY_LONG_NUMBERS = object()

_TYPE_WORDS = {
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "an array",
    "object": "an object",
    "null": "null",
}
_DETAILS = {
    "type": ErrorDetail.TYPE_MISMATCH,
    "required": ErrorDetail.MISSING_ARGUMENT,
    "additionalProperties": ErrorDetail.UNKNOWN_ARGUMENT,
    "unevaluatedProperties": ErrorDetail.UNKNOWN_ARGUMENT,
}


def explain_faults(spec: ToolSpec, validator: CompiledSchema, arguments: JsonObject) -> Deny:
    """Return the refusal of arguments that do not fit: where and why, as far as that can be found in bounded time."""
    faults = [_fault(error, arguments, spec) for error in islice(find_errors(validator, arguments), MAX_FAULTS)]
    listed = " ".join(f"{fault.path}: {fault.message}" for fault in faults) or TOO_LARGE_TO_TELL
    return Deny(
        type=ErrorType.VALIDATION,
        detail=faults[0].detail if faults else ErrorDetail.INVALID_VALUE,
        message=f"Invalid arguments for {spec.wire_name}. {listed}",
        faults=tuple(faults),
    )


def fits(validator: CompiledSchema, value: Any, *, odd_numbers: bool) -> bool:
    """Whether a value fits a schema. `odd_numbers`: it may hold whole floats, exponents, or integers past 64 bits."""
    if odd_numbers or validator.has_unique:
        value = normalize_numbers(value)
        if value is TOO_MANY_LONG_NUMBERS:
            return False
    return validator.is_valid(value)


def find_errors(validator: CompiledSchema, value: Any) -> Iterator[Any]:
    """Find the errors of a value that does not fit; none if finding them would take too long."""
    normalized = normalize_numbers(value)
    return iter(()) if normalized is TOO_MANY_LONG_NUMBERS else validator.errors(normalized)


def may_be_odd(text: str | bytes) -> bool:
    """Whether a JSON text may hold whole floats, exponents, or integers past 64 bits. Searches the text without parsing."""
    return (_ODD_TEXT if isinstance(text, str) else _ODD_BYTES).search(text) is not None  # type: ignore[arg-type]


def normalize_numbers(value: Any) -> Any:
    """Return a copy of a JSON value with every whole number as an integer, which the validator compares fastest.

    Returns TOO_MANY_LONG_NUMBERS if it holds more numbers than allowed that need arbitrary precision: comparing one takes up
    to 15 µs, and uniqueItems compares those that are nearly equal pair by pair.
    """
    left = MAX_LONG_NUMBERS

    def normalize(part: Any) -> Any:
        nonlocal left
        if isinstance(part, dict):
            return {name: normalize(member) for name, member in part.items()}
        if isinstance(part, list):
            return [normalize(item) for item in part]
        if isinstance(part, float):
            if part == 0 or _SMALLEST < abs(part) < _EXACT:
                return int(part) if part.is_integer() else part
            left -= 4
        elif isinstance(part, int) and abs(part) >= _EXACT:
            left -= 1 + part.bit_length() // 64
        return part

    normalized = normalize(value)
    return normalized if left >= 0 else TOO_MANY_LONG_NUMBERS


def fold_integers(schema: Any, value: Any) -> Any:
    """Whole floats as integers, wherever the schema asks for an integer. JSON does not tell 2.0 from 2."""
    if not isinstance(schema, dict):
        return value
    if isinstance(value, float):
        return int(value) if schema.get("type") == "integer" and value.is_integer() else value
    properties, items = schema.get("properties"), schema.get("items")
    if isinstance(value, dict) and isinstance(properties, dict):
        return {name: fold_integers(properties.get(name), item) for name, item in value.items()}
    if isinstance(value, list) and items is not None:
        return [fold_integers(items, item) for item in value]
    return value


def path_of(parts: Sequence[str | int]) -> str:
    """`customer.tags[1]`; the arguments as a whole are `arguments`."""
    path = ""
    for part in parts:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    return path or "arguments"


def _pointer(parts: Sequence[str | int]) -> str:
    """`/customer/tags/1`; the arguments as a whole are the empty pointer (RFC 6901)."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def _fault(error: Any, arguments: JsonObject, spec: ToolSpec) -> Fault:
    kind, value = error.kind.name, error.kind.value
    parts = list(error.instance_path)
    if kind == "required":
        parts.append(value)
    elif kind in ("additionalProperties", "unevaluatedProperties") and value:
        parts.append(value[0])
    found = _at(arguments, list(error.instance_path))
    message = _advice(kind, value, found, error.message, _known_names(spec, error.instance_path))
    detail = _DETAILS.get(kind, ErrorDetail.INVALID_VALUE)
    return Fault(path=path_of(parts), message=message, detail=detail, pointer=_pointer(parts))


def _advice(kind: str, value: Any, found: Any, message: str, known: list[str]) -> str:
    match kind:
        case "type":
            wanted = " or ".join(_TYPE_WORDS.get(name, name) for name in value)
            return f"send {wanted}, not {_show(found)}."
        case "required":
            return "is required; send it."
        case "additionalProperties" | "unevaluatedProperties":
            allowed = f" Known here: {', '.join(known)}." if known else ""
            return f"is not an argument of this tool; leave it out.{allowed}"
        case "enum":
            return f"send one of {clip(', '.join(_show(option) for option in value), 300)}, not {_show(found)}."
        case "const":
            return f"send {_show(value)}, not {_show(found)}."
        case "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum":
            bound = {"minimum": "at least", "maximum": "at most", "exclusiveMinimum": "more than"}.get(
                kind, "less than"
            )
            return f"send a number {bound} {value}, not {_show(found)}."
        case "minLength" | "maxLength" | "minItems" | "maxItems":
            bound = "at least" if kind.startswith("min") else "at most"
            unit = "character" if kind.endswith("Length") else "item"
            size = len(found) if isinstance(found, (str, list)) else 0
            return f"send {bound} {count_of(value, unit)}, not {size}."
        case "pattern":
            return f"send text that matches {clip(str(value), 200)}, not {_show(found)}."
        case _:
            return f"{clip(message, 300)}."


def _known_names(spec: ToolSpec, path: Sequence[str | int]) -> list[str]:
    if list(path):
        return []
    properties = spec.parameters.get("properties")
    names = properties if isinstance(properties, dict) else {}
    return [name for name in names if name not in spec.policy.supplied][:20]


def _at(value: Any, path: Sequence[str | int]) -> Any:
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _show(value: Any) -> str:
    try:
        text = orjson.dumps(value).decode()
    except (TypeError, UnicodeError):
        text = str(value)
    return clip(text, SHOWN_CHARS)


def clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
