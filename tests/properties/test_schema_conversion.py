"""Schema conversion against an independent judge: what the canonical schema accepts, every converted form accepts."""

import copy
import json

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from groundwire.codecs.schemas import forms
from groundwire.codecs.schemas.conversions import WARNING_CODES

PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
TARGETS = [
    forms.to_openapi_subset,
    forms.to_json_schema_subset,
    forms.to_openai,
    forms.to_anthropic,
    forms.to_mcp,
]
NATIVE_KEYWORDS = {
    "type", "format", "description", "nullable", "enum", "items", "minItems", "maxItems", "properties", "required",
    "minProperties", "maxProperties", "minimum", "maximum", "minLength", "maxLength", "pattern", "anyOf",
}  # fmt: skip
SUBSET_KEYWORDS = (NATIVE_KEYWORDS | {"$ref", "$defs", "prefixItems", "additionalProperties"}) - {"nullable"}
ROOT_REFUSED = {"$ref", "anyOf", "oneOf", "allOf", "enum", "const", "not"}

TRICKY_NAMES = ["title", "type", "format", "default", "$ref", "properties", "enum", "a", "b", "c/d~e", ""]
SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-5, 5) | st.sampled_from(["", "a", "b"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=4,
)
NAMES = st.sampled_from(TRICKY_NAMES)
TYPE_NAMES = st.sampled_from(["string", "number", "integer", "boolean", "object", "array", "null"])
REFERENCES = st.sampled_from([
    "#", "#/$defs/a", "#/$defs/b", "#/$defs/c~1d~0e", "#/properties/a", "#/anyOf/0", "#/nowhere",
    "https://example.com/x", "#anchor", "#/$defs", "other.json#/a",
])  # fmt: skip
COUNTS = st.integers(0, 4)


def keywords(inner):
    """Every keyword of JSON Schema 2020-12 that has a say in conversion."""
    map_of = st.dictionaries(NAMES, inner, max_size=3)
    list_of = st.lists(inner, min_size=1, max_size=3)
    names = st.lists(NAMES, max_size=2, unique=True)
    return {
        "type": TYPE_NAMES | st.lists(TYPE_NAMES, min_size=1, max_size=3, unique=True),
        "enum": st.lists(VALUES, max_size=3),
        "const": VALUES,
        "nullable": st.booleans(),
        "$ref": REFERENCES,
        "$dynamicRef": REFERENCES,
        "$schema": st.just("https://json-schema.org/draft/2020-12/schema"),
        "$id": st.sampled_from(["https://example.com/root", "inner"]),
        "$comment": st.just("nothing"),
        "$defs": st.dictionaries(st.sampled_from(["a", "b", "c/d~e"]), inner, max_size=3),
        "title": st.just("A Title"),
        "description": st.sampled_from(["", "About it", "About it."]),
        "default": VALUES,
        "examples": st.lists(VALUES, max_size=2),
        "deprecated": st.booleans(),
        "format": st.sampled_from(["date-time", "email", "int32", "double", "enum"]),
        "pattern": st.sampled_from(["^a", "b$"]),
        "contentEncoding": st.just("base64"),
        "contentMediaType": st.just("image/png"),
        "contentSchema": inner,
        "multipleOf": st.sampled_from([1, 2, 0.5]),
        **{name: st.integers(-3, 3) | st.floats(-3, 3) for name in
           ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")},
        **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains", "minProperties", "maxProperties"), COUNTS),
        "uniqueItems": st.booleans(),
        **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems"), list_of),
        **dict.fromkeys(("items", "not", "if", "then", "else", "contains", "propertyNames", "additionalProperties", "unevaluatedItems", "unevaluatedProperties"), inner),
        "properties": map_of,
        "dependentSchemas": map_of,
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "^t"]), inner, max_size=2),
        "required": names,
        "dependentRequired": st.dictionaries(NAMES, names, max_size=2),
    }  # fmt: skip


SCHEMAS = st.recursive(
    st.booleans() | st.fixed_dictionaries({}, optional={"type": TYPE_NAMES, "description": st.just("Leaf")}),
    lambda inner: st.lists(st.sampled_from(sorted(keywords(inner))), max_size=5, unique=True).flatmap(
        lambda chosen: st.fixed_dictionaries({name: keywords(inner)[name] for name in chosen})
    ),
    max_leaves=12,
)


def subschemas(node, *, maps=("properties", "$defs"), lists=("anyOf", "prefixItems"), single=("items",)):
    """Every schema inside a converted one, by position, never by name."""
    yield node
    for keyword in maps:
        for entry in node.get(keyword, {}).values():
            yield from subschemas(entry, maps=maps, lists=lists, single=single)
    for keyword in lists:
        for entry in node.get(keyword, []):
            yield from subschemas(entry, maps=maps, lists=lists, single=single)
    for keyword in single:
        if isinstance(node.get(keyword), dict):
            yield from subschemas(node[keyword], maps=maps, lists=lists, single=single)


@PATIENT
@given(schema=SCHEMAS)
def test_conversion_of_any_valid_schema_gives_an_object_schema_and_known_warnings(schema):
    assume(jsonschema_rs.meta.is_valid(schema))
    before = copy.deepcopy(schema)
    for convert in TARGETS:
        first, second = convert(schema), convert(copy.deepcopy(schema))
        assert schema == before
        assert json.dumps(first.schema) == json.dumps(second.schema)
        assert first.warnings == second.warnings
        assert first.schema["type"] in ("object", "OBJECT")
        assert {warning.code for warning in first.warnings} <= set(WARNING_CODES)


@PATIENT
@given(schema=st.dictionaries(st.sampled_from(sorted(keywords(st.none()))), VALUES, max_size=6))
def test_conversion_of_nonsense_does_not_raise(schema):
    for convert in TARGETS:
        convert(schema)


@PATIENT
@given(schema=SCHEMAS)
def test_the_openapi_subset_obeys_every_rule_of_its_checker(schema):
    converted = forms.to_openapi_subset(schema).schema
    for node in subschemas(converted):
        assert node.keys() <= NATIVE_KEYWORDS
        if "anyOf" in node:
            assert node.keys() == {"anyOf"}
            assert len(node["anyOf"]) > 1
            continue
        assert node["type"] in {"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"}
        assert ("items" in node) == (node["type"] == "ARRAY")
        assert set(node.get("required", [])) <= set(node.get("properties", {}))
        if "properties" in node:
            assert node["type"] == "OBJECT"
        if "enum" in node:
            assert node["type"] == "STRING"
            assert node["enum"]
            assert all(isinstance(value, str) and value for value in node["enum"])


@PATIENT
@given(schema=SCHEMAS)
def test_the_json_schema_subset_is_valid_and_holds_only_keywords_that_gemini_takes(schema):
    converted = forms.to_json_schema_subset(schema).schema
    assert jsonschema_rs.meta.is_valid(converted)
    assert converted.keys().isdisjoint(ROOT_REFUSED)
    for node in subschemas(converted, single=("items", "additionalProperties")):
        assert node.keys() <= SUBSET_KEYWORDS
        assert "$ref" not in node or node.keys() == {"$ref"}
        if "$ref" in node:
            assert node["$ref"].removeprefix("#/$defs/") in converted["$defs"]


@PATIENT
@given(schema=SCHEMAS)
def test_alternatives_and_references_never_reach_the_root(schema):
    for convert in (forms.to_openai, forms.to_anthropic):
        converted = convert(schema).schema
        assert converted.keys().isdisjoint(ROOT_REFUSED)
        assert isinstance(converted["properties"], dict)


@PATIENT
@given(schema=SCHEMAS)
def test_reading_the_openapi_subset_back_gives_valid_json_schema_that_reads_as_itself(schema):
    read = forms.from_openapi_subset(forms.to_openapi_subset(schema).schema)
    assert jsonschema_rs.meta.is_valid(read)
    assert forms.from_openapi_subset(read) == read


# A family of schemas with a value that each of them accepts, built side by side.


@st.composite
def texts(draw):
    value = draw(st.text("abc", max_size=4))
    options = {
        "minLength": st.integers(0, len(value)),
        "maxLength": st.integers(len(value), 6),
        "enum": st.just([value, "other"]),
        "const": st.just(value),
        "format": st.sampled_from(["email-like", "date"]),
        "default": st.just("abc"),
        "description": st.just("Some text"),
    }
    return draw(st.fixed_dictionaries({"type": st.just("string")}, optional=options)), value


@st.composite
def numbers(draw):
    value = draw(st.integers(-20, 20))
    kind = draw(st.sampled_from(["integer", "number"]))
    value = value if kind == "integer" or draw(st.booleans()) else value + 0.25
    options = {
        "minimum": st.integers(-30, -20),
        "maximum": st.integers(21, 30),
        "exclusiveMinimum": st.sampled_from([value - 1, value - 0.5]),
        "exclusiveMaximum": st.sampled_from([value + 1, value + 0.5]),
        "multipleOf": st.just(0.25),
        "enum": st.just([value, 99]),
        "const": st.just(value),
    }
    return draw(st.fixed_dictionaries({"type": st.just(kind)}, optional=options)), value


@st.composite
def odd_ones(draw):
    """Any value, null, booleans, mixed enums, type lists, shorthands.

    The native form must name types, and so ends at arrays in arrays: deeper values occur only in typed schemas.
    """
    scalar = draw(st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "x"]))
    flat = draw(st.just(scalar) | st.lists(st.just(scalar), max_size=2) | st.just({"k": [[scalar]]}))
    return draw(
        st.sampled_from(
            [
                ({}, flat),
                (True, flat),
                ({"description": "Anything"}, flat),
                ({"enum": [flat, "x", 7, None]}, flat),
                ({"const": flat}, flat),
                ({"type": ["string", "integer", "boolean", "null"]}, scalar),
                ({"type": "string", "nullable": True}, "y"),
                ({"anyOf": [{"type": "null"}, {"enum": ["x", "", 1, True, scalar]}]}, scalar),
                ({"not": {"const": "never"}}, flat),
                ({"if": {"type": "string"}, "then": {"maxLength": 9}}, flat),
            ]
        )
    )


def arrays(pairs):
    @st.composite
    def build(draw):
        schema, value = draw(pairs)
        other, second = draw(pairs)
        return draw(
            st.sampled_from(
                [
                    ({"type": "array", "items": schema}, [value, value]),
                    ({"type": "array", "items": schema, "minItems": 0, "maxItems": 2}, []),
                    ({"type": "array", "prefixItems": [schema, other], "items": False}, [value, second]),
                    ({"type": "array", "prefixItems": [schema, other], "maxItems": 2}, [value]),
                    ({"type": "array", "prefixItems": [schema], "items": other}, [value, second]),
                    ({"type": "array", "items": False}, []),
                    ({"type": "array", "items": schema, "contains": schema, "uniqueItems": True}, [value]),
                ]
            )
        )

    return build()


def objects(pairs):
    @st.composite
    def build(draw):
        members = draw(st.dictionaries(st.sampled_from(["title", "type", "a", "b", "$ref"]), pairs, max_size=3))
        properties = {name: schema for name, (schema, _) in members.items()}
        value = {name: value for name, (_, value) in members.items()}
        node = {"type": "object", "properties": properties}
        if draw(st.booleans()):
            node["required"] = [*value]
        match draw(st.integers(0, 4)):
            case 0:
                node["additionalProperties"] = False
            case 1:
                node["additionalProperties"], value["more"] = draw(pairs)
            case 2:
                node["patternProperties"] = {"^x_": True}
                node["additionalProperties"] = False
                value["x_1"] = 5
            case 3:
                node["dependentRequired"] = {"a": ["b"]}
                node["properties"]["never"] = False
        return node, value

    return build()


def combinations(pairs):
    @st.composite
    def build(draw):
        (left, value), (right, other) = draw(pairs), draw(pairs)
        first, one = draw(objects(pairs))
        second, two = draw(objects(pairs))
        return draw(
            st.sampled_from(
                [
                    ({"anyOf": [left, right], "description": "Either"}, other),
                    ({"anyOf": [{"type": "null"}, left]}, None),
                    ({"oneOf": [left, right]}, value),
                    ({"allOf": [left, {"description": "More"}]}, value),
                    ({"allOf": [{"anyOf": [left, right]}, {"anyOf": [right, left]}]}, value),
                    ({"allOf": [first, second]}, {**one, **two}),
                    ({**first, "anyOf": [second, {"required": ["zz"]}]}, {**one, **two}),
                    ({"$ref": "#/$defs/leaf", "description": "A leaf"}, "leaf"),
                    ({"allOf": [{"$ref": "#/$defs/tree"}], "title": "Tree"}, {"kids": [{"kids": [{"kids": []}]}]}),
                    ({"$ref": "#/$defs/tree"}, {"kids": [{}, {"value": 1, "kids": [{"kids": [{"kids": [{}]}]}]}]}),
                    ({"$ref": "#/$defs/leaf", "nullable": True}, "leaf"),
                ]
            )
        )

    return build()


DEFINITIONS = {
    "leaf": {"type": "string", "enum": ["leaf", "blade"]},
    "tree": {
        "type": "object",
        "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}, "value": {"type": "integer"}},
    },
}
PAIRS = st.recursive(
    texts() | numbers() | odd_ones(), lambda inner: arrays(inner) | objects(inner) | combinations(inner), max_leaves=6
)


@st.composite
def parameters(draw):
    """A parameter schema with arguments that it accepts."""
    node, value = draw(objects(PAIRS))
    shape = draw(st.sampled_from(["plain", "all", "any", "reference", "one"]))
    if shape == "all":
        other, more = draw(objects(PAIRS))
        node, value = {"allOf": [node, other]}, {**value, **more}
    elif shape in ("any", "one"):
        other, _ = draw(objects(PAIRS))
        # Closed branches: what an open one says about another's properties is left out on purpose.
        branches = draw(st.permutations([{**branch, "additionalProperties": False} for branch in (node, other)]))
        node = {"type": "object", "anyOf" if shape == "any" else "oneOf": branches}
    elif shape == "reference":
        return {"$ref": "#/$defs/root", "$defs": {**DEFINITIONS, "root": node}}, value
    return {**node, "$defs": DEFINITIONS}, value


def accepts(schema, value):
    return jsonschema_rs.Draft202012Validator(schema).is_valid(value)


@pytest.mark.requirement("B-049")
@PATIENT
@given(pair=parameters())
def test_what_the_canonical_schema_accepts_every_form_accepts(pair):
    schema, value = pair
    assume(accepts(schema, value))
    for convert in TARGETS:
        converted = convert(schema).schema
        if convert is forms.to_openapi_subset:
            converted = forms.from_openapi_subset(converted)
        assert accepts(converted, value), convert.__name__
