"""What each provider refuses in a request, written down anew from its documentation: judges of encoded requests.

Each function takes the wire body and asserts; none of them shares code with the codecs.
"""

import re


def check_chat(body):
    messages = body["messages"]
    seen, waiting, legacy = set(), [], False
    for message in messages:
        role = message["role"]
        if role == "tool":
            assert message["tool_call_id"] in waiting, "a result of no open call"
            waiting.remove(message["tool_call_id"])
            content = message["content"]
            assert isinstance(content, (str, list))
            continue
        assert not waiting, f"calls without results before a message of {role}"
        if role == "function":
            assert legacy, "a result of no open legacy call"
            legacy = False
            continue
        assert not legacy
        if role == "assistant":
            for call in message.get("tool_calls", ()):
                assert re.fullmatch(r"\S{1,64}", call["id"])
                assert call["id"] not in seen, "an id was used twice"
                seen.add(call["id"])
                waiting.append(call["id"])
                _check_name(call.get("function") or call["custom"], 64)
                assert isinstance(call["function"]["arguments"] if "function" in call else call["custom"]["input"], str)
            legacy = "function_call" in message
            assert message.get("tool_calls") != []
            said = [name for name in message if name not in ("role", "name")]
            assert any(message[name] is not None for name in said), "an assistant message that says nothing"
        else:
            assert isinstance(message["content"], (str, list)), "content must be there"
        assert message.get("content") != [], "content without parts"
    assert not waiting
    assert not legacy
    for tool in body.get("tools", ()):
        inner = tool[tool["type"]] if tool.get("type") in ("function", "custom") else tool["function"]
        _check_name(inner, 64)
        _check_strict(inner)


def check_responses(body):
    seen, waiting = set(), set()
    items = body["input"] if isinstance(body["input"], list) else []
    for place, item in enumerate(items):
        kind = item.get("type", "message")
        if kind in ("function_call", "custom_tool_call"):
            call_id = item["call_id"]
            assert re.fullmatch(r"\S{1,64}", call_id)
            assert call_id not in seen, "an id was used twice"
            seen.add(call_id)
            waiting.add(call_id)
            _check_name(item, 64)
            assert isinstance(item["arguments" if kind == "function_call" else "input"], str)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            assert item["call_id"] in waiting, "a result of no open call"
            waiting.remove(item["call_id"])
            assert isinstance(item["output"], (str, list))
        elif kind == "reasoning":
            after = items[place + 1] if place + 1 < len(items) else {}
            assert after.get("role", "assistant") == "assistant", "reasoning that led to nothing"
            assert after, "reasoning that led to nothing"
            assert not after.get("type", "").endswith("_output"), "reasoning that led to nothing"
        elif kind == "message":
            assert item["role"] in ("user", "assistant", "system", "developer")
            assert item["content"] is not None
    assert not waiting, "calls without results"
    for tool in body.get("tools", ()):
        if tool["type"] in ("function", "custom"):
            _check_name(tool, 64)
            _check_strict(tool)


def check_anthropic(body):
    messages = body["messages"]
    assert messages[0]["role"] == "user", "the user begins"
    seen, waiting = set(), []
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        assert blocks, "a message without content"
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        assert sorted(results) == sorted(waiting), "the results of a step stand in the next message, all of them"
        assert all(block["type"] == "tool_result" for block in blocks[: len(results)]), "results come first"
        assert not results or message["role"] == "user"
        waiting = []
        for block in blocks:
            if block["type"] == "tool_use":
                assert message["role"] == "assistant"
                assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", block["id"])
                assert block["id"] not in seen, "an id was used twice"
                seen.add(block["id"])
                waiting.append(block["id"])
                _check_name(block, 128)
                assert isinstance(block["input"], dict)
            elif block["type"] == "tool_result" and isinstance(block.get("content"), list):
                _check_texts(block["content"])
        _check_texts(blocks)
    assert not waiting, "calls without results"
    if messages[-1]["role"] == "assistant":
        last = messages[-1]["content"] if isinstance(messages[-1]["content"], str) else messages[-1]["content"][-1]
        text = last if isinstance(last, str) else last.get("text", "x")
        assert text == text.rstrip(), "the last text ends in whitespace"
    system = body.get("system")
    if system is not None:
        _check_texts([{"type": "text", "text": system}] if isinstance(system, str) else system)
    for tool in body.get("tools", ()):
        if tool.get("type", "custom") == "custom":
            _check_name(tool, 128)
            assert tool["input_schema"]["type"] == "object"


def check_gemini(body):
    contents = body["contents"]
    assert contents[0].get("role", "user") != "model", "the user begins"
    before, waiting, seen = None, [], set()
    for content in contents:
        parts = content["parts"]
        assert parts, "a content without parts"
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        results = [part["functionResponse"] for part in parts if "functionResponse" in part]
        assert [result["name"] for result in results] == [call["name"] for call in waiting], "one response per call"
        for call, result in zip(waiting, results, strict=True):
            assert result.get("id") == call.get("id"), "a response to another call"
            assert isinstance(result.get("response", {}), dict)
        if results:
            assert len(results) == len(parts), "responses stand alone"
            assert content.get("role") != "model"
        if calls:
            assert content["role"] == "model"
            assert before != "model", "calls follow the user or results"
        for call in calls:
            _check_name(call, 128, first="[A-Za-z_]", further=r"[A-Za-z0-9_.:-]")
            assert isinstance(call.get("args", {}), dict)
            assert call.get("id") != ""
            if "id" in call:
                assert (len(contents), call["id"]) not in seen
        waiting, before = calls, content.get("role", "user")
    assert not waiting, "calls without responses"
    if "systemInstruction" in body:
        assert body["systemInstruction"]["parts"]
    for tool in body.get("tools", ()):
        for function in tool.get("functionDeclarations", ()):
            _check_name(function, 128, first="[A-Za-z_]", further=r"[A-Za-z0-9_.:-]")


def _check_name(entry, longest, first="[A-Za-z0-9_-]", further="[A-Za-z0-9_-]"):
    name = entry["name"]
    assert re.fullmatch(f"{first}{further}*", name), f"{name!r} is no name"
    assert len(name) <= longest, f"{name!r} is too long"


def _check_strict(function):
    parameters = function.get("parameters")
    if function.get("strict") and parameters is not None:
        assert parameters["additionalProperties"] is False
        assert sorted(parameters.get("required", ())) == sorted(parameters["properties"])
        text = str(parameters)
        assert not any(f"'{keyword}'" in text for keyword in ("oneOf", "allOf", "default", "patternProperties"))


def _check_texts(blocks):
    for block in blocks:
        if block["type"] == "text":
            assert block["text"].strip(), "a text is empty"


CHECKS = {
    "openai-chat": check_chat,
    "openai-responses": check_responses,
    "anthropic": check_anthropic,
    "gemini": check_gemini,
}
