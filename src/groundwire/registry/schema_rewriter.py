"""Rewrites a schema for the validator, without changing its meaning, so that it is evaluated within bounds.

    a reference to a recursive definition      checks the definition's tags first, then charges the meter
    a pattern that begins with look-aheads     becomes several patterns, none of which needs backtracking
    an enum or const with numbers              is compared with values of its own types only: comparing others is slow

A schema that needs none of these is used unchanged. Knows nothing of limits.
"""

from typing import Any

from groundwire.registry.evaluation_meter import KEYWORD
from groundwire.registry.pattern_bounds import split_lookaheads
from groundwire.registry.schema_bounds import SchemaAnalysis
from groundwire.registry.schema_graph import Subschema
from groundwire.registry.schema_reach import EvaluationRate

MAX_TAGS = 8
"""Values of a member that may be a tag."""
_TYPES: tuple[tuple[type, str], ...] = (
    (bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (dict, "object"), (list, "array"),
)  # fmt: skip


def rewrite_schema(schema: dict[str, Any], analysis: SchemaAnalysis) -> tuple[dict[str, Any], list[EvaluationRate]]:
    """Return the schema to compile, and the rates of the charges in it, by number."""
    charges = _Charges(schema, analysis)
    changed: dict[int, dict[str, Any]] = {}
    for node in analysis.graph.subschemas:
        keywords = node.source
        if analysis.recursive:
            keywords = charges.apply(node, keywords)
        if isinstance(keywords.get("pattern"), str):
            keywords = _without_lookaheads(keywords)
        if "enum" in keywords or "const" in keywords:
            keywords = _with_types(keywords)
        if keywords is not node.source:
            changed[id(node.source)] = keywords
    if not changed:
        return schema, []
    rewritten = _copied(schema, changed)
    if charges.definitions:
        rewritten["$defs"] = {**rewritten.get("$defs", {}), **charges.definitions}
    return rewritten, charges.rates


class _Charges:
    """Definitions that charge and then refer to the recursive one, one for each reference that is written differently.

    The validator remembers what it found for such a definition and an object; what is remembered is not charged again.
    """

    def __init__(self, schema: dict[str, Any], analysis: SchemaAnalysis) -> None:
        self.definitions: dict[str, Any] = {}
        self.rates: list[EvaluationRate] = []
        self._analysis = analysis
        self._names: dict[tuple[str, str], str] = {}
        definitions = schema.get("$defs")
        self._taken = definitions if isinstance(definitions, dict) else {}

    def apply(self, node: Subschema, keywords: dict[str, Any]) -> dict[str, Any]:
        for keyword in {word for word, _ in node.references if (node.index, word) in self._analysis.recursive}:
            others = {name: value for name, value in keywords.items() if name != keyword}
            charged = {"$ref": f"#/$defs/{self._name(node, keyword)}"}
            keywords = _with_parts(others, [charged]) if "$ref" in others else {**others, **charged}
        return keywords

    def _name(self, node: Subschema, keyword: str) -> str:
        reference = node.source[keyword]
        name = self._names.get((keyword, reference))
        if name is None:
            name = self._names[keyword, reference] = f"groundwire.charged.{len(self.rates)}"
            while name in self._taken:
                name = self._names[keyword, reference] = f"{name}."
            targets = [number for word, number in node.references if word == keyword]
            # Two levels of allOf: the inner one is not entered at all when the charge fails, not even to find out
            # for unevaluatedProperties what it has evaluated.
            charged = {"allOf": [{KEYWORD: len(self.rates)}, {keyword: reference}]}
            tags = self._tags(targets[0]) if len(targets) == 1 else {}
            self.definitions[name] = {"allOf": [tags, charged] if tags else [charged]}
            found = [self._analysis.rates[number] for number in targets if number in self._analysis.rates]
            self.rates.append(EvaluationRate(*(max(values) for values in zip(*found, strict=True))))
        return name

    def _tags(self, target: int) -> dict[str, Any]:
        """What a definition says of the type and of members with few fixed values, which distinguish kinds.

        This is checked before the definition itself, so that only one of many kinds is evaluated further.
        """
        source = self._analysis.graph.subschemas[target].source
        named = source.get("properties")
        tags = {
            name: {keyword: value[keyword] for keyword in ("const", "enum") if keyword in value}
            for name, value in (named.items() if isinstance(named, dict) else ())
            if isinstance(value, dict) and _is_tag(value)
        }
        required = source.get("required")
        needed = [name for name in required if name in tags] if isinstance(required, list) else []
        found: dict[str, Any] = {"properties": tags, "required": needed} if tags else {}
        if "type" in source:
            found["type"] = source["type"]
        return found


def _is_tag(value: dict[str, Any]) -> bool:
    options = [value["const"]] if "const" in value else value.get("enum")
    return (
        isinstance(options, list)
        and 0 < len(options) <= MAX_TAGS
        and all(isinstance(option, (str, int)) for option in options)
    )


def _without_lookaheads(keywords: dict[str, Any]) -> dict[str, Any]:
    ahead, rest = split_lookaheads(keywords["pattern"])
    if not ahead:
        return keywords
    parts = [
        {"pattern": part} if must_match else {"not": {"type": "string", "pattern": part}} for must_match, part in ahead
    ]
    return _with_parts({**keywords, "pattern": rest}, parts)


def _with_types(keywords: dict[str, Any]) -> dict[str, Any]:
    """The types of the options go first, and apart from what else is said of the type."""
    for keyword in ("enum", "const"):
        options = keywords.get(keyword) if keyword == "enum" else [keywords.get("const")]
        if not isinstance(options, list) or keywords.get("type") == "integer":
            continue
        plain = [int(option) if isinstance(option, float) and option.is_integer() else option for option in options]
        if not any(isinstance(option, (int, float)) and not isinstance(option, bool) for option in plain):
            continue
        types = sorted({_type_of(option) for option in plain})
        others = {name: value for name, value in keywords.items() if name != keyword}
        keywords = _with_parts(others, [{"type": types, keyword: plain if keyword == "enum" else plain[0]}])
    return keywords


def _type_of(option: Any) -> str:
    return next((name for kind, name in _TYPES if isinstance(option, kind)), "null")


def _with_parts(keywords: dict[str, Any], parts: list[Any]) -> dict[str, Any]:
    known = keywords.get("allOf")
    return {**keywords, "allOf": [*(known if isinstance(known, list) else ()), *parts]}


def _copied(value: Any, changed: dict[int, dict[str, Any]]) -> Any:
    if isinstance(value, list):
        return [_copied(item, changed) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: _copied(member, changed) for name, member in changed.get(id(value), value).items()}
