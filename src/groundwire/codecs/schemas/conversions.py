"""The values that schema conversion hands around, and the one list of warning codes.

Knows nothing of any provider. Every other schema module imports from here.
"""

from typing import Literal, TypeAlias, get_args

from msgspec import Struct

from groundwire.contracts.canonical import JsonObject, JsonValue

Schema: TypeAlias = JsonObject

__all__ = [
    "WARNING_CODES",
    "Conversion",
    "Declaration",
    "JsonValue",
    "Schema",
    "SchemaWarning",
    "WarningCode",
    "WarningLog",
]

WarningCode = Literal[
    "all_of_conflict",  # parts of an allOf could not be joined; the rest is told in the description
    "description_length",  # the description is longer than the provider has been known to take
    "empty_object",  # an object without properties: some models refuse it
    "keyword_described",  # a keyword cannot be sent and is told in the description
    "keyword_dropped",  # a keyword cannot be sent and is not told either
    "name_characters",  # the tool name has characters the provider refuses
    "name_length",  # the tool name is empty or too long
    "one_of_widened",  # oneOf was sent as anyOf: "exactly one" is lost
    "parameter_name",  # a parameter name is outside the provider's rule
    "ref_recursive",  # a recursive reference was unrolled and cut
    "ref_unresolved",  # a reference leads nowhere or out of the document
    "result_not_object",  # the result schema is not an object schema and was left out
    "root_rewritten",  # the root had to be rewritten as a plain object schema
    "schema_too_deep",  # nesting was cut
    "schema_too_large",  # inlining or splitting was cut because of its size
    "type_assumed",  # a schema without type got the type its keywords speak of
    "unsatisfiable",  # no value can match this part
]
WARNING_CODES: tuple[str, ...] = get_args(WarningCode)


class SchemaWarning(Struct, frozen=True, kw_only=True):
    """One loss or doubt; `path` is a JSON pointer into the schema as it was walked, through references."""

    code: WarningCode
    path: str
    message: str


class Conversion(Struct, frozen=True, kw_only=True):
    """A converted schema. It may share unchanged parts with its input: treat both as read-only."""

    schema: Schema
    warnings: tuple[SchemaWarning, ...] = ()


class Declaration(Struct, frozen=True, kw_only=True):
    """One tool in the form a provider wants, with everything that was lost or may be refused."""

    value: Schema
    warnings: tuple[SchemaWarning, ...] = ()


class WarningLog:
    """Collects warnings in the order found, each once."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, str], SchemaWarning] = {}

    def add(self, code: WarningCode, path: str, message: str) -> None:
        self._found.setdefault((code, path, message), SchemaWarning(code=code, path=path, message=message))

    def extend(self, warnings: tuple[SchemaWarning, ...]) -> None:
        for warning in warnings:
            self.add(warning.code, warning.path, warning.message)

    def taken(self) -> tuple[SchemaWarning, ...]:
        return tuple(self._found.values())
