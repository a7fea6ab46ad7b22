"""What OpenAI's Chat Completions refuses, as far as tools are concerned."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.failures import Failure
from groundwire.simulator.members import CHAT, unknown_parameters
from groundwire.simulator.openai_refusals import (
    bad_name,
    bad_output,
    bad_parameters,
    bad_tool_list,
    double_tools,
    too_long,
    wrong_type,
    wrong_value,
)
from groundwire.simulator.refusals import Asked, Rule, first_double, first_refusal, objects, placed, refuse, text_of

MAX_ID = 40
_PARTS = {
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
    "tool": ("text",),
    "system": ("text",),
    "developer": ("text",),
}
_ROLES = (*_PARTS, "function")
_REASONING = re.compile(r"(?:.*/)?(?:o[1-9]|gpt-(?:[5-9]|\d\d))")
_GPT = re.compile(r"(?:.*/)?gpt-(\d+)(?:\.(\d+))?")


def check(body: JsonObject, headers: Mapping[str, str], model: str) -> Failure | None:
    return first_refusal(RULES, Asked(body=body, headers=headers, model=model))


def _required(asked: Asked) -> Iterator[Failure]:
    if not text_of(asked.body.get("model")):
        yield refuse("you must provide a model parameter")
    messages = asked.body.get("messages")
    if messages is None:
        yield refuse("Missing required parameter: 'messages'.", param="messages", code="missing_required_parameter")
    elif not isinstance(messages, list):
        yield wrong_type("messages", "an array of objects", messages)
    elif not messages:
        yield refuse("[] is too short - 'messages'", param="messages", code="empty_array")
    else:
        for place, message in enumerate(messages):
            if not isinstance(message, dict):
                yield wrong_type(f"messages[{place}]", "an object", message)


def _roles(asked: Asked) -> Iterator[Failure]:
    for place, message in placed(asked.body.get("messages")):
        if message.get("role") not in _ROLES:
            yield wrong_value(f"messages[{place}].role", message.get("role"), _ROLES)


def _contents(asked: Asked) -> Iterator[Failure]:
    for place, message in placed(asked.body.get("messages")):
        path, role, content = f"messages[{place}].content", text_of(message.get("role")), message.get("content")
        may_be_empty = role == "assistant" and any(
            message.get(name) for name in ("tool_calls", "function_call", "refusal", "audio")
        )
        if content is None:
            if not may_be_empty and role != "function":
                yield refuse(f"Invalid value for 'content': expected a string, got null. ({path})", param=path)
        elif isinstance(content, list):
            yield from _parts(content, path, role)
        elif not isinstance(content, str):
            yield wrong_type(path, "one of a string or array of objects", content)


def _parts(content: list[Any], path: str, role: str) -> Iterator[Failure]:
    allowed = _PARTS.get(role, ("text",))
    for place, part in enumerate(content):
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in allowed:
            yield wrong_value(f"{path}[{place}].type", kind, allowed)


def _calls(asked: Asked) -> Iterator[Failure]:
    for place, message in placed(asked.body.get("messages")):
        calls = message.get("tool_calls")
        if calls is None:
            continue
        path = f"messages[{place}].tool_calls"
        if message.get("role") != "assistant":
            yield refuse(f"Invalid parameter: '{path}' is only allowed on messages with role 'assistant'.", param=path)
        if not isinstance(calls, list) or not calls:
            yield refuse(
                f"Invalid '{path}': empty array. Expected an array with minimum length 1, but got an empty array instead.",
                param=path,
                code="empty_array",
            )
            continue
        for number, call in placed(calls):
            yield from _call(call, f"{path}[{number}]")
        double = first_double(text_of(call.get("id")) for call in objects(calls))
        if double is not None:
            yield refuse(f"Invalid '{path}': the id '{double}' is a duplicate value.", param=path, code="invalid_value")


def _call(call: dict[str, Any], path: str) -> Iterator[Failure]:
    call_id = call.get("id")
    if not isinstance(call_id, str) or not call_id:
        yield refuse(f"Missing required parameter: '{path}.id'.", param=f"{path}.id", code="missing_required_parameter")
    elif len(call_id) > MAX_ID:
        yield too_long(f"{path}.id", call_id, MAX_ID)
    kind = call.get("type")
    if kind not in ("function", "custom"):
        yield wrong_value(f"{path}.type", kind, ("function", "custom"))
    function = call.get("function")
    if kind == "function" and isinstance(function, dict):
        yield from bad_name(function.get("name"), f"{path}.function.name")
        if not isinstance(function.get("arguments"), str):
            yield wrong_type(f"{path}.function.arguments", "a string", function.get("arguments"))


def _pairing(asked: Asked) -> Iterator[Failure]:
    open_ids: dict[str, None] = {}
    answered: set[str] = set()
    for place, message in placed(asked.body.get("messages")):
        if message.get("role") == "tool":
            call_id = text_of(message.get("tool_call_id"))
            if call_id not in open_ids and call_id not in answered:
                yield refuse(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceding message with "
                    "'tool_calls'.",
                    param=f"messages.[{place}].role",
                )
            open_ids.pop(call_id, None)
            answered.add(call_id)
            continue
        yield from _unanswered(open_ids, place)
        calls = message.get("tool_calls") if message.get("role") == "assistant" else None
        open_ids = dict.fromkeys(text_of(call.get("id")) for call in objects(calls))
        answered = set()
    yield from _unanswered(open_ids, len(objects(asked.body.get("messages"))))


def _unanswered(open_ids: dict[str, None], place: int) -> Iterator[Failure]:
    if open_ids:
        yield refuse(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            "'tool_call_id'. The following tool_call_ids did not have response messages: " + ", ".join(open_ids),
            param=f"messages.[{place}].role",
        )


def _tools(asked: Asked) -> Iterator[Failure]:
    tools = asked.body.get("tools")
    if tools is None:
        return
    yield from bad_tool_list(tools)
    names = []
    for place, tool in placed(tools):
        kind, path = tool.get("type"), f"tools[{place}]"
        if kind not in ("function", "custom"):
            yield wrong_value(f"{path}.type", kind, ("function", "custom"))
            continue
        declared = tool.get(text_of(kind))
        if not isinstance(declared, dict):
            yield refuse(
                f"Missing required parameter: '{path}.{kind}'.",
                param=f"{path}.{kind}",
                code="missing_required_parameter",
            )
            continue
        yield from bad_name(declared.get("name"), f"{path}.{kind}.name")
        names.append(text_of(declared.get("name")))
        if kind == "function":
            yield from bad_parameters(declared, f"{path}.function")
    yield from double_tools(names)


def _choice(asked: Asked) -> Iterator[Failure]:
    tools = objects(asked.body.get("tools"))
    choice = asked.body.get("tool_choice")
    if not tools:
        for name in ("tool_choice", "parallel_tool_calls"):
            if asked.body.get(name) is not None:
                yield refuse(
                    f"Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified.", param=name
                )
        return
    if isinstance(choice, str) and choice not in ("none", "auto", "required"):
        yield wrong_value("tool_choice", choice, ("none", "auto", "required"))
    if isinstance(choice, dict):
        declared = {
            text_of(tool.get(kind, {}).get("name"))
            for tool in tools
            for kind in ("function", "custom")
            if isinstance(tool.get(kind), dict)
        }
        for name in _chosen(choice):
            if name not in declared:
                yield refuse(
                    f"Tool choice '{name}' not found in 'tools' parameter.", param="tool_choice", code="invalid_value"
                )


def _chosen(choice: dict[str, Any]) -> list[str]:
    kind = text_of(choice.get("type"))
    entries = [choice]
    if kind == "allowed_tools":
        allowed = choice.get("allowed_tools")
        entries = objects(allowed.get("tools")) if isinstance(allowed, dict) else []
    named = [entry.get(text_of(entry.get("type"))) for entry in entries]
    return [text_of(name.get("name")) for name in named if isinstance(name, dict)]


def _options(asked: Asked) -> Iterator[Failure]:
    body = asked.body
    if body.get("stream_options") is not None and body.get("stream") is not True:
        yield refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.", param="stream_options")
    if _REASONING.match(asked.model) and body.get("max_tokens") is not None:
        yield refuse(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            param="max_tokens",
            code="unsupported_parameter",
        )
    count = body.get("n")
    if isinstance(count, int) and count > 1:
        yield refuse("The simulator gives one answer to a request: 'n' must be 1.", param="n", code="unsupported_value")
    found = _GPT.match(asked.model)
    version = (int(found[1]), int(found[2] or 0)) if found else (0, 0)
    effort = body.get("reasoning_effort", "medium" if version >= (5, 6) else "none")
    if version >= (5, 4) and objects(body.get("tools")) and effort not in ("none", None):
        yield refuse(
            f"Function tools with reasoning_effort are not supported for {asked.model} in /v1/chat/completions. "
            "Please use /v1/responses instead.",
            param="reasoning_effort",
        )


def _output(asked: Asked) -> Iterator[Failure]:
    output = asked.body.get("response_format")
    wanted = output.get("json_schema") if isinstance(output, dict) else None
    if isinstance(wanted, dict):
        yield from bad_output(wanted, "response_format.json_schema")


RULES: tuple[Rule, ...] = (
    _required, unknown_parameters(CHAT), _roles, _contents, _calls, _pairing, _tools, _choice, _options, _output,
)  # fmt: skip
