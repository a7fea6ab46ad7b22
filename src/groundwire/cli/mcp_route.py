"""The Model Context Protocol among the gateway's routes: behind the same keys, and in the same description."""

from typing import Any

from starlette.requests import Request
from starlette.routing import Route

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import AccessError
from groundwire.contracts.keys import EVERYTHING, Caller
from groundwire.mcp import HttpDoor
from groundwire.mcp.origins import LOOPBACK
from groundwire.runtime.policies.access import Mask
from groundwire.runtime.runtime import Runtime
from groundwire.runtime.turns import TurnOptions
from groundwire.serving.answers import error_answer
from groundwire.serving.keys import KeyRing
from groundwire.serving.openapi import Operation

PATH = "/mcp"
_CALLER = "groundwire.caller"
_ANY: JsonObject = {}
_JSON = {"application/json": _ANY}
_MESSAGE: JsonObject = {
    "type": "object",
    "required": ["jsonrpc"],
    "properties": {
        "jsonrpc": {"const": "2.0"},
        "id": {"type": ["string", "integer"]},
        "method": {"type": "string"},
        "params": {"type": "object"},
    },
}
_REFUSALS = dict.fromkeys((400, 401, 403, 404, 406, 413, 415, 429, 503), _JSON)


class McpRoute:
    """`open` and `close` belong to the application's own. On a loopback address it answers to no other name."""

    def __init__(self, runtime: Runtime, keys: KeyRing, *, is_loopback: bool) -> None:
        self._door = HttpDoor(runtime, identify=_identify, hosts=LOOPBACK if is_loopback else None)
        self._keys = keys
        self.open, self.close = self._door.open, self._door.close
        self.methods = ("POST", "DELETE")
        self.routes = [Route(PATH, endpoint=self)]
        self.operations = [
            Operation(
                method="POST",
                path=PATH,
                name="mcp",
                summary="One message of the Model Context Protocol, answered with JSON or a stream of events.",
                tag="mcp",
                body=_MESSAGE,
                answers={200: {**_JSON, "text/event-stream": _ANY}, 202: _JSON, **_REFUSALS},
            ),
            Operation(
                method="DELETE",
                path=PATH,
                name="mcp_end",
                summary="End a session of the Model Context Protocol.",
                tag="mcp",
                answers={204: {}, 405: _JSON, **_REFUSALS},
            ),
        ]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        try:
            caller = await self._keys.authenticate(request.headers.get, request.url.query)
            caller.check_scope("tools")
            await self._keys.admit(caller)
        except AccessError as error:
            await error_answer(error)(scope, receive, send)
            return
        await self._door({**scope, _CALLER: caller}, receive, send)


def _identify(scope: Any) -> TurnOptions:
    caller: Caller = scope[_CALLER]
    options = TurnOptions(tenant=caller.tenant)
    if caller.key_id:
        options["actor"] = caller.key_id
    if caller.tools != EVERYTHING:
        options["mask"] = Mask(allow=caller.tools)
    return options
