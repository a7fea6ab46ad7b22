import copy
import time

import pytest

from groundwire.codecs.schemas.conversions import WARNING_CODES
from groundwire.codecs.schemas.forms import (
    from_openapi_subset,
    to_anthropic,
    to_json_schema_subset,
    to_mcp,
    to_openai,
    to_openapi_subset,
)

ALL_TARGETS = [to_openapi_subset, to_json_schema_subset, to_openai, to_anthropic, to_mcp]


def of_property(convert, schema, **root):
    """Convert a schema as the one property of a tool's parameters."""
    converted = convert({"type": "object", "properties": {"p": schema}, **root})
    return converted.schema["properties"]["p"], [warning.code for warning in converted.warnings]


def any_of(*types, **extra):
    return [{"type": name, **extra} for name in types]


ANY_VALUE = {
    "anyOf": [
        *any_of("STRING", "NUMBER", "BOOLEAN", "OBJECT", nullable=True),
        {
            "type": "ARRAY",
            "items": {"anyOf": any_of("STRING", "NUMBER", "BOOLEAN", "OBJECT", nullable=True)},
            "nullable": True,
        },
    ]
}

NATIVE = {
    "types are upper case": ({"type": "boolean"}, {"type": "BOOLEAN"}, []),
    "null in a type list is nullable": (
        {"type": ["string", "null"]},
        {"type": "STRING", "nullable": True},
        [],
    ),
    "the nullable shorthand is understood": (
        {"type": "string", "nullable": True},
        {"type": "STRING", "nullable": True},
        [],
    ),
    "null alone is a type": ({"type": "null"}, {"type": "NULL"}, []),
    "several types are alternatives": (
        {"type": ["string", "integer"], "minLength": 2, "minimum": 3},
        {"anyOf": [{"type": "STRING", "minLength": 2}, {"type": "INTEGER", "minimum": 3}]},
        [],
    ),
    "integer beside number says nothing": ({"type": ["integer", "number"]}, {"type": "NUMBER"}, []),
    "keywords of another type go": (
        {"type": "string", "minimum": 1, "properties": {}, "required": ["x"]},
        {"type": "STRING"},
        [],
    ),
    "an optional value with a description": (
        {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "A name", "default": None},
        {"type": "STRING", "nullable": True, "description": "A name. Default: null."},
        [],
    ),
    "an anyOf stands alone, its description moves inside": (
        {"anyOf": [{"type": "string"}, {"type": "integer", "description": "By number"}], "description": "Who"},
        {"anyOf": [{"type": "STRING", "description": "Who"}, {"type": "INTEGER", "description": "By number"}]},
        [],
    ),
    "what stands beside an anyOf holds in each branch": (
        {"type": "integer", "minimum": 1, "anyOf": [{"maximum": 5}, {"multipleOf": 10}]},
        {
            "anyOf": [
                {"type": "INTEGER", "minimum": 1, "maximum": 5},
                {"type": "INTEGER", "minimum": 1, "description": "Must be a multiple of 10."},
            ]
        },
        ["keyword_described"],
    ),
    "oneOf becomes anyOf": (
        {"oneOf": [{"type": "string"}, {"type": "boolean"}]},
        {"anyOf": any_of("STRING", "BOOLEAN")},
        ["one_of_widened"],
    ),
    "equal branches are one": ({"anyOf": [{"type": "string"}, {"type": "string"}]}, {"type": "STRING"}, []),
    "impossible branches go": ({"anyOf": [False, {"type": "string"}]}, {"type": "STRING"}, []),
    "branches that only require are a sentence": (
        {"type": "object", "properties": {"a": {"type": "string"}}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {
            "type": "OBJECT",
            "properties": {"a": {"type": "STRING"}},
            "description": "Give exactly one of these sets of properties: a; b.",
        },
        ["keyword_described"],
    ),
    "parts of an allOf are joined": (
        {
            "allOf": [
                {"type": "object", "properties": {"a": {"type": "number", "minimum": 1}}, "required": ["a"]},
                {"properties": {"a": {"type": "integer", "minimum": 3}, "b": {"type": "string"}}, "required": ["b"]},
            ],
            "description": "Both",
        },
        {
            "type": "OBJECT",
            "properties": {"a": {"type": "INTEGER", "minimum": 3}, "b": {"type": "STRING"}},
            "required": ["a", "b"],
            "description": "Both",
        },
        [],
    ),
    "an integer that must be a number is an integer": (
        {"allOf": [{"type": ["integer", "string"]}, {"type": ["number", "null"]}]},
        {"type": "INTEGER"},
        [],
    ),
    "what an allOf cannot join is told": (
        {"allOf": [{"type": "string", "pattern": "^a"}, {"pattern": "z$"}]},
        {"type": "STRING", "pattern": "^a", "description": 'Must also match this JSON Schema: {"pattern": "z$"}.'},
        ["all_of_conflict"],
    ),
    "a text constant is an enum of one": ({"const": "x"}, {"type": "STRING", "enum": ["x"]}, []),
    "a number constant is told": (
        {"const": 3},
        {"type": "INTEGER", "description": "Allowed values: 3."},
        ["keyword_described"],
    ),
    "a number enum is told": (
        {"type": "integer", "enum": [1, 2, 3], "description": "Level"},
        {"type": "INTEGER", "description": "Level. Allowed values: 1, 2, 3."},
        ["keyword_described"],
    ),
    "a boolean enum is told": (
        {"enum": [True]},
        {"type": "BOOLEAN", "description": "Allowed values: true."},
        ["keyword_described"],
    ),
    "a mixed enum splits by type": (
        {"enum": ["auto", 1, None]},
        {
            "anyOf": [
                {"type": "STRING", "enum": ["auto"], "nullable": True},
                {"type": "INTEGER", "description": "Allowed values: 1.", "nullable": True},
            ]
        },
        ["keyword_described"],
    ),
    "an empty text in an enum is refused, so the enum is told": (
        {"type": "string", "enum": ["", "asc"]},
        {"type": "STRING", "description": 'Allowed values: "", "asc".'},
        ["keyword_described"],
    ),
    "a known format stays": ({"type": "string", "format": "date-time"}, {"type": "STRING", "format": "date-time"}, []),
    "another format is told": (
        {"type": "string", "format": "email"},
        {"type": "STRING", "description": "Format: email."},
        ["keyword_described"],
    ),
    "an exclusive bound of an integer is exact": (
        {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 9.5},
        {"type": "INTEGER", "minimum": 1, "maximum": 9},
        [],
    ),
    "an exclusive bound of a number is sent and told": (
        {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        {"type": "NUMBER", "minimum": 0, "maximum": 1, "description": "Must be greater than 0."},
        ["keyword_described"],
    ),
    "an exclusive bound that does not bind goes": (
        {"type": "number", "exclusiveMaximum": 10, "maximum": 1},
        {"type": "NUMBER", "maximum": 1},
        [],
    ),
    "a default and examples are told": (
        {"type": "integer", "default": 5, "examples": [5, 10]},
        {"type": "INTEGER", "description": "Default: 5. Examples: 5, 10."},
        [],
    ),
    "notes for programmers go": (
        {"type": "string", "title": "P", "$comment": "c", "$anchor": "a", "readOnly": True, "x-extra": 1},
        {"type": "STRING"},
        [],
    ),
    "a closed object is sent open": (
        {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False},
        {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}},
        ["keyword_dropped"],
    ),
    "a map is told": (
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"type": "OBJECT", "description": 'Other keys take values of this JSON Schema: {"type": "integer"}.'},
        ["empty_object", "keyword_described"],
    ),
    "pattern properties are told": (
        {"type": "object", "properties": {"a": {"type": "string"}}, "patternProperties": {"^x": {"type": "string"}}},
        {
            "type": "OBJECT",
            "properties": {"a": {"type": "STRING"}},
            "description": 'Keys matching ^x take values of this JSON Schema: {"type": "string"}.',
        },
        ["keyword_described"],
    ),
    "a tuple is an array of either, in an order that is told": (
        {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "minItems": 2, "maxItems": 2},
        {
            "type": "ARRAY",
            "items": {"anyOf": any_of("STRING", "INTEGER")},
            "minItems": 2,
            "maxItems": 2,
            "description": 'Items in order: {"type": "string"}, then {"type": "integer"}.',
        },
        ["keyword_described"],
    ),
    "a tuple without further items has its length": (
        {"type": "array", "prefixItems": [{"type": "string"}], "items": False},
        {
            "type": "ARRAY",
            "items": {"type": "STRING"},
            "maxItems": 1,
            "description": 'Items in order: {"type": "string"}.',
        },
        ["keyword_described"],
    ),
    "an array always has items": ({"type": "array"}, {"type": "ARRAY", "items": ANY_VALUE}, []),
    "no schema is every type by name": ({}, ANY_VALUE, []),
    "true is every type by name": (True, ANY_VALUE, []),
    "a schema without type gets the one it speaks of": (
        {"properties": {"a": {"type": "string"}}},
        {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}},
        ["type_assumed"],
    ),
    "a requirement for an undeclared property is told": (
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "b"]},
        {
            "type": "OBJECT",
            "properties": {"a": {"type": "STRING"}},
            "required": ["a"],
            "description": "Also required: b.",
        },
        ["keyword_described"],
    ),
    "a property that may never be given is left out": (
        {"type": "object", "properties": {"a": {"type": "string"}, "b": False}},
        {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}},
        ["keyword_dropped"],
    ),
    "dependencies are told": (
        {"type": "object", "properties": {"a": {"type": "string"}}, "dependentRequired": {"a": ["b", "c"]}},
        {
            "type": "OBJECT",
            "properties": {"a": {"type": "STRING"}},
            "description": "If a is given, these are required too: b, c.",
        },
        ["keyword_described"],
    ),
    "exclusions and conditions are told": (
        {"type": "string", "not": {"const": "x"}, "if": {"const": "y"}, "then": {"minLength": 1}},
        {
            "type": "STRING",
            "description": 'Must not match this JSON Schema: {"enum": ["x"]}. '
            'If it matches {"enum": ["y"]}, it must match {"minLength": 1}.',
        },
        ["keyword_described", "keyword_described"],
    ),
    "rules about items are told": (
        {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "contains": {"const": "x"}},
        {
            "type": "ARRAY",
            "items": {"type": "STRING"},
            "description": "The number of items that match this JSON Schema must be at least 1: "
            '{"enum": ["x"]}. Items must be unique.',
        },
        ["keyword_described", "keyword_described"],
    ),
    "a contradiction is any value that says so": (
        {"anyOf": [{"allOf": [{"type": "string"}, {"type": "integer"}]}, False]},
        {
            "anyOf": [
                {"type": "STRING", "nullable": True, "description": "No value is valid here."},
                *ANY_VALUE["anyOf"][1:],
            ]
        },
        ["unsatisfiable"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("schema", "expected", "codes"), NATIVE.values(), ids=NATIVE.keys())
def test_in_the_openapi_subset(schema, expected, codes):
    assert of_property(to_openapi_subset, schema) == (expected, codes)


SUBSET = {
    "types keep their case and null": ({"type": ["string", "null"]}, {"type": ["string", "null"]}, []),
    "a constant is an enum": ({"const": 3}, {"type": "integer", "enum": [3]}, []),
    "enums of any type stay": ({"type": "integer", "enum": [1, 2]}, {"type": "integer", "enum": [1, 2]}, []),
    "tuples stay": (
        {"type": "array", "prefixItems": [{"type": "string"}], "items": False},
        {"type": "array", "prefixItems": [{"type": "string"}], "maxItems": 1},
        [],
    ),
    "typed maps stay": (
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        [],
    ),
    "closed objects stay": (
        {"type": "object", "properties": {}, "additionalProperties": False},
        {"type": "object", "properties": {}, "additionalProperties": False},
        [],
    ),
    "without its patterns a closed object is opened": (
        {"type": "object", "patternProperties": {"^x": True}, "additionalProperties": False},
        {"type": "object", "description": "Keys matching ^x take values of this JSON Schema: {}."},
        ["keyword_dropped", "keyword_described"],
    ),
    "oneOf becomes anyOf": (
        {"oneOf": [{"type": "string"}, {"type": "null"}], "title": "P", "default": None},
        {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "Default: null."},
        ["one_of_widened"],
    ),
    "an exclusive bound is sent and told": (
        {"type": "number", "exclusiveMinimum": 0},
        {"type": "number", "minimum": 0, "description": "Must be greater than 0."},
        ["keyword_described"],
    ),
    "no schema stays no schema": ({}, {}, []),
    "alternatives that cannot match go": (
        {"type": "string", "anyOf": [False, {"enum": []}]},
        {"type": "string"},
        ["unsatisfiable"],
    ),
}


@pytest.mark.requirement("B-050")
@pytest.mark.parametrize(("schema", "expected", "codes"), SUBSET.values(), ids=SUBSET.keys())
def test_in_the_json_schema_subset(schema, expected, codes):
    assert of_property(to_json_schema_subset, schema) == (expected, codes)


KEYWORD_NAMES = [
    "title", "type", "format", "default", "$ref", "$defs", "properties", "items", "enum", "const", "required",
    "nullable", "anyOf", "additionalProperties", "$schema", "examples", "description",
]  # fmt: skip


@pytest.mark.parametrize("convert", ALL_TARGETS)
def test_properties_named_like_keywords_survive(convert):
    schema = {
        "type": "object",
        "properties": {name: {"type": "string", "description": f"The {name}"} for name in KEYWORD_NAMES},
        "required": KEYWORD_NAMES,
    }
    converted = convert(schema).schema
    if convert is to_openapi_subset:
        converted = from_openapi_subset(converted)
    assert converted == schema


def test_names_that_gemini_refuses_for_parameters_are_noted():
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in ("ok_1", "1st", "a-b", "x" * 65)}}
    for convert in (to_openapi_subset, to_json_schema_subset):
        assert [(warning.code, warning.path) for warning in convert(schema).warnings] == [
            ("parameter_name", "/properties/1st"),
            ("parameter_name", "/properties/a-b"),
            ("parameter_name", "/properties/" + "x" * 65),
        ]


def test_long_values_are_cut_in_a_description():
    written, _ = of_property(to_openapi_subset, {"type": "integer", "enum": list(range(1000, 2000))})
    assert len(written["description"]) < 500
    assert written["description"].endswith("….")


def test_conversion_leaves_its_input_alone():
    schema = {
        "allOf": [{"$ref": "#/$defs/A"}, {"properties": {"a": {"minLength": 1, "nullable": True}}}],
        "$defs": {"A": {"type": "object", "properties": {"a": {"type": "string", "const": "x"}}, "required": ["a"]}},
    }
    before = copy.deepcopy(schema)
    for convert in ALL_TARGETS:
        convert(schema)
    assert schema == before


def test_warning_codes_are_listed_once_in_order():
    assert list(WARNING_CODES) == sorted(set(WARNING_CODES))


def test_a_reference_with_more_digits_than_python_reads_leads_nowhere():
    schema = {"allOf": [{"$ref": "#/allOf/" + "1" * 5000}]}
    for convert in ALL_TARGETS[:2]:
        converted = of_property(convert, {"$ref": "#/properties/p/allOf/" + "1" * 5000, **schema})
        assert converted is not None


@pytest.mark.parametrize("keyword", ["allOf", "anyOf"])
def test_references_at_the_root_that_multiply_with_every_level_are_cut_with_a_warning(keyword):
    definitions = {f"a{level}": {keyword: [{"$ref": f"#/$defs/a{level + 1}"}] * 10} for level in range(20)}
    definitions["a20"] = {"type": "object", "properties": {"x": {"type": "string"}}}
    for convert in ALL_TARGETS[:4]:
        converted = convert({"$ref": "#/$defs/a0", "$defs": definitions})
        assert "schema_too_large" in {warning.code for warning in converted.warnings}


def test_long_lists_of_values_and_alternatives_are_joined_in_one_pass():
    started = time.process_time()
    to_openapi_subset({"allOf": [{"enum": [*range(20_000)]}, {"enum": [*range(30_000, 50_000)]}]})
    to_openapi_subset({"type": "object", "properties": {"p": {"enum": [[number] for number in range(5_000)]}}})
    to_openai({"anyOf": [{"type": "object", "properties": {f"p{number}": {}}} for number in range(8_000)]})
    to_openai({"anyOf": [{"type": "object", "required": [f"{sign}{n}" for n in range(20_000)]} for sign in "ab"]})
    assert time.process_time() - started < 10


def test_joined_enums_tell_true_from_one_and_take_one_for_one_point_zero():
    joined = of_property(to_json_schema_subset, {"allOf": [{"enum": [1, True, [0]]}, {"enum": [1.0, [False]]}]})
    assert "enum" not in joined or joined["enum"] == [1]
