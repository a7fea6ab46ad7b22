"""JSON Pointer (RFC 6901) and the four changes that models are offered: set, delete, append, insert.

Pure functions over JSON values; a change gives a new document or a PatchError, and never half of one.
"""

import copy
import re
from typing import Any

from groundwire.contracts.canonical import JsonObject, JsonValue

_INDEX = re.compile(r"0|[1-9][0-9]*")
_LONE_TILDE = re.compile(r"~(?![01])")
_WORDS = {"add": "set", "replace": "set", "remove": "delete", "push": "append"}
OPERATIONS = ("set", "delete", "append", "insert")


class PatchError(Exception):
    """A change that cannot be made. `detail` is a stable code, the message says what to do instead."""

    def __init__(self, detail: str, message: str) -> None:
        super().__init__(message)
        self.detail = detail
        self.message = message


def parse_pointer(pointer: str) -> list[str]:
    if pointer and not pointer.startswith("/"):
        raise PatchError("INVALID_PATH", f"{pointer!r} is no path: a path begins with / or is empty.")
    if _LONE_TILDE.search(pointer):
        raise PatchError("INVALID_PATH", f"{pointer!r} is no path: ~ is written ~0, and / within a name ~1.")
    return [name.replace("~1", "/").replace("~0", "~") for name in pointer.split("/")[1:]]


def value_at(document: JsonValue, pointer: str) -> JsonValue:
    value = document
    for name in parse_pointer(pointer):
        value = _member(value, name, pointer)
    return value


def patched(document: JsonValue, operations: list[JsonObject]) -> tuple[JsonValue, list[str]]:
    """The document after all of the changes, and the paths that they touched."""
    made: JsonValue = copy.deepcopy(document)
    touched = []
    for number, operation in enumerate(operations):
        try:
            made = _changed(made, operation)
        except PatchError as error:
            raise PatchError(error.detail, f"ops[{number}]: {error.message}") from None
        touched.append(str(operation["path"]))
    return made, touched


def _changed(document: JsonValue, operation: JsonObject) -> JsonValue:
    path = operation.get("path")
    if not isinstance(path, str):
        raise PatchError("INVALID_PATH", "path is missing.")
    given = operation.get("op") or ("set" if "value" in operation else "")
    kind = _WORDS.get(str(given), given)
    if kind not in OPERATIONS:
        raise PatchError("INVALID_VALUE", f"op is one of {', '.join(OPERATIONS)}.")
    if kind != "delete" and "value" not in operation:
        raise PatchError("MISSING_ARGUMENT", f"value is missing: {kind} needs one.")
    value = copy.deepcopy(operation.get("value"))
    names = parse_pointer(path)
    if kind in ("append", "insert"):
        _add_element(value_at(document, path), kind, operation.get("index"), value, path)
        return document
    if not names:
        if kind == "delete":
            raise PatchError("INVALID_PATH", "The whole document cannot be deleted.")
        return _same_kind(document, value, path)
    parent: Any = document
    for name in names[:-1]:
        parent = _member(parent, name, path)
    if isinstance(parent, dict):
        _change_member(parent, names[-1], kind, value, path)
    elif isinstance(parent, list):
        _change_element(parent, names[-1], kind, value, path)
    else:
        raise PatchError("INVALID_PATH", f"There is nothing at {path}: what it is in has no members.")
    return document


def _add_element(target: Any, kind: str, index: Any, value: JsonValue, path: str) -> None:
    if not isinstance(target, list):
        raise PatchError("TYPE_MISMATCH", f"The value at {path} is no list; nothing can be added to it.")
    place = len(target) if kind == "append" else index
    if not isinstance(place, int) or isinstance(place, bool) or not 0 <= place <= len(target):
        raise PatchError("INVALID_PATH", f"index goes from 0 to {len(target)}.")
    target.insert(place, value)


def _change_member(parent: dict[str, Any], name: str, kind: str, value: JsonValue, path: str) -> None:
    if kind == "delete":
        if name not in parent:
            raise PatchError("INVALID_PATH", f"There is nothing at {path}.")
        del parent[name]
    else:
        parent[name] = _same_kind(parent[name], value, path) if name in parent else value


def _change_element(parent: list[Any], name: str, kind: str, value: JsonValue, path: str) -> None:
    place = _index(parent, name, path)
    if kind == "delete":
        del parent[place]
    else:
        parent[place] = _same_kind(parent[place], value, path)


def _same_kind(before: JsonValue, after: JsonValue, path: str) -> JsonValue:
    """Lists stay lists and objects stay objects: a model that sends a word for a list has made a mistake."""
    for kind, told in ((list, "a list"), (dict, "an object")):
        if isinstance(before, kind) and not isinstance(after, kind):
            inside = " of strings" if kind is list and before and all(isinstance(one, str) for one in before) else ""
            raise PatchError("TYPE_MISMATCH", f"The value at {path} must be {told}{inside}; you sent {_told(after)}.")
    return after


def _member(value: JsonValue, name: str, path: str) -> JsonValue:
    if isinstance(value, dict) and name in value:
        return value[name]
    if isinstance(value, list):
        return value[_index(value, name, path)]
    raise PatchError("INVALID_PATH", f"There is nothing at {path}.")


def _index(value: list[Any], name: str, path: str) -> int:
    if not _INDEX.fullmatch(name) or len(name) > 9 or int(name) >= len(value):
        raise PatchError("INVALID_PATH", f"There is nothing at {path}: the list has {len(value)} elements.")
    return int(name)


def _told(value: JsonValue) -> str:
    names = {str: "a string", bool: "a boolean", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return "null" if value is None else names[type(value)]
