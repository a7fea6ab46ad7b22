"""Files of others' suites: JSON texts one after the other, or a list of them, each with the line that it begins on.

Any bytes give values or a ConfigError that names the file and the line. What the values mean is not known here.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from groundwire.contracts.canonical import JsonValue, parse_json
from groundwire.contracts.errors import ConfigError, InvalidJson
from groundwire.evals.files import read_bytes

T = TypeVar("T")

MAX_BYTES = 256 * 1024 * 1024
_SPACE = re.compile(r"[ \t\r\n]*")
_decoder = json.JSONDecoder()


class Located(Struct, frozen=True):
    """A value and where it stands."""

    value: JsonValue
    file: Path
    line: int

    def wrong(self, why: str) -> ConfigError:
        return ConfigError(f"{self.file}:{self.line}: {why}")

    def read_as(self, kind: type[T]) -> T:
        try:
            return msgspec.convert(self.value, kind)
        except msgspec.ValidationError as error:
            raise self.wrong(str(error)) from None


def read_text(file: Path, *, most: int = MAX_BYTES) -> str:
    data = read_bytes(file, most)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{file}:{line}: it is not UTF-8.") from None


def read_values(file: Path) -> list[Located]:
    """The elements of the one list that the file holds, or the values that it holds one after the other."""
    text = read_text(file).removeprefix("\ufeff")
    return list(_values(text, file))


def read_value(file: Path) -> Located:
    """The one value of a file."""
    text = read_text(file).removeprefix("\ufeff")
    try:
        return Located(parse_json(text), file, 1)
    except InvalidJson as error:
        raise _not_json(file, _line_of(text, error), error) from None


def _values(text: str, file: Path) -> Iterator[Located]:
    place = _past_space(text, 0)
    is_list = text.startswith("[", place)
    place = _past_space(text, place + 1) if is_list else place
    line, counted = 1, 0
    while place < len(text):
        line, counted = line + text.count("\n", counted, place), place
        if is_list and text[place] == "]":
            rest = _past_space(text, place + 1)
            if rest < len(text):
                raise ConfigError(f"{file}:{_line(text, rest)}: it goes on after its list.")
            return
        value, place = _value(text, place, file, line)
        yield Located(value, file, line)
        place = _past_space(text, place)
        if is_list and text.startswith(",", place):
            place = _past_space(text, place + 1)
        elif is_list and not text.startswith("]", place):
            raise ConfigError(f"{file}:{_line(text, place)}: its list does not go on.")
    if is_list:
        raise ConfigError(f"{file}:{_line(text, place)}: its list does not end.")


def _value(text: str, place: int, file: Path, line: int) -> tuple[JsonValue, int]:
    try:
        _, end = _decoder.raw_decode(text, place)
        return parse_json(text[place:end]), end
    except json.JSONDecodeError as error:
        raise ConfigError(f"{file}:{error.lineno}: it is not JSON: {error.msg}.") from None
    except RecursionError:
        raise ConfigError(f"{file}:{line}: it is nested too deeply.") from None
    except (ValueError, InvalidJson) as error:
        raise _not_json(file, line, error) from None


def _line_of(text: str, error: InvalidJson) -> int:
    """msgspec says at which byte it stopped, unless that was the end."""
    found = re.search(r"byte (\d+)", str(error))
    return text.encode().count(b"\n", 0, int(found[1]) if found else len(text.encode())) + 1


def _not_json(file: Path, line: int, error: Any) -> ConfigError:
    return ConfigError(f"{file}:{line}: it is not JSON: {error}.")


def _past_space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found is not None else place


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1
