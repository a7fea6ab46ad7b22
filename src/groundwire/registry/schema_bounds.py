"""Whether a JSON Schema may be compiled: how large it is, and how much work it can make, measured beforehand.

The work is the most subschema evaluations for one node of a value, over all values; docs/guides/schemas.md has the
argument. Measuring is linear in the schema, whatever the schema says. Compiles nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from groundwire.contracts.canonical import dump_json, is_deeper_than
from groundwire.contracts.errors import SchemaTooComplex
from groundwire.contracts.schema_limits import DEFAULT_SCHEMA_LIMITS, SchemaLimits
from groundwire.registry.pattern_bounds import (
    MAX_ATOMS,
    NeedsBacktracking,
    PatternCost,
    TooManyAtoms,
    measure_pattern,
    split_lookaheads,
)
from groundwire.registry.schema_graph import GraphTooLarge, SchemaGraph
from groundwire.registry.schema_reach import (
    EvaluationRate,
    Reaches,
    ReachTooLarge,
    find_recursive_references,
    has_loop_in_place,
)


@dataclass(frozen=True, slots=True)
class SchemaMeasures:
    """A schema within its limits. `evaluations` is for one application of it, or of one of its recursive definitions.

    `recursive` counts the references to recursive definitions, `errors` how many errors one node can have.
    """

    bytes: int
    subschemas: int
    references: int
    recursive: int
    patterns: int
    pattern_states: int
    evaluations: int
    errors: int
    has_unions: bool
    has_unique: bool
    names_are_checked: bool


@dataclass(frozen=True, slots=True)
class SchemaAnalysis:
    """A schema taken apart: its measures, its graph, the references to recursive definitions, and what these cost."""

    measures: SchemaMeasures
    graph: SchemaGraph
    recursive: frozenset[tuple[int, str]]
    rates: dict[int, EvaluationRate]


def measure_schema(schema: dict[str, Any], *, of: str, limits: SchemaLimits = DEFAULT_SCHEMA_LIMITS) -> SchemaMeasures:
    """Measure a schema that is JSON. Raises SchemaTooComplex if it exceeds a limit; `of` names its owner in the message."""
    return analyse_schema(schema, of=of, limits=limits).measures


def analyse_schema(schema: dict[str, Any], *, of: str, limits: SchemaLimits = DEFAULT_SCHEMA_LIMITS) -> SchemaAnalysis:
    """Measure a schema as `measure_schema` does, and return its graph and the costs of its recursive definitions too."""

    def hold(measure: str, value: int, limit: int) -> None:
        if value > limit:
            raise _too_complex(of, measure, value, limit)

    size = _size_of(schema)
    hold("bytes", size, limits.max_bytes)
    if is_deeper_than(schema, limits.max_depth):
        raise _too_complex(of, "depth", limits.max_depth + 1, limits.max_depth)
    try:
        graph = SchemaGraph(schema, max_subschemas=limits.max_subschemas, max_references=limits.max_references)
        patterns = _patterns_of(graph, of, limits)
        recursive = find_recursive_references(graph)
        if recursive:
            hold("referenceLoops", int(has_loop_in_place(graph)), 0)
            hold("embeddedResources", len(graph.document.resources) - 1, 0)
        reaches = Reaches(graph, recursive, patterns, limits.max_evaluations)
    except (GraphTooLarge, ReachTooLarge) as error:
        raise _too_complex(of, error.measure, error.value, error.limit) from None
    definitions = {
        number for index, keyword in recursive for name, number in graph.subschemas[index].references if name == keyword
    }
    rates = {number: reaches.rate_of(number) for number in definitions}
    evaluations = max(rate.most for rate in (reaches.rate_of(0), *rates.values()))
    measures = SchemaMeasures(
        bytes=size,
        subschemas=len(graph.subschemas),
        references=graph.references,
        recursive=len(recursive),
        patterns=len(patterns),
        pattern_states=sum(cost.states for cost in patterns.values()),
        evaluations=evaluations,
        errors=evaluations + _longest_required(graph),
        has_unions=_uses(graph, "anyOf") or _uses(graph, "oneOf"),
        has_unique=_uses(graph, "uniqueItems"),
        names_are_checked=_uses(graph, "propertyNames"),
    )
    return SchemaAnalysis(measures, graph, recursive, rates)


def _uses(graph: SchemaGraph, keyword: str) -> bool:
    return any(keyword in node.source for node in graph.subschemas)


def _longest_required(graph: SchemaGraph) -> int:
    found = (node.source.get("required") for node in graph.subschemas)
    return max((len(names) for names in found if isinstance(names, list)), default=0)


def _size_of(schema: dict[str, Any]) -> int:
    try:
        return len(orjson.dumps(schema))
    except TypeError:  # integers past 64 bits, or nested past what orjson takes
        return 0 if is_deeper_than(schema, _ORJSON_DEPTH) else len(dump_json(schema))


_ORJSON_DEPTH = 250
"""Levels of nesting that orjson can write."""
_HINTS = {
    "evaluations": "Alternatives within alternatives multiply: give them fewer branches, or refer to one definition.",
    "referenceLoops": "A $ref must not lead back to itself for the same value, only for a part of it.",
    "embeddedResources": "A recursive schema is one document: remove $id below its root.",
    "patternSyntax": "Only a look-ahead at the very beginning (^(?=…)) can be matched in one pass.",
    "patternStates": "Use minLength and maxLength instead of large counts in a pattern.",
}


def _too_complex(of: str, measure: str, value: int, limit: int, what: str = "") -> SchemaTooComplex:
    message = f"the schema of {of} is too complex{what}"
    return SchemaTooComplex(message, measure=measure, value=value, limit=limit, hint=_HINTS.get(measure, ""))


def _patterns_of(graph: SchemaGraph, of: str, limits: SchemaLimits) -> dict[str, PatternCost]:
    """The cost of each pattern. Stops at the limits, so that measuring many large ones does not take long itself."""
    found: dict[str, PatternCost] = {}
    states = 0
    for pattern, parts in _all_patterns(graph):
        if pattern in found:
            continue
        cost = found[pattern] = _measure(pattern, parts, of)
        states += cost.states
        if len(found) > limits.max_patterns:
            raise _too_complex(of, "patterns", len(found), limits.max_patterns)
        if states > limits.max_pattern_states:
            raise _too_complex(of, "patternStates", states, limits.max_pattern_states)
    return found


def _all_patterns(graph: SchemaGraph) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every pattern, with those that take its place: its look-aheads, and the rest."""
    for node in graph.subschemas:
        if isinstance(named := node.source.get("patternProperties"), dict):
            yield from ((pattern, (pattern,)) for pattern in named)
        if isinstance(pattern := node.source.get("pattern"), str):
            ahead, rest = split_lookaheads(pattern)
            yield pattern, (rest, *(part for _, part in ahead))


def _measure(pattern: str, parts: tuple[str, ...], of: str) -> PatternCost:
    shown = f" in its pattern {pattern[:80]!r}"
    try:
        costs = [measure_pattern(part) for part in parts]
    except NeedsBacktracking:
        raise _too_complex(of, "patternSyntax", 1, 0, shown) from None
    except TooManyAtoms:
        raise _too_complex(of, "patternStates", MAX_ATOMS + 1, MAX_ATOMS, shown) from None
    return PatternCost(sum(cost.threads for cost in costs), sum(cost.states for cost in costs))
