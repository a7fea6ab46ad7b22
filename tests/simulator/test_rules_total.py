"""Whatever JSON comes, a rule says yes or no; it never fails itself."""

import copy
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.simulator import rules_anthropic, rules_chat, rules_gemini, rules_responses

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)
SCHEMA = {
    "type": "object",
    "properties": {
        "x": {"type": "array", "items": {"anyOf": [{"type": "string", "enum": ["a"]}, {"$ref": "#/$defs/y"}]}}
    },
    "required": ["x"],
    "additionalProperties": False,
    "$defs": {"y": {"type": "string", "format": "date"}},
}
CHAT = {
    "model": "gpt-5.6",
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "a"}]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "1"},
    ],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA, "strict": True}}],
    "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "f"}}]}},
    "response_format": {"type": "json_schema", "json_schema": {"name": "o", "schema": SCHEMA, "strict": True}},
    "stream": True,
    "stream_options": {},
    "reasoning_effort": "none",
}  # fmt: skip
RESPONSES = {
    "model": "gpt-5.2",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "a"}]},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "QUJD"},
        {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "a"}]},
    ],
    "tools": [{"type": "function", "name": "f", "parameters": SCHEMA, "strict": True}],
    "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]},
    "text": {"format": {"type": "json_schema", "name": "o", "schema": SCHEMA, "strict": True}},
    "store": False,
}
ANTHROPIC = {
    "model": "claude-opus-4-6",
    "max_tokens": 5000,
    "system": [{"type": "text", "text": "a"}],
    "messages": [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "a", "signature": "QUJD"}, {"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "a"}]}]},
    ],
    "tools": [{"name": "f", "input_schema": SCHEMA}],
    "tool_choice": {"type": "tool", "name": "f"},
    "thinking": {"type": "enabled", "budget_tokens": 2000},
    "temperature": 1,
}  # fmt: skip
GEMINI = {
    "systemInstruction": {"parts": [{"text": "a"}]},
    "contents": [
        {"role": "user", "parts": [{"text": "a"}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c", "name": "f", "args": {}}, "thoughtSignature": "QUJD"}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "c", "name": "f", "response": {}}}]},
    ],
    "tools": [{"functionDeclarations": [{"name": "f", "parameters": SCHEMA}, {"name": "g", "parametersJsonSchema": SCHEMA}]}],
    "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
    "generationConfig": {"responseMimeType": "application/json", "thinkingConfig": {"includeThoughts": True}},
}  # fmt: skip
DIALECTS = {
    "chat": (rules_chat.check, CHAT),
    "responses": (rules_responses.check, RESPONSES),
    "anthropic": (rules_anthropic.check, ANTHROPIC),
    "gemini": (rules_gemini.check, GEMINI),
}


def places(value, path=()):
    yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*path, key))


def put(body, path, value):
    changed = copy.deepcopy(body)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


@pytest.mark.parametrize("dialect", DIALECTS)
@given(seed=st.integers(0, 10_000), value=JSON)
def test_a_request_with_anything_in_any_place_is_judged(dialect, seed, value):
    check, body = DIALECTS[dialect]
    path = random.Random(seed).choice(list(places(body))[1:])
    failure = check(put(body, path, value), {"anthropic-version": "2023-06-01"}, "gemini-3-flash")
    assert failure is None or failure.status in (400, 404)


@pytest.mark.parametrize("dialect", DIALECTS)
@given(body=st.dictionaries(st.text(max_size=5), JSON, max_size=3))
def test_any_object_is_judged(dialect, body):
    failure = DIALECTS[dialect][0](body, {}, "")
    assert failure is not None
