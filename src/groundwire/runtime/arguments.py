"""The argument text of a call, from whatever a caller gave."""

import reprlib

from groundwire.contracts.canonical import JsonObject, dump_json
from groundwire.contracts.errors import InvalidJson
from groundwire.contracts.texts import storable


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
