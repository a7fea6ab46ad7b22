import pytest

from groundwire.simulator.rules_chat import check

OBJECT = {"type": "object", "properties": {"x": {"type": "integer"}}}
STRICT = {**OBJECT, "required": ["x"], "additionalProperties": False}
USER = {"role": "user", "content": "hi"}


def tool(name="f", parameters=OBJECT, **more):
    return {"type": "function", "function": {"name": name, "parameters": parameters, **more}}


def call(call_id="c1", name="f", arguments="{}"):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def asks(*calls, content=None):
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def result(call_id="c1", content="42"):
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def body(*messages, **more):
    return {"model": "gpt-4.1", "messages": [USER, *messages], **more}


def nested(depth):
    schema = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"], "additionalProperties": False}
    return schema


ACCEPTED = {
    "one answer": body(n=1),
    "plain": body(),
    "call and result": body(asks(call()), result()),
    "results in any order": body(asks(call("a"), call("b")), result("b"), result("a")),
    "an id of 40": body(asks(call("c" * 40)), result("c" * 40)),
    "the same id in a later step": body(asks(call()), result(), asks(call()), result()),
    "a text beside the calls": body(asks(call(), content="Wait."), result(), {"role": "user", "content": "and?"}),
    "an assistant first": {"model": "m", "messages": [{"role": "assistant", "content": "hello"}]},
    "text parts of a result": body(asks(call()), result(content=[{"type": "text", "text": "a"}])),
    "media of a user": body({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a/b"}}]}),
    "a name of 64": body(tools=[tool("f" * 64)]),
    "128 tools": body(tools=[tool(f"f{n}") for n in range(128)]),
    "no parameters": body(tools=[{"type": "function", "function": {"name": "f"}}]),
    "strict": body(tools=[tool(parameters=STRICT, strict=True)]),
    "strict, ten levels": body(tools=[tool(parameters=nested(10), strict=True)]),
    "default without strict": body(tools=[tool(parameters={"type": "object", "properties": {"x": {"default": 1}}})]),
    "a chosen tool": body(tools=[tool()], tool_choice={"type": "function", "function": {"name": "f"}}),
    "required": body(tools=[tool()], tool_choice="required", parallel_tool_calls=False),
    "stream options": body(stream=True, stream_options={"include_usage": True}),
    "max_tokens of an old model": body(max_tokens=5),
    "effort none": {**body(tools=[tool()], reasoning_effort="none"), "model": "gpt-5.6"},
    "effort absent": {**body(tools=[tool()]), "model": "gpt-5.4"},
    "effort without tools": {**body(reasoning_effort="high"), "model": "gpt-5.6"},
    "output": body(
        response_format={"type": "json_schema", "json_schema": {"name": "o", "strict": True, "schema": STRICT}}
    ),
}  # fmt: skip
REFUSED = {
    "no model": ({"messages": [USER]}, "model"),
    "no messages": ({"model": "m"}, "'messages'"),
    "empty messages": ({"model": "m", "messages": []}, "too short"),
    "an unknown role": (body({"role": "model", "content": "x"}), "Invalid value: 'model'"),
    "an unknown member": (body(top_k=4), "Unknown parameter: 'top_k'."),
    "two answers": (body(n=2), "'n' must be 1"),
    "null content": (body({"role": "assistant", "content": None}), "got null"),
    "thinking block": (body({"role": "assistant", "content": [{"type": "thinking"}]}), "Invalid value: 'thinking'"),
    "media in a result": (body(asks(call()), result(content=[{"type": "image_url"}])), "Invalid value: 'image_url'"),
    "an id of 41": (body(asks(call("c" * 41)), result("c" * 41)), "maximum length 40"),
    "no id": (body(asks(call(""))), "tool_calls[0].id"),
    "one id twice": (body(asks(call(), call()), result()), "duplicate"),
    "arguments as an object": (body(asks(call(arguments={})), result()), "expected a string, but got an object"),
    "no result": (body(asks(call()), USER), "must be followed by tool messages"),
    "no result at the end": (body(asks(call())), "did not have response messages: c1"),
    "one of two results": (body(asks(call("a"), call("b")), result("a")), "did not have response messages: b"),
    "a result after a user": (body(asks(call()), USER, result()), "must be followed by tool messages"),
    "an orphan": (body(result()), "must be a response to a preceding message with 'tool_calls'"),
    "a foreign result": (body(asks(call()), result(), result("other")), "must be a response to a preceding message"),
    "calls of a user": (body({"role": "user", "content": "x", "tool_calls": [call()]}), "only allowed on messages"),
    "a name of 65": (body(tools=[tool("f" * 65)]), "maximum length 64"),
    "a dotted name": (body(tools=[tool("a.b")]), "does not match pattern"),
    "a dotted name in history": (body(asks(call(name="a.b")), result()), "does not match pattern"),
    "129 tools": (body(tools=[tool(f"f{n}") for n in range(129)]), "maximum length 128"),
    "no tools": (body(tools=[]), "empty array"),
    "a name twice": (body(tools=[tool(), tool()]), "duplicate tool name"),
    "an array as root": (body(tools=[tool(parameters={"type": "array", "items": {}})]), 'got \'type: "array"\''),
    "no type at the root": (body(tools=[tool(parameters={})]), 'got \'type: "None"\''),
    "anyOf at the root": (body(tools=[tool(parameters={**OBJECT, "anyOf": []})]), "at the top level"),
    "array without items": (body(tools=[tool(parameters={"type": "object", "properties": {"x": {"type": "array"}}})]), "array schema missing items"),
    "strict, optional": (body(tools=[tool(parameters={**STRICT, "required": []}, strict=True)]), "Missing 'x'"),
    "strict, open": (body(tools=[tool(parameters={**OBJECT, "required": ["x"]}, strict=True)]), "additionalProperties"),
    "strict, default": (body(tools=[tool(parameters={**STRICT, "properties": {"x": {"type": "integer", "default": 1}}}, strict=True)]), "'default' is not permitted"),
    "strict, eleven levels": (body(tools=[tool(parameters=nested(11), strict=True)]), "limited to 10 levels"),
    "choice without tools": (body(tool_choice="auto"), "only allowed when 'tools' are specified"),
    "parallel without tools": (body(parallel_tool_calls=False), "only allowed when 'tools' are specified"),
    "a wrong choice": (body(tools=[tool()], tool_choice="any"), "Invalid value: 'any'"),
    "an unknown choice": (body(tools=[tool()], tool_choice={"type": "function", "function": {"name": "g"}}), "'g' not found"),
    "an unknown allowed tool": (body(tools=[tool()], tool_choice={"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "g"}}]}}), "'g' not found"),
    "stream options without a stream": (body(stream_options={}), "only allowed when 'stream' is enabled"),
    "max_tokens of a reasoning model": ({**body(max_tokens=5), "model": "o3"}, "max_completion_tokens"),
    "effort with tools": ({**body(tools=[tool()], reasoning_effort="low"), "model": "gpt-5.4"}, "/v1/responses"),
    "effort of a newer model": ({**body(tools=[tool()]), "model": "gpt-5.6"}, "/v1/responses"),
    "output": (body(response_format={"type": "json_schema", "json_schema": {"name": "o", "strict": True, "schema": OBJECT}}), "response_format 'o'"),
    "messages as an object": ({"model": "m", "messages": {}}, "expected an array of objects"),
    "a message as a text": ({"model": "m", "messages": ["hi"]}, "expected an object, but got a string"),
    "content as a number": (body({"role": "user", "content": 7}), "got an integer"),
    "no calls": (body(asks(content="a")), "empty array"),
    "a call without a type": (body(asks({**call(), "type": None}), result()), "Invalid value: 'None'"),
    "tools as an object": (body(tools={}), "expected an array of objects"),
    "a tool of another kind": (body(tools=[{"type": "retrieval"}]), "Invalid value: 'retrieval'"),
    "a flat tool": (body(tools=[{"type": "function", "name": "f"}]), "'tools[0].function'"),
    "strict, a reference with siblings": (body(tools=[tool(parameters={**STRICT, "properties": {"x": {"$ref": "#", "title": "t"}}}, strict=True)]), "$ref cannot have keywords"),
    "strict, an unknown format": (body(tools=[tool(parameters={**STRICT, "properties": {"x": {"type": "string", "format": "uri"}}}, strict=True)]), "'uri' is not a valid format"),
    "strict, inside anyOf": (body(tools=[tool(parameters={**STRICT, "properties": {"x": {"anyOf": [{"type": "string", "minLength": 1}]}}}, strict=True)]), "'minLength' is not permitted"),
}  # fmt: skip


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_the_api_takes_passes(name):
    assert check(ACCEPTED[name], {}, ACCEPTED[name]["model"]) is None


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_api_refuses_is_refused_in_its_words(name):
    wire, phrase = REFUSED[name]
    failure = check(wire, {}, wire.get("model", ""))
    assert failure is not None
    assert (failure.status, failure.kind, phrase in failure.message) == (400, "invalid_request", True), failure.message


def test_a_refusal_names_parameter_and_code():
    failure = check(body(asks(call("c" * 41)), result("c" * 41)), {}, "m")
    assert (failure.param, failure.code) == ("messages[1].tool_calls[0].id", "string_above_max_length")
