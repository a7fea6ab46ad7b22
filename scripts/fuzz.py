"""Hold a gateway to its own description: `python -m scripts.fuzz -n 1000` lets schemathesis look for violations.

The gateway runs in this process, with a few tools and everything in memory.
"""

import asyncio
import sys
import tempfile

from groundwire import Registry, tool
from groundwire.assembly import Settings, StoreSettings
from groundwire.cli.doors import make_application
from groundwire.serving.running import serving


@tool(category="utility")
def get_weather(city: str) -> dict[str, str]:
    """The weather of a city."""
    return {"city": city, "sky": "clear"}


@tool(category="action", confirm=True)
def send_note(text: str) -> dict[str, str]:
    """Send a note."""
    return {"sent": text}


async def fuzz(arguments: list[str]) -> int:
    """What schemathesis says of it: 0 where it found nothing."""
    settings = Settings(store=StoreSettings(url="memory://"))
    application = make_application(settings, {}, registry=Registry([get_weather, send_note]))
    async with serving(application, "127.0.0.1") as url:
        # Messages of MCP are right or wrong by their protocol, which answers in its own way: `make conformance`.
        others = ["--exclude-path", "/mcp"]
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"{url}/openapi.json", *others, *arguments]
        with tempfile.TemporaryDirectory() as folder:  # it leaves notes in the working folder
            process = await asyncio.create_subprocess_exec(*command, cwd=folder)
            return await process.wait()


if __name__ == "__main__":
    sys.exit(asyncio.run(fuzz(sys.argv[1:])))
