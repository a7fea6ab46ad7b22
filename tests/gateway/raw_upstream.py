"""A provider of a few lines, for what the simulator is too well-behaved for.

It notes what came in, and a test decides byte by byte what goes out, and when. One request per connection.
"""

import asyncio
import contextlib

from groundwire.assembly import ProviderSettings, Settings, StoreSettings
from groundwire.cli.doors import make_application
from groundwire.providers.catalogue import ModelEntry
from groundwire.providers.retries import RetryPolicy
from groundwire.serving.running import serving

LIMIT = 20


class Call:
    """One request. `gone` is set when whoever asked has closed the connection."""

    def __init__(self, head, body, writer):
        self.head = head
        self.body = body
        self.gone = asyncio.Event()
        self._writer = writer

    async def answer(self, status, body, **headers):
        told = {"content-type": "application/json", "content-length": len(body), **headers}
        await self._begin(status, told)
        await self.send(body)

    async def begin_stream(self):
        await self._begin(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})

    async def chunk(self, data):
        await self.send(b"%x\r\n%b\r\n" % (len(data), data))

    async def end_stream(self):
        await self.send(b"0\r\n\r\n")

    async def send(self, data):
        self._writer.write(data)
        await self._writer.drain()

    def break_off(self):
        self._writer.transport.abort()

    async def _begin(self, status, headers):
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        await self.send(f"HTTP/1.1 {status} Any\r\n{lines}connection: close\r\n\r\n".encode())


class RawUpstream:
    def __init__(self):
        self.calls = asyncio.Queue()

    async def next_call(self):
        async with asyncio.timeout(LIMIT):
            return await self.calls.get()

    async def serve(self, reader, writer):
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError), contextlib.closing(writer):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
            call = Call(head, await reader.readexactly(length), writer)
            self.calls.put_nowait(call)
            try:
                await reader.read(1)
            finally:
                call.gone.set()


class RawGateway:
    def __init__(self, url, upstream, application):
        self.url = url
        self.upstream = upstream
        self.application = application


@contextlib.asynccontextmanager
async def gateway_before_raw(dialect, store="memory://", registry=None):
    """A gateway with this provider as `house`, whose model `real` also has the name `alias`; `plain` is one, too."""
    upstream = RawUpstream()
    server = await asyncio.start_server(upstream.serve, "127.0.0.1", 0)
    base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    url = f"{base}/v1" if dialect.startswith("openai") else base
    settings = Settings(
        store=StoreSettings(url=store),
        providers={"house": ProviderSettings(dialect=dialect, base_url=url, retry=RetryPolicy(attempts=1))},
        models=(ModelEntry(id="alias", provider="house", model="real"), ModelEntry(id="plain", provider="house")),
    )
    try:
        application = make_application(settings, {}, registry=registry)
        async with serving(application, "127.0.0.1") as address:
            yield RawGateway(address, upstream, application)
    finally:
        server.close()
