"""Names and members on Gemini's wire: proto JSON takes camelCase and snake_case."""

import re
from typing import Any

from groundwire.contracts.canonical import JsonObject

_SNAKE = re.compile(r"(?<=[A-Za-z0-9])_([A-Za-z0-9])")


def camel_keys(source: JsonObject) -> JsonObject:
    """The same object with its own member names in camelCase; what lies below is left alone."""
    if "_" not in "".join(source):  # in one go, because nearly no body has such a name
        return source
    return {_SNAKE.sub(_raise, name): value for name, value in source.items()}


def _raise(found: re.Match[str]) -> str:
    return found.group(1).upper()


def dict_of(value: Any) -> JsonObject:
    """For responses, which are read leniently: the object with camelCase names, or an empty one."""
    return camel_keys(value) if isinstance(value, dict) else {}
