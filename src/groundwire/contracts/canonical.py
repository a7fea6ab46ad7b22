"""JSON values and their one canonical spelling (RFC 8785), on which every digest stands.

Knows only bytes. The registry hashes content with it, the runtime keys effects, the store chains audit records.
"""

import hashlib
import math
import re
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import orjson

from groundwire.contracts.errors import InvalidJson

if TYPE_CHECKING:
    JsonValue: TypeAlias = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]
    JsonObject: TypeAlias = dict[str, JsonValue]
else:  # msgspec cannot resolve a recursive alias, and needs none: any decoded JSON fits
    JsonValue = Any
    JsonObject = dict[str, Any]

MAX_DEPTH = 100
"""Nesting past which a JSON text is refused: far beyond any tool's arguments, far below any parser's stack."""

_decoder = msgspec.json.Decoder()
# What orjson spells otherwise than ECMAScript: whole floats and exponents. A match inside a string only costs time.
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_ODD_NUMBER = re.compile(rb"(?:^|[\[:,])-?\d+(?:\.0(?:[,\]}]|$)|(?:\.\d+)?[eE])")
# Bytes are searched with `find`: `in` first tries to read what it looks for as a number, which takes longer than to look.
# UTF-8 and UTF-16 sort alike below the astral planes.
_ASTRAL = re.compile(rb"[\xf0-\xf7]")


def parse_json(text: str | bytes) -> JsonValue:
    """Read one JSON text exactly: integers keep all their digits, NaN and trailing bytes are refused."""
    try:
        value: JsonValue = _decoder.decode(text)
    except RecursionError:
        raise InvalidJson("nested too deeply", too_deep=True) from None
    except (msgspec.DecodeError, UnicodeError) as error:
        raise InvalidJson(str(error)) from None
    # Each level takes two characters.
    if len(text) > 2 * MAX_DEPTH and _openings(text) > MAX_DEPTH and is_deeper_than(value, MAX_DEPTH):
        raise InvalidJson(f"nested more than {MAX_DEPTH} levels deep", too_deep=True)
    return value


def _openings(text: str | bytes) -> int:
    return text.count("{") + text.count("[") if isinstance(text, str) else text.count(b"{") + text.count(b"[")


def is_deeper_than(value: JsonValue, limit: int) -> bool:
    level: list[Any] = [value]
    for _ in range(limit + 1):
        nested = [item for item in level if isinstance(item, (dict, list))]
        if not nested:
            return False
        level = [child for item in nested for child in (item.values() if isinstance(item, dict) else item)]
    return True


def dump_json(value: JsonValue) -> bytes:
    """Compact JSON in the order given; refuses NaN, infinities, lone surrogates and anything that is not JSON."""
    try:
        data = orjson.dumps(value)
    except TypeError as error:  # orjson stops at 64-bit integers and does not know our Structs
        data = _dump_exactly(value, error)
    if data.find(b"null") >= 0:
        refuse_non_finite(value)
    return data


def canonical_json(value: JsonValue) -> bytes:
    """The RFC 8785 form, except that integers past 2**53 keep their digits instead of being rounded."""
    return canonical_form(value)[0]


def canonical_form(value: JsonValue) -> tuple[bytes, bool]:
    """The canonical JSON, and whether numbers may have been spelled anew for it, such as 2.0 as 2."""
    try:
        data = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return _canonical_slowly(value), True
    if data.find(b"null") >= 0:
        refuse_non_finite(value)
    if not data.isascii() and _ASTRAL.search(data):
        return _canonical_slowly(value), True
    # The two cheap tests rule out nearly everything before the expression has to look at every number.
    if (data.find(b".0") >= 0 or data.translate(_DIGITS).find(b"0e") >= 0) and _ODD_NUMBER.search(data) is not None:
        return _respell_numbers(data), True
    return data, False


def digest(value: JsonValue) -> str:
    """SHA-256 over the canonical form, in hex."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def digest_bytes(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _respell_numbers(data: bytes) -> bytes:
    return _sorting_encoder.encode(_respelling_decoder.decode(data))


def _dump_exactly(value: JsonValue, error: TypeError) -> bytes:
    try:
        return b"".join(_pieces(value, sort=False))
    except (TypeError, ValueError, RecursionError, UnicodeError):
        raise InvalidJson(str(error)) from None


def _canonical_slowly(value: JsonValue) -> bytes:
    try:
        return b"".join(_pieces(value, sort=True))
    except (TypeError, ValueError, RecursionError, UnicodeError) as error:
        raise InvalidJson(str(error)) from None


def _pieces(value: Any, *, sort: bool) -> list[bytes]:
    pieces: list[bytes] = []
    _append(pieces, value, sort=sort)
    return pieces


def _append(out: list[bytes], value: Any, *, sort: bool) -> None:
    if isinstance(value, str) or value is None or isinstance(value, bool):
        out.append(orjson.dumps(value))
    elif isinstance(value, int):
        out.append(b"%d" % value)
    elif isinstance(value, float):
        out.append(_number(value) if sort else _plain_number(value))
    elif isinstance(value, dict):
        keys = sorted(value, key=_utf16) if sort else value
        for index, key in enumerate(keys):
            if not isinstance(key, str):
                raise TypeError(f"object keys are strings, not {type(key).__name__}")
            out.append(b"," if index else b"{")
            out.append(orjson.dumps(key))
            out.append(b":")
            _append(out, value[key], sort=sort)
        out.append(b"}" if value else b"{}")
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            out.append(b"," if index else b"[")
            _append(out, item, sort=sort)
        out.append(b"]" if value else b"[]")
    else:
        raise TypeError(f"{type(value).__name__} is not JSON")


def _utf16(key: object) -> bytes:
    if not isinstance(key, str):
        raise TypeError(f"object keys are strings, not {type(key).__name__}")
    return key.encode("utf-16-be")


def _plain_number(value: float) -> bytes:
    if not math.isfinite(value):
        raise ValueError("NaN and infinities are not JSON")
    return orjson.dumps(value)


def _number(value: float) -> bytes:
    """ECMAScript's Number::toString, which RFC 8785 prescribes. Both it and repr give the shortest digits."""
    if not math.isfinite(value):
        raise ValueError("NaN and infinities are not JSON")
    if value == 0:
        return b"0"
    sign = b"-" if value < 0 else b""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + int(exponent or 0)
    digits = (whole + fraction).lstrip("0")
    point -= len(whole + fraction) - len(digits)
    digits = digits.rstrip("0")
    return sign + _place_point(digits, point).encode("ascii")


def _place_point(digits: str, point: int) -> str:
    count = len(digits)
    if count <= point <= 21:
        return digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return "0." + "0" * -point + digits
    rest = f".{digits[1:]}" if count > 1 else ""
    return f"{digits[0]}{rest}e{'+' if point > 0 else '-'}{abs(point - 1)}"


def refuse_non_finite(value: Any) -> None:
    """Encoders write NaN as null; a null in the output is the only hint."""
    level: list[Any] = [value]
    while level:
        item = level.pop()
        if isinstance(item, float) and not math.isfinite(item):
            raise InvalidJson("NaN and infinities are not JSON")
        if isinstance(item, dict):
            level.extend(item.values())
        elif isinstance(item, (list, tuple)):
            level.extend(item)


_respelling_decoder = msgspec.json.Decoder(float_hook=lambda text: msgspec.Raw(_number(float(text))))
_sorting_encoder = msgspec.json.Encoder(order="deterministic")
