"""Arguments and results between dialects that send text and dialects that send objects, both ways without loss."""

from typing import Any

import msgspec
import orjson

from groundwire.codecs.wire.json import dump_text, read_value
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import WireError

_RAW = "_raw_arguments"
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def read_arguments(value: JsonValue) -> str:
    """The argument text of a call, from whatever a server put there: text as it is, nothing as an empty object."""
    if isinstance(value, str):
        return value if value and not value.isspace() else "{}"
    return "{}" if value is None else dump_text(value)


def object_arguments(raw: str) -> JsonObject | None:
    """The arguments as an object; None when the text is not one."""
    if raw == "{}":
        return {}
    try:
        value = read_value(raw)
    except WireError:
        return None
    return value if isinstance(value, dict) else None


def wrap_arguments(raw: str) -> JsonObject:
    """For dialects that take objects only: the text itself under one name, which `unwrap_arguments` knows."""
    return {_RAW: raw}


def unwrap_arguments(value: JsonObject) -> str:
    raw = value.get(_RAW)
    return raw if isinstance(raw, str) and len(value) == 1 else dump_text(value)


def object_result(text: str, *, failed: bool) -> JsonObject:
    """A result text as the object that Gemini wants: an object's text as that object, any other under `output`."""
    value = object_arguments(text) if text.lstrip()[:1] == "{" else None
    if failed:
        return {"error": text if value is None else value}
    return {"output": text} if value is None or _has_meaning(value) else value


def result_fragment(text: str, *, failed: bool) -> Any:
    """As `object_result`, for a body that is only going to be written: an object's text stays as it is, unparsed."""
    if not failed and text[:1] == "{":
        try:
            members = _members(text)  # which checks all of it
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            return object_result(text, failed=False)
        if len(members) != 1 or members.keys().isdisjoint(_MEANINGS):
            return orjson.Fragment(text)
    return object_result(text, failed=failed)


def arguments_fragment(raw: str) -> Any:
    """As `object_arguments`, unparsed in the same way."""
    try:
        _members(raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return object_arguments(raw)
    return orjson.Fragment(raw)


def text_result(response: JsonObject) -> tuple[str, bool]:
    """The text of such an object, and whether it says that the call failed. Undoes `object_result`."""
    if _has_meaning(response):
        ((key, value),) = response.items()
        return (value if isinstance(value, str) else dump_text(value)), key == "error"
    return dump_text(response), False


_MEANINGS = ("error", "output")


def _has_meaning(response: JsonObject) -> bool:
    """Gemini reads these as "it failed" and "this is all", so they cannot be a tool's own object."""
    return len(response) == 1 and ("error" in response or isinstance(response.get("output"), str))
