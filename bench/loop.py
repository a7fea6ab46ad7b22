"""Our loop beside other agent frameworks: CPU time per tool call with a model that costs nothing, each in its own process.

The peers' environments are made by `make bench` below `PEERS`; one that is missing is left out, and said so.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.measuring import heading, line

HERE = Path(__file__).parent
AGENTS = HERE / "agents"
PEERS = ("smolagents", "pydantic_ai", "openai_agents", "langgraph")


async def main() -> None:
    heading("Agent loops: CPU µs per tool call; one call in each of 20 steps, 20 calls in one step, 200 steps")
    peers = {name: _peer(name) for name in PEERS}
    measured = {name: found for name, found in peers.items() if found is not None}
    _show("minimal loop (no policy, no record)", _run(sys.executable, AGENTS / "peer_minimal.py"))
    for found in measured.values():
        _show(f"{found['peer']} {found['version']}", found)
    memory = _run(sys.executable, HERE / "peer_ours.py", STORE="memory://")
    _show("groundwire, ledger, record and audit chain in memory", memory)
    with tempfile.TemporaryDirectory() as folder:
        sqlite = _run(sys.executable, HERE / "peer_ours.py", STORE=f"sqlite:///{folder}/bench.db")
    _show("groundwire, the same on SQLite", sqlite)
    if memory is None or sqlite is None:
        return
    if (ai := measured.get("pydantic_ai")) is not None:
        _goal("pydantic-ai ÷ ours, 20 steps", ai["seq20"] / memory["seq20"], 25)
        _goal("pydantic-ai ÷ ours, 20 calls at once", ai["par20"] / memory["par20"], 8)
        _goal("pydantic-ai ÷ ours on SQLite, 20 steps", ai["seq20"] / sqlite["seq20"], 12)
    if (smol := measured.get("smolagents")) is not None:
        _goal("smolagents ÷ ours, 20 steps", smol["seq20"] / memory["seq20"], 6)
    growth = memory["seq200"] / memory["seq20"]
    line("per call at 200 steps ÷ at 20", growth, "×", goal="≤ 1.2", met=growth <= 1.2)
    line("import", memory["import_ms"], "ms", goal="≤ 150", met=memory["import_ms"] <= 150)
    if measured:
        fastest = min(found["import_ms"] for found in measured.values())
        _goal("fastest import of a peer ÷ ours", fastest / memory["import_ms"], 3)
        leanest = min(found["rss_mb"] for found in measured.values())
        line("peak memory", memory["rss_mb"], "MB", goal=f"< {leanest:.0f}", met=memory["rss_mb"] < leanest)


def _goal(what: str, ratio: float, least: float) -> None:
    line(what, ratio, "×", goal=f"≥ {least}", met=ratio >= least)


def _peer(name: str) -> dict[str, Any] | None:
    python = Path(os.environ.get("PEERS", ".venv-peers")) / name / "bin" / "python"
    if not python.exists():
        print(f"  not measured: {name} (make bench installs it)")
        return None
    return _run(str(python), AGENTS / f"peer_{name}.py")


def _run(python: str, file: Path, **environment: str) -> dict[str, Any] | None:
    """Measured in a process of its own; the import a second time, when the bytecode is there."""
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join((str(AGENTS), *sys.path)), **environment}
    if python != sys.executable:
        variables["PYTHONPATH"] = str(AGENTS)
    found: dict[str, Any] = {}
    for arguments in ((), ("--import-only",)):
        done = subprocess.run([python, file, *arguments], capture_output=True, text=True, env=variables, check=False)
        if done.returncode:
            print(f"  not measured: {file.stem}: {(done.stderr or done.stdout).strip().splitlines()[-1]}")
            return None
        found.update(json.loads(done.stdout.strip().splitlines()[-1]))
    return found


def _show(name: str, found: dict[str, Any] | None) -> None:
    if found is not None:
        costs = "   ".join(f"{found[shape]:7.1f}" for shape in ("seq20", "par20", "seq200"))
        print(f"  {name:58}{costs}   import {found['import_ms']:5.0f} ms   {found['rss_mb']:4.0f} MB")
