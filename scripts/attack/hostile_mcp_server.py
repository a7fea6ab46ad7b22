"""An MCP server with hostile schemas, as a program of its own: over stdin and stdout, or with `--port N` over HTTP."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # started by its path, from any folder
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.attack.hostile_schemas import MISFIT, ladder

ANY: dict[str, Any] = {"type": "object", "properties": {}}
TOOLS = [
    {"name": "plain", "description": "Works.", "inputSchema": ANY, "annotations": {"readOnlyHint": True}},
    {"name": "gives_bomb", "description": "Hostile.", "inputSchema": ANY, "outputSchema": ladder("anyOf", 28)},
    {"name": "takes_bomb", "description": "Hostile.", "inputSchema": ladder("anyOf", 28)},
]


def answer(message: dict[str, Any]) -> dict[str, Any] | None:
    """The response to a message; None for a notification."""
    if "id" not in message:
        return None
    method, given = message.get("method"), message.get("params") or {}
    result: dict[str, Any]
    match method:
        case "initialize":
            information = {"name": "hostile", "version": "1"}
            version = given.get("protocolVersion", "2025-11-25")
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": information}
        case "ping":
            result = {}
        case "tools/list":
            result = {"tools": TOOLS}
        case "tools/call":
            result = {"content": [{"type": "text", "text": json.dumps(MISFIT)}], "structuredContent": MISFIT}
        case _:
            unknown = {"code": -32601, "message": f"unknown method {method}"}
            return {"jsonrpc": "2.0", "id": message["id"], "error": unknown}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


class Endpoint(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        response = answer(message)
        body = b"" if response is None else json.dumps(response).encode()
        self.send_response(202 if response is None else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.send_error(405)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        """Nothing is logged."""


def main() -> None:
    if len(sys.argv) == 3:
        ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Endpoint).serve_forever()
    for line in sys.stdin:
        response = answer(json.loads(line))
        if response is not None:
            print(json.dumps(response), flush=True)


if __name__ == "__main__":
    main()
