"""From a plain schema to the OpenAPI subset that Gemini calls `Schema`: upper-case types, `nullable`, string enums.

The subset's checker is strict in ways that shape this module: every node has a type or is nothing but an `anyOf`; an
array has `items`; `required` names declared properties only; keywords stand beside their own type only; an enum holds
non-empty strings. Whatever cannot be said in these terms goes into the description, so that values only become freer.
"""

from groundwire.codecs.schemas.conversions import Schema, WarningLog
from groundwire.codecs.schemas.keywords import (
    KEYWORDS_OF_TYPE,
    NEVER,
    as_list,
    as_schema,
    distinct_values,
    is_impossible,
    matches_type,
    pointer,
    type_of_value,
    types_of,
    without,
)
from groundwire.codecs.schemas.merging import merge
from groundwire.codecs.schemas.sentences import with_sentences
from groundwire.codecs.schemas.telling import (
    SENT,
    Teller,
    takes_format,
    with_sent_bounds,
    write_properties,
)

MAX_WRITTEN = 5000
"""Nodes written before the rest is left open; splitting alternatives can multiply a schema."""

_STRUCTURE = frozenset({"type", "enum"}).union(*KEYWORDS_OF_TYPE.values())
_SCALARS: list[Schema] = [{"type": "STRING"}, {"type": "NUMBER"}, {"type": "BOOLEAN"}, {"type": "OBJECT"}]


def write_openapi(plain: Schema, log: WarningLog) -> Schema:
    return _Writer(log).write(plain, "")


class _Writer:
    def __init__(self, log: WarningLog) -> None:
        self._log = log
        self._teller = Teller(log)
        self._written = 0

    def write(self, node: Schema, path: str) -> Schema:
        self._written += 1
        if self._written > MAX_WRITTEN:
            self._log.add("schema_too_large", "", f"Writing was stopped after {MAX_WRITTEN} schemas.")
            return _any_value()
        if is_impossible(node):
            self._log.add("unsatisfiable", path, "No value can match here; any value was declared.")
            return _described(_any_value(), "No value is valid here.")
        node = self._teller.tell_choice(node, path)
        if "anyOf" in node or "oneOf" in node:
            return self._write_alternatives(node, path)
        names = self._types(node, path)
        description = self._teller.describe(node, path)
        if names is None:
            return _described(_any_value(), description)
        written = [self._write_typed(node, name, path) for name in names if name != "null"]
        return _described(_combined(written, nullable="null" in names), description)

    def _write_alternatives(self, node: Schema, path: str) -> Schema:
        keyword = "anyOf" if "anyOf" in node else "oneOf"
        if keyword == "oneOf":
            self._log.add("one_of_widened", path, "oneOf was sent as anyOf.")
        shared = {key: value for key, value in node.items() if key in _STRUCTURE}
        written: list[Schema] = []
        nullable = False
        for index, entry in enumerate(as_list(node[keyword])):
            branch = merge(shared, as_schema(entry))
            if is_impossible(branch):
                continue
            if types_of(branch) == ["null"]:
                nullable = True
                continue
            written.append(self.write(branch, pointer(path, keyword, index)))
        if not written and not nullable:
            return self.write(dict(NEVER), path)
        return _described(_combined(written, nullable=nullable), self._teller.describe(without(node, keyword), path))

    def _types(self, node: Schema, path: str) -> list[str] | None:
        """The types to write, or None for any value."""
        names = types_of(node)
        if names is None and "enum" not in node:
            about = [name for name in ("string", "number", "array", "object") if _speaks_of(name, node)]
            if len(about) != 1:
                return None
            self._log.add("type_assumed", path, f"A schema without type was taken as {about[0]}.")
            return about
        if "enum" in node:
            values = as_list(node["enum"])
            names = list(dict.fromkeys(map(type_of_value, values))) if names is None else names
            names = [name for name in names if any(matches_type(value, name) for value in values)]
        names = names or []
        return [name for name in names if name != "integer" or "number" not in names]

    def _write_typed(self, node: Schema, name: str, path: str) -> Schema:
        node = with_sent_bounds(node, name)
        written: Schema = {"type": name.upper()}
        unsent = (KEYWORDS_OF_TYPE[name] - SENT) & node.keys()
        if takes_format(node, name):
            written["format"] = node["format"]
            unsent -= {"format"}
        if "enum" in node:
            values = distinct_values(value for value in as_list(node["enum"]) if matches_type(value, name))
            node["enum"] = values
            if name == "string" and "" not in values:
                written["enum"] = values
            else:
                unsent |= {"enum"}
        written.update((keyword, node[keyword]) for keyword in node if keyword in SENT & KEYWORDS_OF_TYPE[name])
        if name == "array":
            self._write_items(node, path, written)
            unsent -= {"items"}
        if name == "object":
            node["required"] = write_properties(node, path, written, self.write, self._log)
            if not written.get("properties") and path:
                self._log.add("empty_object", path, "An object without properties is refused by some models.")
            unsent = unsent - {"properties"} | {"required"}
        return _described(written, self._teller.tell(node, sorted(unsent), path))

    def _write_items(self, node: Schema, path: str, written: Schema) -> None:
        first = as_list(node.get("prefixItems"))
        rest = as_schema(node.get("items", True))
        most = written.get("maxItems")
        if is_impossible(rest):
            most = min(most, len(first)) if isinstance(most, int) else len(first)
            written["maxItems"] = most
        candidates = first if isinstance(most, int) and most <= len(first) else [*first, rest]
        possible = [item for item in candidates if not is_impossible(as_schema(item))]
        if not possible:
            written["items"] = _any_value()
        else:
            items: Schema = {"anyOf": possible} if len(possible) > 1 else as_schema(possible[0])
            written["items"] = self.write(items, pointer(path, "items"))


def _speaks_of(name: str, node: Schema) -> bool:
    ambiguous = {"format"} if name == "number" else set()
    return bool((KEYWORDS_OF_TYPE[name] - ambiguous) & node.keys())


def _any_value() -> Schema:
    """Every type by name, because a node without type is refused; an array in an array is as far as it goes."""
    items = _combined(_SCALARS, nullable=True)
    return _combined([*_SCALARS, {"type": "ARRAY", "items": items}], nullable=True)


def _combined(written: list[Schema], *, nullable: bool) -> Schema:
    """One schema for several; an `anyOf` stands alone, so what belongs to all of them is said in each."""
    branches = distinct_values(
        branch for schema in written for branch in (as_list(schema["anyOf"]) if "anyOf" in schema else [schema])
    )
    if not branches:
        return {"type": "NULL"}
    if nullable:
        branches = distinct_values({**as_schema(branch), "nullable": True} for branch in branches)
    return as_schema(branches[0]) if len(branches) == 1 else {"anyOf": branches}


def _described(schema: Schema, description: str) -> Schema:
    """Put a description in front of the one that is there; beside an `anyOf` it goes to the first branch."""
    if not description:
        return schema
    if "anyOf" in schema:
        first, *others = as_list(schema["anyOf"])
        return {"anyOf": [_described(as_schema(first), description), *others]}
    below = schema.get("description")
    if not isinstance(below, str) or below in description:
        return {**schema, "description": description}
    return {**schema, "description": with_sentences(description, [below])}
