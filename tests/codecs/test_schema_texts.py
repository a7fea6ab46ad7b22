"""Plain schemas stay text on their way from one body to another, and mean the same as when they are read."""

import json

import msgspec
import pytest
from msgspec import Raw

from groundwire.codecs import anthropic_messages, gemini, openai_chat, openai_responses
from groundwire.codecs.wire.json import dump
from groundwire.contracts.errors import WireError
from groundwire.contracts.requests import FunctionTool, ModelRequest
from groundwire.runtime.runs.options import RunOptions
from groundwire.runtime.runs.plans import digest_of, make_plan

SCHEMA = {"type": "object", "properties": {"city": {"type": "string", "description": "Where"}}, "required": ["city"]}
ODD = {"type": "object", "properties": {"city": {"$ref": "#/$defs/city"}}, "$defs": {"city": {"type": "string"}}}
CODECS = [openai_chat, openai_responses, anthropic_messages, gemini]


def request_with(schema) -> bytes:
    function = {"name": "find", "parameters": schema}
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"type": "function", "function": function}],
    }
    return json.dumps(body).encode()


def tool_of(request: ModelRequest) -> FunctionTool:
    (tool,) = request.tools
    assert isinstance(tool, FunctionTool)
    return tool


def test_a_plain_schema_is_still_the_text_that_came_and_reads_as_the_schema():
    tool = tool_of(openai_chat.decode_request(request_with(SCHEMA)))
    assert tool.parameters == Raw(json.dumps(SCHEMA).encode())
    assert tool.schema == SCHEMA


@pytest.mark.parametrize("schema", [ODD, None])
def test_any_other_schema_is_read_at_once(schema):
    tool = tool_of(openai_chat.decode_request(request_with(schema)))
    assert tool.parameters == tool.schema == schema


@pytest.mark.parametrize("schema", [3, "words", [], True])
def test_a_schema_that_is_no_object_is_refused_with_its_path(schema):
    with pytest.raises(WireError, match="an object") as failure:
        openai_chat.decode_request(request_with(schema))
    assert failure.value.path == "tools[0].function.parameters"


def test_text_and_value_are_the_same_tool():
    text = tool_of(openai_chat.decode_request(request_with(SCHEMA)))
    value = tool_of(openai_chat.decode_request(json.loads(request_with(SCHEMA))))
    assert text == value
    assert text != msgspec.structs.replace(value, parameters=ODD)
    assert text != msgspec.structs.replace(value, name="other")
    assert text != "find"


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("fragments", [False, True])
def test_every_dialect_writes_the_same_body_of_both(codec, fragments):
    text = openai_chat.decode_request(request_with(SCHEMA))
    value = openai_chat.decode_request(json.loads(request_with(SCHEMA)))
    written = dump(codec.encode_request(text, fragments=fragments).body)
    assert json.loads(written) == json.loads(dump(codec.encode_request(value).body))


def test_a_body_without_fragments_holds_plain_values_only():
    body = gemini.encode_request(openai_chat.decode_request(request_with(SCHEMA))).body
    (entry,) = body["tools"]
    assert entry == {"functionDeclarations": [{"name": "find", "parametersJsonSchema": SCHEMA}]}


def test_a_stored_request_has_the_schema_and_no_text():
    request = openai_chat.decode_request(request_with(SCHEMA))
    kept = msgspec.json.decode(msgspec.json.encode(request), type=ModelRequest)
    assert tool_of(kept).parameters == SCHEMA
    assert kept == request


def test_a_plan_has_one_digest_whichever_way_the_tool_came():
    text = tool_of(openai_chat.decode_request(request_with(SCHEMA)))
    value = msgspec.structs.replace(text, parameters=SCHEMA)
    digests = {digest_of(make_plan(RunOptions(model="m", client_tools=(tool,)), [])) for tool in (text, value)}
    assert len(digests) == 1
