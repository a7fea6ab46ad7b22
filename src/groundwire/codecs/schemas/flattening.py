"""From a canonical schema to a plain one: references inlined, allOf joined, booleans and shorthands written out.

A plain schema is still JSON Schema, but a renderer needs no second look: no `$ref` (unless definitions are kept), no
`const`, no `nullable`, no boolean subschema, and `allOf` only as what could not be joined. Recursion is unrolled within
limits and then cut to a permissive schema that says so. Knows nothing of any provider.
"""

import re
from typing import NamedTuple

from groundwire.codecs.schemas.conversions import JsonValue, Schema, WarningLog
from groundwire.codecs.schemas.keywords import (
    MAX_DEPTH,
    SCHEMA_LISTS,
    SCHEMA_MAPS,
    SCHEMA_VALUES,
    as_list,
    as_map,
    as_schema,
    is_among,
    pointer,
    types_of,
    without,
)
from groundwire.codecs.schemas.merging import merge, merge_all
from groundwire.codecs.schemas.pointers import Target, find_target, name_of, starts_resource

MAX_INLINED = 2000
"""Schema nodes that inlining may add before it is tried again with tighter limits."""

_KEPT_REFERENCE = re.compile(r"#/\$defs/([A-Za-z0-9_.-]+)")
_NOT_CARRIED = frozenset({
    "$schema", "$id", "$anchor", "$dynamicAnchor", "$vocabulary", "$comment", "$defs", "definitions",
    "$ref", "$dynamicRef", "allOf", "discriminator",
})  # fmt: skip


class _Limits(NamedTuple):
    same: int
    """How often one reference may be open on the way down."""
    nested: int
    """How many references may be open on the way down."""


_TRIES = (_Limits(3, 24), _Limits(2, 8), _Limits(1, 4), _Limits(1, 2), _Limits(1, 1))


class _Scope(NamedTuple):
    resource: Schema
    opened: tuple[tuple[int, str], ...] = ()
    depth: int = 0


class _TooLarge(Exception):
    """Inlining outgrew its limits; never leaves this module."""


def flatten(schema: JsonValue, *, root: Schema, log: WarningLog) -> Schema:
    """Inline every reference; `root` is the document in which references are looked up."""
    for limits in _TRIES[:-1]:
        attempt = WarningLog()
        try:
            plain = _Flattener(root, attempt, limits).run(schema)
        except _TooLarge:
            continue
        log.extend(attempt.taken())
        return plain
    return _Flattener(root, log, _TRIES[-1], cut=True).run(schema)


def flatten_keeping_definitions(schema: JsonValue, *, root: Schema, log: WarningLog) -> Schema:
    """Keep references to the root's `$defs`, and with them recursion; inline all others."""
    return _Flattener(root, log, _TRIES[1], cut=True, keep=True).run(schema)


class _Flattener:
    def __init__(
        self, root: Schema, log: WarningLog, limits: _Limits, *, cut: bool = False, keep: bool = False
    ) -> None:
        self._root = root
        self._log = log
        self._limits = limits
        self._cut = cut
        self._keep = keep
        self._kept: dict[str, None] = {}
        self._inlined = 0

    def run(self, schema: JsonValue) -> Schema:
        scope = _Scope(self._root)
        plain = self._flatten(schema, "", scope, inline=True)
        definitions: Schema = {}
        while waiting := [name for name in self._kept if name not in definitions]:
            for name in waiting:
                source = as_map(self._root["$defs"])[name]
                definitions[name] = self._flatten(source, pointer("", "$defs", name), scope, inline=True)
        return {**plain, "$defs": definitions} if definitions else plain

    def _flatten(self, schema: JsonValue, path: str, scope: _Scope, *, inline: bool = False) -> Schema:
        if scope.depth > MAX_DEPTH:
            self._log.add("schema_too_deep", path, f"Nesting below level {MAX_DEPTH} was replaced by any value.")
            return {}
        if scope.opened:
            self._inlined += 1
        node = _written_out(as_schema(schema))
        if scope.depth and starts_resource(node):
            scope = scope._replace(resource=node)
        inner = scope._replace(depth=scope.depth + 1)
        plain = self._own_keywords(node, path, inner)
        for keyword in ("$ref", "$dynamicRef"):
            reference = node.get(keyword)
            if not isinstance(reference, str):
                continue
            if not inline and "anyOf" not in plain and self._keeps(reference, scope):
                plain = {**plain, "anyOf": [{"$ref": reference}]} if plain else {"$ref": reference}
                continue
            plain = merge(plain, self._inline(reference, path, inner))
        parts = [
            self._flatten(part, pointer(path, "allOf", index), inner, inline=True)
            for index, part in enumerate(as_list(node.get("allOf")))
        ]
        return merge_all([plain, *parts])

    def _own_keywords(self, node: Schema, path: str, scope: _Scope) -> Schema:
        plain: Schema = {}
        for keyword, value in node.items():
            if keyword in _NOT_CARRIED:
                continue
            here = pointer(path, keyword)
            if keyword in SCHEMA_MAPS:
                plain[keyword] = {
                    name: self._flatten(entry, pointer(here, name), scope) for name, entry in as_map(value).items()
                }
            elif keyword in SCHEMA_LISTS:
                plain[keyword] = [
                    self._flatten(entry, pointer(here, index), scope) for index, entry in enumerate(as_list(value))
                ]
            elif keyword in SCHEMA_VALUES:
                plain[keyword] = self._flatten(value, here, scope)
            else:
                plain[keyword] = value
        return plain

    def _keeps(self, reference: str, scope: _Scope) -> bool:
        found = _KEPT_REFERENCE.fullmatch(reference)
        if not self._keep or found is None or scope.resource is not self._root:
            return False
        if find_target(reference, self._root) is None:
            return False
        self._kept.setdefault(found[1])
        return True

    def _inline(self, reference: str, path: str, scope: _Scope) -> Schema:
        target = find_target(reference, scope.resource)
        if target is None:
            self._log.add("ref_unresolved", path, f"The reference {reference} was replaced by any value.")
            return {}
        if self._inlined >= MAX_INLINED:
            if not self._cut:
                raise _TooLarge
            self._log.add("schema_too_large", path, f"Inlining was stopped after {MAX_INLINED} schemas.")
            return _cut_here(reference, target)
        mark = (id(scope.resource), reference)
        if scope.opened.count(mark) >= self._limits.same or len(scope.opened) >= self._limits.nested:
            self._log.add("ref_recursive", path, f"The reference {reference} was not unrolled further.")
            return _cut_here(reference, target)
        inner = _Scope(target.resource, (*scope.opened, mark), scope.depth)
        return self._flatten(target.schema, path, inner, inline=True)


def _cut_here(reference: str, target: Target) -> Schema:
    names = types_of(as_schema(target.schema))
    shape: Schema = {"type": names[0]} if names is not None and len(names) == 1 else {}
    return {**shape, "description": f"Nested further in the same way as {name_of(reference)}."}


def _written_out(node: Schema) -> Schema:
    """`const` as a one-element enum, `nullable` as a null type."""
    if "const" in node:
        value = node["const"]
        allowed = [value] if "enum" not in node or is_among(value, as_list(node["enum"])) else []
        node = {**without(node, "const"), "enum": allowed}
    if "nullable" in node:
        node = _with_null(without(node, "nullable")) if node["nullable"] is True else without(node, "nullable")
    return node


def _with_null(node: Schema) -> Schema:
    names = types_of(node)
    if names is not None:
        node = {**node, "type": [*names, "null"] if "null" not in names else [*names]}
        if "enum" in node and not is_among(None, as_list(node["enum"])):
            node["enum"] = [*as_list(node["enum"]), None]
        return node
    for keyword in ("anyOf", "oneOf"):
        if keyword in node:
            return {**node, keyword: [*as_list(node[keyword]), {"type": "null"}]}
    if "$ref" in node or "allOf" in node:
        # The shorthand comes from OpenAPI 3.0, where it widens the whole schema beside it.
        return {"anyOf": [node, {"type": "null"}]}
    return node
