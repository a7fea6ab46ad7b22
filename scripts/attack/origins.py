"""Attacks by pages in a browser on the machine of a server without keys."""

import json

from scripts.attack.definitions import Attack, AttackContext, Outcome, conclude
from scripts.attack.project import Project, Server, Tool

FORM_TYPES = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "")
"""What a page can send without asking first; the last one is none."""
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}


def _serve(context: AttackContext) -> tuple[Project, Server]:
    project = Project(context)
    project.write_tools(Tool(name="act", category="action", parameters=TEXT, handler=project.witness.handler()))
    project.build_all()
    return project, project.serve()


def _try_each(
    project: Project, server: Server, forged: dict[str, dict[str, str]], statuses: tuple[int, ...]
) -> list[str]:
    """Send a call with each set of headers: it must be refused, and leave no trace."""
    faults = []
    for number, (what, headers) in enumerate(forged.items()):
        body = json.dumps({"tool": "act", "arguments": {"text": f"forged-{number}"}})
        answer = server.send("POST", "/api/calls", body, headers)
        if project.witness.count(f"forged-{number}"):
            faults.append(f"{what}: executed")
        elif answer.status not in statuses:
            faults.append(f"{what}: status {answer.status}")
    return faults


def _programs_still_work(server: Server) -> list[str]:
    """Requests without Origin, whatever their type, and the server's own pages."""
    own = f"http://127.0.0.1:{server.port}"
    allowed = {f"no Origin, {kind or 'no type'}": {"content-type": kind} if kind else {} for kind in FORM_TYPES}
    allowed["no Origin, application/json"] = {"content-type": "application/json"}
    allowed["its own page"] = {"content-type": "application/json", "origin": own, "sec-fetch-site": "same-origin"}
    faults = []
    for what, headers in allowed.items():
        body = json.dumps({"tool": "act", "arguments": {"text": what}})
        answer = server.send("POST", "/api/calls", body, headers)
        if answer.json().get("ok") is not True:
            faults.append(f"{what}: refused with {answer.status}")
    return faults


def forged_origin(context: AttackContext) -> Outcome:
    project, server = _serve(context)
    as_json = {"content-type": "application/json"}
    own = f"http://127.0.0.1:{server.port}"
    forged = {
        "text/plain from http://localhost:3000": {"content-type": "text/plain", "origin": "http://localhost:3000"},
        "JSON from http://localhost:3000": {**as_json, "origin": "http://localhost:3000"},
        "JSON from http://127.0.0.1:3000": {**as_json, "origin": "http://127.0.0.1:3000"},
        "the same name without its port": {**as_json, "origin": "http://127.0.0.1"},
        "Origin null": {**as_json, "origin": "null"},
        "another site": {**as_json, "origin": "https://attacker.example"},
        "cross-site Sec-Fetch-Site": {**as_json, "origin": own, "sec-fetch-site": "cross-site"},
    }
    faults = _try_each(project, server, forged, (403,))
    faults += _other_routes(server)
    faults += _programs_still_work(server)
    return conclude(faults, f"{len(forged)} forged calls got 403; requests without Origin pass")


def _other_routes(server: Server) -> list[str]:
    """Every way to change something is closed, not only calls."""
    tools = {"tools": [{"functionDeclarations": [{"name": "x", "description": "x"}]}]}
    chat = {"model": "sim", "messages": [{"role": "user", "content": "Hi"}]}
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    sent = (
        ("POST", "/v1/chat/completions", chat),
        ("PUT", "/relay/desk/tools", tools),
        ("DELETE", "/relay/desk/tools", None),
        ("POST", "/mcp", ping),
    )
    faults = []
    for method, path, body in sent:
        headers = {"origin": "http://localhost:3000", "accept": "application/json, text/event-stream"}
        answer = server.send(method, path, body, headers)
        if answer.status != 403:
            faults.append(f"{method} {path} from http://localhost:3000: status {answer.status}")
    return faults


def form_content_type(context: AttackContext) -> Outcome:
    """With the right Origin, too: what a form can send is never a request of a program."""
    project, server = _serve(context)
    own = {"origin": f"http://127.0.0.1:{server.port}"}
    forged = {kind or "no type": {**own, "content-type": kind} if kind else own for kind in FORM_TYPES}
    faults = _try_each(project, server, forged, (403, 415))
    faults += _programs_still_work(server)
    return conclude(faults, f"{len(forged)} types that forms can send are refused; requests without Origin pass")


def security_headers(context: AttackContext) -> Outcome:
    _, server = _serve(context)
    faults = []
    paths = ("/", "/nowhere", "/openapi.json", "/v1/models", "/v1/nowhere", "/api/calls", "/metrics", "/health/ready")
    for path in paths:
        headers = server.send("GET", path).headers
        missing = []
        if headers.get("x-content-type-options") != "nosniff":
            missing.append("nosniff")
        if headers.get("referrer-policy") != "no-referrer":
            missing.append("no-referrer")
        if "frame-ancestors" not in headers.get("content-security-policy", ""):
            missing.append("frame-ancestors")
        if missing:
            faults.append(f"{path} lacks {', '.join(missing)}")
    return conclude(faults, f"nosniff, no-referrer and frame-ancestors are on {len(paths)} responses")


ATTACKS = (
    Attack(
        name="forged-origin",
        aim="A page of another origin makes a server without keys act.",
        run=forged_origin,
        seconds=25,
        usual_seconds=1,
    ),
    Attack(
        name="form-content-type",
        aim="A form sends what a browser sends without asking first.",
        run=form_content_type,
        seconds=25,
        usual_seconds=1,
    ),
    Attack(
        name="security-headers",
        aim="A page frames responses, guesses their types, or learns their addresses.",
        run=security_headers,
        seconds=25,
        usual_seconds=1,
    ),
)
