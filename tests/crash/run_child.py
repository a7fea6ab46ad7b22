"""A process with an agent that may be killed at any moment. Its real effects are lines in a file.

python run_child.py run    STORE FOLDER KILL   begins a run; KILL is "", "ask N", or "STEP N" of the pipeline
python run_child.py resume STORE FOLDER KILL   goes on with it
Prints the end of the run as JSON: outcome, text, the whole conversation, and whether its record replays exactly.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import msgspec

from groundwire import Agent, Context, Registry, Runtime, Settings, tool
from groundwire.assembly import LedgerTimes
from groundwire.testing import Answer, Ask, KillAt, ScriptedModel, ScriptedProvider

SETTINGS = Settings(ledger=LedgerTimes(lease_seconds=0.6, wait_seconds=20))
SCRIPT = (
    Answer(text="I look first.", calls=(Ask("look", {"at": "a"}), Ask("look", {"at": "b"}), Ask("pay", {"amount": 1}))),
    Answer(calls=(Ask("pay", {"amount": 2}), Ask("pay", {"amount": 3}))),
    Answer(calls=(Ask("look", {"at": "c"}),), reasoning="One more look."),
    "All is paid.",
)


def registry(folder: Path) -> Registry:
    effects = folder / "effects.txt"

    def is_paid(amount: int) -> dict[str, Any] | None:
        done = effects.exists() and str(amount) in effects.read_text().split()
        return {"paid": amount} if done else None

    @tool(category="action", reconcile=is_paid)
    async def pay(amount: int, context: Context) -> dict[str, Any]:
        """Pay."""
        descriptor = os.open(effects, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(descriptor, f"{amount}\n".encode())
        os.close(descriptor)
        return {"paid": amount}

    @tool(category="retrieval")
    async def look(at: str) -> dict[str, Any]:
        """Look."""
        return {"seen": at}

    return Registry([pay, look])


class KilledAsking(ScriptedProvider):
    """Kills its process before the n-th question reaches the model."""

    left = 0

    async def complete(self, request: Any, options: Any = None) -> Any:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().complete(request)


async def main(command: str, store: str, folder: Path, kill: str) -> None:
    where, _, count = kill.partition(" ")
    hook = KillAt(where, nth=int(count)) if where not in ("", "ask") else None
    runtime = Runtime(registry(folder), store, settings=SETTINGS, on_step=hook)
    models = KilledAsking(ScriptedModel(*SCRIPT), clock=runtime.clock)
    models.left = int(count) if where == "ask" else 0
    agent = Agent("sim/x", runtime=runtime, models=models, instructions="Pay what is due.")
    if command == "run":
        result = await agent.run("Pay all three.", session="s", run_id="the-run")
    else:
        result = await agent.resume("the-run")
    report = await agent.replay("the-run")
    await runtime.close()
    history = [msgspec.to_builtins(item) for item in result.history]
    told = {"outcome": result.outcome, "text": result.text, "history": history, "replays": report.same}
    print(json.dumps(told))


if __name__ == "__main__":
    name, store_url, folder_name, kill_at = sys.argv[1:]
    asyncio.run(main(name, store_url, Path(folder_name), kill_at))
