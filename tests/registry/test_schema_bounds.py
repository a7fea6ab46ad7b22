"""Schemas are measured before they are compiled: what could take for ever is refused, what is merely rich is not."""

import json
import time
from contextlib import nullcontext
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from groundwire import Registry, Runtime, SchemaLimits, Tool, tool
from groundwire.contracts.errors import RegistryError, SchemaTooComplex
from groundwire.registry.schema_bounds import measure_schema
from groundwire.registry.validators import compile_schema
from tests.schema_bombs import ANY_JSON, BOMB, BOMBS, LOOPS, expressions, ladder, tree

EMAIL = r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$"
"""As zod writes it, and with it many servers of the Model Context Protocol."""


def refused(schema, **limits):
    with pytest.raises(SchemaTooComplex) as raised:
        measure_schema(schema, of="t", limits=SchemaLimits(**limits))
    return raised.value


def compiled(schema, **limits):
    return compile_schema(schema, reason="invalid_parameters", of="t", limits=SchemaLimits(**limits))


@pytest.mark.parametrize("name", BOMBS)
def test_a_schema_that_multiplies_with_every_level_is_refused(name):
    error = refused(BOMBS[name])
    assert (error.measure, error.limit, error.detail) == ("evaluations", 500, "SCHEMA_TOO_COMPLEX")
    assert error.value > error.limit
    assert (error.code, error.reason) == ("schema_too_complex", "schema_too_complex")


@pytest.mark.parametrize("name", LOOPS)
def test_a_reference_that_leads_back_to_the_same_value_is_refused(name):
    assert refused(LOOPS[name]).measure == "referenceLoops"


def test_a_tool_written_in_python_is_refused():
    for make in (
        lambda: Tool("t", parameters=BOMB),
        lambda: Tool("t", parameters={"type": "object"}, result=BOMB),
        lambda: Tool("t", parameters=BOMB, handler=lambda **_: None),
        lambda: tool(parameters=BOMB)(lambda **_: None),
    ):
        with pytest.raises(RegistryError) as raised:
            make()
        assert raised.value.reason == "schema_too_complex"


def test_the_author_of_a_tool_may_raise_the_limits():
    wide = {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}] * 600}}}
    with pytest.raises(SchemaTooComplex):
        Tool("t", parameters=wide)
    made = Tool("t", parameters=wide, schema_limits=SchemaLimits(max_evaluations=1_000))
    assert made.validator.is_valid({"a": "x"})


MEASURES = [
    ("bytes", {"max_bytes": 1_000}, lambda size: {"description": "x" * (size - 18)}, 1_000),
    ("depth", {"max_depth": 10}, lambda depth: json.loads('{"not":' * (depth - 1) + "{}" + "}" * (depth - 1)), 10),
    ("subschemas", {"max_subschemas": 10}, lambda count: {"properties": {f"k{n}": {} for n in range(count - 1)}}, 10),
    ("references", {"max_references": 3}, lambda count: {"properties": {f"k{n}": {"$ref": "#/$defs/a"} for n in range(count)}, "$defs": {"a": {}}}, 3),
    ("evaluations", {"max_evaluations": 20}, lambda count: {"allOf": [{"type": "object"}] * (count - 1)}, 20),
    ("evaluations", {"max_evaluations": 20}, lambda count: {"items": {"anyOf": [{}] * (count - 1)}}, 20),
    ("patterns", {"max_patterns": 2}, lambda count: {"patternProperties": {f"^{n}": {} for n in range(count)}}, 2),
    ("patternStates", {"max_pattern_states": 100}, lambda count: {"pattern": f"^a{{{count}}}$"}, 100),
]  # fmt: skip


@pytest.mark.parametrize(("measure", "limits", "make", "most"), MEASURES)
def test_each_limit_holds_at_its_edge(measure, limits, make, most):
    measure_schema(make(most), of="t", limits=SchemaLimits(**limits))
    error = refused(make(most + 1), **limits)
    assert (error.measure, error.limit) == (measure, most)
    assert error.value > most


@pytest.mark.parametrize(
    ("schema", "evaluations"),
    [
        ({}, 1),
        ({"properties": {"a": {}, "b": {}}}, 2),
        ({"allOf": [{"properties": {"a": {}}}, {"properties": {"a": {}}}]}, 4),
        ({"properties": {"a": {"anyOf": [{}, {}]}, "b": {"anyOf": [{}, {}, {}]}}}, 5),
        ({"items": {"anyOf": [{}] * 9}, "properties": {"a": {"anyOf": [{}] * 7}}}, 10),
        ({"prefixItems": [{"anyOf": [{}] * 9}], "items": {"anyOf": [{}] * 7}}, 10),
        ({"contains": {"anyOf": [{}] * 9}, "items": {"anyOf": [{}] * 7}}, 18),
        ({"properties": {"a": {"anyOf": [{}] * 9}}, "additionalProperties": {"anyOf": [{}] * 7}}, 11),
        ({"$defs": {"a": {"allOf": [{}, {}]}}, "allOf": [{"$ref": "#/$defs/a"}] * 3}, 13),
    ],
)
def test_evaluations_are_counted_for_the_node_that_gets_most(schema, evaluations):
    assert measure_schema(schema, of="t").evaluations == evaluations


def test_the_value_of_a_measure_stops_where_it_exceeds_the_limit():
    assert refused(ladder(90, copies=4)).value < 5_000


def test_a_chain_of_references_as_long_as_may_be_is_measured():
    definitions = {f"l{n}": {"items": {"$ref": f"#/$defs/l{n + 1}"}} for n in range(4_900)}
    schema = {"$defs": {**definitions, "l4900": {}}, "$ref": "#/$defs/l0"}
    assert measure_schema(schema, of="t").evaluations == 2


def test_properties_carried_over_many_references_are_bounded():
    """Or else measuring could take long itself."""
    base = {"properties": {f"k{n}": {} for n in range(1_000)}}

    def inherited(times):
        return {"$defs": {"base": base}, "properties": {f"t{n}": {"$ref": "#/$defs/base"} for n in range(times)}}

    measure_schema(inherited(1_000), of="t")
    assert refused(inherited(1_001)).measure == "carriedProperties"


class Add(BaseModel):
    kind: Literal["add"] = "add"
    left: "Expression"
    right: "Expression"


class Negate(BaseModel):
    kind: Literal["negate"] = "negate"
    left: "Expression"


class Number(BaseModel):
    kind: Literal["number"] = "number"
    value: float


Expression = Annotated[Add | Negate | Number, Field(discriminator="kind")]


class Calculation(BaseModel):
    expression: Expression


def test_trees_that_pydantic_describes_are_accepted_at_any_depth():
    validator = compiled(Calculation.model_json_schema())
    value = {"kind": "number", "value": 1.5}
    for _ in range(40):
        value = {"left": value, "kind": "add", "right": {"kind": "number", "value": 2}}
    assert validator.is_valid({"expression": value})
    assert not validator.is_valid({"expression": {**value, "right": 5}})


def test_json_of_any_shape_can_be_described():
    validator = compiled(
        {"type": "object", "properties": {"value": {"$ref": "#/$defs/json"}}, "$defs": {"json": ANY_JSON}}
    )
    value = {"a": [1, "x", None, {"b": [[], {}]}]}
    for _ in range(20):
        value = {"a": [value, value]} if len(json.dumps(value)) < 50_000 else {"a": value}
    assert validator.is_valid({"value": value})


@pytest.mark.parametrize("kinds", [2, 10, 40])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("tagged", [True, False])
def test_trees_of_many_kinds_are_accepted_at_any_depth(kinds, shared, tagged):
    validator = compiled(expressions(kinds, shared=shared, tagged=tagged))
    last = f"kind{kinds - 1}"
    assert validator.is_valid({"tree": tree(20, last)})
    assert not validator.is_valid({"tree": {**tree(20, last), "parts": 5}})


def every_way(ways):
    """Definitions that each refer to all of them, without anything to tell them apart."""
    references = [{"$ref": f"#/$defs/t{way}"} for way in range(ways)]
    kind = {"properties": {"a": {"anyOf": references}, "b": {"type": "string"}}, "required": ["b"]}
    return {"$defs": {f"t{way}": kind for way in range(ways)}}, {"anyOf": references}


def chain(depth, end):
    for _ in range(depth):
        end = {"a": end, "b": "x"}
    return end


@pytest.mark.parametrize(
    ("ways", "depth", "negated", "valid"),
    [(6, 3, False, False), (6, 3, True, True), (20, 45, False, False), (20, 45, True, False)],
)
def test_running_out_of_evaluations_never_makes_a_value_fit(ways, depth, negated, valid):
    """What does not fit inside a `not` fits outside: the verdict must not come from having given up."""
    definitions, union = every_way(ways)
    validator = compiled({**definitions, **({"not": union} if negated else union)})
    assert validator.is_valid(chain(depth, {})) is valid


def test_the_allowance_of_a_value_grows_with_it():
    schema = expressions(10, shared=False, tagged=True)
    validator = compiled({"$defs": schema["$defs"], "items": schema["properties"]["tree"]})
    assert all(validator.is_valid([tree(3, "kind9")] * count) for count in (1, 100, 2_000))


def test_threads_validate_with_one_recursive_schema_at_once():
    from concurrent.futures import ThreadPoolExecutor

    validator = compiled(expressions(5, shared=True, tagged=True))
    values = [{"tree": tree(depth % 12, "kind1" if depth % 3 else "other")} for depth in range(60)]
    expected = [bool(depth % 3) for depth in range(60)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(validator.is_valid, values)) == expected


@pytest.mark.parametrize(
    ("pattern", "fitting", "others"),
    [
        (EMAIL, ["a.b@example.com", "x_1+y@a-b.co.uk"], [".a@example.com", "a..b@example.com", "a@b", ""]),
        (r"^(?=.*[A-Z])(?=.*\d).{4,}$", ["aB3d", "1234A"], ["abcd", "AB1", "abc1"]),
        ("^(?!$)", ["x", " "], [""]),
        ("^(?!(a|b))c|d", None, None),
    ],
)
def test_a_look_ahead_at_the_beginning_needs_no_backtracking(pattern, fitting, others):
    if fitting is None:
        assert refused({"pattern": pattern}).measure == "patternSyntax"
        return
    validator = compiled({"pattern": pattern})
    assert all(validator.is_valid(text) for text in fitting)
    assert not any(validator.is_valid(text) for text in others)
    assert validator.is_valid(7)


@pytest.mark.parametrize(
    ("pattern", "threads"),
    [
        ("^[a-z]{1,1000}$", 1),
        ("[a-z]{1,400}", 401),
        ("^[ab]*a[ab]{200}$", 202),
        ("^[0-9a-f]{8}-[0-9a-f]{4}$", 1),
        ("^(a|b|c)x", 3),
    ],
)
def test_a_pattern_costs_the_ways_that_are_alive_at_once(pattern, threads):
    assert measure_schema({"pattern": pattern}, of="t").evaluations == 1 + 3 + threads


@pytest.mark.parametrize("pattern", ["((((", "a{2,1}", "[z-a]", "*", "(?<n", "\\", "[", "(?P<x", "a{99999999999}"])
def test_what_is_not_a_pattern_is_refused_as_such(pattern):
    with pytest.raises(RegistryError):
        compiled({"pattern": pattern})


def test_a_tool_from_an_artifact_whose_schema_is_too_complex_is_not_called(tmp_path):
    registry = Registry([Tool("t", parameters={"type": "object"}), Tool("u", parameters={"type": "object"})])
    body = json.loads(registry.artifact())
    body["tools"][0]["jsonSchema"] = BOMB
    loaded = Registry.from_artifact(json.dumps(body).encode())
    with pytest.raises(SchemaTooComplex):
        _ = loaded.find("t").validator
    assert loaded.find("u").validator.is_valid({})


@pytest.mark.parametrize(
    ("schema", "measure"),
    [
        ({"pattern": "^" + "(?=a)" * 40_000}, "patternSyntax"),
        ({"pattern": "()" * 100_000}, ""),
        ({"pattern": "(" * 100_000}, "patternStates"),
        ({"pattern": "a|" * 100_000}, "patternStates"),
        ({"allOf": [{"pattern": f"^{n}a{{1,9000}}$"} for n in range(400)]}, "patternStates"),
        ({"$defs": {f"a{n}": {"$anchor": "x"} for n in range(5_000)}, "allOf": [{"$ref": "#x"} for _ in range(2)]}, "references"),
        ({"$defs": {f"a{n}": {"$id": f"u{n}/x"} for n in range(3_000)}, "allOf": [{"$ref": "x"} for _ in range(3_000)]}, "embeddedResources"),
        ({"properties": {"x" * 250_000: {"$ref": "#" + "/a" * 2_000}}}, ""),
    ],
)  # fmt: skip
def test_measuring_takes_no_longer_than_reading(schema, measure):
    started = time.process_time()
    with pytest.raises(SchemaTooComplex) if measure else nullcontext() as raised:
        measure_schema(schema, of="t")
    # A hundredth of that on an idle machine; what is quadratic would take minutes.
    assert time.process_time() - started < 2
    assert raised is None or raised.value.measure == measure


def test_alternatives_for_items_are_counted_at_their_places():
    """Places that allow anything count as places."""
    schema = {"allOf": [{"prefixItems": [True, {"allOf": [{}] * 5}]}, {"prefixItems": [{}, {"allOf": [{}] * 7}]}]}
    assert measure_schema(schema, of="t").evaluations == 6 + 8


def test_what_is_not_json_is_not_a_schema():
    with pytest.raises(RegistryError) as refused:
        compiled({"enum": [object()]})
    assert refused.value.reason == "invalid_parameters"


def count(ids):
    return len(ids)


@pytest.mark.parametrize("numbers", [[2**62 + n for n in range(9_000)], [10**25 + n for n in range(6_000)]])
async def test_arguments_with_thousands_of_long_numbers_are_refused_at_once(numbers):
    """Compared pair by pair they would take seconds."""
    listed = {"type": "object", "properties": {"ids": {"type": "array", "uniqueItems": True}}}
    registry = Registry([Tool("t", parameters=listed, handler=count)])
    async with Runtime(registry, "memory://") as runtime:
        started = time.process_time()
        refused = await runtime.call("t", {"ids": numbers})
        spent = time.process_time() - started
        served = await runtime.call("t", {"ids": numbers[:100]})
    assert (refused.error.type, refused.error.detail) == ("VALIDATION", "INVALID_VALUE")
    assert spent < 0.7
    assert served.data == 100
