import pytest

from groundwire.simulator.rules_anthropic import check
from groundwire.simulator.signatures import sign_text

MODEL = "claude-sonnet-4-5"
OLD = {"anthropic-version": "2023-06-01"}
NEW = {"anthropic-version": "2026-10-21"}
USER = {"role": "user", "content": "hi"}
OBJECT = {"type": "object", "properties": {"x": {"type": "integer"}}}
ENABLED = {"type": "enabled", "budget_tokens": 1024}


def tool(name="f", **more):
    return {"name": name, "input_schema": OBJECT, **more}


def use(call_id="t1", **more):
    return {"type": "tool_use", "id": call_id, "name": "f", "input": {}, **more}


def result(call_id="t1", content="42"):
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


def thought(text="hm", signature=None):
    return {"type": "thinking", "thinking": text, "signature": signature or sign_text(MODEL, text)}


def assistant(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


def text(words):
    return {"type": "text", "text": words}


def body(*messages, **more):
    return {"model": MODEL, "max_tokens": 2048, "messages": [USER, *messages], **more}


def step(*blocks, **more):
    return body(assistant(*blocks), user(result()), tools=[tool()], **more)


ACCEPTED = {
    "plain": (body(), OLD),
    "no tokens": (body(max_tokens=0), OLD),
    "call and result": (step(use()), OLD),
    "an id of 64": (body(assistant(use("t" * 64)), user(result("t" * 64))), OLD),
    "results of two users": (body(assistant(use("a"), use("b")), user(result("a")), user(result("b"), text("go"))), OLD),
    "two users in a row": (body(USER, assistant(text("a")), USER), OLD),
    "thoughts as they were": (step(thought(), use(), thinking=ENABLED), OLD),
    "redacted thoughts": (step({"type": "redacted_thinking", "data": "xx"}, use(), thinking=ENABLED), OLD),
    "thoughts of an earlier turn left out": (body(assistant(use()), user(result()), assistant(text("a")), USER, thinking=ENABLED), OLD),
    "no thoughts without thinking": (step(use()), OLD),
    "a second step without thoughts": (body(assistant(thought(), use()), user(result()), assistant(use("t2")), user(result("t2")), thinking=ENABLED), OLD),
    "a name of 128": (body(tools=[tool("f" * 128)]), OLD),
    "defs and nested anyOf": (body(tools=[tool(input_schema={**OBJECT, "$defs": {}, "properties": {"x": {"anyOf": []}}})]), OLD),
    "a provider's tool": (body(tools=[{"type": "bash_20250124", "name": "bash"}]), OLD),
    "a forced choice": (body(tools=[tool()], tool_choice={"type": "tool", "name": "f"}), OLD),
    "a free choice with thinking": (body(tools=[tool()], tool_choice={"type": "auto"}, thinking=ENABLED), OLD),
    "a forced choice with adaptive thinking": (body(tools=[tool()], tool_choice={"type": "any"}, thinking={"type": "adaptive"}), OLD),
    "sampling in the old version": (body(temperature=0.5, top_p=1, top_k=3), OLD),
    "no sampling in the new version": (body(), NEW),
    "a system message of a new model": ({**body({"role": "system", "content": "x"}, USER), "model": "claude-opus-4-8"}, OLD),
    "prefill of an old model": (body(assistant(text("The"))), OLD),
    "an empty final assistant": (body({"role": "assistant", "content": ""}), OLD),
    "media in a result": (body(assistant(use()), user(result(content=[{"type": "image", "source": {}}]))), OLD),
}  # fmt: skip
REFUSED = {
    "no version": (body(), {}, "anthropic-version: header is required"),
    "an unknown version": (body(), {"anthropic-version": "2020-01-01"}, "not a valid version"),
    "no model": ({"max_tokens": 1, "messages": [USER]}, OLD, "model: Field required"),
    "no max_tokens": ({"model": MODEL, "messages": [USER]}, OLD, "max_tokens: Field required"),
    "an unknown member": (body(seed=1), OLD, "seed: Extra inputs are not permitted"),
    "negative max_tokens": (body(max_tokens=-1), OLD, "max_tokens"),
    "no messages": ({**body(), "messages": []}, OLD, "at least one message"),
    "an assistant first": ({**body(), "messages": [assistant(text("a")), USER]}, OLD, 'first message must use the "user" role'),
    "a tool role": (body({"role": "tool", "content": "x"}), OLD, "messages.1.role"),
    "a system message": (body({"role": "system", "content": "x"}, USER), OLD, 'Unexpected role "system"'),
    "an empty text": (body(user(text(""))), OLD, "text content blocks must be non-empty"),
    "an empty text in a result": (body(assistant(use()), user(result(content=[text("")]))), OLD, "must be non-empty"),
    "an empty text in the system prompt": (body(system=[text("")]), OLD, "system: text content blocks must be non-empty"),
    "a blank text": (body(user(text(" \n"))), OLD, "non-whitespace"),
    "an empty message": (body({"role": "user", "content": ""}), OLD, "non-empty content"),
    "an id with a dot": (body(assistant(use("t.1")), user(result("t.1"))), OLD, "should match pattern '^[a-zA-Z0-9_-]+$'"),
    "an id of 65": (body(assistant(use("t" * 65)), user(result("t" * 65))), OLD, "at most 64"),
    "an id twice": (body(assistant(use()), user(result()), assistant(use()), user(result())), OLD, "ids must be unique"),
    "input as a text": (body(assistant(use(input="{}")), user(result())), OLD, "valid dictionary"),
    "no result": (body(assistant(use()), USER), OLD, "`tool_use` ids were found without `tool_result` blocks immediately after: t1"),
    "no result at the end": (body(assistant(use())), OLD, "immediately after: t1"),
    "one of two results": (body(assistant(use("a"), use("b")), user(result("a"))), OLD, "immediately after: b"),
    "text before the result": (body(assistant(use()), user(text("so"), result())), OLD, "immediately after: t1"),
    "an orphan": (body(user(result())), OLD, "unexpected `tool_use_id`"),
    "a result too late": (body(assistant(use()), user(result()), assistant(text("a")), user(result())), OLD, "unexpected `tool_use_id`"),
    "a result twice": (body(assistant(use()), user(result(), result())), OLD, "single result"),
    "a call of a user": (body(user(use())), OLD, "can only be in `assistant` messages"),
    "a name of 129": (body(tools=[tool("f" * 129)]), OLD, "{1,128}"),
    "a dotted name": (body(tools=[tool("a.b")]), OLD, "{1,128}"),
    "a name twice": (body(tools=[tool(), tool()]), OLD, "Tool names must be unique"),
    "no schema": (body(tools=[{"name": "f"}]), OLD, "input_schema: Field required"),
    "no type": (body(tools=[tool(input_schema={})]), OLD, "input_schema.type: Field required"),
    "a wrong type": (body(tools=[tool(input_schema={"type": "array"})]), OLD, "Input should be 'object'"),
    "anyOf at the root": (body(tools=[tool(input_schema={**OBJECT, "anyOf": []})]), OLD, "at the top level"),
    "a property with a space": (body(tools=[tool(input_schema={"type": "object", "properties": {"a b": {}}})]), OLD, "Property keys"),
    "choice without tools": (body(tool_choice={"type": "auto"}), OLD, "while providing tools"),
    "an unknown choice": (body(tools=[tool()], tool_choice={"type": "tool", "name": "g"}), OLD, "'g' not found"),
    "a wrong choice": (body(tools=[tool()], tool_choice={"type": "required"}), OLD, "tool_choice"),
    "a forced choice with thinking": (body(tools=[tool()], tool_choice={"type": "any"}, thinking=ENABLED), OLD, "Thinking may not be enabled when tool_choice forces tool use"),
    "a forced choice of Fable": ({**body(tools=[tool()], tool_choice={"type": "any"}), "model": "claude-fable-5"}, OLD, "not supported by claude-fable-5"),
    "too little thinking": (body(thinking={"type": "enabled", "budget_tokens": 1023}), OLD, "1024"),
    "thinking over the limit": (body(thinking={"type": "enabled", "budget_tokens": 2048}), OLD, "must be greater than `thinking.budget_tokens`"),
    "a budget of a new model": ({**body(thinking=ENABLED), "model": "claude-opus-4-7"}, OLD, "thinking.type.adaptive"),
    "changed thoughts": (step(thought("hm!", sign_text(MODEL, "hm")), use()), OLD, "cannot be modified"),
    "changed earlier thoughts": (body(assistant(thought("a", "Zm9v")), USER, assistant(text("b")), USER), OLD, "Invalid `signature` in `thinking` block"),
    "unsigned thoughts": (step({"type": "thinking", "thinking": "hm"}, use()), OLD, "signature: Field required"),
    "thoughts left out": (step(use(), thinking=ENABLED), OLD, "Expected `thinking` or `redacted_thinking`, but found `tool_use`"),
    "temperature in the new version": (body(temperature=1), NEW, "temperature"),
    "top_p in the new version": (body(top_p=1), NEW, "top_p"),
    "top_k in the new version": (body(top_k=1), NEW, "top_k"),
    "sampling of a new model": ({**body(temperature=1), "model": "claude-sonnet-5"}, OLD, "not supported for claude-sonnet-5"),
    "a document of an assistant": (body(assistant({"type": "document", "source": {}}), USER), NEW, "`document` blocks"),
    "citations of a user": (body(user({**text("a"), "citations": [{}]})), NEW, "citations"),
    "prefill of a new model": ({**body(assistant(text("The"))), "model": "claude-opus-4-6"}, OLD, "prefill"),
    "prefill that ends in a space": (body(assistant(text("The "))), OLD, "trailing whitespace"),
    "messages as an object": ({**body(), "messages": {}}, OLD, "valid list"),
    "content as a number": (body({"role": "user", "content": 7}), OLD, "messages.1.content"),
    "a blank message": (body({"role": "user", "content": " "}), OLD, "non-whitespace"),
    "a text block without text": (body(user({"type": "text"})), OLD, "text: Field required"),
    "a dotted name in history": (body(assistant(use(name="a.b")), user(result())), OLD, "tool_use.name"),
    "a result of an assistant": (body(assistant(result())), OLD, "can only be in `user` messages"),
    "no id": (body(assistant(use(""))), OLD, "tool_use.id: Field required"),
    "tools as an object": (body(tools={}), OLD, "tools: Input should be a valid list"),
    "no budget": (body(thinking={"type": "enabled"}), OLD, "budget_tokens: Field required"),
    "thoughts of a user": (body(user(thought())), OLD, "can only be in `assistant` messages"),
    "redacted thoughts without data": (step({"type": "redacted_thinking"}, use()), OLD, "data: Field required"),
}  # fmt: skip


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_the_api_takes_passes(name):
    wire, headers = ACCEPTED[name]
    assert check(wire, headers, wire["model"]) is None


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_api_refuses_is_refused_in_its_words(name):
    wire, headers, phrase = REFUSED[name]
    failure = check(wire, headers, wire.get("model", ""))
    assert failure is not None
    assert (failure.status, failure.type, phrase in failure.message) == (400, "invalid_request_error", True), (
        failure.message
    )
