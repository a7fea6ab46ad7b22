"""Names of Gemini Live: its dialect, its member names in both spellings, and its rule for tool names."""

from typing import Any

from groundwire.codecs.wire.names import NameRule
from groundwire.codecs.wire.reading import as_object
from groundwire.contracts.canonical import JsonObject

DIALECT = "gemini-live"
NAME_RULE = NameRule(first="[A-Za-z_]", further="[A-Za-z0-9_.:-]", max_length=128)


def camel_name(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in rest) if head else name


def camel_members(value: Any, path: str) -> JsonObject:
    """The object with its own member names in camelCase: clients may send either, the server sends this one.

    Only this level, because further down there may be a tool's own names.
    """
    source = as_object(value, path)
    if any("_" in name for name in source):
        return {camel_name(name): member for name, member in source.items()}
    return source
