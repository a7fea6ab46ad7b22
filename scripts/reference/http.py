"""http.md: everything that `groundwire serve` answers to, from the description that it serves itself."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any
from urllib.request import urlopen

from groundwire.assembly import Settings, StoreSettings
from groundwire.cli.doors import make_application
from groundwire.serving.answers import STATUSES
from groundwire.serving.running import serving
from scripts.reference.markdown import code, page, table

INTRODUCTION = """
What [the gateway](../guides/gateway.md) serves. `GET /openapi.json` has the same with all schemas, in OpenAPI 3.1.

Model endpoints take what their dialect's clients send; the table names what is checked. A `key` in the query, and the
headers of [keys](../guides/keys.md#sending-a-key), are taken everywhere.
"""
ERRORS = """
## Errors

Model endpoints answer with errors in their own dialect. All others answer `{"error": {"code", "message", "hint"?}}`, with
the code of [the error](errors.md) and its status. Every answer has a request id, in `x-request-id` (`request-id` on
Anthropic's endpoints).
"""
TITLES = {
    "models": "Models",
    "relay": "The relay",
    "mcp": "The Model Context Protocol",
    "calls": "Calls of tools",
    "runs": "Runs",
    "sessions": "Sessions",
    "approvals": "Approvals",
    "effects": "Effects",
    "jobs": "Jobs",
    "audit": "The audit chain",
    "signals": "Signals of negotiations",
    "operations": "Operations",
}


def generate() -> str:
    document = asyncio.run(_fetch())
    found = [
        (operation["tags"][0], f"{method.upper()} {path}", operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    if unknown := {tag for tag, _, _ in found} - set(TITLES):
        raise SystemExit(f"http.md: nothing is said about {', '.join(unknown)}")
    parts = [
        f"## {title}\n\n"
        + table(
            ["request", "what for", "takes"],
            [
                (code(request), operation["summary"], ", ".join(_taken(operation)) or "–")
                for tag, request, operation in found
                if tag == wanted
            ],
        )
        for wanted, title in TITLES.items()
    ]
    statuses = [(code(kind.code), str(status)) for kind, status in STATUSES]
    return page("The HTTP API", INTRODUCTION, *parts, ERRORS, table(["code", "status"], statuses))


async def _fetch() -> Any:
    application = make_application(Settings(store=StoreSettings(url="memory://")), {})
    async with serving(application, "127.0.0.1") as url:
        return await asyncio.to_thread(lambda: json.load(urlopen(f"{url}/openapi.json")))  # noqa: S310 - our own


def _taken(operation: Any) -> Iterator[str]:
    for parameter in operation["parameters"]:
        if parameter["in"] == "query":
            yield code(f"?{parameter['name']}")
        elif parameter["in"] == "header":
            yield f"{code(parameter['name'])} (header)"
    body = operation.get("requestBody")
    if body is not None:
        schema = body["content"]["application/json"]["schema"]
        schema = schema["oneOf"][0] if "oneOf" in schema else schema
        for name in schema["properties"]:
            yield f"{code(name)} (required)" if name in schema["required"] else code(name)
