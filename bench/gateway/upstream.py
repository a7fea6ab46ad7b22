"""A provider that answers at once: Gemini's generateContent with a signed call, or thirty events of a stream.

`python upstream.py PORT`. Every event is a write of its own on a later turn of the loop, as from a real provider.
"""

import asyncio
import json
import sys
from typing import cast

import uvloop

EVENTS = 30
CALL = {
    "functionCall": {"name": "find_rooms", "args": {"house": "harbour", "from_date": "2026-12-24", "nights": 2}},
    "thoughtSignature": "CpwBAcu98PCk1m0kbench" + "Qm9ndXNUaG91Z2h0U2lnbmF0dXJl" * 22,
}
USAGE = {
    "promptTokenCount": 1873,
    "candidatesTokenCount": 41,
    "totalTokenCount": 2042,
    "thoughtsTokenCount": 128,
    "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 1873}],
}


def _body(part: dict[str, object], finish: str | None = None) -> bytes:
    candidate: dict[str, object] = {"content": {"parts": [part], "role": "model"}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    named = {"modelVersion": "gemini-2.5-flash", "responseId": "k3vYaJ2hDp6Wz7IPsdWf0A4"}
    return json.dumps({"candidates": [candidate], "usageMetadata": USAGE, **named}).encode()


def _chunk(body: bytes) -> bytes:
    event = b"data: %b\r\n\r\n" % body
    return b"%x\r\n%b\r\n" % (len(event), event)


_WHOLE = _body(CALL, "STOP")
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(_WHOLE), _WHOLE)
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_WORDS = [_chunk(_body({"text": "Let me look at the second room. "})) for _ in range(EVENTS - 2)]
STREAM = [_HEAD + _WORDS[0], *_WORDS[1:], _chunk(_body(CALL)), _chunk(_body({"text": ""}, "STOP")) + b"0\r\n\r\n"]


class Upstream(asyncio.Protocol):
    def __init__(self) -> None:
        self._waiting = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._waiting += data
        while (end := self._end_of_request()) > 0:
            is_stream = b":streamGenerateContent" in self._waiting[: self._waiting.index(b"\r\n")]
            self._waiting = self._waiting[end:]
            if is_stream:
                self._send(0)
            else:
                self._transport.write(ANSWER)

    def _end_of_request(self) -> int:
        """Where the first request ends; 0 while it is not all there."""
        head = self._waiting.find(b"\r\n\r\n")
        if head < 0:
            return 0
        lines = self._waiting[:head].lower()
        place = lines.find(b"content-length:")
        length = int(lines[place + 15 :].split(b"\r\n", 1)[0]) if place >= 0 else 0
        end = head + 4 + length
        return end if len(self._waiting) >= end else 0

    def _send(self, number: int) -> None:
        if self._transport.is_closing():
            return
        self._transport.write(STREAM[number])
        if number + 1 < len(STREAM):
            asyncio.get_running_loop().call_soon(self._send, number + 1)


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Upstream, "127.0.0.1", int(sys.argv[1]), backlog=1024)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main())
