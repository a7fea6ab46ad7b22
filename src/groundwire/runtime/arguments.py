"""What a caller may give for a call, and the argument text of it."""

import reprlib

from groundwire.contracts.calls import ToolCall
from groundwire.contracts.canonical import JsonObject, digest_bytes, dump_json
from groundwire.contracts.errors import InvalidJson
from groundwire.contracts.messages import CallItem
from groundwire.contracts.texts import NAME_CHARS, storable
from groundwire.runtime.sessions import is_id


def check_called(name: object, arguments: object) -> None:
    """A model's call has to be taken apart; handed over whole it would only look like bad arguments."""
    if isinstance(name, str) and not isinstance(arguments, (ToolCall, CallItem)):
        return
    wrong = arguments if isinstance(name, str) else name
    raise TypeError(
        f"a tool is called by its name and its arguments, not by a {type(wrong).__name__}; "
        'for a call of a model: call(call.name, call.raw, call_id=call.call_id, caller="model")'
    )


def raw_of(arguments: JsonObject | str | None) -> str:
    """The argument text: as given, or the compact dump of an object. What is not JSON is left for the parser to refuse."""
    if isinstance(arguments, str):
        text = storable(arguments)
        return text if text == arguments else f"not JSON: {text}"
    try:
        return dump_json(arguments if arguments is not None else {}).decode()
    except InvalidJson:
        return f"not JSON: {_describe(arguments)}"


def _describe(value: object) -> str:
    try:
        return storable(reprlib.repr(value))
    except Exception:  # noqa: BLE001 - a value that cannot even be shown
        return type(value).__name__


def kept_call(call: ToolCall) -> ToolCall:
    """A model's call with a name, an id and a text that every store can keep."""
    name, raw = call.name, call.raw
    if (
        name.isascii()
        and raw.isascii()
        and "\x00" not in raw
        and "\x00" not in name
        and len(name) <= NAME_CHARS
        and is_id(call.call_id)
        and call.arguments is None
    ):
        return call
    name, call_id = storable(name)[:NAME_CHARS], kept_id(call.call_id)
    return ToolCall(call_id=call_id, name=name, raw=raw_of(raw), origin=call.origin)


def kept_id(call_id: str) -> str:
    """Providers choose call ids; any text must have its one result."""
    return call_id if is_id(call_id) else f"id_{digest_bytes(call_id.encode('utf-8', 'replace'))}"
