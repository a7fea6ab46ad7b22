"""Attacks by one tenant on another: reading and changing what is not its own."""

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from scripts.attack.definitions import Attack, AttackContext, Outcome, SetupError, conclude
from scripts.attack.http_client import Response, bearer
from scripts.attack.processes import free_port, wait_until
from scripts.attack.project import Project, Server, Tool

SCOPES = ("models", "tools", "api")
SESSION = "their-session"
CONVERSATION = "their-conversation"
RELAY = "their-relay"
REPEATED = "their-idempotency-key"
NEGOTIATION = "their-negotiation"
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
WAITING_HANDLER = "import time\n\n\ndef execute(text=''):\n    time.sleep(600)\n    return {'text': text}\n"
ECHO = "def execute(text=''):\n    return {'text': text}\n"


Request = tuple[str, str, object, dict[str, str]]
"""Method, path, body and headers."""


@dataclass(frozen=True, kw_only=True)
class Victim:
    """A tenant with objects of every kind, all of which have the marker in their content and none in their ids."""

    server: Server
    key: dict[str, str]
    marker: str
    ids: dict[str, list[str]] = field(default_factory=dict)
    """Ids by the names that the routes of `/openapi.json` use for them."""

    def send(self, method: str, path: str, body: object = None, **headers: str) -> Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.server.send(method, path, body, self.key | named)

    def create_objects(self) -> None:
        marker = self.marker
        for tool in ("note", "pay", "wait"):
            request = {"tool": tool, "arguments": {"text": marker}, "asModel": tool == "pay"}
            self.send("POST", "/api/calls", request, x_groundwire_session_id=SESSION, idempotency_key=f"key-{tool}")
        chat = {"model": "sim", "messages": [{"role": "user", "content": f"note {marker}"}]}
        self.send("POST", "/v1/chat/completions", chat, x_groundwire_tools="note", x_groundwire_session_id=SESSION)
        self.send("POST", "/v1/chat/completions", chat, idempotency_key=REPEATED)
        talk = {"model": "sim", "input": f"Remember {marker}", "conversation": CONVERSATION}
        stored = self.send("POST", "/v1/responses", talk).json().get("id")
        declared = [{"functionDeclarations": [{"name": "own", "description": marker}]}]
        self.send("PUT", f"/relay/{RELAY}/tools", {"tools": declared})
        ask = {"contents": [{"role": "user", "parts": [{"text": f"own {marker}"}]}]}
        self.send("POST", f"/relay/{RELAY}/v1beta/models/sim:generateContent", ask)
        found = {
            "approvalId": self._listed("/api/approvals", "confirmationId", "approvalId"),
            "callId": self._listed("/api/calls", "callId"),
            "effectId": self._listed("/api/effects", "effectId"),
            "jobId": self._listed("/api/jobs", "jobId"),
            "runId": self._listed("/api/runs", "runId"),
            "seq": self._listed("/api/audit", "seq"),
            "sessionId": [SESSION],
            "responseId": [stored] if isinstance(stored, str) else [],
            "signalId": self._listed("/api/signals", "signalId"),
            "session": [RELAY],
            "model": ["sim"],
        }
        if missing := [name for name, ids in found.items() if not ids]:
            raise SetupError(f"nothing was made for {', '.join(missing)}")
        self.ids.update(found)

    def _listed(self, path: str, *names: str) -> list[str]:
        items = self.send("GET", path).json().get("items", [])
        return [str(item[name]) for item in items[:3] for name in names if name in item]

    def state(self) -> dict[str, Any]:
        """What another tenant must not be able to change."""
        jobs = {item["jobId"]: item["status"] for item in self._rows("/api/jobs?kind=tool")}
        approvals = {str(item): item["status"] for item in self._rows("/api/approvals")}
        return {
            "jobs": jobs,
            "approvals": approvals,
            "effects": {item["effectId"]: item["status"] for item in self._rows("/api/effects")},
            "session": self.send("GET", f"/api/sessions/{SESSION}").body,
            "response": self.send("GET", f"/v1/responses/{self.ids['responseId'][0]}").status,
            "relay": self.send("GET", f"/relay/{RELAY}/tools").body,
            "relayed calls": self.send("GET", f"/relay/{RELAY}/calls").body,
        }

    def _rows(self, path: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.send("GET", path).json()["items"]
        return rows


def _serve(context: AttackContext) -> tuple[Project, Server]:
    project = Project(context)
    project.write_tools(
        Tool(name="note", category="action", parameters=TEXT, handler=ECHO),
        Tool(name="pay", category="action", parameters=TEXT, handler=ECHO, confirm=True),
        Tool(name="wait", category="action", parameters=TEXT, handler=WAITING_HANDLER, policy={"background": True}),
    )
    project.write_settings("[server]\nrelayWait = 1\n")
    project.build_all()
    project.create_key("first", SCOPES)  # from here on, a key is needed
    return project, project.serve()


def reads_of_another_tenant(context: AttackContext) -> Outcome:
    project, server = _serve(context)
    marker = f"marker{context.random.getrandbits(64):x}"
    victim = Victim(server=server, key=bearer(project.create_key("a", SCOPES, "--tenant", "a")), marker=marker)
    attacker = bearer(project.create_key("b", SCOPES, "--tenant", "b"))
    _raise_a_signal(project, victim)
    victim.create_objects()
    if marker not in victim.send("GET", "/api/calls").text:
        raise SetupError("the tenant does not see its own calls")
    if not wait_until(lambda: "running" in victim.state()["jobs"].values(), 10):
        raise SetupError("the job does not run")
    before = victim.state()
    routes = server.send("GET", "/openapi.json", headers=attacker).json()["paths"]
    faults, asked = [], 0
    for method, path, body, headers in (*_requests(routes, victim.ids), *_requests_by_name(victim)):
        answer = server.try_send(method, path, body, attacker | headers, timeout=15)
        asked += 1
        if answer is None:
            faults.append(f"{method} {path}: no response")
        elif marker in answer.text:
            faults.append(f"{method} {path}: has data of the other tenant")
        elif answer.status >= 500 and answer.status != 503:
            faults.append(f"{method} {path}: status {answer.status}")
        elif _names_an_object(path, victim.ids) and answer.status < 400:
            faults.append(f"{method} {path}: status {answer.status} for an id of the other tenant")
    after = victim.state()
    faults += [f"{what} of the other tenant changed" for what in before if before[what] != after[what]]
    return conclude(faults, f"{asked} requests over {len(routes)} paths with real ids read and changed nothing")


def _raise_a_signal(project: Project, victim: Victim) -> None:
    """By a negotiation in the supplier service of the same store. Its signal goes to a closed port."""
    options = ("--brain", f"http://127.0.0.1:{free_port()}/", "--allow-network", "127.0.0.0/8")
    secret = {"GROUNDWIRE_BRAIN_SECRET": f"whsec_{base64.b64encode(bytes(24)).decode()}"}
    service = project.start("app", "supplier", "serve", *options, environment=secret, live_path="/openapi.json")
    opened = {"sr": {"sessionId": NEGOTIATION, "item": victim.marker, "qty": 150}}
    message = {"messageId": "m-1", "content": "我们不做这个，你找别家吧"}
    path = "/api/supplier/conversations"
    service.send("POST", path, opened, victim.key)
    service.send("POST", f"{path}/{NEGOTIATION}/messages?wait=10", message, victim.key, timeout=15)
    if not wait_until(lambda: victim.send("GET", "/api/signals").json().get("items"), 10):
        raise SetupError("the negotiation raised no signal")
    service.terminate(15)


def _requests(routes: dict[str, Any], ids: dict[str, list[str]]) -> Iterator[Request]:
    """Every operation with every id that fits, reading before changing."""
    operations = [(method, path, routes[path][method]) for path in routes for method in routes[path]]
    operations.sort(key=lambda operation: operation[0] != "get")
    every_id = sorted({one for name, found in ids.items() if name != "seq" for one in found})
    for method, template, operation in operations:
        if method not in ("get", "post", "put", "delete", "patch"):
            continue
        for path in _paths(template, ids, every_id):
            queries = _queries(operation, ids) if method == "get" else [""]
            for query in queries:
                yield method.upper(), path + query, None if method == "get" else _body(template, ids), {}


def _requests_by_name(victim: Victim) -> Iterator[Request]:
    """What is named by a header or in a body: conversations, sessions, repeated requests."""
    text = [{"role": "user", "content": "What do you remember?"}]
    chat = {"model": "sim", "messages": [{"role": "user", "content": f"note {victim.marker[::-1]}"}]}
    yield "POST", "/v1/responses", {"model": "sim", "input": text, "conversation": CONVERSATION}, {}
    yield "POST", "/v1/chat/completions", chat, {"idempotency-key": REPEATED}
    yield "POST", "/v1/chat/completions", chat, {"x-groundwire-session-id": SESSION, "x-groundwire-tools": "note"}
    for tool in ("note", "pay", "wait"):
        named = {"idempotency-key": f"key-{tool}", "x-groundwire-session-id": SESSION}
        yield "POST", "/api/calls", {"tool": tool, "arguments": {"text": "b"}}, named
    for call_id in victim.ids["callId"]:
        yield "POST", "/api/calls", {"tool": "note", "arguments": {"text": "b"}}, {"x-groundwire-call-id": call_id}


def _paths(template: str, ids: dict[str, list[str]], every_id: list[str]) -> list[str]:
    paths = [template]
    for name in re.findall(r"{(\w+)}", template):
        known = ids.get(name, every_id)  # a route that is newer than this list: try everything
        paths = [path.replace(f"{{{name}}}", one) for path in paths for one in known]
    return paths


def _queries(operation: dict[str, Any], ids: dict[str, list[str]]) -> list[str]:
    names = {given.get("name") for given in operation.get("parameters", []) if given.get("in") == "query"}
    filters = [f"?session={SESSION}"] if "session" in names else []
    filters += [f"?run={ids['runId'][0]}"] if "run" in names else []
    return ["", *filters]


def _body(template: str, ids: dict[str, list[str]]) -> object:
    """A body that is valid for the route, and names what is not the sender's."""
    text = [{"role": "user", "content": "What do you remember?"}]
    if template.endswith(("/approve", "/deny")):
        return {"by": "b"}
    if template.endswith("/reconcile"):
        return {"happened": True, "by": "b"}
    if template.endswith("/results"):
        return {"results": [{"id": call_id, "response": {"forged": True}} for call_id in ids["callId"]]}
    if template == "/v1/responses":
        return {"model": "sim", "input": text, "previous_response_id": ids["responseId"][0]}
    if template == "/v1/gemini":
        return {"model": "sim", "input": [{"role": "user", "parts": [{"text": "What?"}]}], "conversation": CONVERSATION}
    if template == "/api/calls":
        return {"tool": "note", "arguments": {"text": "b"}}
    if ":" in template:
        return {"contents": [{"role": "user", "parts": [{"text": "What do you remember?"}]}]}
    return {"model": "sim", "max_tokens": 50, "messages": text, "input": text}


def _names_an_object(path: str, ids: dict[str, list[str]]) -> bool:
    """Names of sessions of the relay and of models are each tenant's own, all other ids are not."""
    parts = re.split(r"[/?=:]", path)
    private = {one for name, found in ids.items() if name not in ("session", "model", "seq") for one in found}
    return path.startswith(("/api/", "/v1/responses/")) and "?" not in path and bool(private & set(parts))


ATTACKS = (
    Attack(
        name="tenant-reads",
        aim="A tenant asks every route of /openapi.json for real ids of another one.",
        run=reads_of_another_tenant,
        seconds=60,
        usual_seconds=4,
    ),
)
