"""HTTP/2 in a few frames, for what clients do not let one send: another host, a body that never ends."""

import asyncio
import contextlib
import struct

_DATA, _HEADERS, _RESET, _SETTINGS = 0, 1, 3, 4
_END_STREAM, _END_HEADERS = 1, 4
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def _frame(kind, flags=0, stream=1, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def _literal(name, value):
    """A header as it is, in no table."""
    return b"\x00" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


class Stream:
    """The one request of a connection."""

    def __init__(self, reader, writer):
        self._reader = reader
        self._writer = writer

    def begin(self, method, path, authority, **headers):
        fields = {":method": method, ":path": path, ":scheme": "http", ":authority": authority, **headers}
        block = b"".join(_literal(name, value) for name, value in fields.items())
        self._writer.write(_PREFACE + _frame(_SETTINGS, stream=0) + _frame(_HEADERS, _END_HEADERS, payload=block))

    def send(self, data, *, is_last=False):
        self._writer.write(_frame(_DATA, _END_STREAM if is_last else 0, payload=data))

    def reset(self):
        self._writer.write(_frame(_RESET, payload=struct.pack(">I", 8)))

    async def answer(self):
        """The body of the answer."""
        body = b""
        while True:
            head = await self._reader.readexactly(9)
            payload = await self._reader.readexactly(int.from_bytes(head[:3], "big"))
            if head[3] == _DATA:
                body += payload
            if head[3] in (_DATA, _HEADERS) and head[4] & _END_STREAM:
                return body


@contextlib.asynccontextmanager
async def http2_stream(url):
    reader, writer = await asyncio.open_connection(url.host, url.port)
    with contextlib.closing(writer):
        yield Stream(reader, writer)
