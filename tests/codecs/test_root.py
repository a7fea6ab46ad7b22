import pytest

from groundwire.codecs.schemas.forms import to_anthropic, to_mcp, to_openai

PLAIN = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}


@pytest.mark.parametrize("convert", [to_openai, to_anthropic, to_mcp])
def test_a_plain_object_schema_passes_through(convert):
    schema = {
        **PLAIN,
        "additionalProperties": False,
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": {"A": PLAIN},
    }
    converted = convert(schema)
    assert converted.schema is schema
    assert converted.warnings == ()


ROOTS = {
    "a missing type": ({"properties": PLAIN["properties"], "required": ["a"]}, PLAIN, []),
    "object or null": ({**PLAIN, "type": ["object", "null"]}, PLAIN, []),
    "missing properties": ({"type": "object"}, {"type": "object", "properties": {}}, []),
    "nothing": ({}, {"type": "object", "properties": {}}, []),
    "true": (True, {"type": "object", "properties": {}}, ["root_rewritten"]),
    "false": (False, {"type": "object", "properties": {}}, ["root_rewritten"]),
    "another type": ({"type": "string"}, {"type": "object", "properties": {}}, ["root_rewritten"]),
    "a reference": (
        {"$ref": "#/$defs/Root", "$defs": {"Root": PLAIN}},
        {**PLAIN, "$defs": {"Root": PLAIN}},
        ["root_rewritten"],
    ),
    "a reference to nowhere": (
        {"$ref": "#/$defs/Root"},
        {"type": "object", "properties": {}},
        ["root_rewritten", "ref_unresolved"],
    ),
    "an allOf": (
        {"allOf": [PLAIN, {"properties": {"b": {"type": "integer"}}, "required": ["b"]}]},
        {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
        },
        ["root_rewritten"],
    ),
    "a contradiction": (
        {"allOf": [{"type": "object"}, {"type": "string"}]},
        {"type": "object", "properties": {}},
        ["root_rewritten", "unsatisfiable"],
    ),
    "required alternatives": (
        {**PLAIN, "required": [], "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "required": [],
            "description": "Give at least one of these sets of properties: a; b.",
        },
        ["root_rewritten"],
    ),
    "labelled alternatives": (
        {
            "oneOf": [
                {
                    "type": "object",
                    "properties": {"kind": {"const": "card", "type": "string"}, "number": {"type": "string"}},
                    "required": ["kind", "number"],
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {"kind": {"const": "cash", "type": "string"}, "change": {"type": "number"}},
                    "required": ["kind"],
                    "additionalProperties": False,
                },
            ]
        },
        {
            "type": "object",
            "properties": {
                "kind": {"type": "string", "enum": ["card", "cash"]},
                "number": {"type": "string"},
                "change": {"type": "number"},
            },
            "required": ["kind"],
            "additionalProperties": False,
            "description": 'If kind is "card", these are required too: number.',
        },
        ["root_rewritten"],
    ),
    "alternatives that disagree about a property": (
        {"anyOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"a": {"type": "integer"}}}]},
        {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}},
        ["root_rewritten"],
    ),
    "constants and exclusions": (
        {**PLAIN, "const": {"a": "x"}, "not": {"required": ["b"]}},
        {
            **PLAIN,
            "description": 'Allowed values: {"a": "x"}. Must not match this JSON Schema: {"required": ["b"]}.',
        },
        ["root_rewritten"],
    ),
    "references into the old shape": (
        {"anyOf": [{"properties": {"a": {"type": "string"}, "b": {"$ref": "#/anyOf/0/properties/a"}}}]},
        {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
        ["root_rewritten"],
    ),
}


@pytest.mark.parametrize("convert", [to_openai, to_anthropic])
@pytest.mark.parametrize(("schema", "expected", "codes"), ROOTS.values(), ids=ROOTS.keys())
def test_the_root_becomes_a_plain_object(convert, schema, expected, codes):
    converted = convert(schema)
    assert converted.schema == expected
    assert [warning.code for warning in converted.warnings] == codes


def test_mcp_only_fixes_the_type_of_the_root():
    alternatives = {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert to_mcp(alternatives).schema == {"type": "object", **alternatives}
    assert to_mcp({"type": ["object", "null"]}).schema == {"type": "object"}
