"""Local references: from `#/$defs/x`, `#/properties/…` or `#` to the schema they name.

Looks inside one document only. Anchors, dynamic scopes and other documents are not followed.
"""

from typing import NamedTuple
from urllib.parse import unquote

from groundwire.codecs.schemas.conversions import JsonValue, Schema


class Target(NamedTuple):
    """What a reference names, and the schema against which the references inside it resolve."""

    schema: JsonValue
    resource: Schema


def starts_resource(node: Schema) -> bool:
    """True where an `$id` begins an embedded document, so that `#` means this node from here on."""
    identifier = node.get("$id")
    return isinstance(identifier, str) and not identifier.startswith("#")


def find_target(reference: str, resource: Schema) -> Target | None:
    if reference == "#":
        return Target(resource, resource)
    if not reference.startswith("#/"):
        return None
    found: JsonValue = resource
    for step in reference[2:].split("/"):
        found = _child(found, unquote(step).replace("~1", "/").replace("~0", "~"))
        if found is None:
            return None
        if isinstance(found, dict) and starts_resource(found):
            resource = found
    return Target(found, resource) if isinstance(found, dict | bool) else None


def _child(parent: JsonValue, step: str) -> JsonValue:
    if isinstance(parent, dict):
        return parent.get(step)
    if isinstance(parent, list) and step.isascii() and step.isdigit() and len(step) < 10:
        return parent[int(step)] if int(step) < len(parent) else None
    return None


def name_of(reference: str) -> str:
    """A name for the thing referred to, for use in a sentence."""
    last = unquote(reference.rsplit("/", 1)[-1]).replace("~1", "/").replace("~0", "~")
    return last if last not in ("", "#") else "the whole"


def references_in(schema: JsonValue) -> set[str]:
    """Every reference anywhere below, with a stack of its own so that depth does not matter."""
    found: set[str] = set()
    waiting: list[JsonValue] = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            reference = value.get("$ref")
            if isinstance(reference, str):
                found.add(reference)
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return found
