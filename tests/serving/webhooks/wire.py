"""A receiver of webhooks, said in bytes: what it answers is given, what it was sent is kept."""

import asyncio
import contextlib


class Receiver:
    def __init__(self, answer):
        self.answer = answer
        self.requests = []
        self.hung_up = asyncio.Event()
        self.url = ""

    async def serve(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                first, *lines = head.strip().split("\r\n")
                headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
                body = await reader.readexactly(int(headers["content-length"]))
                self.requests.append((first, headers, body))
                if callable(self.answer):
                    await self.answer(writer)
                else:
                    writer.write(self.answer)
                    await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            self.hung_up.set()


@contextlib.asynccontextmanager
async def receiving(answer=b"HTTP/1.1 204 No Content\r\n\r\n", host="127.0.0.1", **options):
    receiver = Receiver(answer)
    tasks = set()

    async def accept(reader, writer):
        tasks.add(asyncio.current_task())
        try:
            await receiver.serve(reader, writer)
        except asyncio.CancelledError:
            pass  # the receiver is closed
        finally:
            writer.close()

    async with asyncio.timeout(60), await asyncio.start_server(accept, host, 0, **options) as server:
        receiver.port = server.sockets[0].getsockname()[1]
        receiver.url = f"http://{f'[{host}]' if ':' in host else host}:{receiver.port}/hook"
        try:
            yield receiver
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def status(line, *headers, body=b""):
    """An answer as bytes."""
    fields = "".join(f"{header}\r\n" for header in (*headers, f"content-length: {len(body)}"))
    return f"HTTP/1.1 {line}\r\n{fields}\r\n".encode() + body
