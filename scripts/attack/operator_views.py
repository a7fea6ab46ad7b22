"""Attacks by keys that read what only operators may see."""

import re

from scripts.attack.definitions import Attack, AttackContext, Outcome, SetupError, conclude
from scripts.attack.http_client import bearer
from scripts.attack.processes import wait_until
from scripts.attack.project import Project, Server, Tool

SCOPES = ("models", "tools", "api")


def metrics_of_all_tenants(context: AttackContext) -> Outcome:
    project = Project(context)
    busy = bearer(project.create_key("a", SCOPES, "--tenant", "a"))
    curious = bearer(project.create_key("b", SCOPES, "--tenant", "b"))
    admin = bearer(project.create_key("operator", ("admin",)))
    server = project.serve()
    request = {"model": "sim", "max_tokens": 50, "messages": [{"role": "user", "content": "Hi"}]}
    count = context.random.randint(5, 9)
    for _ in range(count):
        server.send("POST", "/v1/messages", request, busy)
    if not wait_until(lambda: _messages_counted(server, admin) >= count, 10):
        raise SetupError(f"an admin sees {_messages_counted(server, admin)} of {count} requests")
    faults = []
    if seen := _messages_counted(server, curious):
        faults.append(f"a tenant without requests sees {seen} requests of another one")
    if (own := _messages_counted(server, busy)) not in (count, 0):
        faults.append(f"the tenant sees {own} of its own {count} requests")
    return conclude(faults, f"only the tenant itself ({own}) and an admin see its {count} requests")


def _messages_counted(server: Server, key: dict[str, str]) -> int:
    text = server.send("GET", "/metrics", headers=key).text
    pattern = r'groundwire_http_requests_total\{[^}]*route="POST /v1/messages"[^}]*\} (\d+)'
    return sum(int(number) for number in re.findall(pattern, text))


def operator_texts(context: AttackContext) -> Outcome:
    """Exceptions of handlers may hold addresses and passwords, which keys that only read records must not see."""
    project = Project(context)
    marker = f"marker{context.random.getrandbits(64):x}"
    raises = f"def execute(**arguments):\n    raise RuntimeError('postgres://user:{marker}@db')\n"
    project.write_tools(
        Tool(name="fails", category="action", handler=raises),
        Tool(name="fails_later", category="action", handler=raises, policy={"background": True}),
        Tool(name="fails_to_read", category="retrieval", handler=raises),
    )
    project.build_all()
    reader = bearer(project.create_key("reader", SCOPES))
    server = project.serve()
    for tool in ("fails", "fails_later", "fails_to_read"):
        server.send("POST", "/api/calls", {"tool": tool}, reader)
    chat = {"model": "sim", "messages": [{"role": "user", "content": "fails"}]}
    server.send("POST", "/v1/chat/completions", chat, reader | {"x-groundwire-tools": "fails"})
    wait_until(lambda: '"failed"' in server.send("GET", "/api/jobs", headers=reader).text, 10)
    faults = []
    for path in ("/api/effects", "/api/calls", "/api/audit", "/api/jobs", "/api/runs", "/api/approvals"):
        listed = server.send("GET", path, headers=reader)
        texts = [listed.text]
        for item in listed.json().get("items", []):
            name = next((name for name in ("effectId", "callId", "jobId", "runId", "seq") if name in item), None)
            if name is not None:
                place = f"{path}/records" if name == "seq" else path
                texts.append(server.send("GET", f"{place}/{item[name]}", headers=reader).text)
        if any(marker in text for text in texts):
            faults.append(f"{path} shows the text of an exception")
        elif any("Traceback" in text for text in texts):
            faults.append(f"{path} shows a traceback")
    return conclude(faults, "no text of an exception is shown to a key with the scope api")


ATTACKS = (
    Attack(
        name="tenant-metrics",
        aim="A tenant reads in /metrics how much others do.",
        run=metrics_of_all_tenants,
        seconds=30,
        usual_seconds=3,
    ),
    Attack(
        name="operator-texts",
        aim="A key with the scope api reads exceptions of handlers.",
        run=operator_texts,
        seconds=30,
        usual_seconds=3,
    ),
)
