import base64

import pytest

from groundwire.simulator.rules_gemini import check, generation_of
from groundwire.simulator.signatures import sign_call

MODEL = "gemini-3-flash"
OLD = "gemini-2.5-flash"
USER = {"role": "user", "parts": [{"text": "hi"}]}
SKIP = base64.b64encode(b"skip_thought_signature_validator").decode()


def call(name="f", args=None, *, signed=True, **more):
    args = {"x": 1} if args is None else args
    part = {"functionCall": {"name": name, "args": args, **more}}
    return {**part, "thoughtSignature": sign_call(MODEL, name, args)} if signed else part


def answer(name="f", response=None, **more):
    return {"functionResponse": {"name": name, "response": {"output": 1} if response is None else response, **more}}


def model(*parts):
    return {"role": "model", "parts": list(parts)}


def user(*parts):
    return {"role": "user", "parts": list(parts)}


def body(*contents, **more):
    return {"contents": [USER, *contents], **more}


def declared(parameters=None, **more):
    function = {"name": "f", **more}
    if parameters is not None:
        function["parameters"] = parameters
    return body(tools=[{"functionDeclarations": [function]}])


def native(**properties):
    return declared({"type": "OBJECT", "properties": properties})


ACCEPTED = {
    "one answer": body(generationConfig={"candidateCount": 1}),
    "plain": body(),
    "without a role": {"contents": [{"parts": [{"text": "hi"}]}]},
    "snake case": {"contents": [USER], "system_instruction": {"parts": [{"text": "a"}]}, "generation_config": {"max_output_tokens": 1}},
    "call and answer": body(model(call()), user(answer())),
    "two calls, the first signed": body(model(call(), call("g", signed=False)), user(answer(), answer("g"))),
    "two steps": body(model(call()), user(answer()), model(call(args={"x": 2})), user(answer())),
    "answers by id in any order": body(model(call(id="a"), call("g", signed=False, id="b")), user(answer("g", id="b"), answer(id="a"))),
    "chunks of a stream as the SDK keeps them": body(model({"text": "a"}), model(call()), model(call("g", signed=False)), model({"text": ""}), user(answer(), answer("g"))),
    "the old role": body(model(call()), {"role": "function", "parts": [answer()]}),
    "a placeholder": body(model({**call(), "thoughtSignature": SKIP}), user(answer())),
    "a plain placeholder": body(model({**call(), "thoughtSignature": "skip_thought_signature_validator"}), user(answer())),
    "unsigned in an earlier turn": body(model(call(signed=False)), user(answer()), model({"text": "a"}), USER),
    "unsigned before a later text": body(model(call(signed=False)), user(answer()), USER),
    "a text signature of anybody": body(model({"text": "a", "thoughtSignature": "Zm9v"}), USER),
    "an empty text": body(user({"text": ""})),
    "native schema": native(x={"type": "string", "nullable": True}, y={"type": "ARRAY", "items": {"type": "INTEGER"}}),
    "a property called title": native(title={"type": "STRING"}, additionalProperties={"type": "STRING"}),
    "string enum": native(x={"type": "STRING", "enum": ["a"]}),
    "JSON schema": declared(parametersJsonSchema={"type": "object", "properties": {}, "additionalProperties": False}),
    "no parameters": declared(),
    "a name of 128": declared(name="f" * 128),
    "a dotted name": declared(name="_a.b:c-d"),
    "512 functions": body(tools=[{"functionDeclarations": [{"name": f"f{n}"} for n in range(512)]}]),
    "allowed names": {**declared(), "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}}},
    "a mode without functions": body(toolConfig={"functionCallingConfig": {"mode": "AUTO"}}),
    "JSON output with functions": {**declared(), "generationConfig": {"responseMimeType": "application/json"}},
}  # fmt: skip
REFUSED = {
    "no contents": ({}, "contents is not specified"),
    "an unknown member": (body(foo=1), 'Unknown name "foo"'),
    "an unknown member of a part": (body(user({"text": "a", "type": "text"})), "Unknown name \"type\" at 'contents[1].parts[0]'"),
    "an unknown member of a call": (body(model({"functionCall": {"name": "f", "arguments": {}}}), user(answer())), 'Unknown name "arguments"'),
    "an unknown member of a function": (declared(strict=True), "Unknown name \"strict\" at 'tools[0].function_declarations[0]'"),
    "two answers": (body(generationConfig={"candidateCount": 2}), "candidate_count must be 1"),
    "an unknown setting": (body(generationConfig={"max_tokens": 1}), 'Unknown name "max_tokens"'),
    "an unknown role": (body({"role": "assistant", "parts": [{"text": "a"}]}), "valid role"),
    "no parts": (body({"role": "user", "parts": []}), "must not be empty"),
    "an empty part": (body(user({"thought": True})), "required oneof field 'data'"),
    "two data": (body(user({"text": "a", "inlineData": {}})), "already set"),
    "a model first": ({"contents": [model({"text": "a"}), USER]}, "first content"),
    "a call first": ({"contents": [model(call()), user(answer())]}, "function call turn comes immediately after a user turn"),
    "answers in two contents": (body(model(call(), call("g", signed=False)), user(answer()), user(answer("g"))), "number of function response parts is equal"),
    "a second call of a streamed turn that is unsigned": (body(model({"text": "a"}), model(call(signed=False)), user(answer())), "missing a thought_signature"),
    "an orphan": (body(user(answer())), "function response turn comes immediately after a function call turn"),
    "a late answer": (body(model(call()), user(answer()), user(answer())), "comes immediately after a function call turn"),
    "no answer": (body(model(call()), USER), "number of function response parts is equal"),
    "no answer at the end": (body(model(call())), "number of function response parts is equal"),
    "one of two answers": (body(model(call(), call("g", signed=False)), user(answer())), "number of function response parts is equal"),
    "two answers to one": (body(model(call()), user(answer(), answer())), "number of function response parts is equal"),
    "another name": (body(model(call()), user(answer("g"))), "names match"),
    "another id": (body(model(call(id="a")), user(answer(id="b"))), "ids match"),
    "an answer as a text": (body(model(call()), user(answer(response="42"))), "google.protobuf.Struct"),
    "arguments as a text": (body(model(call(args="{}", signed=False)), user(answer())), "google.protobuf.Struct"),
    "unsigned": (body(model(call(signed=False)), user(answer())), "missing a thought_signature"),
    "unsigned in the second step": (body(model(call()), user(answer()), model(call(signed=False)), user(answer())), "missing a thought_signature"),
    "signed on the second call only": (body(model(call(signed=False), call("g")), user(answer(), answer("g"))), "missing a thought_signature"),
    "a foreign signature": (body(model({**call(), "thoughtSignature": "Zm9v"}), user(answer())), "Corrupted thought signature"),
    "a moved signature": (body(model(call(), {**call("g", signed=False), "thoughtSignature": call()["thoughtSignature"]}), user(answer(), answer("g"))), "Corrupted thought signature"),
    "no base64": (body(model({**call(), "thoughtSignature": "*"}), user(answer())), "Base64"),
    "an unknown keyword": (native(x={"type": "STRING", "const": "a"}), 'Unknown name "const"'),
    "additionalProperties": (declared({"type": "OBJECT", "properties": {"x": {"type": "STRING"}}, "additionalProperties": False}), 'Unknown name "additionalProperties"'),
    "$schema": (declared({"type": "OBJECT", "properties": {"x": {"type": "STRING"}}, "$schema": "s"}), 'Unknown name "$schema"'),
    "a list of types": (native(x={"type": ["STRING", "NULL"]}), "cannot start list"),
    "an unknown type": (native(x={"type": "DATE"}), '"DATE"'),
    "a number enum": (native(x={"type": "INTEGER", "enum": [1]}), "TYPE_STRING"),
    "an enum of an integer": (native(x={"type": "INTEGER", "enum": ["1"]}), "only allowed for STRING"),
    "an empty object": (declared({"type": "OBJECT", "properties": {}}), "should be non-empty for OBJECT type"),
    "an empty object inside": (native(x={"type": "OBJECT"}), "should be non-empty for OBJECT type"),
    "an array of nothing": (native(x={"type": "ARRAY"}), "items: missing field"),
    "required but unknown": (declared({"type": "OBJECT", "properties": {"x": {"type": "STRING"}}, "required": ["y"]}), "property is not defined"),
    "an array as root": (declared({"type": "ARRAY", "items": {"type": "STRING"}}), "should be of type OBJECT"),
    "no type at the root": (declared(parametersJsonSchema={}), "should be of type OBJECT"),
    "both forms": (declared({"type": "OBJECT", "properties": {"x": {"type": "STRING"}}}, parametersJsonSchema={"type": "object"}), "mutually exclusive"),
    "a name of 129": (declared(name="f" * 129), "Invalid function name"),
    "a name with a digit first": (declared(name="1f"), "Invalid function name"),
    "513 functions": (body(tools=[{"functionDeclarations": [{"name": f"f{n}"} for n in range(513)]}]), "at most 512"),
    "a name twice": (body(tools=[{"functionDeclarations": [{"name": "f"}]}, {"functionDeclarations": [{"name": "f"}]}]), "Duplicate function declaration"),
    "a forced choice without functions": (body(toolConfig={"functionCallingConfig": {"mode": "ANY"}}), "without function_declarations"),
    "allowed names with AUTO": ({**declared(), "toolConfig": {"functionCallingConfig": {"mode": "AUTO", "allowedFunctionNames": ["f"]}}}, "only be set when"),
    "an unknown allowed name": ({**declared(), "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["g"]}}}, "not declared: g"),
    "a wrong mode": ({**declared(), "toolConfig": {"functionCallingConfig": {"mode": "REQUIRED"}}}, "mode"),
    "parameters as a text": (declared("object"), "Schema"),
    "an unknown keyword inside anyOf": (native(x={"anyOf": [{"type": "STRING", "const": "a"}]}), "any_of[0]"),
    "a call without a name": (body(model({"functionCall": {}}), user(answer())), "function_call.name"),
    "an answer without a name": (body(model(call()), user(answer(""))), "function_response.name"),
    "a call of a user": (body(user(call())), "with the role model"),
}  # fmt: skip


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_the_api_takes_passes(name):
    assert check(ACCEPTED[name], {}, MODEL) is None


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_api_refuses_is_refused_in_its_words(name):
    wire, phrase = REFUSED[name]
    failure = check(wire, {}, MODEL)
    assert failure is not None
    assert (failure.status, failure.type, phrase in failure.message) == (400, "INVALID_ARGUMENT", True), failure.message


@pytest.mark.parametrize("signature", [None, "Zm9v"])
def test_models_before_gemini_3_do_not_look_at_signatures(signature):
    part = {**call(signed=False), "thoughtSignature": signature} if signature else call(signed=False)
    wire = body(model(part), user(answer()))
    assert check(wire, {}, OLD) is None
    assert check(wire, {}, MODEL) is not None


def test_models_before_gemini_3_have_no_json_output_beside_functions():
    failure = check(ACCEPTED["JSON output with functions"], {}, OLD)
    assert "application/json" in failure.message


@pytest.mark.parametrize(
    ("name", "generation"),
    [
        ("gemini-3-flash", (3, 0)),
        ("models/gemini-2.5-pro", (2, 5)),
        ("gemini-3.1-pro-preview", (3, 1)),
        ("gemma", (0, 0)),
    ],
)
def test_a_models_generation_is_read_from_its_name(name, generation):
    assert generation_of(name) == generation
