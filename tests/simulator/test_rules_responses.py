import pytest

from groundwire.simulator.rules_responses import check
from groundwire.simulator.signatures import seal

MODEL = "gpt-5.2"
OBJECT = {"type": "object", "properties": {"x": {"type": "integer"}}}
USER = {"role": "user", "content": "hi"}


def tool(name="f", parameters=OBJECT, **more):
    return {"type": "function", "name": name, "parameters": parameters, "strict": False, **more}


def call(call_id="c1", **more):
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}", **more}


def result(call_id="c1", output="42"):
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def thought(text="hm", **more):
    return {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": seal(MODEL, text), **more}


def body(*items, **more):
    return {"model": MODEL, "input": [USER, *items], **more}


ANSWER = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a", "annotations": []}]}
ACCEPTED = {
    "text": {"model": MODEL, "input": "hi"},
    "call and result": body(call(id="fc_1"), result()),
    "calls, then results": body(call("a"), call("b"), result("b"), result("a")),
    "a call id of 64": body(call("c" * 64), result("c" * 64)),
    "thoughts before a call": body(thought(), call(), result()),
    "thoughts before a message": body(thought(), {**ANSWER, "id": "msg_1"}, USER),
    "thoughts before thoughts": body(thought(), thought(id="rs_2"), ANSWER, USER),
    "thoughts by their id": body({"type": "reasoning", "id": "rs_1", "summary": []}, ANSWER, USER),
    "media in a result": body(call(), result(output=[{"type": "input_image", "image_url": "https://a/b"}])),
    "tools": body(tools=[tool(), tool("g" * 64)], tool_choice={"type": "function", "name": "f"}),
    "no parameters": body(tools=[tool(parameters=None)]),
    "no tools": body(tools=[], tool_choice="auto"),
    "128 tools": body(tools=[tool(f"f{n}") for n in range(128)]),
    "a provider's tool": body(tools=[{"type": "web_search"}]),
    "not strict by itself": body(tools=[{"type": "function", "name": "f", "parameters": OBJECT}]),
}
REFUSED = {
    "no model": ({"input": "hi"}, "'model'"),
    "no input": ({"model": MODEL}, "'input'"),
    "a tool role": (body({"role": "tool", "content": "x"}), "Invalid value: 'tool'"),
    "input text of an assistant": (body({"role": "assistant", "content": [{"type": "input_text", "text": "a"}]}), "Invalid value: 'input_text'"),
    "output text of a user": (body({"role": "user", "content": [{"type": "output_text", "text": "a"}]}), "Invalid value: 'output_text'"),
    "a call id of 65": (body(call("c" * 65), result("c" * 65)), "maximum length 64"),
    "a wrong item id": (body(call(id="call_1"), result()), "begins with 'fc'"),
    "a wrong message id": (body({**ANSWER, "id": "item_1"}), "begins with 'msg'"),
    "an item id with a dot": (body(call(id="fc_1.2"), result()), "additional characters"),
    "an item id twice": (body(call("a", id="fc_1"), call("b", id="fc_1"), result("a"), result("b")), "Duplicate item found with id fc_1"),
    "a call id twice": (body(call(), call(), result()), "Duplicate function call"),
    "no result": (body(call()), "No tool output found for function call c1"),
    "an orphan": (body(result()), "No tool call found for function call output with call_id c1"),
    "a result before its call": (body(result(), call()), "No tool call found"),
    "arguments as an object": (body(call(arguments={}), result()), "expected a string"),
    "audio in a result": (body(call(), result(output=[{"type": "input_audio"}])), "Invalid value: 'input_audio'"),
    "thoughts at the end": (body(thought()), "without its required following item"),
    "thoughts before a user": (body(thought(), USER), "without its required following item"),
    "thoughts before a result": (body(call(), thought(), result()), "without its required following item"),
    "foreign thoughts": (body(thought(encrypted_content="gAAAAAB"), call(), result()), "could not be verified"),
    "thoughts of another family": (body(thought(encrypted_content=seal("o3", "hm")), call(), result()), "could not be verified"),
    "no summary": (body({"type": "reasoning", "id": "rs_1"}, ANSWER), "summary"),
    "a stored response": (body(previous_response_id="resp_1"), "Previous response with id 'resp_1' not found"),
    "two histories": (body(previous_response_id="resp_1", conversation="conv_1"), "Mutually exclusive"),
    "a dotted name": (body(tools=[tool("a.b")]), "does not match pattern"),
    "a nested tool": (body(tools=[{"type": "function", "function": {"name": "f"}}]), "'tools[0].name'"),
    "129 tools": (body(tools=[tool(f"f{n}") for n in range(129)]), "maximum length 128"),
    "a name twice": (body(tools=[tool(), tool()]), "duplicate tool name"),
    "an array as root": (body(tools=[tool(parameters={"type": "array"})]), 'type: "object"'),
    "strict": (body(tools=[tool(strict=True)]), "additionalProperties"),
    "choice without tools": (body(tool_choice="required"), "must be specified with 'tools'"),
    "an unknown choice": (body(tools=[tool()], tool_choice={"type": "function", "name": "g"}), "'g' not found"),
    "strict output": (body(text={"format": {"type": "json_schema", "name": "o", "strict": True, "schema": OBJECT}}), "response_format 'o'"),
    "input as an object": ({"model": MODEL, "input": {}}, "Invalid type for 'input'"),
    "an item as a text": ({"model": MODEL, "input": ["hi"]}, "Invalid type for 'input[0]'"),
    "an item without a type": (body({"text": "hi"}), "'input[1].type'"),
    "content as a number": (body({"role": "user", "content": 7}), "got an integer"),
    "an item id of 65": (body(call(id="fc_" + "1" * 62), result()), "maximum length 64"),
    "no call id": (body(call("")), "'input[1].call_id'"),
    "an output as an object": (body(call(), result(output={})), "got an object"),
    "a tool without a type": (body(tools=[{"name": "f"}]), "'tools[0].type'"),
    "an unknown member": (body(frequency_penalty=1), "Unknown parameter: 'frequency_penalty'."),
    "a wrong choice": (body(tools=[tool()], tool_choice="any"), "Invalid value: 'any'"),
}  # fmt: skip


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_the_api_takes_passes(name):
    assert check(ACCEPTED[name], {}, MODEL) is None


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_api_refuses_is_refused_in_its_words(name):
    wire, phrase = REFUSED[name]
    failure = check(wire, {}, MODEL)
    assert failure is not None
    assert (failure.status, phrase in failure.message) == (400, True), failure.message


@pytest.mark.parametrize(
    "wire",
    [
        body({"type": "item_reference", "id": "msg_1"}),
        body(conversation="conv_1"),
        body({"type": "reasoning", "id": "rs_1", "summary": []}, ANSWER, store=False),
    ],
)
def test_what_was_never_stored_is_not_found(wire):
    failure = check(wire, {}, MODEL)
    assert (failure.status, "not found" in failure.message) == (404, True)
