"""Messages of JSON-RPC, whichever way they come: read exactly, and answered for when they are none."""

from typing import Any

import mcp_types as types
from pydantic import ValidationError

from groundwire.contracts.canonical import parse_json
from groundwire.contracts.errors import InvalidJson

MAX_MESSAGE = 4 * 1024 * 1024
"""Bytes."""


class BadMessage(Exception):
    """What was read is no message. `answer` says so to the client."""

    def __init__(self, code: int, text: str, request_id: Any = None) -> None:
        super().__init__(text)
        known = request_id if isinstance(request_id, (str, int)) and not isinstance(request_id, bool) else None
        self.answer = types.JSONRPCError(jsonrpc="2.0", id=known, error=types.ErrorData(code=code, message=text))


def read_message(body: bytes, most: int = MAX_MESSAGE) -> types.JSONRPCMessage:
    """Read one message; whatever else it is, is a BadMessage."""
    if len(body) > most:
        raise BadMessage(types.INVALID_REQUEST, f"A message has at most {most} bytes.")
    try:
        value = parse_json(body)
    except InvalidJson as error:
        raise BadMessage(types.PARSE_ERROR, f"This is not JSON: {error.message}") from None
    request_id = value.get("id") if isinstance(value, dict) else None
    try:
        message = types.jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError:
        raise BadMessage(types.INVALID_REQUEST, "This is no JSON-RPC message.", request_id) from None
    if isinstance(message, types.JSONRPCNotification) and "id" in (value if isinstance(value, dict) else ()):
        raise BadMessage(types.INVALID_REQUEST, "The id of a request is a text or a whole number.")
    return message
