"""Words for what is wrong with arguments: where, what, and what to send instead. Never names another tool."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any
from urllib.parse import unquote

import orjson

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.decisions import Deny, Fault
from groundwire.contracts.errors import ErrorDetail, ErrorType
from groundwire.contracts.texts import count_of
from groundwire.contracts.tools import ToolSpec

MAX_FAULTS = 8
SHOWN_CHARS = 80
MAX_TRIES = 20_000
"""Beyond so many looks at parts of a value, what is wrong with it is not searched for."""
MAX_PARTS = 200
"""Of a value with more parts only the first fault is told: each one found carries a copy of what it was found in."""
TOO_DEEP_TO_TELL = "They fit none of the shapes that are allowed, and are too large or nested too deeply to say where."

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


def explain_faults(spec: ToolSpec, validator: Any, arguments: JsonObject) -> Deny:
    faults = [
        _fault(error, arguments, spec) for error in islice(errors_of(spec.parameters, validator, arguments), MAX_FAULTS)
    ]
    listed = " ".join(f"{fault.path}: {fault.message}" for fault in faults) or TOO_DEEP_TO_TELL
    return Deny(
        type=ErrorType.VALIDATION,
        detail=faults[0].detail if faults else ErrorDetail.INVALID_VALUE,
        message=f"Invalid arguments for {spec.wire_name}. {listed}",
        faults=tuple(faults),
    )


def errors_of(schema: Any, validator: Any, value: Any) -> Iterator[Any]:
    """The errors of a value that is not valid; none when a schema that refers to itself would find too many of them.

    Every alternative that it tries has errors of its own, and each of those again, one level further down.
    """
    if is_recursive(schema) and _tries(value, _count_references(schema)) > MAX_TRIES:
        return iter(())
    if _tries(value, 1, MAX_PARTS) > MAX_PARTS:
        return iter(()) if _finds_all_names(schema) else _first_error(validator, value)
    errors: Iterator[Any] = validator.iter_errors(value)
    return errors


def _finds_all_names(schema: Any) -> bool:
    """Whether the first error may hold one for each name in an object: all those of an alternative are with it."""
    keywords = set(_keywords(schema))
    return "propertyNames" in keywords and not keywords.isdisjoint(("anyOf", "oneOf"))


def _keywords(schema: Any) -> Iterator[str]:
    for part in _parts(schema):
        yield from _keywords(part)
    if isinstance(schema, dict):
        yield from schema


def _first_error(validator: Any, value: Any) -> Iterator[Any]:
    try:
        validator.validate(value)
    except ValueError as error:
        yield error


def is_recursive(schema: Any) -> bool:
    """Whether a schema leads back to itself. References that are not plain pointers are taken to do so."""
    leads_to: dict[str, set[str]] = {}
    waiting = set(_references(schema))
    while waiting:
        target = waiting.pop()
        if target not in leads_to:
            is_there, part = _find(schema, target)
            if not is_there:
                return True
            leads_to[target] = set(_references(part))
            waiting |= leads_to[target]
    while ends := [target for target, others in leads_to.items() if not others & leads_to.keys()]:
        for target in ends:
            del leads_to[target]
    return bool(leads_to)


def _find(schema: Any, reference: str) -> tuple[bool, Any]:
    """What a reference such as `#/$defs/node` points to. The whole schema holds the reference itself."""
    if not reference.startswith("#/"):
        return False, None
    for step in reference[2:].split("/"):
        name = unquote(step).replace("~1", "/").replace("~0", "~")
        if not isinstance(schema, dict) or name not in schema:
            return False, None
        schema = schema[name]
    return True, schema


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        for name, value in schema.items():
            if name in ("$ref", "$dynamicRef") and isinstance(value, str):
                yield value
            elif name != "$defs":
                yield from _references(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from _references(item)


def _count_references(schema: Any) -> int:
    definitions = schema.get("$defs") if isinstance(schema, dict) else None
    return sum(1 for _ in _references([schema, *(definitions.values() if isinstance(definitions, dict) else ())]))


def _tries(value: Any, references: int, enough: int = MAX_TRIES) -> int:
    """How often parts of a value may be looked at, when each level can be reached through each reference."""
    tries, level, weight = 0, [value], 1
    while level and tries <= enough:
        tries += len(level) * weight
        level = [item for part in level for item in _parts(part)]
        weight *= references
    return tries


def _parts(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


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
        case "pattern" if message.startswith("Error executing regex"):
            return "is too long to be compared with the pattern that it must match; send a shorter text."
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
