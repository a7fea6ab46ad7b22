"""The root of a parameter schema: tool arguments are always one object, and providers want to see that.

Works on the canonical schema, one level deep: what lies below the root keeps its form and its references.
"""

from groundwire.codecs.schemas.conversions import JsonValue, Schema, WarningLog
from groundwire.codecs.schemas.keywords import (
    MAX_DEPTH,
    as_list,
    as_map,
    as_schema,
    as_strings,
    distinct_values,
    is_impossible,
    is_same_value,
    types_of,
    without,
)
from groundwire.codecs.schemas.merging import merge, merge_all
from groundwire.codecs.schemas.pointers import find_target
from groundwire.codecs.schemas.sentences import sentence_for, sentence_for_choice, text_of, with_sentences

MAX_FOLDED = 10_000
"""Parts and properties that folding may join: references that name each other twice double with every level."""

_NOT_AT_ROOT = ("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "enum", "const", "not")
_LABELS = frozenset({"type", "const", "enum", "title", "description"})


def object_root(schema: JsonValue, log: WarningLog) -> Schema:
    """The same schema with `type: object` at its root, whatever else it says."""
    node = as_schema(schema)
    names = types_of(node)
    if names == ["object"] and isinstance(schema, dict):
        return node if node["type"] == "object" else {**node, "type": "object"}
    if names is not None and "object" not in names:
        log.add(
            "root_rewritten", "", "Arguments are an object; a root of another type was replaced by an empty object."
        )
        return {"type": "object", "properties": {}}
    if isinstance(schema, bool):
        log.add("root_rewritten", "", "A boolean root was replaced by an empty object.")
        return {"type": "object", "properties": {}}
    return {"type": "object", **without(node, "type")}


def plain_object_root(schema: JsonValue, log: WarningLog) -> Schema:
    """The same with no alternatives, references or exclusions at the root, which most providers refuse there."""
    node = as_schema(schema)
    if isinstance(schema, bool) or not any(keyword in node for keyword in _NOT_AT_ROOT):
        return _with_properties(object_root(schema, log))
    log.add("root_rewritten", "", "References, alternatives and exclusions at the root were folded into one object.")
    folded = _Folder(node, log).fold(node)
    return _with_properties(object_root(_told_in_words(folded, log), log))


def _told_in_words(folded: Schema, log: WarningLog) -> Schema:
    """Move into the description what joining left over and what cannot stand at the root."""
    if is_impossible(folded):
        log.add("unsatisfiable", "", "No arguments can match the schema.")
        return without(folded, *_NOT_AT_ROOT)
    if "const" in folded:
        folded = {**without(folded, "const"), "enum": [folded["const"]]}
    sentences = [sentence_for(keyword, folded) for keyword in ("allOf", "enum", "not") if keyword in folded]
    folded = without(folded, *_NOT_AT_ROOT)
    if description := with_sentences(folded.get("description"), [sentence for sentence in sentences if sentence]):
        folded["description"] = description
    return folded


def _with_properties(node: Schema) -> Schema:
    if "nullable" in node:
        node = without(node, "nullable")
    return node if isinstance(node.get("properties"), dict) else {**node, "properties": {}}


class _Folder:
    """Joins a node with what its references, its `allOf` and its alternatives name, at its own level only."""

    def __init__(self, root: Schema, log: WarningLog) -> None:
        self._root = root
        self._log = log
        self._folded = 0

    def fold(self, node: Schema, seen: frozenset[str] = frozenset(), levels: int = MAX_DEPTH) -> Schema:
        joined = without(node, "$ref", "$dynamicRef", "allOf")
        if levels == 0:
            self._log.add("schema_too_deep", "", f"Parts below level {MAX_DEPTH} were left out of the root.")
            return joined
        if self._folded >= MAX_FOLDED:
            self._log.add("schema_too_large", "", f"Folding the root was stopped after {MAX_FOLDED} parts.")
            return joined
        self._folded += 1 + len(as_map(node.get("properties"))) + len(as_list(node.get("enum")))
        for keyword in ("$ref", "$dynamicRef"):
            reference = node.get(keyword)
            if not isinstance(reference, str) or reference in seen:
                continue
            target = find_target(reference, self._root)
            if target is None:
                self._log.add("ref_unresolved", "", f"The reference {reference} was replaced by any value.")
                continue
            named = without(as_schema(target.schema), "$defs", "definitions", "$id", "$schema")
            joined = merge(joined, self.fold(named, seen | {reference}, levels - 1))
        parts = [self.fold(as_schema(part), seen, levels - 1) for part in as_list(node.get("allOf"))]
        joined = merge_all([joined, *parts])
        for keyword in ("anyOf", "oneOf"):
            if keyword in joined:
                branches = [self.fold(as_schema(entry), seen, levels - 1) for entry in as_list(joined[keyword])]
                joined = _union(without(joined, keyword), branches, exactly_one=keyword == "oneOf")
        return joined


def _union(base: Schema, branches: list[Schema], *, exactly_one: bool) -> Schema:
    """One open-minded object for alternatives: all their properties, and only the requirements they share.

    A property that a branch does not mention is taken as not meant there, although an open branch would allow it any
    value: the model should see the properties that somebody declared, in the form in which they were declared.
    """
    branches = [
        branch for branch in branches if not is_impossible(branch) and "object" in (types_of(branch) or ["object"])
    ]
    if not branches:
        return base
    properties = dict(as_map(base.get("properties")))
    declared: dict[str, list[JsonValue]] = {}
    for branch in branches:
        for name, schema in as_map(branch.get("properties")).items():
            declared.setdefault(name, []).append(schema)
    for name, variants in declared.items():
        if name not in properties:
            properties[name] = _one_of_variants(variants)
        elif len(variants) == len(branches):
            properties[name] = merge(as_schema(properties[name]), as_schema(_one_of_variants(variants)))
    required_sets = [as_strings(branch.get("required")) for branch in branches]
    common = set(required_sets[0]).intersection(*required_sets[1:])
    shared = [name for name in required_sets[0] if name in common]
    # "Unevaluated" would no longer see what the branches evaluate.
    union: Schema = {**without(base, "unevaluatedProperties"), "properties": properties}
    required = list(dict.fromkeys([*as_strings(base.get("required")), *shared]))
    if required:
        union["required"] = list(required)
    if "additionalProperties" not in base and all(_is_closed(branch) for branch in branches):
        union["additionalProperties"] = False
    if told := _told_requirements(branches, required, exactly_one=exactly_one):
        union["description"] = with_sentences(base.get("description"), told)
    return union


def _told_requirements(branches: list[Schema], shared: list[str], *, exactly_one: bool) -> list[str]:
    """What single alternatives require beyond the rest, by their label where they have one."""
    known = set(shared)
    choices = [[name for name in as_strings(branch.get("required")) if name not in known] for branch in branches]
    label = _common_label(branches)
    if label is not None:
        values = [text_of(as_schema(as_map(branch["properties"])[label])["const"]) for branch in branches]
        return [
            f"If {label} is {value}, these are required too: {', '.join(names)}."
            for value, names in zip(values, choices, strict=True)
            if names
        ]
    return [sentence_for_choice(choices, exactly_one=exactly_one)] if all(choices) else []


def _common_label(branches: list[Schema]) -> str | None:
    """The property that has its own constant in each alternative."""
    for name, schema in as_map(branches[0].get("properties")).items():
        labels = (as_schema(as_map(branch.get("properties")).get(name)) for branch in branches)
        if "const" in as_schema(schema) and all("const" in label for label in labels):
            return name
    return None


def _is_closed(branch: Schema) -> bool:
    return branch.get("additionalProperties") is False and "patternProperties" not in branch


def _one_of_variants(variants: list[JsonValue]) -> JsonValue:
    distinct = distinct_values(variants)
    if len(distinct) == 1:
        return distinct[0]
    nodes = [as_schema(variant) for variant in distinct]
    if all(_is_label(node) for node in nodes):
        allowed = [[node["const"]] if "const" in node else as_list(node["enum"]) for node in nodes]
        values = distinct_values([value for values in allowed for value in values])
        kind = nodes[0].get("type")
        label: Schema = {"type": kind} if kind and all(is_same_value(node.get("type"), kind) for node in nodes) else {}
        return {**label, "enum": values}
    return {"anyOf": distinct}


def _is_label(node: Schema) -> bool:
    """True for the constant by which alternatives tell each other apart."""
    return ("const" in node or "enum" in node) and node.keys() <= _LABELS
