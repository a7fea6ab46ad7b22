"""What OpenAI's Responses refuses, as far as tools are concerned.

What was stored is put into the body before (`stored`), so whatever still refers to it here is not found.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.failures import Failure
from groundwire.simulator.members import RESPONSES, unknown_parameters
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
from groundwire.simulator.refusals import (
    Asked,
    Rule,
    first_double,
    first_refusal,
    not_found,
    objects,
    placed,
    refuse,
    text_of,
)
from groundwire.simulator.signatures import unseal

MAX_ID = 64
_ITEM_ID = re.compile(r"[A-Za-z0-9_-]+")
_ROLES = ("assistant", "system", "developer", "user")
_PREFIXES = {
    "message": "msg",
    "function_call": "fc",
    "custom_tool_call": "ctc",
    "reasoning": "rs",
}
_CALLS = {"function_call": "function call", "custom_tool_call": "custom tool call"}
_OUTPUTS = {"function_call_output": "function call", "custom_tool_call_output": "custom tool call"}
_ASSISTANT_PARTS = ("output_text", "refusal")
_OTHER_PARTS = ("input_text", "input_image", "input_file", "input_audio")
_RESULT_PARTS = ("input_text", "input_image", "input_file")


def check(body: JsonObject, headers: Mapping[str, str], model: str) -> Failure | None:
    return first_refusal(RULES, Asked(body=body, headers=headers, model=model))


def kind_of(item: dict[str, Any]) -> str:
    """The type of an item; messages may leave it out."""
    return text_of(item.get("type")) or ("message" if "role" in item else "")


def _required(asked: Asked) -> Iterator[Failure]:
    if not text_of(asked.body.get("model")):
        yield refuse("Missing required parameter: 'model'.", param="model", code="missing_required_parameter")
    given = asked.body.get("input")
    if given is None or given == []:
        yield refuse(
            "Missing required parameter: 'input'. One of \"input\" or \"previous_response_id\" or 'prompt' or "
            "'conversation' must be provided.",
            param="input",
            code="missing_required_parameter",
        )
    elif not isinstance(given, (str, list)):
        yield wrong_type("input", "one of a string or an array of input items", given)
    elif isinstance(given, list):
        for place, item in enumerate(given):
            if not isinstance(item, dict):
                yield wrong_type(f"input[{place}]", "an object", item)
            elif not kind_of(item):
                yield refuse(
                    f"Missing required parameter: 'input[{place}].type'.",
                    param=f"input[{place}].type",
                    code="missing_required_parameter",
                )


def _stored(asked: Asked) -> Iterator[Failure]:
    earlier = asked.body.get("previous_response_id")
    if earlier is not None and asked.body.get("conversation") is not None:
        yield refuse(
            "Mutually exclusive parameters: 'previous_response_id' and 'conversation'.",
            code="mutually_exclusive_parameters",
        )
    if earlier is not None:
        yield refuse(
            f"Previous response with id '{earlier}' not found.",
            param="previous_response_id",
            code="previous_response_not_found",
        )
    if asked.body.get("conversation") is not None:
        yield not_found(f"Conversation with id '{asked.body['conversation']}' not found.", param="conversation")
    for item in objects(asked.body.get("input")):
        if kind_of(item) == "item_reference":
            yield not_found(f"Item with id '{item.get('id')}' not found.", param="input")


def _messages(asked: Asked) -> Iterator[Failure]:
    for place, item in placed(asked.body.get("input")):
        if kind_of(item) != "message":
            continue
        path, role = f"input[{place}]", item.get("role")
        if role not in _ROLES:
            yield wrong_value(f"{path}.role", role, _ROLES)
        content = item.get("content")
        if isinstance(content, list):
            yield from _parts(content, f"{path}.content", _ASSISTANT_PARTS if role == "assistant" else _OTHER_PARTS)
        elif not isinstance(content, str):
            yield wrong_type(f"{path}.content", "one of an array of objects or string", content)


def _parts(content: list[Any], path: str, allowed: tuple[str, ...]) -> Iterator[Failure]:
    for place, part in enumerate(content):
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in allowed:
            yield wrong_value(f"{path}[{place}]", kind, allowed)


def _item_ids(asked: Asked) -> Iterator[Failure]:
    found = []
    for place, item in placed(asked.body.get("input")):
        item_id, path = item.get("id"), f"input[{place}].id"
        prefix = _PREFIXES.get(kind_of(item))
        if item_id is None or prefix is None:
            continue
        item_id = text_of(item_id)
        if len(item_id) > MAX_ID:
            yield too_long(path, item_id, MAX_ID)
        if not _ITEM_ID.fullmatch(item_id):
            yield refuse(
                f"Invalid '{path}': '{item_id}'. Expected an ID that contains letters, numbers, underscores, or dashes, "
                "but this value contained additional characters.",
                param=path,
                code="invalid_value",
            )
        if not item_id.startswith(prefix):
            yield refuse(
                f"Invalid '{path}': '{item_id}'. Expected an ID that begins with '{prefix}'.",
                param=path,
                code="invalid_value",
            )
        found.append(item_id)
    double = first_double(found)
    if double is not None:
        yield refuse(
            f"Duplicate item found with id {double}. Remove duplicate items from your input and try again.",
            param="input",
        )


def _calls(asked: Asked) -> Iterator[Failure]:
    for place, item in placed(asked.body.get("input")):
        kind, path = kind_of(item), f"input[{place}]"
        if kind not in _CALLS and kind not in _OUTPUTS:
            continue
        call_id = item.get("call_id")
        if not isinstance(call_id, str) or not call_id:
            yield refuse(
                f"Missing required parameter: '{path}.call_id'.",
                param=f"{path}.call_id",
                code="missing_required_parameter",
            )
        elif len(call_id) > MAX_ID:
            yield too_long(f"{path}.call_id", call_id, MAX_ID)
        if kind == "function_call":
            yield from bad_name(item.get("name"), f"{path}.name")
            if not isinstance(item.get("arguments"), str):
                yield wrong_type(f"{path}.arguments", "a string", item.get("arguments"))
        elif kind in _OUTPUTS:
            yield from _output_of(item.get("output"), f"{path}.output")


def _output_of(output: Any, path: str) -> Iterator[Failure]:
    if isinstance(output, list):
        yield from _parts(output, path, _RESULT_PARTS)
    elif not isinstance(output, str):
        yield wrong_type(path, "one of an array of objects or string", output)


def _pairing(asked: Asked) -> Iterator[Failure]:
    open_ids: dict[str, str] = {}
    answered: set[str] = set()
    for item in objects(asked.body.get("input")):
        kind, call_id = kind_of(item), text_of(item.get("call_id"))
        if kind in _CALLS:
            if call_id in open_ids or call_id in answered:
                yield refuse(f"Duplicate {_CALLS[kind]} found with call_id {call_id}.", param="input")
            open_ids[call_id] = _CALLS[kind]
        elif kind in _OUTPUTS:
            if call_id not in open_ids:
                word = _OUTPUTS[kind]
                yield refuse(f"No tool call found for {word} output with call_id {call_id}.", param="input")
            open_ids.pop(call_id, None)
            answered.add(call_id)
    for call_id, word in open_ids.items():
        yield refuse(f"No tool output found for {word} {call_id}.", param="input")


def _reasoning(asked: Asked) -> Iterator[Failure]:
    items = objects(asked.body.get("input"))
    for place, item in enumerate(items):
        if kind_of(item) != "reasoning":
            continue
        path = f"input[{place}]"
        if not isinstance(item.get("summary"), list):
            yield refuse(
                f"Missing required parameter: '{path}.summary'.",
                param=f"{path}.summary",
                code="missing_required_parameter",
            )
        token = item.get("encrypted_content")
        if token is None and asked.body.get("store") is False:
            yield not_found(
                f"Item with id '{item.get('id')}' not found. Items are not persisted when `store` is set to false. Try "
                "again with `store` set to true, or remove this item from your input.",
                param="input",
            )
        if token is not None and unseal(text_of(token), asked.model) is None:
            yield refuse(
                f"The encrypted content for item {item.get('id')} could not be verified.",
                code="invalid_encrypted_content",
            )
        if not _leads_on(items[place + 1] if place + 1 < len(items) else {}):
            yield refuse(
                f"Item '{item.get('id')}' of type 'reasoning' was provided without its required following item.",
                param="input",
            )


def _leads_on(item: dict[str, Any]) -> bool:
    """Whether the item is a model's own: only such a one follows on thoughts."""
    kind = kind_of(item)
    return item.get("role") == "assistant" if kind == "message" else kind != "" and kind not in _OUTPUTS


def _tools(asked: Asked) -> Iterator[Failure]:
    tools = asked.body.get("tools")
    if tools is None or tools == []:
        return
    yield from bad_tool_list(tools)
    names = []
    for place, tool in placed(tools):
        path, kind = f"tools[{place}]", text_of(tool.get("type"))
        if not kind:
            yield refuse(
                f"Missing required parameter: '{path}.type'.", param=f"{path}.type", code="missing_required_parameter"
            )
        if kind in ("function", "custom"):
            yield from bad_name(tool.get("name"), f"{path}.name")
            names.append(text_of(tool.get("name")))
        if kind == "function":
            yield from bad_parameters(tool, path)
    yield from double_tools(names)


def _choice(asked: Asked) -> Iterator[Failure]:
    tools, choice = objects(asked.body.get("tools")), asked.body.get("tool_choice")
    if not tools:
        if choice is not None and choice not in ("none", "auto"):
            yield refuse("Tool choice must be specified with 'tools' parameter.", param="tool_choice")
        return
    if isinstance(choice, str) and choice not in ("none", "auto", "required"):
        yield wrong_value("tool_choice", choice, ("none", "auto", "required"))
    if not isinstance(choice, dict):
        return
    declared = {text_of(tool.get("name")) for tool in tools}
    entries = objects(choice.get("tools")) if choice.get("type") == "allowed_tools" else [choice]
    for entry in entries:
        if entry.get("type") in ("function", "custom") and text_of(entry.get("name")) not in declared:
            yield refuse(
                f"Tool choice '{entry.get('name')}' not found in 'tools' parameter.",
                param="tool_choice",
                code="invalid_value",
            )


def _output(asked: Asked) -> Iterator[Failure]:
    text = asked.body.get("text")
    wanted = text.get("format") if isinstance(text, dict) else None
    if isinstance(wanted, dict) and wanted.get("type") == "json_schema":
        yield from bad_output(wanted, "text.format")


RULES: tuple[Rule, ...] = (
    _required, unknown_parameters(RESPONSES), _stored, _messages, _item_ids, _calls, _pairing, _reasoning, _tools, _choice, _output,
)  # fmt: skip
