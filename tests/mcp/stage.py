"""Tools for everything that the door has to pass on, and the door on a real socket."""

import asyncio
from contextlib import asynccontextmanager

import mcp_types as types
import uvicorn

from groundwire import Budget, Context, Registry, ToolResult, tool
from groundwire.mcp import mcp_app

LIMIT = 30


KEYED = {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}


@tool(category="retrieval", result=KEYED)
def look_up(key: str) -> dict:
    """Look something up."""
    return {"key": key}


@tool(category="utility", result=False)
def say(text: str) -> str:
    """Say it again."""
    return text


@tool(category="utility", result=False)
async def count(context: Context, to: int = 3) -> int:
    """Count, and tell how far."""
    for number in range(1, to + 1):
        context.progress({"progress": number, "total": to, "message": f"at {number}"})
    return to


@tool(category="action", confirm=True, result=False)
def wipe(disk: str) -> dict:
    """Wipe a disk."""
    return {"wiped": disk}


@tool(category="utility", exposure="internal")
def inner() -> str:
    """Not for models."""
    return "inner"


@tool(category="retrieval", result=False, budget=[Budget(name="rare", by="session", max=1)])
def rare() -> str:
    """Once in a session."""
    return "rare"


@tool(category="utility", result=False)
def picture() -> dict:
    """A picture and a word."""
    blocks = [{"type": "text", "text": "a word"}, {"type": "image", "data": "aGk=", "mimeType": "image/png"}]
    return {"content": blocks}


@tool(category="utility", result=False)
def odd() -> dict:
    """What is almost content."""
    return {"content": [{"type": "text", "text": "a", "annotations": 5}]}


@tool(category="utility", result=False)
def warn() -> ToolResult:
    """Succeed with a remark."""
    return ToolResult.success({}, warnings=("mind the gap",))


class Gate:
    """A tool that waits until it is let go, and a note of what became of it."""

    def __init__(self):
        self.begun = asyncio.Event()
        self.open = asyncio.Event()
        self.ended = asyncio.Event()

    def tool(self):
        @tool(category="utility", result=False, name="wait", hard_ms=20_000)
        async def wait() -> str:
            """Wait."""
            self.begun.set()
            try:
                await self.open.wait()
            finally:
                self.ended.set()
            return "waited"

        return wait


ALL = (look_up, say, count, wipe, inner, rare, picture, odd, warn)


def stage(*more):
    return Registry([*ALL, *more])


@asynccontextmanager
async def listening(runtime, **options):
    """The address of an application that serves a runtime."""
    config = uvicorn.Config(
        mcp_app(runtime, **options), port=0, ws="none", log_level="error", timeout_graceful_shutdown=5
    )
    server = Server(config)
    task = asyncio.create_task(server.serve())
    try:
        async with asyncio.timeout(LIMIT):
            await server.ready.wait()
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/mcp"
    finally:
        server.should_exit = True
        await task


class Server(uvicorn.Server):
    """One that says when it listens."""

    def __init__(self, config):
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets=None):
        await super().startup(sockets)
        self.ready.set()


@asynccontextmanager
async def kept(context):
    """Enter and leave in one task, as the SDK demands, although a fixture begins and ends in two."""
    ready, stop = asyncio.get_running_loop().create_future(), asyncio.Event()

    async def keep():
        async with asyncio.timeout(LIMIT), context as value:
            ready.set_result(value)
            await stop.wait()

    task = asyncio.create_task(keep())
    await asyncio.wait({task, ready}, return_when=asyncio.FIRST_COMPLETED)
    try:
        yield ready.result() if ready.done() else await task
    finally:
        stop.set()
        await task


def text_of(result):
    return [block.text for block in result.content]


def answering(action, asked):
    """A person at the client, who notes what they are asked and always says the same."""

    async def answer(_, params):
        asked.append(params.message)
        return types.ElicitResult(action=action, content={"note": "because"} if action == "accept" else None)

    return answer
