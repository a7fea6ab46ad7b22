"""What passes the bounds is cheap, and means what it meant before it was rewritten.

The bounded part of the campaign that `make fuzz-schemas` runs at length; both print the seed.
"""

import os
import random
from collections import Counter
from typing import Any, ClassVar

import jsonschema_rs
from hypothesis import HealthCheck, given, note, seed, settings
from hypothesis import strategies as st

from groundwire.contracts.errors import RegistryError
from groundwire.registry.schema_bounds import analyse_schema
from groundwire.registry.validators import compile_schema
from tests.properties.hostile_schemas import NAMES, SCALARS, hostile_schemas, ladders, run_example, shapes

SEED = int(os.environ.get("SCHEMA_SEED") or random.SystemRandom().randrange(2**32))
EXAMPLES = 60
ANYHOW = list(HealthCheck)


@seed(SEED)
@settings(max_examples=EXAMPLES, suppress_health_check=ANYHOW)
@given(schema=st.one_of(hostile_schemas(), ladders()), shape=shapes())
def test_what_passes_the_bounds_is_validated_in_linear_time(schema, shape):
    note(f"SCHEMA_SEED={SEED}")
    example = run_example(schema, shape)
    assert example.fault == ""


VALUES = st.recursive(
    st.sampled_from(SCALARS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)),
    max_leaves=12,
)


@seed(SEED)
@settings(max_examples=4 * EXAMPLES, suppress_health_check=ANYHOW)
@given(schema=st.one_of(hostile_schemas(), ladders()), values=st.lists(VALUES, min_size=1, max_size=6))
def test_a_schema_means_the_same_after_it_was_rewritten(schema, values):
    note(f"SCHEMA_SEED={SEED}")
    try:
        validator = compile_schema(schema, reason="invalid", of="t")
    except RegistryError:
        return
    plain = jsonschema_rs.Draft202012Validator(schema, validate_formats=False)
    for value in values:
        assert validator.is_valid(value) is plain.is_valid(value)
        if not validator.is_valid(value):
            list(validator.errors(value))


class Probe:
    """A keyword in every subschema that notes which value it was evaluated for."""

    visits: ClassVar[Counter[int]] = Counter()

    def __init__(self, _schema: Any, _value: Any, _path: Any) -> None: ...

    def validate(self, value: Any) -> None:
        self.visits[id(value)] += 1


def containers(value: Any) -> list[int]:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = [id(value)] if isinstance(value, (dict, list)) else []
    return [*own, *(number for part in parts for number in containers(part))]


@seed(SEED)
@settings(max_examples=4 * EXAMPLES, suppress_health_check=ANYHOW)
@given(schema=st.one_of(hostile_schemas(), ladders()), values=st.lists(VALUES, min_size=1, max_size=6))
def test_no_value_is_evaluated_more_often_than_was_measured(schema, values):
    """Counted by the validator itself, so this does not depend on how fast anything is."""
    note(f"SCHEMA_SEED={SEED}")
    try:
        analysis = analyse_schema(schema, of="t")
    except RegistryError:
        return
    if analysis.recursive:
        return
    for node in analysis.graph.subschemas:
        node.source["probe"] = 1
    counting = jsonschema_rs.Draft202012Validator(schema, validate_formats=False, keywords={"probe": Probe})
    for value in values:
        Probe.visits.clear()
        counting.is_valid(value)
        assert max((Probe.visits[number] for number in containers(value)), default=0) <= analysis.measures.evaluations
