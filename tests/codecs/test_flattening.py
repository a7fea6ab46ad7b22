import pytest

from groundwire.codecs.schemas.conversions import WarningLog
from groundwire.codecs.schemas.flattening import flatten
from groundwire.codecs.schemas.forms import to_anthropic, to_json_schema_subset, to_mcp, to_openai, to_openapi_subset

ALL_TARGETS = [to_openapi_subset, to_json_schema_subset, to_openai, to_anthropic, to_mcp]


def of_property(convert, schema, **root):
    """Convert a schema as the one property of a tool's parameters."""
    converted = convert({"type": "object", "properties": {"p": schema}, **root})
    return converted.schema["properties"]["p"], [warning.code for warning in converted.warnings]


DEFINED = {"$defs": {"Point": {"type": "object", "properties": {"x": {"type": "number"}}, "description": "A point"}}}


@pytest.mark.parametrize(
    "reference",
    ["#/$defs/Point", "#/%24defs/Point", "#/definitions/a~1b", "#/properties/q", "#/properties/r/items"],
)
def test_local_references_are_inlined(reference):
    point = DEFINED["$defs"]["Point"]
    root = {
        "type": "object",
        "properties": {"p": {"$ref": reference}, "q": point, "r": {"type": "array", "items": point}},
        "definitions": {"a/b": point},
        **DEFINED,
    }
    converted = to_openapi_subset(root)
    assert converted.warnings == ()
    assert converted.schema["properties"]["p"] == {
        "type": "OBJECT",
        "properties": {"x": {"type": "NUMBER"}},
        "description": "A point",
    }


def test_words_beside_a_reference_come_first():
    written, _ = of_property(to_openapi_subset, {"$ref": "#/$defs/Point", "description": "Where"}, **DEFINED)
    assert written["description"] == "Where A point"


def test_definitions_stay_in_the_json_schema_subset():
    schema = {"$ref": "#/$defs/Point", "description": "Where"}
    converted = to_json_schema_subset(
        {"type": "object", "properties": {"p": schema, "q": {"$ref": "#/$defs/Point"}}, **DEFINED}
    )
    assert converted.schema["properties"] == {
        "p": {"anyOf": [{"$ref": "#/$defs/Point"}], "description": "Where"},
        "q": {"$ref": "#/$defs/Point"},
    }
    assert converted.schema["$defs"] == DEFINED["$defs"]
    assert converted.warnings == ()


@pytest.mark.parametrize("reference", ["#/$defs/Missing", "#name", "https://example.com/point.json", "point.json#/x"])
@pytest.mark.parametrize("convert", [to_openapi_subset, to_json_schema_subset])
def test_a_reference_that_leads_nowhere_is_any_value(convert, reference):
    anything, _ = of_property(convert, True)
    assert of_property(convert, {"$ref": reference}, **DEFINED) == (anything, ["ref_unresolved"])


def test_an_embedded_document_resolves_its_own_references():
    inner = {"$id": "https://example.com/inner", "$ref": "#/$defs/Point", "$defs": {"Point": {"type": "string"}}}
    assert of_property(to_openapi_subset, inner, **DEFINED) == ({"type": "STRING"}, [])


TREE = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}}


def test_recursion_is_unrolled_and_then_cut():
    written, codes = of_property(to_openapi_subset, {"$ref": "#/$defs/Tree"}, **{"$defs": {"Tree": TREE}})
    for _ in range(3):
        written = written["properties"]["kids"]["items"]
    assert written == {"type": "OBJECT", "description": "Nested further in the same way as Tree."}
    assert codes == ["ref_recursive", "empty_object"]


def test_recursion_stays_recursion_in_the_json_schema_subset():
    converted = to_json_schema_subset(
        {"type": "object", "properties": {"p": {"$ref": "#/$defs/Tree"}}, "$defs": {"Tree": TREE}}
    )
    assert converted.schema["$defs"] == {"Tree": TREE}
    assert converted.warnings == ()


@pytest.mark.parametrize("reference", ["#", "#/properties/p"])
@pytest.mark.parametrize("convert", [to_openapi_subset, to_json_schema_subset])
def test_a_schema_that_names_itself_is_cut(convert, reference):
    _, codes = of_property(convert, {"$ref": reference})
    assert "ref_recursive" in codes


def test_references_that_multiply_are_unrolled_less():
    names = [f"T{number}" for number in range(12)]
    either = {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in names]}
    definitions = {name: {"type": "object", "properties": {name: either, "other": either}} for name in names}
    converted = to_openapi_subset({"type": "object", "properties": {"p": either}, "$defs": definitions})
    assert {warning.code for warning in converted.warnings} >= {"ref_recursive"}
    assert len(str(converted.schema)) < 2_000_000


def test_references_that_double_at_each_step_end():
    definitions = {
        f"d{step}": {"type": "object", "properties": {side: {"$ref": f"#/$defs/d{step + 1}"} for side in "ab"}}
        for step in range(40)
    }
    definitions["d40"] = {"type": "string"}
    converted = to_openapi_subset({"type": "object", "properties": {"p": {"$ref": "#/$defs/d0"}}, "$defs": definitions})
    assert converted.schema["properties"]["p"]["type"] == "OBJECT"
    assert len(str(converted.schema)) < 2_000_000


def test_alternatives_that_double_at_each_level_end():
    node = {"type": "string"}
    for _ in range(25):
        node = {"type": "object", "properties": {"x": node}, "anyOf": [{"minProperties": 1}, {"maxProperties": 1}]}
    converted = to_openapi_subset({"type": "object", "properties": {"p": node}})
    assert "schema_too_large" in {warning.code for warning in converted.warnings}


@pytest.mark.parametrize("convert", ALL_TARGETS)
@pytest.mark.parametrize("wrap", [
    lambda node: {"type": "object", "properties": {"x": node}},
    lambda node: {"type": "array", "items": node},
    lambda node: {"allOf": [node]},
    lambda node: {"anyOf": [node, {"type": "null"}]},
    lambda node: {"not": node},
    lambda node: {"enum": [node]},
    lambda node: {"const": [node]},
    lambda node: {"default": [node]},
])  # fmt: skip
def test_nesting_without_end_is_cut(convert, wrap):
    node = {"type": "string"}
    for _ in range(400):
        node = wrap(node)
    convert(node)
    convert({"type": "object", "properties": {"p": node, "q": {"allOf": [node, {"type": "object"}]}}})


def test_deep_nesting_is_noted():
    node = {"type": "string"}
    for _ in range(60):
        node = {"type": "array", "items": node}
    _, codes = of_property(to_openapi_subset, node)
    assert codes == ["schema_too_deep"]


@pytest.mark.parametrize("count", [3, 32, 33, 20_000])
def test_parts_of_an_all_of_are_joined_in_their_order_however_many_there_are(count):
    parts = [
        {"description": f"Part {place}.", "properties": {f"p{place}": {"type": "string"}}, "required": [f"p{place}"]}
        for place in range(count)
    ]
    plain = flatten({"type": "object", "allOf": parts}, root={}, log=WarningLog())
    assert plain["description"] == " ".join(f"Part {place}." for place in range(count))
    assert list(plain["properties"]) == plain["required"] == [f"p{place}" for place in range(count)]
