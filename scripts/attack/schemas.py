"""Attacks by JSON Schemas: from a tool folder, a client of each dialect, and other MCP servers."""

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from scripts.attack import hostile_mcp_server
from scripts.attack.definitions import Attack, AttackContext, Outcome, SetupError, conclude
from scripts.attack.health import HealthMonitor
from scripts.attack.hostile_schemas import (
    MISFIT,
    TOO_COMPLEX,
    ladder,
    mentions_too_complex,
    ordinary,
    random_ladders,
    slow_patterns,
)
from scripts.attack.http_client import try_send
from scripts.attack.processes import free_port, wait_until
from scripts.attack.project import Project, Server, Tool

PATIENCE = 4.0
"""Seconds after which a request counts as hanging."""
WORD = "decide"
"""What the built-in model answers with an object that fits no bomb."""


def schema_in_a_tool_folder(context: AttackContext) -> Outcome:
    """Ladders must be refused whatever their arguments are; recursion only if it is slow."""
    project = Project(context)
    hostile = random_ladders(context.random)
    calls: dict[str, Any] = {}
    for name, (schema, arguments) in hostile.items():
        returns = f"def execute(**arguments):\n    return {arguments!r}\n"
        takes, gives = (
            Tool(name=f"takes_{name}", parameters=schema),
            Tool(name=f"gives_{name}", result=schema, handler=returns),
        )
        project.write_tools(takes, gives)
        calls |= {takes.name: arguments, gives.name: {}}
    return _quarantined_or_fast(project, calls, must_refuse="_ladder_")


def slow_pattern(context: AttackContext) -> Outcome:
    project = Project(context)
    hostile = slow_patterns()
    project.write_tools(*(Tool(name=name, parameters=schema) for name, (schema, _) in hostile.items()))
    return _quarantined_or_fast(project, {name: arguments for name, (_, arguments) in hostile.items()})


def _quarantined_or_fast(project: Project, calls: dict[str, Any], must_refuse: str = "") -> Outcome:
    """Build the tools, and call those that were built."""
    project.write_tools(Tool(name="ordinary", parameters=ordinary()))
    started = time.monotonic()
    report = project.build()
    seconds = time.monotonic() - started
    faults = []
    if seconds > 10:
        faults.append(f"the build took {seconds:.0f} s")
    if "ordinary" not in report["built"]:
        faults.append("an ordinary schema was refused")
    refused = [entry for entry in report["quarantined"] if mentions_too_complex(entry)]
    if len(refused) != len(report["quarantined"]):
        faults.append(f"quarantined for another reason: {json.dumps(report['quarantined'])[:200]}")
    built = {name: arguments for name, arguments in calls.items() if name in report["built"]}
    if must_refuse and (wrong := [name for name in built if must_refuse in name]):
        faults.append(f"{len(wrong)} tools with hostile schemas were built")
    faults += _calls_hang(project, built)
    fast = f", {len(built)} are fast" if built else ""
    return conclude(
        faults, f"{len(refused)} tools were quarantined with {TOO_COMPLEX}{fast}, an ordinary one was built"
    )


def _calls_hang(project: Project, calls: dict[str, Any]) -> list[str]:
    """Call the tools one by one. A server that hangs stays so, so the first one that does is the last."""
    if not calls:
        return []
    server = project.serve()
    for tool, arguments in calls.items():
        with HealthMonitor(server) as health:
            answer = server.try_send("POST", "/api/calls", {"tool": tool, "arguments": arguments}, timeout=PATIENCE)
        faults = health.faults()
        if answer is None:
            faults.insert(0, "no response")
        if faults:
            return [f"a call of {tool}: {faults[0]}", *faults[1:]]
    return []


def _chat(schema: dict[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    body = {"model": "sim", "messages": [{"role": "user", "content": WORD}]}
    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    tool = {"type": "function", "function": {"name": "own", "parameters": schema}}
    return "/v1/chat/completions", {**body, "response_format": form}, {**body, "tools": [tool]}


def _responses(schema: dict[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    body = {"model": "sim", "input": WORD}
    form = {"format": {"type": "json_schema", "name": "answer", "schema": schema}}
    return (
        "/v1/responses",
        {**body, "text": form},
        {**body, "tools": [{"type": "function", "name": "own", "parameters": schema}]},
    )


def _messages(schema: dict[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    body = {"model": "sim", "max_tokens": 200, "messages": [{"role": "user", "content": WORD}]}
    form = {"format": {"type": "json_schema", "schema": schema}}
    return "/v1/messages", {**body, "output_config": form}, {**body, "tools": [{"name": "own", "input_schema": schema}]}


def _gemini(schema: dict[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    body = {"contents": [{"role": "user", "parts": [{"text": WORD}]}]}
    form = {"responseMimeType": "application/json", "responseJsonSchema": schema}
    tool = {"functionDeclarations": [{"name": "own", "description": "Own.", "parametersJsonSchema": schema}]}
    return "/v1beta/models/sim:generateContent", {**body, "generationConfig": form}, {**body, "tools": [tool]}


Dialect = Callable[[dict[str, Any]], tuple[str, dict[str, Any], dict[str, Any]]]
"""The path, a request for output of a schema, and a request with a tool of the client's."""


def schema_in_a_request(dialect: Dialect, context: AttackContext) -> Outcome:
    """The server's tools are offered too, so that the server itself validates the output."""
    project = Project(context)
    project.write_tools(Tool(name="ordinary"))
    project.write_settings('[simulator]\nscript = "script.json"\n')
    script = {"rules": [{"pattern": WORD, "answer": json.dumps(MISFIT)}]}
    (project.folder / "script.json").write_text(json.dumps(script), encoding="utf-8")
    project.build_all()
    server = project.serve()
    _accepts_ordinary(server, dialect)

    path, with_output, with_tool = dialect(ladder("anyOf", context.random.randint(24, 30)))
    faults = []
    for what, body, may_pass in (("a tool", with_tool, True), ("an output schema", with_output, False)):
        with HealthMonitor(server) as health:
            answer = server.try_send("POST", path, body, {"x-groundwire-tools": "ordinary"}, timeout=PATIENCE)
        if answer is None:
            faults.append(f"{what}: no response within {PATIENCE:.0f} s")
        elif not (answer.status == 400 and mentions_too_complex(answer.text)) and not (
            may_pass and answer.status == 200
        ):
            faults.append(f"{what}: status {answer.status}, {answer.text[:80]}")
        faults += health.faults()
    return conclude(faults, f"the request is refused with 400 and {TOO_COMPLEX}")


def _accepts_ordinary(server: Server, dialect: Dialect) -> None:
    path, with_output, _ = dialect({"type": "object", "properties": {"v": {"type": "string"}}})
    answer = server.send("POST", path, with_output, {"x-groundwire-tools": "ordinary"})
    if answer.status != 200:
        raise SetupError(f"an ordinary output schema is refused: {answer.status} {answer.text[:200]}")


def schema_of_an_mcp_server(transport: str, context: AttackContext) -> Outcome:
    project = Project(context)
    program = str(Path(hostile_mcp_server.__file__).resolve())
    if transport == "stdio":
        table = f"command = {json.dumps(sys.executable)}\nargs = [{json.dumps(program)}]\n"
    else:
        port = free_port()
        project.start_process([sys.executable, program, "--port", str(port)])
        wait_until(lambda: _answers(port), 5)
        table = f'url = "http://127.0.0.1:{port}/mcp"\nallowPrivate = true\n'
    project.write_settings(f"[mcpServers.theirs]\n{table}")
    server = project.serve()
    plain = server.call("theirs.plain")
    if plain.json().get("ok") is not True:
        raise SetupError(f"the ordinary tool of the MCP server does not work: {plain.text[:300]}")

    faults = []
    for name in ("gives_bomb", "takes_bomb"):
        with HealthMonitor(server) as health:
            request = {"tool": f"theirs.{name}", "arguments": MISFIT}
            answer = server.try_send("POST", "/api/calls", request, timeout=PATIENCE)
        if answer is None:
            faults.append(f"{name}: no response within {PATIENCE:.0f} s")
        elif answer.json().get("ok") is True:
            faults.append(f"{name} was executed")
        faults += health.faults()
        if faults:
            break
    if not faults and not mentions_too_complex(server.output):
        faults.append(f"no warning names {TOO_COMPLEX}: {server.output[-200:]}")
    return conclude(faults, f"its tools are quarantined with {TOO_COMPLEX}, its ordinary tool works")


def _answers(port: int) -> bool:
    return try_send(port, "GET", "/") is not None


DIALECTS: dict[str, Dialect] = {"chat": _chat, "responses": _responses, "messages": _messages, "gemini": _gemini}

ATTACKS = (
    Attack(
        name="schema-folder",
        aim="A tool folder brings schemas whose evaluation takes exponential time.",
        run=schema_in_a_tool_folder,
        seconds=30,
        usual_seconds=1,
    ),
    *(
        Attack(
            name=f"schema-client-{name}",
            aim=f"A client's {name} request asks for output of such a schema.",
            run=partial(schema_in_a_request, dialect),
            seconds=25,
            usual_seconds=1,
        )
        for name, dialect in DIALECTS.items()
    ),
    *(
        Attack(
            name=f"schema-mcp-{transport}",
            aim=f"An MCP server over {transport} declares such schemas for its tools.",
            run=partial(schema_of_an_mcp_server, transport),
            seconds=25,
            usual_seconds=2,
        )
        for transport in ("stdio", "http")
    ),
    Attack(
        name="schema-pattern",
        aim="Patterns of a tool folder take seconds or longer to match.",
        run=slow_pattern,
        seconds=40,
        usual_seconds=2,
    ),
)
