"""Attacks by requests that name a second model, beyond what their key allows."""

import json
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from scripts.attack.definitions import Attack, AttackContext, Outcome, SetupError, conclude
from scripts.attack.http_client import bearer
from scripts.attack.project import Project, Server

DEAR = "dear"
TEXT = [{"role": "user", "content": "Hi"}]
REPLIES: dict[str, dict[str, Any]] = {
    "chat": {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    },
    "responses": {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "m",
        "output": [
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "Hi", "annotations": []}],
            }
        ],
        "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
    },
    "messages": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "Hi"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
    "generateContent": {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "Hi"}]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
    },
}
DIALECTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "openai-chat": ("/v1", "/v1/chat/completions", {"model": "cheap", "messages": TEXT}),
    "openai-responses": ("/v1", "/v1/responses", {"model": "cheap", "input": "Hi", "store": False}),
    "anthropic": ("", "/v1/messages", {"model": "cheap", "max_tokens": 9, "messages": TEXT}),
    "gemini": (
        "",
        "/v1beta/models/cheap:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
    ),
}
"""For each dialect: what its base URL ends with, the path of a request, and its body."""
MEMBERS: dict[str, dict[str, Any]] = {
    "models": {"models": [DEAR]},
    "models with route": {"models": ["cheap", DEAR], "route": "fallback"},
    "fallbacks": {"fallbacks": [DEAR]},
    "fallbacks by object": {"fallbacks": [{"model": DEAR}]},
}
"""Members by which routers between here and the vendor choose another model."""
GEMINI_MEMBERS: dict[str, dict[str, Any]] = {
    "model in the body": {"model": f"models/{DEAR}"},
    "routingConfig": {"generationConfig": {"routingConfig": {"manualMode": {"modelName": DEAR}}}},
}


class Provider(ThreadingHTTPServer):
    """Answers every request in the dialect of its path, and keeps what was sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Endpoint)
        self.received: list[str] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Endpoint(BaseHTTPRequestHandler):
    server: Provider

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.server.received.append(f"{self.path} {body.decode('utf-8', 'replace')}")
        reply = next(reply for name, reply in REPLIES.items() if name in self.path)
        content = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        """Nothing is logged."""


def _serve(context: AttackContext, dialect: str, provider: Provider) -> tuple[Server, dict[str, str]]:
    suffix, path, body = DIALECTS[dialect]
    project = Project(context)
    models = "".join(f'[[models]]\nid = "{model}"\nprovider = "theirs"\n' for model in ("cheap", DEAR))
    url = f"http://127.0.0.1:{provider.server_port}{suffix}"
    project.write_settings(f'[providers.theirs]\ndialect = "{dialect}"\nbaseUrl = "{url}"\n{models}')
    key = bearer(project.create_key("limited", ("models",), "--model", "cheap"))
    server = project.serve()
    if server.send("POST", path, body, key).status != 200:
        raise SetupError(f"{dialect}: an ordinary request fails")
    direct = server.send("POST", path.replace("cheap", DEAR), body | {"model": DEAR}, key)
    if direct.status != 403:
        raise SetupError(f"{dialect}: the key is not limited, status {direct.status}")
    return server, key


def routing_members(dialect: str, context: AttackContext) -> Outcome:
    """Refused, or at least not passed on."""
    provider = Provider()
    server, key = _serve(context, dialect, provider)
    _, path, body = DIALECTS[dialect]
    members = MEMBERS | (GEMINI_MEMBERS if dialect == "gemini" else {})
    faults = []
    for name, extra in members.items():
        provider.received.clear()
        server.send("POST", path, body | extra, key)
        if any(DEAR in received for received in provider.received):
            faults.append(f"{name}: passed on")
    provider.received.clear()
    if "model" in body:  # one reader takes the first, another the last
        twice = json.dumps(body)[:-1] + f', "model": "{DEAR}"}}'
        first = json.dumps({"model": DEAR})[:-1] + ", " + json.dumps(body)[1:]
        for name, text in (("model twice, allowed first", twice), ("model twice, allowed last", first)):
            provider.received.clear()
            server.send("POST", path, text, key | {"content-type": "application/json"})
            if any(DEAR in received for received in provider.received):
                faults.append(f"{name}: passed on")
    return conclude(faults, f"{len(members)} members that choose a model are refused or not passed on")


ATTACKS = tuple(
    Attack(
        name=f"routing-{dialect}",
        aim=f"A key for one model names another one in members of a request ({dialect}).",
        run=partial(routing_members, dialect),
        seconds=25,
        usual_seconds=1,
    )
    for dialect in DIALECTS
)
