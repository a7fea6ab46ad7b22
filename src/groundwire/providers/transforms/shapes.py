"""Transforms of a received message whose calls have another shape than the API documents.

Every shape here has one possible reading. Calls that are hidden in text are the business of `dialects` and `markup`.
"""

from groundwire.contracts.canonical import JsonObject, JsonValue, dump_json
from groundwire.contracts.errors import InvalidJson
from groundwire.providers.transforms.extraction import derived_call_id, has_calls


def assistant_function_call_to_tool_calls(message: JsonObject) -> JsonObject:
    """A placeholder without a name is no call and stays where it is."""
    function = message.get("function_call")
    if has_calls(message) or not isinstance(function, dict):
        return message
    name = function.get("name")
    if not isinstance(name, str) or not name.strip():
        return message
    arguments = function.get("arguments")
    call_id = derived_call_id(0, f"{name}\n{arguments}")
    call: JsonObject = {"id": call_id, "type": "function", "function": function}
    kept = {member: value for member, value in message.items() if member != "function_call"}
    return {**kept, "tool_calls": [call]}


def assistant_tool_calls_object_to_array(message: JsonObject) -> JsonObject:
    """One call without its array, or an object whose members are numbered."""
    calls = message.get("tool_calls")
    if not isinstance(calls, dict):
        return message
    if isinstance(calls.get("function"), dict) or isinstance(calls.get("name"), str):
        return {**message, "tool_calls": [calls]}
    if all(key.isascii() and key.isdigit() and isinstance(call, dict) for key, call in calls.items()):
        return {**message, "tool_calls": [calls[key] for key in sorted(calls, key=_as_number)]}
    return message


def assistant_tool_calls_arguments_json_string_if_hash(message: JsonObject) -> JsonObject:
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        return message
    written = [_with_written_arguments(call) for call in calls]
    if all(new is old for new, old in zip(written, calls, strict=True)):
        return message
    return {**message, "tool_calls": written}


def _with_written_arguments(call: JsonValue) -> JsonValue:
    function = call.get("function") if isinstance(call, dict) else None
    arguments = function.get("arguments") if isinstance(function, dict) else None
    if not isinstance(call, dict) or not isinstance(function, dict) or not isinstance(arguments, dict):
        return call
    try:
        text = dump_json(arguments).decode()
    except InvalidJson:
        return call
    return {**call, "function": {**function, "arguments": text}}


def _as_number(key: str) -> tuple[int, str]:
    # Not int(): a key may have more digits than Python converts.
    digits = key.lstrip("0")
    return len(digits), digits
