import copy

import pytest

from groundwire.codecs import anthropic_messages, gemini, mcp, openai_chat, openai_responses
from groundwire.codecs.schemas.forms import from_openapi_subset, to_json_schema_subset, to_openapi_subset
from groundwire.contracts.tools import Category

PARAMETERS = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "What to look for"},
        "limit": {"type": ["integer", "null"], "minimum": 1, "maximum": 10},
    },
    "required": ["query"],
}
NATIVE = {
    "type": "OBJECT",
    "properties": {
        "query": {"type": "STRING", "description": "What to look for"},
        "limit": {"type": "INTEGER", "nullable": True, "minimum": 1, "maximum": 10},
    },
    "required": ["query"],
}
NOTHING = {"type": "object", "properties": {}}
WORDS = {"name": "search", "description": "Search the shelf"}


def encode(module, **changes):
    return module.encode_declaration(**{**WORDS, "parameters": PARAMETERS, **changes})


def test_chat_nests_the_function():
    declared = encode(openai_chat)
    assert declared.value == {"type": "function", "function": {**WORDS, "parameters": PARAMETERS}}
    assert declared.warnings == ()


def test_responses_is_flat_and_says_that_it_is_not_strict():
    declared = encode(openai_responses)
    assert declared.value == {"type": "function", **WORDS, "parameters": PARAMETERS, "strict": False}
    assert declared.warnings == ()


def test_anthropic_calls_it_input_schema():
    assert encode(anthropic_messages).value == {**WORDS, "input_schema": PARAMETERS}


@pytest.mark.requirement("B-007", "B-050", "B-130")
def test_gemini_text_gets_plain_json_schema():
    assert encode(gemini).value == {**WORDS, "parametersJsonSchema": PARAMETERS}


def test_gemini_voice_gets_native_types():
    declared = gemini.encode_native_declaration(**WORDS, parameters=PARAMETERS)
    assert declared.value == {**WORDS, "parameters": NATIVE}
    assert declared.warnings == ()


@pytest.mark.parametrize(
    "parameters",
    [NOTHING, {"type": "object"}, {}, {**NOTHING, "additionalProperties": False}, {**NOTHING, "description": "None"}],
)
def test_a_native_declaration_without_parameters_leaves_them_out(parameters):
    assert gemini.encode_native_declaration(**WORDS, parameters=parameters).value == WORDS


def test_a_native_declaration_keeps_what_is_told_of_free_keys():
    open_map = {"type": "object", "additionalProperties": {"type": "string"}}
    declared = gemini.encode_native_declaration(**WORDS, parameters=open_map)
    assert declared.value["parameters"]["type"] == "OBJECT"
    assert "Other keys" in declared.value["parameters"]["description"]


@pytest.mark.parametrize(
    ("module", "where"),
    [
        (openai_chat, lambda value: value["function"]["parameters"]),
        (openai_responses, lambda value: value["parameters"]),
        (anthropic_messages, lambda value: value["input_schema"]),
        (gemini, lambda value: value["parametersJsonSchema"]),
    ],
)
def test_the_other_formats_send_an_empty_object(module, where):
    assert where(encode(module, parameters={}).value) == NOTHING


def test_mcp_shows_the_schema_as_it_is():
    declared = encode(mcp)
    assert declared.value == {**WORDS, "inputSchema": PARAMETERS}
    assert declared.warnings == ()


@pytest.mark.parametrize(
    ("category", "hints"),
    [
        (Category.RETRIEVAL, {"readOnlyHint": True, "destructiveHint": False}),
        (Category.UTILITY, {"readOnlyHint": True, "destructiveHint": False}),
        (Category.ACTION, {"readOnlyHint": False, "destructiveHint": True}),
    ],
)
def test_mcp_hints_follow_the_category(category, hints):
    assert encode(mcp, category=category).value["annotations"] == hints


def test_mcp_declares_an_object_result_and_leaves_out_another():
    result = {"type": "object", "properties": {"hits": {"type": "array"}}}
    assert encode(mcp, result=result).value["outputSchema"] == result
    declared = encode(mcp, result={"type": "array"})
    assert "outputSchema" not in declared.value
    assert [warning.code for warning in declared.warnings] == ["result_not_object"]


MODULES = [openai_chat, openai_responses, anthropic_messages, gemini, mcp]
NAMES = [
    ("find_it-2", None, []),
    ("2nd", "name_characters", [gemini]),
    ("shop.find", "name_characters", [openai_chat, openai_responses, anthropic_messages]),
    ("shop:find", "name_characters", [openai_chat, openai_responses, anthropic_messages, mcp]),
    ("find it", "name_characters", MODULES),
    ("find\n", "name_characters", MODULES),
    ("größe", "name_characters", MODULES),
    ("", "name_length", MODULES),
    ("x" * 64, None, []),
    ("x" * 65, "name_length", [openai_chat, openai_responses]),
    ("x" * 128, "name_length", [openai_chat, openai_responses]),
    ("x" * 129, "name_length", MODULES),
]


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize(("name", "code", "refusing"), NAMES)
def test_names_outside_a_providers_rule_are_noted_and_kept(module, name, code, refusing):
    expected = [code] if module in refusing else []
    assert [warning.code for warning in module.lint_name(name)] == expected
    declared = encode(module, name=name)
    assert [warning.code for warning in declared.warnings] == expected
    assert name in (declared.value.get("name"), declared.value.get("function", {}).get("name"))


@pytest.mark.parametrize(
    ("module", "codes"),
    [
        (openai_chat, ["description_length"]),
        (openai_responses, ["description_length"]),
        (anthropic_messages, []),
        (gemini, []),
        (mcp, []),
    ],
)
def test_long_descriptions_are_noted_and_kept(module, codes):
    assert encode(module, description="d" * 1024).warnings == ()
    declared = encode(module, description="d" * 1025)
    assert [warning.code for warning in declared.warnings] == codes
    assert "d" * 1025 in str(declared.value)


def test_losses_of_the_schema_are_part_of_the_declaration():
    parameters = {"type": "object", "properties": {"n": {"enum": [1, 2]}}, "oneOf": [{"required": ["n"]}]}
    before = copy.deepcopy(parameters)
    native = gemini.encode_native_declaration(name="a b", description="d", parameters=parameters)
    assert [warning.code for warning in native.warnings] == ["name_characters", "root_rewritten", "keyword_described"]
    assert [warning.code for warning in encode(openai_chat, parameters=parameters).warnings] == ["root_rewritten"]
    assert parameters == before


FIVE_TOOLS = {
    "kb_search": {
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 1, "description": "What the user wants to know"},
            "top_k": {"type": "integer", "minimum": 1, "maximum": 10, "description": "How many hits"},
            "filter": {
                "type": "object",
                "properties": {
                    "kind": {"type": "string", "enum": ["article", "faq", "policy"]},
                    "updated_after": {"type": "string", "format": "date-time"},
                },
            },
        },
        "required": ["query"],
    },
    "kb_get": {
        "type": "object",
        "properties": {"id": {"type": "string"}, "section": {"type": ["string", "null"], "description": "A heading"}},
        "required": ["id"],
    },
    "ignore_user": {
        "type": "object",
        "properties": {
            "reason": {"type": "string", "enum": ["abuse", "spam"]},
            "minutes": {"type": "number", "minimum": 0.5},
        },
        "required": ["reason", "minutes"],
    },
    "start_voice_session": {
        "type": "object",
        "properties": {
            "topics": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
            "confirmed": {"type": "boolean"},
        },
    },
    "end_voice_session": {"type": "object", "properties": {}},
}


@pytest.mark.requirement("X-08")
@pytest.mark.parametrize("name", FIVE_TOOLS)
def test_the_native_form_read_back_equals_the_canonical_form(name):
    canonical = FIVE_TOOLS[name]
    native, text = to_openapi_subset(canonical), to_json_schema_subset(canonical)
    assert native.warnings == text.warnings == ()
    assert from_openapi_subset(native.schema) == canonical == text.schema
