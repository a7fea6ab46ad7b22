"""Values that a schema asks for, taken from the words of a text as far as it offers any.

Obeys types, choices, bounds, sizes and common formats, but no patterns; and only as far as an answer stays small.
"""

import math
import re
from collections.abc import Mapping
from typing import Any

from groundwire.contracts.canonical import JsonObject

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_QUOTED = re.compile(r"[\"“'‘]([^\"”'’]+)[\"”'’]")
_NAME = re.compile(r"\b[A-Z][\w-]*(?: [A-Z][\w-]*)*")
_FORMATS = {
    "date": "2026-01-01",
    "date-time": "2026-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "duration": "PT1M",
    "email": "someone@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
_KINDS = {"properties": "object", "required": "object", "items": "array", "prefixItems": "array"}
_DEEP = 8
"""From here on, objects have only what they must have."""
_TOO_DEEP = 64
_LARGEST = 1e300
_LONG = 10_000
"""The most values in an answer, and the most characters that are made up for one."""


class Words:
    """What a text offers as values, each given once and the last one then again."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.numbers = _NUMBER.findall(text)
        quoted = _QUOTED.findall(text)
        names = [name for name in _NAME.findall(text) if not text.startswith(name)]
        self.strings = quoted or names or [text]
        self.values_left = _LONG

    def string(self) -> str:
        return self.strings.pop(0) if len(self.strings) > 1 else self.strings[0]

    def number(self) -> float:
        text = self.numbers.pop(0) if len(self.numbers) > 1 else self.numbers[0] if self.numbers else "1"
        return float(text)


def value_for(schema: Any, words: Words, root: Any = None, depth: int = 0) -> Any:
    """A value that the schema takes. Objects get their required members, or all if none is required."""
    root = schema if root is None else root
    words.values_left -= 1
    is_full = words.values_left < 0 or depth > _TOO_DEEP
    schema = _flat(schema, root)
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        return next((choice for choice in choices if str(choice).lower() in words.text.lower()), choices[0])
    if "const" in schema or "default" in schema:
        return schema.get("const", schema.get("default"))
    match _kind(schema):
        case "integer":
            return int(_number(schema, words.number(), step=1))
        case "number":
            return _number(schema, words.number(), step=0)
        case "boolean":
            return True
        case "null":
            return None
        case "array":
            return [] if is_full else _array(schema, words, root, depth)
        case "object":
            return {} if is_full else _object(schema, words, root, depth)
    return _string(schema, words)


def _flat(schema: Any, root: Any) -> dict[str, Any]:
    """The schema with references followed, all of `allOf` and the first of `anyOf` and `oneOf` taken in."""
    found = dict(schema) if isinstance(schema, dict) else {}
    for _ in range(_TOO_DEEP):
        inner = [_at(root, found.pop("$ref"))] if "$ref" in found else _listed(found.pop("allOf", None))
        for name in ("anyOf", "oneOf"):
            inner += _listed(found.pop(name, None))[:1]
        if not inner:
            return found
        for part in inner:
            found = _joined(found, part)
    return {}


def _joined(first: dict[str, Any], second: Any) -> dict[str, Any]:
    second = second if isinstance(second, dict) else {}
    joined = {**second, **first}
    if isinstance(first.get("properties"), dict) and isinstance(second.get("properties"), dict):
        joined["properties"] = {**second["properties"], **first["properties"]}
    if "required" in first and "required" in second:
        joined["required"] = [*_listed(first["required"]), *_listed(second["required"])]
    return joined


def _at(root: Any, reference: Any) -> Any:
    """What a reference inside the same document points to."""
    value = root
    for step in reference.split("/")[1:] if isinstance(reference, str) and reference.startswith("#") else ["nowhere"]:
        name = step.replace("~1", "/").replace("~0", "~")
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _kind(schema: dict[str, Any]) -> Any:
    kind = schema.get("type")
    if isinstance(kind, list):
        return kind[0] if kind else None
    return kind or next((known for name, known in _KINDS.items() if name in schema), None)


def _number(schema: dict[str, Any], offered: float, *, step: float) -> float:
    """The offered number, or the nearest that bounds and steps allow."""
    step = _amount(schema.get("multipleOf"), step)
    low = _amount(schema.get("minimum"), -math.inf)
    high = _amount(schema.get("maximum"), math.inf)
    above, below = _amount(schema.get("exclusiveMinimum"), -math.inf), _amount(schema.get("exclusiveMaximum"), math.inf)
    wanted = min(max(offered, low), high)
    if not above < wanted < below:
        wanted = above + (step or 0.5) if wanted <= above else below - (step or 0.5)
        wanted = wanted if above < wanted < below else (above + below) / 2
    if step and math.isfinite(wanted / step):
        whole = math.floor(wanted / step) * step
        wanted = whole if whole >= low and whole > above else whole + step
    return wanted if math.isfinite(wanted) else offered


def _string(schema: dict[str, Any], words: Words) -> str:
    known = _FORMATS.get(str(schema.get("format")))
    if known is not None:
        return known
    text = words.string()
    return text.ljust(_size(schema.get("minLength"), 0), ".")[: _size(schema.get("maxLength"), _LONG)]


def _array(schema: dict[str, Any], words: Words, root: Any, depth: int) -> list[Any]:
    ahead = _listed(schema.get("prefixItems"))
    least, most = _size(schema.get("minItems"), 0), _size(schema.get("maxItems"), _LONG)
    is_short = depth > _DEEP or "items" not in schema or schema["items"] is False
    count = min(max(least, len(ahead), 0 if is_short else 1), most, max(words.values_left, 0))
    inner = [*ahead, *[schema.get("items")] * count][:count]
    return [value_for(each, words, root, depth + 1) for each in inner]


def _object(schema: dict[str, Any], words: Words, root: Any, depth: int) -> JsonObject:
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    required = [name for name in _listed(schema.get("required")) if isinstance(name, str)]
    wanted = required or (list(properties) if depth <= _DEEP else [])
    return {name: value_for(properties.get(name), words, root, depth + 1) for name in wanted}


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else []


def _size(value: Any, otherwise: int) -> int:
    return int(min(max(_amount(value, otherwise), 0), _LONG))


def _amount(value: Any, otherwise: float) -> float:
    """The number, if it is one that can be reckoned with."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number and -_LARGEST < value < _LARGEST else otherwise
