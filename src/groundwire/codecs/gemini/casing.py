"""Names and members on Gemini's wire: proto JSON takes camelCase and snake_case, and hides what it does not know."""

import re
from typing import Any

from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.messages import Private

DIALECT = "gemini"

_SNAKE = re.compile(r"(?<=[A-Za-z0-9])_([A-Za-z0-9])")


def camel_keys(source: JsonObject) -> JsonObject:
    """The same object with its own member names in camelCase; what lies below is left alone."""
    if "_" not in "".join(source):  # in one go, because nearly no body has such a name
        return source
    return {_SNAKE.sub(_raise, name): value for name, value in source.items()}


def _raise(found: re.Match[str]) -> str:
    return found.group(1).upper()


def unknown_members(source: JsonObject, known: frozenset[str]) -> JsonObject:
    """What has no place of its own here. A leading underscore marks our own shape hints, so no sender may use it."""
    if source.keys() <= known:
        return {}
    return {key: value for key, value in source.items() if key not in known and key[:1] != "_" and value is not None}


def own_members(private: Private, losses: Losses, path: str) -> JsonObject:
    """What this dialect kept; other dialects' data is noted as left out, their shape hints are not worth a word."""
    for dialect, members in private.items():
        if dialect != DIALECT and any(name[:1] != "_" for name in members):
            losses.add("private_dropped", path, f"Only {dialect} understands what was kept here.")
    return private.get(DIALECT) or {}


def sendable(members: JsonObject) -> JsonObject:
    return {key: value for key, value in members.items() if key[:1] != "_"}


def dict_of(value: Any) -> JsonObject:
    """For responses, which are read leniently: the object with camelCase names, or an empty one."""
    return camel_keys(value) if isinstance(value, dict) else {}
