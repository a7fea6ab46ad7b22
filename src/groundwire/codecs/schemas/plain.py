"""Schemas that every provider takes as they are, found at a glance.

Most tools have them: typed values with descriptions, enums of strings, bounds, lists, and objects within objects. What
is not recognised here is merely looked at more closely; what is, needs no conversion. The glance is a typed conversion
by msgspec, which is three times as fast as a walk in Python.
"""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

DEPTH = 8
"""Levels of objects and lists; deeper schemas are rare enough to be looked at."""

_Words = Annotated[str, Meta(min_length=1)] | UnsetType
_Names = Annotated[list[str], Meta(min_length=1)] | UnsetType
_Name = Annotated[str, Meta(min_length=1, max_length=64)]
_Count = Annotated[int, Meta(ge=0)] | UnsetType
_Bound = int | float | UnsetType


class _Text(Struct, tag_field="type", tag="string", forbid_unknown_fields=True, gc=False):
    description: _Words = UNSET
    enum: _Names = UNSET


class _Number(Struct, tag_field="type", tag="number", forbid_unknown_fields=True, gc=False):
    description: _Words = UNSET
    minimum: _Bound = UNSET
    maximum: _Bound = UNSET


class _Integer(Struct, tag_field="type", tag="integer", forbid_unknown_fields=True, gc=False):
    description: _Words = UNSET
    minimum: _Bound = UNSET
    maximum: _Bound = UNSET


class _Flag(Struct, tag_field="type", tag="boolean", forbid_unknown_fields=True, gc=False):
    description: _Words = UNSET


def _check_object(value: Any) -> None:
    properties, required = value.properties, value.required
    if value.additionalProperties:  # `Literal[False]` would need msgspec 0.22
        raise ValueError("other properties are allowed")
    for name in properties:
        if not (name.isascii() and name.isidentifier()):
            raise ValueError("a name is not simple")
    if required is UNSET:
        return
    for name in required:
        if name not in properties:
            raise ValueError("a required property is not declared")
    if len(required) > 1 and len(set(required)) < len(required):
        raise ValueError("a required property is named twice")


def _type_of_objects(depth: int) -> Any:
    """Types within types, to a fixed depth: a type that holds itself would follow a schema to any."""
    node: Any = _Text | _Number | _Integer | _Flag
    made: Any = None
    for level in range(depth):
        made = msgspec.defstruct(
            f"_Object{level}",
            [
                ("properties", dict[_Name, node]),
                ("description", _Words, UNSET),
                ("required", _Names, UNSET),
                ("additionalProperties", bool, False),
            ],
            tag_field="type",
            tag="object",
            forbid_unknown_fields=True,
            gc=False,
            namespace={"__post_init__": _check_object},
        )
        listed = msgspec.defstruct(
            f"_List{level}",
            [("items", node), ("description", _Words, UNSET), ("minItems", _Count, UNSET), ("maxItems", _Count, UNSET)],
            tag_field="type",
            tag="array",
            forbid_unknown_fields=True,
            gc=False,
        )
        node = _Text | _Number | _Integer | _Flag | made | listed
    return made


_PLAIN = _type_of_objects(DEPTH)
_decode = msgspec.json.Decoder(_PLAIN | _Flag).decode  # of two types, or else msgspec would take one that is left out


def is_plain(schema: Any) -> bool:
    """Whether the schema is an object's and has nothing in it but what every provider understands alike."""
    if type(schema) is not dict or schema.get("type") != "object":  # msgspec would take a type that is left out
        return False
    try:
        msgspec.convert(schema, _PLAIN)
    except (msgspec.ValidationError, RecursionError):
        return False
    return True


def is_plain_text(text: Raw) -> bool:
    """The same of a schema's JSON text."""
    try:
        return type(_decode(text)) is _PLAIN
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return False
