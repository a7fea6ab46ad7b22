"""Whether the gateway lives, whether it should be sent requests, and what it is."""

import asyncio
import logging
from collections.abc import Callable, Mapping

from starlette.responses import Response

from groundwire import __version__
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.ports import Database
from groundwire.providers.router import ModelRouter
from groundwire.serving.answers import json_answer
from groundwire.serving.endpoints import Asked, Endpoint

log = logging.getLogger("groundwire.gateway")

STORE_SECONDS = 2.0
"""A store that does not answer by then is as good as gone."""


class Health:
    """`servers` tells which of the MCP servers are connected. Without them it is ready all the same."""

    def __init__(
        self,
        database: Database,
        models: ModelRouter,
        is_draining: Callable[[], bool],
        *,
        servers: Callable[[], Mapping[str, bool]],
    ) -> None:
        self._database = database
        self._models = models
        self._is_draining = is_draining
        self._servers = servers

    async def live(self, asked: Asked) -> JsonObject:
        """Whoever can say so lives."""
        return {"status": "ok"}

    async def ready(self, asked: Asked) -> Response:
        providers = sorted(self._models.catalogue.providers)
        has_store = await self._has_store()
        is_draining = self._is_draining()
        is_ready = has_store and bool(providers) and not is_draining
        body: JsonObject = {
            "status": "ready" if is_ready else "unready",
            "store": "ok" if has_store else "unreachable",
            "providers": [*providers],
            "mcpServers": {name: "connected" if there else "unreachable" for name, there in self._servers().items()},
            "draining": is_draining,
        }
        return json_answer(body, 200 if is_ready else 503)

    async def describe(self, asked: Asked) -> JsonObject:
        return {"name": "groundwire", "version": __version__, "description": "/openapi.json", "health": "/health/ready"}

    async def _has_store(self) -> bool:
        try:
            async with asyncio.timeout(STORE_SECONDS):
                await self._database.fetch("SELECT 1 AS one")
        except Exception as error:  # noqa: BLE001 - whatever it is, there is no store to work with
            log.warning("the store cannot be reached: %s", error)
            return False
        return True


_STATUS: JsonObject = {
    "type": "object",
    "required": ["status", "store", "providers", "mcpServers", "draining"],
    "properties": {
        "status": {"enum": ["ready", "unready"]},
        "store": {"enum": ["ok", "unreachable"]},
        "providers": {"type": "array", "items": {"type": "string"}},
        "mcpServers": {"type": "object", "additionalProperties": {"enum": ["connected", "unreachable"]}},
        "draining": {"type": "boolean"},
    },
}


def health_endpoints(health: Health) -> list[Endpoint]:
    return [
        Endpoint(
            method="GET",
            path="/",
            name="describe",
            summary="What is served here.",
            tag="operations",
            handler=health.describe,
            scope=None,
            answers={200: {"type": "object"}},
        ),
        Endpoint(
            method="GET",
            path="/health/live",
            name="live",
            summary="Whether the process lives.",
            tag="operations",
            handler=health.live,
            scope=None,
            answers={200: {"type": "object", "required": ["status"], "properties": {"status": {"const": "ok"}}}},
        ),
        Endpoint(
            method="GET",
            path="/health/ready",
            name="ready",
            summary="Whether it can serve: the store answers, there are providers, and it was not told to stop.",
            tag="operations",
            handler=health.ready,
            scope=None,
            answers={200: _STATUS, 503: _STATUS},
        ),
    ]
