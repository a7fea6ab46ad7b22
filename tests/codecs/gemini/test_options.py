"""Options of other dialects as Gemini's, and what each family of models wants."""

import pytest

from groundwire.codecs import gemini, openai_chat
from groundwire.contracts.messages import say
from groundwire.contracts.requests import (
    FunctionTool,
    ModelRequest,
    NativeTool,
    OutputFormat,
    ReasoningOptions,
    Sampling,
    ToolChoice,
)

NEWEST = gemini.Profile()
F = FunctionTool(name="f")


def encoded(profile=NEWEST, **more):
    return gemini.encode_request(ModelRequest(model="m", items=(say("user", "hi"),), **more), profile=profile)


def codes(outcome):
    return [warning.code for warning in outcome.warnings]


@pytest.mark.requirement("E-004", "E-025", "E-026", "E-027", "E-028")
@pytest.mark.parametrize(
    ("choice", "config"),
    [
        (ToolChoice(mode="auto"), {"mode": "AUTO"}),
        (ToolChoice(mode="none"), {"mode": "NONE"}),
        (ToolChoice(mode="required"), {"mode": "ANY"}),
        (ToolChoice(mode="required", names=("f",)), {"mode": "ANY", "allowedFunctionNames": ["f"]}),
        (ToolChoice(mode="auto", names=("f",)), {"mode": "VALIDATED", "allowedFunctionNames": ["f"]}),
    ],
)
def test_every_tool_choice_has_a_mode_and_comes_back(choice, config):
    outcome = encoded(tools=(F,), tool_choice=choice)

    assert outcome.body["toolConfig"] == {"functionCallingConfig": config}
    assert outcome.warnings == ()
    assert gemini.decode_request(outcome.body).tool_choice == choice


def test_strict_tools_ask_for_validated_calls():
    strict = FunctionTool(name="f", strict=True)

    assert encoded(tools=(strict,)).body["toolConfig"] == {"functionCallingConfig": {"mode": "VALIDATED"}}
    assert "toolConfig" not in encoded(tools=(F,)).body
    old = encoded(tools=(strict,), profile=gemini.profile_for("gemini-2.0-flash"))
    assert "toolConfig" not in old.body
    assert codes(old) == ["option_dropped"]


def test_without_functions_no_mode_is_sent():
    assert "toolConfig" not in encoded(tool_choice=ToolChoice(mode="auto")).body
    assert codes(encoded(tool_choice=ToolChoice(mode="required"))) == ["choice_approximated"]


@pytest.mark.quirk(16)
def test_one_call_at_a_time_cannot_be_asked_for():
    assert codes(encoded(parallel_calls=False)) == ["option_dropped"]
    assert codes(encoded(parallel_calls=True)) == []


def test_sampling_goes_into_the_generation_config():
    sampling = Sampling(temperature=0, top_p=0.5, top_k=3, seed=1, stop=("a", "b"), count=2, presence_penalty=1)

    outcome = encoded(sampling=sampling, max_output_tokens=10)

    assert outcome.body["generationConfig"] == {
        "temperature": 0,
        "topP": 0.5,
        "topK": 3,
        "seed": 1,
        "presencePenalty": 1,
        "stopSequences": ["a", "b"],
        "candidateCount": 2,
        "maxOutputTokens": 10,
    }


@pytest.mark.quirk(59)
def test_options_that_a_model_refuses_are_left_out_with_a_warning():
    profile = gemini.Profile(dropped_options=("seed", "temperature"))

    outcome = encoded(profile, sampling=Sampling(seed=1, temperature=1.0, top_p=0.5))

    assert outcome.body["generationConfig"] == {"topP": 0.5}
    assert codes(outcome) == ["option_dropped", "option_dropped"]


@pytest.mark.parametrize(
    ("model", "options", "config", "warned"),
    [
        (
            "gemini-3-flash",
            ReasoningOptions(effort="low", summary=True),
            {"includeThoughts": True, "thinkingLevel": "LOW"},
            [],
        ),
        ("gemini-3-flash", ReasoningOptions(effort="none"), {"thinkingLevel": "MINIMAL"}, ["option_adjusted"]),
        ("gemini-3-flash", ReasoningOptions(effort="hardest"), {}, ["option_dropped"]),
        ("gemini-3-flash", ReasoningOptions(effort="xhigh"), {"thinkingLevel": "HIGH"}, ["option_adjusted"]),
        ("gemini-3-pro-preview", ReasoningOptions(effort="medium"), {"thinkingLevel": "HIGH"}, ["option_adjusted"]),
        ("gemini-3.1-pro-preview", ReasoningOptions(effort="medium"), {"thinkingLevel": "MEDIUM"}, []),
        ("gemini-3-flash", ReasoningOptions(budget=99), {"thinkingBudget": 99}, []),
        ("gemini-3-flash", ReasoningOptions(effort="low", budget=99), {"thinkingLevel": "LOW"}, ["option_dropped"]),
        ("gemini-2.5-flash", ReasoningOptions(effort="medium"), {"thinkingBudget": 8192}, []),
        ("gemini-2.5-flash", ReasoningOptions(effort="none"), {"thinkingBudget": 0}, []),
        ("gemini-2.5-flash", ReasoningOptions(budget=100_000), {"thinkingBudget": 24_576}, ["option_adjusted"]),
        ("gemini-2.5-pro", ReasoningOptions(effort="none"), {"thinkingBudget": 128}, ["option_adjusted"]),
        ("gemini-2.0-flash", ReasoningOptions(effort="high"), None, ["option_dropped"]),
        ("gemini-2.0-flash", ReasoningOptions(effort="none"), None, []),
    ],
)
def test_thinking_is_asked_for_as_the_model_knows_it(model, options, config, warned):
    outcome = encoded(gemini.profile_for(model), reasoning=options)

    assert outcome.body.get("generationConfig", {}).get("thinkingConfig") == config
    assert codes(outcome) == warned


def test_a_level_that_nobody_knows_goes_back_to_gemini_as_it_came():
    config = {"thinkingConfig": {"thinkingLevel": "HARDEST"}}
    body = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "generationConfig": config}
    outcome = gemini.encode_request(gemini.decode_request(body, model="gemini-3-flash"))

    assert outcome.body["generationConfig"]["thinkingConfig"] == {"thinkingLevel": "HARDEST"}
    assert outcome.warnings == ()


@pytest.mark.parametrize(
    ("output", "members"),
    [
        (OutputFormat(type="text"), {"responseMimeType": "text/plain"}),
        (OutputFormat(type="json"), {"responseMimeType": "application/json"}),
        (
            OutputFormat(type="schema", schema={"type": "object", "properties": {"a": {"type": "string"}}}, name="n"),
            {
                "responseMimeType": "application/json",
                "responseJsonSchema": {"type": "object", "properties": {"a": {"type": "string"}}},
            },
        ),
        (
            OutputFormat(
                type="schema",
                schema={"type": "array", "items": {"$ref": "#/$defs/A"}, "$defs": {"A": {"type": "string"}}},
            ),
            {
                "responseMimeType": "application/json",
                "responseJsonSchema": {
                    "type": "array",
                    "items": {"$ref": "#/$defs/A"},
                    "$defs": {"A": {"type": "string"}},
                },
            },
        ),
    ],
)
def test_an_output_format_is_a_media_type_and_a_schema(output, members):
    outcome = encoded(output=output)

    assert outcome.body["generationConfig"] == members
    assert outcome.warnings == ()


@pytest.mark.quirk(63)
def test_older_models_get_upper_case_schemas():
    schema = {"type": "object", "properties": {"a": {"type": ["string", "null"]}}, "additionalProperties": False}
    old = gemini.profile_for("gemini-2.0-flash")
    with_tools = encoded(old, tools=(FunctionTool(name="f", parameters=schema),))
    with_form = encoded(old, output=OutputFormat(type="schema", schema=schema))

    upper = {"type": "OBJECT", "properties": {"a": {"type": "STRING", "nullable": True}}}
    assert with_tools.body["tools"][0]["functionDeclarations"][0]["parameters"]["properties"] == upper["properties"]
    assert with_form.body["generationConfig"]["responseSchema"]["properties"] == upper["properties"]


@pytest.mark.parametrize("model", ["gemini-2.0-flash", "gemini-2.5-flash", "gemini-2.5-pro"])
def test_models_that_take_no_form_beside_tools_are_told_in_words(model):
    profile, schema = gemini.profile_for(model), {"type": "object", "properties": {"a": {"type": "string"}}}
    form = OutputFormat(type="schema", schema=schema, description="A trip.")
    told = encoded(profile, tools=(FunctionTool(name="f"),), output=form)

    assert "generationConfig" not in told.body
    words = "Your final answer, when you call no tool any more, is one JSON value and nothing else. It is: A trip."
    text = words + ' It fits this JSON Schema: {"type":"object","properties":{"a":{"type":"string"}}}'
    assert told.body["systemInstruction"] == {"parts": [{"text": text}]}
    assert [(warning.code, warning.path) for warning in told.warnings] == [("format_approximated", "output")]
    newer = encoded(gemini.profile_for("gemini-3-flash"), tools=(FunctionTool(name="f"),), output=form)
    assert newer.body["generationConfig"]["responseMimeType"] == "application/json"
    assert "systemInstruction" not in newer.body


@pytest.mark.quirk(62)
def test_a_tool_without_parameters_has_none_for_older_models():
    tool = FunctionTool(name="f", parameters={"type": "object", "properties": {}})

    assert encoded(gemini.profile_for("gemini-2.0-flash"), tools=(tool,)).body["tools"] == [
        {"functionDeclarations": [{"name": "f"}]}
    ]


@pytest.mark.quirk(64)
def test_properties_named_like_keywords_survive():
    schema = {"type": "object", "properties": {"title": {"type": "string"}, "type": {"type": "string"}}}

    outcome = encoded(tools=(FunctionTool(name="f", parameters=schema),))

    assert outcome.body["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"] == schema
    assert outcome.warnings == ()


@pytest.mark.requirement("A-087", "E-022")
def test_tools_of_other_dialects_share_one_entry_and_foreign_built_ins_are_left_out():
    outcome = encoded(
        tools=(
            FunctionTool(name="a", description="d"),
            NativeTool(origin="anthropic", value={"type": "web_search"}),
            FunctionTool(name="b", freeform={"type": "text"}),
        )
    )

    assert outcome.body["tools"] == [
        {
            "functionDeclarations": [
                {"name": "a", "description": "d"},
                {
                    "name": "b",
                    "parametersJsonSchema": {
                        "type": "object",
                        "properties": {"input": {"type": "string"}},
                        "required": ["input"],
                    },
                },
            ]
        }
    ]
    assert codes(outcome) == ["tool_dropped", "format_approximated"]
    assert outcome.names == {"a": "a", "b": "b"}


@pytest.mark.requirement("A-084")
@pytest.mark.parametrize(
    ("model", "signatures", "native", "media"),
    [
        ("gemini-3.1-pro-preview", "required", False, True),
        ("models/gemini-3-flash-preview", "required", False, True),
        ("publishers/google/models/gemini-4-ultra", "required", False, True),
        ("gemini-flash-latest", "required", False, True),
        ("gemini-2.5-pro", "optional", False, False),
        ("gemini-2.0-flash-001", "optional", True, False),
        ("gemini-1.5-pro", "optional", True, False),
        ("gemini-live-2.5-flash", "optional", True, False),
        ("gemini-2.5-flash-native-audio-preview-09-2025", "optional", True, False),
        ("gemma-3-27b-it", "optional", False, False),
        ("", "required", False, True),
    ],
)
def test_the_name_of_a_model_says_what_it_wants(model, signatures, native, media):
    profile = gemini.profile_for(model)

    assert (profile.signatures, profile.native_schema, profile.media_in_results) == (signatures, native, media)


def from_chat(**members):
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], **members}
    return gemini.encode_request(openai_chat.decode_request(body), profile=gemini.Profile(native_schema=True))


@pytest.mark.requirement("E-049", "E-022", "E-023", "E-024")
def test_openai_tools_become_one_gemini_tool_with_upper_case_types():
    schema = {
        "type": "object",
        "properties": {"type": {"type": "string", "enum": ["type", "string"]}, "n": {"type": ["integer", "null"]}},
        "required": ["type"],
    }
    nested = {"type": "function", "function": {"name": "a", "description": "d", "parameters": schema}}
    flat = {"type": "function", "name": "b"}
    outcome = from_chat(tools=[nested, {"type": "web_search"}, flat])

    assert outcome.body["tools"] == [
        {
            "functionDeclarations": [
                {
                    "name": "a",
                    "description": "d",
                    "parameters": {
                        "type": "OBJECT",
                        "properties": {
                            "type": {"type": "STRING", "enum": ["type", "string"]},
                            "n": {"type": "INTEGER", "nullable": True},
                        },
                        "required": ["type"],
                    },
                },
                {"name": "b"},
            ]
        }
    ]
    assert [(warning.code, warning.path) for warning in outcome.warnings] == [("tool_dropped", "tools[1]")]


@pytest.mark.requirement("E-050", "E-025", "E-026", "E-027", "E-028")
@pytest.mark.parametrize(
    ("choice", "config"),
    [
        ("auto", {"mode": "AUTO"}),
        ("required", {"mode": "ANY"}),
        ("none", {"mode": "NONE"}),
        ({"type": "function", "function": {"name": "f"}}, {"mode": "ANY", "allowedFunctionNames": ["f"]}),
        ({"type": "function", "name": "f"}, {"mode": "ANY", "allowedFunctionNames": ["f"]}),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "f"}}]},
            },
            {"mode": "VALIDATED", "allowedFunctionNames": ["f"]},
        ),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "f"}}]},
            },
            {"mode": "ANY", "allowedFunctionNames": ["f"]},
        ),
    ],
)
def test_an_openai_tool_choice_becomes_a_tool_config(choice, config):
    outcome = from_chat(tools=[{"type": "function", "function": {"name": "f"}}], tool_choice=choice)

    assert outcome.body["toolConfig"] == {"functionCallingConfig": config}


@pytest.mark.requirement("E-051")
def test_types_are_raised_at_every_level_and_nowhere_else():
    schema = {
        "type": "object",
        "description": "type string",
        "properties": {
            "items": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "number"}]}},
            "properties": {"type": "object", "properties": {"type": {"type": "boolean", "description": "type"}}},
        },
    }
    outcome = from_chat(tools=[{"type": "function", "function": {"name": "f", "parameters": schema}}])

    assert outcome.body["tools"][0]["functionDeclarations"][0]["parameters"] == {
        "type": "OBJECT",
        "description": "type string",
        "properties": {
            "items": {"type": "ARRAY", "items": {"anyOf": [{"type": "STRING"}, {"type": "NUMBER"}]}},
            "properties": {"type": "OBJECT", "properties": {"type": {"type": "BOOLEAN", "description": "type"}}},
        },
    }
