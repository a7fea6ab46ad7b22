"""JSON Schemas that are short to write and take exponential time to evaluate."""

import json
import random
from typing import Any

Schema = dict[str, Any]

TOO_COMPLEX = "SCHEMA_TOO_COMPLEX"
MISFIT = {"v": "x"}
"""What no bomb of `ladder` accepts, so that every branch is evaluated."""


def ladder(keyword: str, levels: int) -> Schema:
    """Each level refers twice to the next one: 2 ** levels evaluations of one value."""
    definitions: Schema = {
        f"l{level}": {keyword: [{"$ref": f"#/$defs/l{level + 1}"}, {"$ref": f"#/$defs/l{level + 1}"}]}
        for level in range(levels)
    }
    # `allOf` stops at the first branch that fails, the others at the first that passes.
    definitions[f"l{levels}"] = {"type": "string"} if keyword == "allOf" else {"const": "never"}
    return _object_of({"$ref": "#/$defs/l0"}, definitions)


def recursion() -> Schema:
    """Two ways into each level of the instance, so that its depth is the exponent."""
    again = {"type": "array", "items": {"$ref": "#/$defs/node"}}
    return _object_of({"$ref": "#/$defs/node"}, {"node": {"anyOf": [again, dict(again), {"const": "never"}]}})


def nested(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value


def _object_of(value: Schema, definitions: Schema) -> Schema:
    return {"type": "object", "properties": {"v": value}, "required": ["v"], "$defs": definitions}


def random_ladders(chance: random.Random) -> dict[str, tuple[Schema, Any]]:
    """Hostile schemas by name, each with arguments that take long."""
    found: dict[str, tuple[Schema, Any]] = {
        f"ladder_{keyword.lower()}": (ladder(keyword, chance.randint(24, 30)), MISFIT)
        for keyword in ("anyOf", "oneOf", "allOf")
    }
    found["recursion"] = (recursion(), {"v": nested(chance.randint(40, 60))})
    return found


def slow_patterns() -> dict[str, tuple[Schema, Any]]:
    """Patterns by name, each with at most 200 000 bytes of arguments that take seconds to match."""
    lookahead = [{"not": {"pattern": f"^(?:(a|a)+)+(?!b)c{number}"}} for number in range(50)]
    return {
        "nested_counts": (_string_of("(.{1,100}){1,50}x$"), {"v": "a" * 190_000}),
        "long_count": (_string_of("[a-z]{1,4000}[0-9]"), {"v": "a" * 190_000}),
        "backtracking": (_string_of(r"^(a+)+(?=b)\1$"), {"v": "a" * 190_000}),
        "many_lookaheads": (
            {"type": "object", "properties": {"v": {"type": "array", "items": {"allOf": lookahead}}}},
            {"v": ["a" * 15] * 10_000},
        ),
    }


def _string_of(pattern: str) -> Schema:
    return {"type": "object", "properties": {"v": {"type": "string", "pattern": pattern}}, "required": ["v"]}


def ordinary() -> Schema:
    """A larger schema of the usual kind, which must not be refused."""
    address = {
        "type": "object",
        "properties": {"street": {"type": "string"}, "city": {"type": "string", "maxLength": 80}},
    }
    fields: Schema = {f"field_{number}": {"type": ["string", "null"], "maxLength": 200} for number in range(40)}
    fields["addresses"] = {"type": "array", "items": {"$ref": "#/$defs/address"}, "maxItems": 20}
    fields["contact"] = {"anyOf": [{"$ref": "#/$defs/address"}, {"type": "string", "pattern": "^[^@]+@[^@]+$"}]}
    fields["v"] = {"type": "string"}
    return {"type": "object", "properties": fields, "$defs": {"address": address}, "additionalProperties": False}


def mentions_too_complex(value: object) -> bool:
    text = value if isinstance(value, str) else json.dumps(value)
    return TOO_COMPLEX in text.upper()
