import pytest

from groundwire.contracts.errors import ErrorDetail, ErrorType
from groundwire.contracts.tools import ToolPolicy, ToolSpec
from groundwire.registry.validators import MAX_EXPLAINED, MAX_PARTS, compile_schema
from groundwire.runtime.validation import (
    MAX_FAULTS,
    MAX_LONG_NUMBERS,
    TOO_LARGE_TO_TELL,
    explain_faults,
    fits,
    fold_integers,
    path_of,
)


def compiled(schema):
    return compile_schema(schema, reason="invalid_parameters", of="t")


SCHEMA = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]*$"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 10},
        "ratio": {"type": ["number", "null"], "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "kind": {"enum": ["a", "b"]},
        "fixed": {"const": 7},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
        "who": {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]},
        "either": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        "secret": {"type": "string"},
    },
    "required": ["query"],
    "additionalProperties": False,
}
SPEC = ToolSpec(tool_id="kb.search", wire_name="kb__search", parameters=SCHEMA, policy=ToolPolicy(supplied=("secret",)))


def explain(schema=SCHEMA, **arguments):
    return explain_faults(SPEC, compiled(schema), arguments)


@pytest.mark.requirement("B-193", "B-110", "C-027")
@pytest.mark.parametrize(
    ("arguments", "path", "detail", "advice"),
    [
        ({}, "query", ErrorDetail.MISSING_ARGUMENT, "required"),
        ({"query": 5}, "query", ErrorDetail.TYPE_MISMATCH, "a string, not 5"),
        ({"query": "abc", "limit": "3"}, "limit", ErrorDetail.TYPE_MISMATCH, 'a whole number, not "3"'),
        ({"query": "abc", "limit": 1.5}, "limit", ErrorDetail.TYPE_MISMATCH, "a whole number, not 1.5"),
        ({"query": "abc", "limit": True}, "limit", ErrorDetail.TYPE_MISMATCH, "a whole number, not true"),
        ({"query": "abc", "ratio": []}, "ratio", ErrorDetail.TYPE_MISMATCH, "null or a number"),
        ({"query": "abc", "limit": 0}, "limit", ErrorDetail.INVALID_VALUE, "at least 1, not 0"),
        ({"query": "abc", "limit": 11}, "limit", ErrorDetail.INVALID_VALUE, "at most 10"),
        ({"query": "abc", "ratio": 0}, "ratio", ErrorDetail.INVALID_VALUE, "more than 0"),
        ({"query": "abc", "ratio": 1}, "ratio", ErrorDetail.INVALID_VALUE, "less than 1"),
        ({"query": "a"}, "query", ErrorDetail.INVALID_VALUE, "at least 2 characters, not 1"),
        ({"query": "abcdef"}, "query", ErrorDetail.INVALID_VALUE, "at most 5 characters"),
        ({"query": "ABC"}, "query", ErrorDetail.INVALID_VALUE, "^[a-z]*$"),
        ({"query": "abc", "kind": "c"}, "kind", ErrorDetail.INVALID_VALUE, '"a", "b", not "c"'),
        ({"query": "abc", "fixed": 8}, "fixed", ErrorDetail.INVALID_VALUE, "7"),
        ({"query": "abc", "tags": []}, "tags", ErrorDetail.INVALID_VALUE, "at least 1 item,"),
        ({"query": "abc", "tags": ["a", 2]}, "tags[1]", ErrorDetail.TYPE_MISMATCH, "a string, not 2"),
        ({"query": "abc", "who": {}}, "who.age", ErrorDetail.MISSING_ARGUMENT, "required"),
        ({"query": "abc", "who": {"age": "x"}}, "who.age", ErrorDetail.TYPE_MISMATCH, "a whole number"),
        ({"query": "abc", "either": []}, "either", ErrorDetail.INVALID_VALUE, ""),
        ({"query": "abc", "colour": 1}, "colour", ErrorDetail.UNKNOWN_ARGUMENT, "Known here: query, limit"),
    ],
)
def test_a_fault_has_its_path_a_detail_and_advice(arguments, path, detail, advice):
    denied = explain(**arguments)
    assert (denied.type, denied.detail, denied.retryable) == (ErrorType.VALIDATION, detail, False)
    assert [(fault.path, fault.detail) for fault in denied.faults] == [(path, detail)]
    assert advice in denied.message
    assert "kb__search" in denied.message


@pytest.mark.quirk(23)
def test_the_schema_itself_is_no_arguments():
    denied = explain(type="object", properties={"query": {"type": "string"}})
    assert denied.type is ErrorType.VALIDATION
    assert {fault.path: fault.detail for fault in denied.faults} == {
        "query": ErrorDetail.MISSING_ARGUMENT,
        "type": ErrorDetail.UNKNOWN_ARGUMENT,
    }


def test_all_faults_are_told_up_to_a_limit():
    denied = explain(limit=0, kind="c", tags=[])
    assert {fault.path for fault in denied.faults} == {"query", "limit", "kind", "tags"}
    many = explain(query="abc", tags=[1] * 50)
    assert len(many.faults) == MAX_FAULTS


def test_supplied_arguments_are_not_among_the_known_ones():
    assert "secret" not in explain(query="abc", colour=1).message


def test_long_values_are_shown_in_part():
    assert len(explain(query=["x" * 5_000]).message) < 400
    assert len(explain({"enum": ["x" * 50] * 100}).message) < 900


def test_numbers_of_any_size_can_be_shown():
    assert str(10**40) in explain(query=10**40).message


@pytest.mark.parametrize(
    ("parts", "path"),
    [([], "arguments"), (["a"], "a"), (["a", "b"], "a.b"), (["a", 0], "a[0]"), (["a", 1, "b"], "a[1].b"), ([0], "[0]")],
)
def test_a_path_reads_as_in_code(parts, path):
    assert path_of(parts) == path


def test_whole_floats_become_integers_where_the_schema_asks_for_them():
    schema = {
        "type": "object",
        "properties": {
            "count": {"type": "integer"},
            "price": {"type": "number"},
            "rows": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
        },
    }
    given = {"count": 2.0, "price": 2.0, "rows": [{"n": 3.0, "m": 3.0}], "other": 1.0}
    folded = fold_integers(schema, given)
    assert folded == given
    assert [type(folded["count"]), type(folded["price"]), type(folded["other"])] == [int, float, float]
    assert [type(folded["rows"][0]["n"]), type(folded["rows"][0]["m"])] == [int, float]


@pytest.mark.parametrize(
    ("parts", "pointer"),
    [((), ""), (("limit",), "/limit"), (("customer", "tags", 1), "/customer/tags/1"), (("a/b", "c~d"), "/a~1b/c~0d")],
)
def test_a_fault_has_a_pointer_for_machines(parts, pointer):
    schema = {"type": "integer"}
    value = "x"
    for part in reversed(parts):
        if isinstance(part, str):
            schema, value = {"type": "object", "properties": {part: schema}}, {part: value}
        else:
            schema, value = {"type": "array", "items": schema}, [0] * part + [value]
    validator = compiled(schema)
    denied = explain_faults(ToolSpec(tool_id="t", wire_name="t", parameters={}), validator, value)
    assert [fault.pointer for fault in denied.faults] == [pointer]


def chain(depth, end="x"):
    for _ in range(depth):
        end = {"a": end}
    return end


def node(*alternatives):
    """Each level may be read in as many ways as there are alternatives."""
    return {"$ref": "#/$defs/node", "$defs": {"node": {"anyOf": [*alternatives, {"type": "integer"}]}}}


INNER = {"type": "object", "properties": {"a": {"$ref": "#/$defs/node"}}, "required": ["a"]}


def explain_chain(depth):
    schema = node(INNER, INNER | {"title": "again"})
    spec = ToolSpec(tool_id="t", wire_name="t", parameters=schema)
    return explain_faults(spec, compiled(schema), chain(depth))


def test_arguments_that_have_too_many_readings_are_refused_without_trying_them_all():
    """At 90 levels there are two to the ninetieth; trying them would fill the memory."""
    denied = explain_chain(90)
    assert denied.message == f"Invalid arguments for t. {TOO_LARGE_TO_TELL}"
    assert (denied.type, denied.detail, denied.faults) == (ErrorType.VALIDATION, ErrorDetail.INVALID_VALUE, ())


def test_the_edge_between_explaining_and_not_is_the_number_of_evaluations():
    validator = compiled(node(INNER, INNER | {"title": "again"}))
    references, errors = validator.measures.recursive, validator.measures.errors

    def cost(depth):
        return sum(references**level for level in range(depth + 1)) * errors

    last = max(depth for depth in range(30) if cost(depth) <= MAX_EXPLAINED)
    assert list(validator.errors(chain(last)))
    assert not list(validator.errors(chain(last + 1)))


def test_a_schema_without_a_circle_is_explained():
    schema = {
        "type": "object",
        "properties": {"a": {"anyOf": [{"$ref": "#/$defs/n"}] * 9}},
        "$defs": {"n": {"type": "null"}},
    }
    assert list(compiled(schema).errors({"a": chain(90)}))


NUMBERS = {"properties": {"a": {"items": {"type": "integer"}, "uniqueItems": True}}}


@pytest.mark.parametrize(("start", "weight"), [(2**53, 1), (2**62, 1), (2**70, 2), (10**300, 16)])
def test_long_numbers_are_compared_up_to_a_limit(start, weight):
    """Numbers that differ only past the precision of a float are compared pair by pair."""
    validator, most = compiled(NUMBERS), MAX_LONG_NUMBERS // weight
    assert fits(validator, {"a": [start + number for number in range(most)]}, odd_numbers=True)
    assert not fits(validator, {"a": [start + number for number in range(most + 1)]}, odd_numbers=True)


@pytest.mark.parametrize(("value", "valid"), [(2, True), (2.0, True), (2.5, False), (9.0, False), ("2", False)])
def test_a_whole_float_is_one_of_the_whole_numbers_of_an_enum(value, valid):
    for schema in ({"enum": [1, 2, 3]}, {"enum": [1, 2.0, None]}, {"const": 2}, {"type": "integer", "enum": [2]}):
        assert fits(compiled(schema), value, odd_numbers=True) is valid


@pytest.mark.parametrize(("items", "told"), [(MAX_PARTS - 2, MAX_FAULTS), (MAX_PARTS - 1, 1)])
def test_of_a_large_value_the_first_fault_is_told(items, told):
    schema = {"properties": {"tags": {"items": {"type": "string"}}}}
    denied = explain(schema, tags=[7] * items)
    assert len(denied.faults) == told
    assert (denied.faults[0].path, denied.faults[0].message) == ("tags[0]", "send a string, not 7.")


@pytest.mark.parametrize("schema", [{"propertyNames": {"maxLength": 1}}, {"required": [str(n) for n in range(5_000)]}])
def test_faults_of_a_whole_object_take_no_time_for_each_of_its_members(schema):
    denied = explain(schema, **{f"name_{number}": 1 for number in range(20_000)})
    assert len(denied.faults) == 1


def test_the_names_of_a_large_object_that_fit_no_alternative_are_not_looked_for():
    """Each of these errors would hold a copy of the whole object."""
    validator = compiled({"oneOf": [{"propertyNames": {"maxLength": 1}}, {"type": "string"}]})
    names = [f"name_{number}" for number in range(MAX_PARTS)]
    assert len(list(validator.errors(dict.fromkeys(names[1:])))) == 1
    assert list(validator.errors(dict.fromkeys(names))) == []


def test_of_a_large_value_the_errors_of_all_alternatives_are_collected_up_to_a_limit():
    validator = compiled({"anyOf": [{"items": {"type": "string"}}, {"type": "object"}]})
    assert validator.measures.errors == 3
    assert len(list(validator.errors([7] * (MAX_EXPLAINED // 3 - 1)))) == 1
    assert list(validator.errors([7] * (MAX_EXPLAINED // 3))) == []


def test_many_names_that_are_missing_in_every_alternative_are_not_collected():
    validator = compiled({"anyOf": [{"required": [f"name_{number}" for number in range(5_000)]}]})
    assert list(validator.errors({f"other_{number}": 1 for number in range(5_000)})) == []
