"""Attacks that make the server show secrets: keys in addresses, and what signs webhooks."""

import base64
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from scripts.attack.definitions import Attack, AttackContext, Outcome, SetupError, conclude
from scripts.attack.http_client import bearer
from scripts.attack.processes import wait_until
from scripts.attack.project import Project, Server, Tool

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def key_in_an_address(context: AttackContext) -> Outcome:
    project = Project(context)
    project.write_tools(Tool(name="ordinary"))
    project.build_all()
    key = project.create_key("client", ("models", "tools", "api"))
    server = project.serve("--access-log")
    noise = "".join(context.random.choices(LETTERS, k=40))
    secrets = {"a gateway key": key, "a key of OpenAI": f"sk-proj-{noise}", "a key of Google": f"AIzaSy{noise[:33]}"}
    faults = []
    for what, secret in secrets.items():
        bodies = _ask_with_key_in_path(server, secret, key)
        if shown := [path for path, body in bodies.items() if _shows(body, secret)]:
            faults.append(f"{what} is in the body of {len(shown)} errors, such as {shown[0]}")
    wait_until(lambda: "/last" in server.output, 5)
    for what, secret in secrets.items():
        lines = [line for line in server.output.splitlines() if _shows(line, secret)]
        if lines:
            faults.append(f"{what} is in {len(lines)} lines of the log")
    return conclude(faults, "keys in path and query are in no error and no line of the access log")


def _ask_with_key_in_path(server: Server, secret: str, key: str) -> dict[str, str]:
    """Bodies of errors by what was asked, with the secret left out."""
    quoted = "".join(f"%{ord(letter):02X}" for letter in secret)
    paths = (
        f"/{secret}",
        f"/v1/{secret}/chat/completions",
        f"/v1beta/{secret}/models",
        f"/api/calls/{secret}",
        f"/api/runs/{secret}",
        f"/api/approvals/{secret}",
        f"/api/jobs/{secret}",
        f"/v1/responses/{secret}",
        f"/nowhere/{quoted}",
        f"/nowhere?key={secret}",
        f"/api/calls?before={secret}",
        f"/api/calls?limit={secret}",
        f"/nowhere?next=/{secret}",
    )
    found = {}
    for path in paths:
        for headers in ({}, bearer(key)):
            answer = server.send("GET", path, headers=headers)
            if answer.status >= 400:
                found[path.replace(secret, "KEY").replace(quoted, "%4B%45%59")] = answer.text
    for path in ("/v1/chat/completions", "/v1/messages"):
        body = {"model": secret, "max_tokens": "many", "messages": "none"}
        found[f"{path} with KEY as a model"] = server.send("POST", path, body, bearer(key)).text
    found["a header that is not a key"] = server.send("GET", "/api/calls", headers=bearer(f"{secret}x")).text
    server.send("GET", "/last")
    return found


def _shows(text: str, secret: str) -> bool:
    return secret in text or secret in urllib.parse.unquote(text)


class Receiver(ThreadingHTTPServer):
    """Takes webhooks and answers 500: a failure has most to say in logs."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Hook)
        self.received: list[str] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Hook(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.server.received.append(self.path)
        self.send_response(500)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        """Nothing is logged."""


def webhook_secrets(context: AttackContext) -> Outcome:
    """A negotiation raises a signal, which is sent with everything logged and traced that can be."""
    receiver = Receiver()
    project = Project(context)
    signing = base64.b64encode(context.random.randbytes(24)).decode()
    password, token = ("".join(context.random.choices(LETTERS, k=24)) for _ in range(2))
    url = f"http://hook:{password}@127.0.0.1:{receiver.server_port}/signals?token={token}"
    environment = {
        "GROUNDWIRE_BRAIN_SECRET": f"whsec_{signing}",
        "OTEL_TRACES_EXPORTER": "console",
        "OTEL_BSP_SCHEDULE_DELAY": "200",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true",
    }
    options = ("--brain", url, "--allow-network", "127.0.0.0/8", "--verbose")
    service = project.start("app", "supplier", "serve", *options, environment=environment, live_path="/openapi.json")
    _raise_a_signal(service)
    if not wait_until(lambda: receiver.received, 15):
        raise SetupError("the webhook was not sent")
    wait_until(lambda: '"trace_id"' in service.output, 5)
    shown = {
        "/api/signals": service.send("GET", "/api/signals").text,
        "groundwire jobs list": project.command("jobs", "list", "--json").stdout,
        "groundwire app supplier signals list": project.command("app", "supplier", "signals", "list", "--json").stdout,
    }
    service.terminate(15)
    shown["logs and traces"] = service.output
    if '"trace_id"' not in service.output:
        raise SetupError("no trace was written")
    wrong = {"GROUNDWIRE_BRAIN_SECRET": f"whsec_{signing}!"}
    refused = project.command("app", "supplier", "serve", "--port", "0", "--brain", url, timeout=10, environment=wrong)
    shown["the error of an invalid secret"] = refused.stdout
    faults = [
        f"{what} is in {where}"
        for what, secret in (("the signing secret", signing), ("the password", password), ("the token", token))
        for where, text in shown.items()
        if _shows(text, secret)
    ]
    return conclude(faults, f"secret, password and token are in none of {len(shown)} places")


def _raise_a_signal(service: Server) -> None:
    conversation = "/api/supplier/conversations"
    request = {"sr": {"sessionId": "s-1", "item": "皮质钥匙扣", "qty": 150}}
    message = {"messageId": "m-1", "content": "我们不做这个，你找别家吧"}
    service.send("POST", conversation, request)
    answer = service.send("POST", f"{conversation}/s-1/messages?wait=15", message, timeout=20)
    if answer.json().get("status") != "rejected":
        raise SetupError(f"the negotiation did not end: {answer.text[:200]}")


ATTACKS = (
    Attack(
        name="key-in-an-address",
        aim="A key in path or query is repeated in errors and in the access log.",
        run=key_in_an_address,
        seconds=25,
        usual_seconds=2,
    ),
    Attack(
        name="webhook-secrets",
        aim="Secrets of webhooks are looked for in logs, traces and listings.",
        run=webhook_secrets,
        seconds=40,
        usual_seconds=5,
    ),
)
