"""Run the protocol's own conformance suite against our server: `python -m scripts.mcp_conformance`.

Needs npx, which brings the Node that the suite needs. It serves the tools that the suite asks for, over HTTP on a free
port; scenarios that ask for what we do not offer are listed in mcp_conformance.yml, and any other failure fails.
"""

import asyncio
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from groundwire import Context, ErrorType, Registry, Runtime, Tool, ToolError

SUITE = "@modelcontextprotocol/conformance@0.1.16"
NODE = "node@22"
KNOWN = Path(__file__).with_name("mcp_conformance.yml")
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
ADDRESS = {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}


def _image() -> dict[str, Any]:
    return {"type": "image", "data": PIXEL, "mimeType": "image/png"}


def _resource(uri: str, kind: str, text: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}}


def _fail() -> None:
    raise ToolError(ErrorType.PERMANENT, "This tool intentionally returns an error for testing")


async def _progress(context: Context) -> str:
    for done in (0, 50, 100):
        context.progress({"progress": done, "total": 100, "message": f"{done} of 100"})
    return "done"


def tools() -> list[Tool]:
    """What the suite's scenarios call, by the names that it gives."""
    audio = {"type": "audio", "data": SILENCE, "mimeType": "audio/wav"}
    embedded = _resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    mixed = [
        {"type": "text", "text": "Multiple content types test:"},
        _image(),
        _resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ]
    strict = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": ADDRESS},
        "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
        "additionalProperties": False,
    }
    handlers: dict[str, Any] = {
        "test_simple_text": lambda: "This is a simple text response for testing.",
        "test_image_content": lambda: {"content": [_image()]},
        "test_audio_content": lambda: {"content": [audio]},
        "test_embedded_resource": lambda: {"content": [embedded]},
        "test_multiple_content_types": lambda: {"content": mixed},
        "test_error_handling": _fail,
        "test_tool_with_progress": _progress,
    }
    made = [Tool(name, handler=handler, description="For the suite.") for name, handler in handlers.items()]
    described = Tool("json_schema_2020_12_tool", handler=lambda **_: "read", parameters=strict, description="A schema.")
    return [*made, described]


@asynccontextmanager
async def _serving() -> AsyncIterator[str]:
    import uvicorn

    from groundwire.mcp import mcp_app

    async with Runtime(Registry(tools())) as runtime:
        server = uvicorn.Server(uvicorn.Config(mcp_app(runtime), port=0, ws="none", log_level="error"))
        task = asyncio.create_task(server.serve())
        while not server.started:  # noqa: ASYNC110 - the server has no event to wait for
            await asyncio.sleep(0.01)
        try:
            yield f"http://localhost:{server.servers[0].sockets[0].getsockname()[1]}/mcp"
        finally:
            server.should_exit = True
            await task


async def run(arguments: list[str]) -> int:
    npx = shutil.which("npx")
    if npx is None:
        print("npx is not there; the suite is a package of npm", file=sys.stderr)
        return 2
    async with _serving() as url:
        suite = [npx, "--yes", "--package", NODE, "--package", SUITE, "conformance"]
        asked = ["server", "--url", url, "--suite", "all", "--expected-failures", str(KNOWN), *arguments]
        process = await asyncio.create_subprocess_exec(*suite, *asked, stdin=subprocess.DEVNULL)
        return await process.wait()


if __name__ == "__main__":
    sys.exit(asyncio.run(run(sys.argv[1:])))
