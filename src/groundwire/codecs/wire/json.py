"""Reading and writing the JSON of wire bodies: exact integers, named errors, no half characters."""

import json
import re
from typing import Any, NoReturn

import msgspec
import orjson

from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import WireError

_decode = msgspec.json.Decoder().decode
_SURROGATES = re.compile("[\ud800-\udfff]+")
_HALF_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


def read_object(body: bytes | str | JsonObject, *, what: str = "body", keep_halves: bool = False) -> JsonObject:
    """The JSON object that the bytes are, or a WireError.

    Half of a surrogate pair becomes U+FFFD, unless `keep_halves` leaves it for a stream to join with the other half.
    """
    value = body if isinstance(body, dict) else read_value(body, what=what, keep_halves=keep_halves)
    if not isinstance(value, dict):
        raise WireError(f"The {what} must be a JSON object, not {kind_of(value)}.")
    return value


def read_value(body: bytes | str, *, what: str = "body", keep_halves: bool = False) -> JsonValue:
    try:
        value: JsonValue = _decode(body)
        return value
    except RecursionError:
        raise WireError(f"The {what} is nested too deeply.") from None
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeError) as error:
        data = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
        if data.startswith(b"\xef\xbb\xbf"):
            return read_value(data[3:], what=what, keep_halves=keep_halves)
        if _HALF_ESCAPE.search(data):
            return _read_with_halves(data, what, keep_halves=keep_halves)
        raise WireError(f"The {what} is not JSON: {error}") from None


def _read_with_halves(data: bytes, what: str, *, keep_halves: bool) -> JsonValue:
    try:
        value: JsonValue = json.loads(data, parse_constant=_refuse_constant)
    except RecursionError:
        raise WireError(f"The {what} is nested too deeply.") from None
    except (ValueError, UnicodeError) as error:
        raise WireError(f"The {what} is not JSON: {error}") from None
    return value if keep_halves else without_halves(value)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def without_halves(value: Any) -> Any:
    """The same value; halves that belong together joined, lone ones replaced. WireError where it is nested too deeply."""
    try:
        return _without_halves(value)
    except RecursionError:
        raise WireError("The value is nested too deeply.") from None


def _without_halves(value: Any) -> Any:
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, list):
        return [_without_halves(item) for item in value]
    if isinstance(value, dict):
        return {whole_text(key): _without_halves(item) for key, item in value.items()}
    return value


def whole_text(text: str) -> str:
    return _SURROGATES.sub(_join, text) if _SURROGATES.search(text) else text


def _join(found: re.Match[str]) -> str:
    return found.group().encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def dump(value: JsonValue) -> bytes:
    """Compact JSON. Takes `orjson.Fragment`s too."""
    try:
        return orjson.dumps(value)
    except TypeError:  # past 64-bit integers, past orjson's nesting, or half a character
        return _dump_slowly(value)


def _dump_slowly(value: JsonValue) -> bytes:
    try:
        return msgspec.json.encode(value, enc_hook=_fragment)
    except UnicodeError:
        return _dump_slowly(without_halves(value))
    except RecursionError:
        raise WireError("The value is nested too deeply.") from None
    except (TypeError, ValueError, msgspec.EncodeError) as error:
        raise WireError(f"The value is not JSON: {error}") from None


def _fragment(value: Any) -> Any:
    if isinstance(value, orjson.Fragment):
        return msgspec.Raw(orjson.dumps(value))
    raise TypeError(f"{type(value).__name__} is not JSON")


def dump_text(value: JsonValue) -> str:
    return dump(value).decode()


def kind_of(value: object) -> str:
    """What a JSON value is called in error messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    names = {str: "a string", int: "a number", float: "a number", list: "an array", dict: "an object"}
    return names.get(type(value), type(value).__name__)
