"""A folder with tools, settings and a store, and the `groundwire` processes that use it."""

import json
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.attack.definitions import AttackContext, SetupError
from scripts.attack.http_client import Response, send, try_send
from scripts.attack.processes import NOTED, GroupProcess, free_port, wait_until

START_SECONDS = 20
ANY_OBJECT = {"type": "object", "properties": {}, "additionalProperties": True}
PLAIN_HANDLER = "def execute(**arguments):\n    return {'done': True}\n"


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool folder."""

    name: str
    handler: str = PLAIN_HANDLER
    category: str = "utility"
    parameters: dict[str, Any] | None = None
    result: dict[str, Any] | None = None
    policy: dict[str, Any] | None = None
    confirm: bool = False

    def write(self, tools: Path, folder_name: str | None = None) -> Path:
        folder = tools / (folder_name or self.name)
        folder.mkdir(parents=True)
        schema: dict[str, Any] = {
            "toolId": self.name,
            "category": self.category,
            "requiresConfirmation": self.confirm,
            "parameters": ANY_OBJECT if self.parameters is None else self.parameters,
        }
        schema |= {"result": self.result} if self.result is not None else {}
        schema |= {"policy": self.policy} if self.policy is not None else {}
        (folder / "schema.json").write_text(json.dumps(schema), encoding="utf-8")
        (folder / "guide.md").write_text(f"# {folder.name}\n\nA tool of an attack.\n", encoding="utf-8")
        (folder / "handler.py").write_text(self.handler, encoding="utf-8")
        return folder


class Witness:
    """A file that handlers append a line to, so that executions can be counted from outside."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def handler(self, then: str = "return {'done': True}") -> str:
        """A handler that notes its argument `text` and goes on with `then`."""
        return (
            "import os, time\n\n\n"
            "def execute(text='-', **others):\n"
            f"    file = os.open({str(self.path)!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)\n"
            "    os.write(file, (text + '\\n').encode())\n"
            "    os.close(file)\n"
            f"    {then}\n"
        )

    def count(self, text: str) -> int:
        return self.lines().count(text)

    def lines(self) -> list[str]:
        return self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []


class Server(GroupProcess):
    """A `groundwire` process that listens on a port of 127.0.0.1."""

    port: int
    live_path: str

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: dict[str, str] | None = None,
        *,
        timeout: float = 10,
    ) -> Response:
        return send(self.port, method, path, body, headers, timeout=timeout)

    def try_send(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: dict[str, str] | None = None,
        *,
        timeout: float = 10,
    ) -> Response | None:
        return try_send(self.port, method, path, body, headers, timeout=timeout)

    def call(self, tool: str, arguments: dict[str, Any] | None = None, **headers: str) -> Response:
        """POST /api/calls. Underscores in names of headers become hyphens."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.send("POST", "/api/calls", {"tool": tool, "arguments": arguments or {}}, named)

    def executes(self, tool: str) -> bool:
        """Whether a call of the tool without arguments succeeds."""
        answer = self.try_send("POST", "/api/calls", {"tool": tool})
        return answer is not None and answer.json().get("ok") is True

    def is_live(self, timeout: float = 1) -> bool:
        answer = self.try_send("GET", self.live_path, timeout=timeout)
        return answer is not None and answer.status == 200


class Project:
    def __init__(self, context: AttackContext, name: str = "project") -> None:
        self._context = context
        self.folder = context.folder / name
        self.folder.mkdir()
        self.tools = self.folder / "tools"
        self.tools.mkdir()
        self.witness = Witness(self.folder / "witness.txt")
        self._started = 0

    def write_tools(self, *tools: Tool) -> None:
        for tool in tools:
            tool.write(self.tools)

    def write_settings(self, text: str) -> None:
        (self.folder / "groundwire.toml").write_text(text, encoding="utf-8")

    def command(
        self, *arguments: str, timeout: float = 30, environment: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run one `groundwire` command to its end; standard error comes after standard output."""
        self._started += 1
        log = self.folder / f"command-{self._started}.log"
        command = [self._context.groundwire, *arguments]
        process = GroupProcess(command, self.folder, log, noted=self._context.folder / NOTED, environment=environment)
        is_ended = process.wait(timeout)
        if not is_ended:
            process.kill()
        code = process.exit_code if is_ended else -1
        return subprocess.CompletedProcess(command, code, process.output)

    def build(self) -> dict[str, Any]:
        """What `groundwire build --json` reports."""
        done = self.command("build", "--json")
        for line in done.stdout.splitlines():
            if line.startswith("{"):
                report: dict[str, Any] = json.loads(line)
                return report
        raise SetupError(f"groundwire build failed: {done.stdout.strip()[-300:]}")

    def build_all(self) -> None:
        """Build tools that must not be quarantined."""
        report = self.build()
        if report["quarantined"]:
            raise SetupError(f"these tools should build: {json.dumps(report['quarantined'])[:300]}")

    def create_key(self, name: str, scopes: Sequence[str], *options: str) -> str:
        """The secret of a new key."""
        chosen = [part for scope in scopes for part in ("--scope", scope)]
        done = self.command("keys", "create", "--json", "--name", name, *chosen, *options)
        try:
            secret: str = json.loads(done.stdout.splitlines()[0])["secret"]
        except (ValueError, KeyError, IndexError):
            raise SetupError(f"groundwire keys create failed: {done.stdout.strip()[-300:]}") from None
        return secret

    def start_process(self, command: Sequence[str]) -> GroupProcess:
        """Start another program beside the servers."""
        self._started += 1
        log = self.folder / f"process-{self._started}.log"
        return GroupProcess(command, self.folder, log, noted=self._context.folder / NOTED)

    def serve(self, *options: str, environment: dict[str, str] | None = None) -> Server:
        return self.start("serve", *options, environment=environment)

    def start(
        self, *command: str, environment: dict[str, str] | None = None, live_path: str = "/health/live"
    ) -> Server:
        """Start a command that listens, and wait until `live_path` is answered with 200."""
        self._started += 1
        port = free_port()
        server = Server(
            [self._context.groundwire, *command, "--port", str(port)],
            self.folder,
            self.folder / f"server-{self._started}.log",
            noted=self._context.folder / NOTED,
            environment=environment,
        )
        server.port = port
        server.live_path = live_path
        started = time.monotonic()
        wait_until(lambda: not server.is_running or server.is_live(), START_SECONDS)
        if not server.is_running or not server.is_live():
            passed = time.monotonic() - started
            raise SetupError(f"groundwire {command[0]} did not start within {passed:.0f} s: {server.output[-300:]}")
        return server
