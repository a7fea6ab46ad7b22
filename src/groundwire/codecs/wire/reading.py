"""Taking members out of wire objects: what is missing or null gives nothing, what has the wrong type is a WireError.

Paths are written as a developer would index the body: `messages[2].content[0].text`.
"""

from typing import Any

from groundwire.codecs.wire.json import kind_of
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import WireError


def expected(path: str, wanted: str, value: object) -> WireError:
    return WireError(f"expected {wanted}, got {kind_of(value)}", path=path)


def join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def as_object(value: Any, path: str) -> JsonObject:
    if isinstance(value, dict):
        return value
    raise expected(path, "an object", value)


def as_list(value: Any, path: str) -> list[Any]:
    if isinstance(value, list):
        return value
    raise expected(path, "an array", value)


def as_text(value: Any, path: str) -> str:
    if isinstance(value, str):
        return value
    raise expected(path, "a string", value)


def text_or_none(value: Any) -> str | None:
    """For what is read leniently, such as responses."""
    return value if isinstance(value, str) else None


def optional_object(source: JsonObject, key: str, path: str = "") -> JsonObject | None:
    value = source.get(key)
    return None if value is None else as_object(value, join(path, key))


def optional_list(source: JsonObject, key: str, path: str = "") -> list[Any]:
    value = source.get(key)
    return [] if value is None else as_list(value, join(path, key))


def optional_text(source: JsonObject, key: str, path: str = "") -> str | None:
    value = source.get(key)
    return None if value is None else as_text(value, join(path, key))


def required_text(source: JsonObject, key: str, path: str = "") -> str:
    if key not in source:
        raise WireError("is missing", path=join(path, key))
    return as_text(source[key], join(path, key))


def optional_bool(source: JsonObject, key: str, path: str = "") -> bool | None:
    value = source.get(key)
    if value is None or isinstance(value, bool):
        return value
    raise expected(join(path, key), "a boolean", value)


def optional_number(source: JsonObject, key: str, path: str = "") -> float | int | None:
    value = source.get(key)
    if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        return value
    raise expected(join(path, key), "a number", value)


def optional_int(source: JsonObject, key: str, path: str = "") -> int | None:
    """An integer; a whole float counts too."""
    value = source.get(key)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise expected(join(path, key), "an integer", value)


def optional_proto_int(source: JsonObject, key: str, path: str = "") -> int | None:
    """The same where a string of digits counts too, as proto JSON writes large integers."""
    value = source.get(key)
    if isinstance(value, str) and value.removeprefix("-").isascii() and value.removeprefix("-").isdigit():
        return int(value) if len(value) <= 20 else None
    return optional_int(source, key, path)


def count_of(source: Any, key: str) -> int | None:
    """A token counter: anything that is no whole number counts as not said."""
    value = source.get(key) if isinstance(source, dict) else None
    if value is None or type(value) is int:
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
