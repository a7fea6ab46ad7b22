"""The Model Context Protocol among the gateway's routes: behind the same keys, and in the same description."""

import asyncio
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.routing import Route

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import GroundwireError
from groundwire.contracts.keys import EVERYTHING, Caller
from groundwire.runtime.policies.access import Mask
from groundwire.runtime.runtime import Runtime
from groundwire.runtime.turns import TurnOptions
from groundwire.serving.answers import NoSuchPath, error_answer
from groundwire.serving.headers import TENANT
from groundwire.serving.keys import KeyRing
from groundwire.serving.openapi import Operation

if TYPE_CHECKING:
    from groundwire.mcp import HttpDoor

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
    """Opened with the first message: the protocol's library takes 40 MB, and many gateways are never asked for it.

    `hosts` are the names under which it may be addressed, None for any; pages of `origins` may use it as its own may.
    """

    def __init__(
        self, runtime: Runtime, keys: KeyRing, *, hosts: Collection[str] | None, origins: Collection[str] = ()
    ) -> None:
        self._runtime = runtime
        self._hosts = hosts
        self._origins = origins
        self._door: HttpDoor | None = None
        self._opening = asyncio.Lock()
        self._keys = keys
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
            scope["state"][TENANT] = caller.tenant
            caller.check_scope("tools")
            await self._keys.admit(caller)
            door = self._door or await self._open()
        except GroundwireError as error:
            await error_answer(error)(scope, receive, send)
            return
        await door({**scope, _CALLER: caller}, receive, send)

    async def _open(self) -> "HttpDoor":
        try:
            from groundwire.mcp import HttpDoor
        except ImportError as error:
            # A client reads this: it must not learn where the package is installed.
            message = f"The Model Context Protocol is not served: {error.name} is not installed on the server."
            raise NoSuchPath(message, hint="Ask the operator to install the extra 'mcp'.") from None

        async with self._opening:
            if self._door is None:
                door = HttpDoor(self._runtime, identify=_identify, hosts=self._hosts, origins=self._origins)
                await door.open()
                self._door = door
            return self._door

    async def close(self) -> None:
        if self._door is not None:
            await self._door.close()


def _identify(scope: Any) -> TurnOptions:
    caller: Caller = scope[_CALLER]
    options = TurnOptions(tenant=caller.tenant, key_id=caller.owner_id)
    if caller.key_id:
        options["actor"] = caller.key_id
    if caller.tools != EVERYTHING:
        options["mask"] = Mask(allow=caller.tools)
    return options
