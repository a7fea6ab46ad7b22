"""Limits on the complexity of JSON Schemas, checked for every schema from outside before it is compiled."""

from typing import Annotated

from msgspec import Meta, Struct


class SchemaLimits(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """`[schemas]`. What exceeds one of these is refused with the detail SCHEMA_TOO_COMPLEX.

    `maxEvaluations` is how many subschemas may be evaluated for one node of a value, whatever the value is.
    `maxBytes` is the schema's size as JSON, `maxDepth` its nesting, `maxSubschemas` and `maxReferences` what it holds.
    `maxPatterns` counts its regular expressions, and `maxPatternStates` the states that they compile to.
    """

    max_bytes: Annotated[int, Meta(ge=1_000, le=16_777_216)] = 262_144
    max_depth: Annotated[int, Meta(ge=4, le=200)] = 100
    max_subschemas: Annotated[int, Meta(ge=10, le=1_000_000)] = 10_000
    max_references: Annotated[int, Meta(ge=1, le=1_000_000)] = 5_000
    max_evaluations: Annotated[int, Meta(ge=10, le=1_000_000)] = 500
    max_patterns: Annotated[int, Meta(ge=1, le=100_000)] = 500
    max_pattern_states: Annotated[int, Meta(ge=100, le=10_000_000)] = 50_000


DEFAULT_SCHEMA_LIMITS = SchemaLimits()
