import json

import pytest
from openai.types.responses import ToolParam
from openai.types.responses.response_create_params import ToolChoice as WireChoice
from pydantic import TypeAdapter

from groundwire.codecs.openai_responses import DIALECT, Profile, decode_request, encode_request
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.messages import CallItem, ResultItem, TextPart, say
from groundwire.contracts.requests import FunctionTool, ModelRequest, NativeTool, OutputFormat, ToolChoice
from tests.codecs.openai_responses.recordings import without_nulls

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
FLAT = {"type": "function", "name": "f", "description": "d", "parameters": SCHEMA, "strict": False}
NESTED = {"type": "function", "function": {"name": "f", "description": "d", "parameters": SCHEMA, "strict": False}}
GRAMMAR = {"type": "grammar", "syntax": "lark", "definition": "start: A"}
_CHOICES = TypeAdapter(WireChoice)
_TOOLS = TypeAdapter(list[ToolParam])


def body_with(**members):
    return {"model": "m", "input": "hi", **members}


def back(**members):
    return encode_request(decode_request(json.dumps(body_with(**members)).encode()))


def encode(*tools, choice=None, **options):
    request = ModelRequest(model="m", items=(say("user", "hi"),), tools=tools, tool_choice=choice)
    return encode_request(request, **options)


@pytest.mark.parametrize(
    "tool",
    [
        FLAT,
        {"type": "function", "name": "f"},
        {**FLAT, "strict": True, "defer_loading": True, "output_schema": {"type": "object"}},
        {"type": "function", "name": "f", "parameters": {"anyOf": [SCHEMA, {"type": "object"}]}, "strict": False},
        {"type": "function", "name": "f", "parameters": {}, "strict": False},
        {"type": "custom", "name": "sql", "description": "d", "format": GRAMMAR},
        {"type": "custom", "name": "sql"},
        {"type": "namespace", "name": "crm", "description": "d", "tools": [FLAT, {**FLAT, "name": "g"}]},
        {"type": "namespace", "name": "crm", "description": "d", "tools": [{"type": "novelty"}]},
        {"type": "namespace", "name": "crm", "description": "d", "tools": []},
        {"type": "web_search", "user_location": {"type": "approximate", "country": "DE"}},
        {"type": "mcp", "server_label": "s", "server_url": "https://x", "require_approval": "never"},
    ],
)
def test_a_tool_of_this_dialect_comes_back_as_it_was(tool):
    encoded = back(tools=[tool])
    assert without_nulls(encoded.body["tools"]) == [tool]
    assert encoded.warnings == ()


def test_an_empty_list_of_tools_comes_back():
    assert back(tools=[]).body["tools"] == []


def test_two_namespaces_side_by_side_stay_two():
    tools = [
        {"type": "namespace", "name": "a", "description": "d", "tools": [FLAT]},
        {"type": "namespace", "name": "b", "description": "d", "tools": [{**FLAT, "name": "g"}]},
        {**FLAT, "name": "h"},
    ]
    encoded = back(tools=tools)
    assert encoded.body["tools"] == tools
    assert encoded.names == {"f": "f", "g": "g", "h": "h"}


@pytest.mark.requirement("X-19")
def test_nested_and_flat_tools_are_read_alike_and_written_flat():
    flat, nested = (decode_request(body_with(tools=[tool])) for tool in (FLAT, NESTED))
    assert flat.tools == nested.tools == (FunctionTool(name="f", description="d", parameters=SCHEMA, strict=False),)
    assert encode_request(nested).body["tools"] == [FLAT]


@pytest.mark.requirement("X-19")
def test_a_nested_custom_tool_is_written_flat():
    nested = {"name": "sql", "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: A"}}}
    encoded = back(tools=[{"type": "custom", "custom": nested}])
    assert encoded.body["tools"] == [{"type": "custom", "name": "sql", "format": GRAMMAR}]


@pytest.mark.requirement("X-19")
@pytest.mark.parametrize(
    ("wire", "choice", "written"),
    [
        ("auto", ToolChoice(mode="auto"), "auto"),
        ("none", ToolChoice(mode="none"), "none"),
        ("required", ToolChoice(mode="required"), "required"),
        (
            {"type": "function", "name": "f"},
            ToolChoice(mode="required", names=("f",)),
            {"type": "function", "name": "f"},
        ),
        (
            {"type": "function", "function": {"name": "f"}},
            ToolChoice(mode="required", names=("f",)),
            {"type": "function", "name": "f"},
        ),
        (
            {"type": "custom", "custom": {"name": "sql"}},
            ToolChoice(mode="required", names=("sql",), private={DIALECT: {"_type": "custom"}}),
            {"type": "custom", "name": "sql"},
        ),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "f"}}]},
            },
            ToolChoice(mode="auto", names=("f",)),
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]},
        ),
    ],
)
def test_nested_and_flat_choices_are_read_and_written_flat(wire, choice, written):
    request = decode_request(body_with(tool_choice=wire))
    assert request.tool_choice == choice
    assert encode_request(request).body["tool_choice"] == written
    _CHOICES.validate_python(written)


@pytest.mark.parametrize(
    "wire",
    [
        {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "f"}]},
        {
            "type": "allowed_tools",
            "mode": "auto",
            "tools": [
                {"type": "function", "name": "f"},
                {"type": "mcp", "server_label": "s"},
                {"type": "custom", "name": "c"},
            ],
        },
        {"type": "allowed_tools", "mode": "auto", "tools": []},
        {"type": "web_search_preview"},
        {"type": "mcp", "server_label": "s", "name": "n"},
        {"type": "function", "name": "f", "novelty": 1},
    ],
)
def test_a_choice_of_this_dialect_comes_back_as_it_was(wire):
    assert back(tool_choice=wire).body["tool_choice"] == wire


@pytest.mark.parametrize(
    ("choice", "written"),
    [
        (ToolChoice(mode="none", names=("f",)), "none"),
        (ToolChoice(mode="required", names=("f",)), {"type": "function", "name": "f"}),
        (ToolChoice(mode="required", names=("sql",)), {"type": "custom", "name": "sql"}),
        (
            ToolChoice(mode="auto", names=("f",)),
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]},
        ),
        (
            ToolChoice(mode="required", names=("f", "sql")),
            {
                "type": "allowed_tools",
                "mode": "required",
                "tools": [{"type": "function", "name": "f"}, {"type": "custom", "name": "sql"}],
            },
        ),
    ],
)
def test_choices_of_other_dialects_have_their_equals(choice, written):
    tools = (FunctionTool(name="f", parameters=SCHEMA), FunctionTool(name="sql", freeform={"type": "text"}))
    encoded = encode(*tools, choice=choice)
    assert encoded.body["tool_choice"] == written
    _CHOICES.validate_python(written)
    _TOOLS.validate_python(encoded.body["tools"])


@pytest.mark.quirk(60)
def test_a_tool_of_another_dialect_says_that_it_is_not_strict():
    (written,) = encode(FunctionTool(name="f", parameters=SCHEMA)).body["tools"]
    assert written["strict"] is False
    (silent,) = encode(FunctionTool(name="f", parameters=SCHEMA), profile=Profile(explicit_strict=False)).body["tools"]
    assert "strict" not in silent
    (own,) = back(tools=[{"type": "function", "name": "f", "parameters": SCHEMA}]).body["tools"]
    assert "strict" not in own


@pytest.mark.quirk(61)
def test_a_strict_tool_stays_strict_and_its_objects_are_closed():
    encoded = encode(FunctionTool(name="f", parameters=SCHEMA, strict=True))
    parameters = {**SCHEMA, "additionalProperties": False}
    assert encoded.body["tools"] == [{"type": "function", "name": "f", "parameters": parameters, "strict": True}]
    assert encoded.warnings == ()


@pytest.mark.quirk(61)
def test_a_schema_that_strict_mode_would_refuse_is_sent_as_not_strict_and_nothing_becomes_required():
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    encoded = encode(FunctionTool(name="f", parameters=schema, strict=True))
    assert encoded.body["tools"] == [{"type": "function", "name": "f", "parameters": schema, "strict": False}]
    assert [(warning.code, warning.path) for warning in encoded.warnings] == [("option_adjusted", "tools[0].strict")]


@pytest.mark.quirk(61)
def test_a_strict_tool_of_this_dialect_is_its_senders_business():
    schema = {"type": "object", "properties": {"q": {"type": "string", "default": "x"}}}
    tool = {"type": "function", "name": "f", "parameters": schema, "strict": True}
    encoded = encode_request(decode_request(body_with(tools=[tool])))
    assert encoded.body["tools"] == [tool]
    assert encoded.warnings == ()


@pytest.mark.quirk(61)
def test_an_output_format_that_strict_mode_would_refuse_is_sent_as_not_strict():
    output = OutputFormat(type="schema", schema={"type": "array"}, strict=True)
    encoded = encode_request(ModelRequest(model="m", output=output))
    assert encoded.body["text"]["format"]["strict"] is False
    assert [warning.code for warning in encoded.warnings] == ["option_adjusted"]


@pytest.mark.quirk(80)
def test_a_long_description_is_cut_only_for_an_endpoint_that_refuses_it():
    request = ModelRequest(model="m", tools=(FunctionTool(name="f", description="d" * 2000, parameters=SCHEMA),))
    assert encode_request(request).body["tools"][0]["description"] == "d" * 2000
    encoded = encode_request(request, profile=Profile(max_description=1024))
    assert encoded.body["tools"][0]["description"] == "d" * 1023 + "…"
    assert [(warning.code, warning.path) for warning in encoded.warnings] == [
        ("option_adjusted", "tools[0].description")
    ]


def test_a_tool_without_parameters_takes_an_empty_object():
    (written,) = encode(FunctionTool(name="f")).body["tools"]
    assert written["parameters"] == {"type": "object", "properties": {}}


def test_alternatives_at_the_root_of_a_foreign_schema_are_folded_with_a_warning():
    encoded = encode(FunctionTool(name="f", parameters={"anyOf": [SCHEMA, {"type": "object", "properties": {}}]}))
    (written,) = encoded.body["tools"]
    assert written["parameters"]["type"] == "object"
    assert "anyOf" not in written["parameters"]
    assert {(warning.code, warning.path) for warning in encoded.warnings} == {("schema", "tools[0].parameters")}


def test_a_tool_that_only_another_provider_runs_is_left_out():
    encoded = encode(NativeTool(origin="gemini", value={"googleSearch": {}}), FunctionTool(name="f", parameters=SCHEMA))
    assert [tool["name"] for tool in encoded.body["tools"]] == ["f"]
    assert [warning.code for warning in encoded.warnings] == ["tool_dropped"]


def test_a_name_that_breaks_the_rule_is_replaced_everywhere_and_leads_back():
    call = CallItem(call=ToolCall(call_id="c", name="crm.find user", raw="{}"))
    request = ModelRequest(
        model="m",
        items=(call, ResultItem(call_id="c", parts=(TextPart(text="x"),))),
        tools=(FunctionTool(name="crm.find user", parameters=SCHEMA),),
        tool_choice=ToolChoice(mode="required", names=("crm.find user",)),
    )
    encoded = encode_request(request)
    assert encoded.body["tools"][0]["name"] == "crm_find_user"
    assert encoded.body["input"][0]["name"] == "crm_find_user"
    assert encoded.body["tool_choice"] == {"type": "function", "name": "crm_find_user"}
    assert encoded.names == {"crm_find_user": "crm.find user"}
    assert [warning.code for warning in encoded.warnings] == ["name_rewritten"]


def test_a_foreign_call_of_a_plain_text_tool_is_a_custom_call():
    call = CallItem(call=ToolCall(call_id="c", name="sql", raw='{"input":"select 1"}'))
    odd = CallItem(call=ToolCall(call_id="d", name="sql", raw='{"other":1}'))
    results = tuple(ResultItem(call_id=call_id, parts=(TextPart(text="x"),)) for call_id in ("c", "d"))
    tool = FunctionTool(name="sql", freeform={"type": "text"})
    encoded = encode_request(ModelRequest(model="m", items=(call, odd, *results), tools=(tool,)))
    assert encoded.body["tools"] == [{"type": "custom", "name": "sql", "format": {"type": "text"}}]
    assert encoded.body["input"] == [
        {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "select 1"},
        {"type": "function_call", "call_id": "d", "name": "sql", "arguments": '{"other":1}'},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "x"},
        {"type": "function_call_output", "call_id": "d", "output": "x"},
    ]


def test_one_call_at_most_can_be_asked_for():
    request = decode_request(body_with(parallel_tool_calls=False))
    assert request.parallel_calls is False
    assert encode_request(request).body["parallel_tool_calls"] is False
