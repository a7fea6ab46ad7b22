"""A process with an agent that may be killed at any moment. Its real effects are lines in a file.

python run_child.py run    STORE FOLDER KILL   begins a run
python run_child.py resume STORE FOLDER KILL   goes on with it, or begins it if there is none, or finds that it is over
KILL is "", "ask N", "STEP N" of the pipeline, or "before|after create_run|append_run N".
Prints the end of the run as it is stored: outcome, text, the whole conversation, and whether its record replays exactly.
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
from groundwire.runtime.dispatcher import STEPS
from groundwire.runtime.ledger import LedgerTimes
from groundwire.runtime.runs.history import load_run
from groundwire.store import open_url
from groundwire.testing import Answer, Ask, KillAt, ScriptedModel, ScriptedProvider

SETTINGS = Settings(ledger=LedgerTimes(lease_seconds=0.6, wait_seconds=20))
SCRIPT = (
    Answer(text="I look first.", calls=(Ask("look", {"at": "a"}), Ask("look", {"at": "b"}), Ask("pay", {"amount": 1}))),
    Answer(calls=(Ask("pay", {"amount": 2}), Ask("pay", {"amount": 3}))),
    Answer(calls=(Ask("pay_all", {"amounts": [4, 5]}),)),
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

    @tool(category="utility")
    async def pay_all(amounts: list[int], context: Context) -> list[Any]:
        """Pay several amounts."""
        return [(await context.call("pay", {"amount": amount})).data for amount in amounts]

    return Registry([pay, look, pay_all])


class KilledAsking(ScriptedProvider):
    """Kills its process before the n-th question reaches the model."""

    left = 0

    async def complete(self, request: Any, options: Any = None) -> Any:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().complete(request)


class KilledWriting:
    """A store that kills its process before or after the n-th time that a run is created or appended to."""

    def __init__(self, inner: Any, point: str, nth: int) -> None:
        self._inner = inner
        self._point = point
        self._left = nth

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def create_run(self, run: Any, entries: Any) -> None:
        self._pass("before create_run")
        await self._inner.create_run(run, entries)
        self._pass("after create_run")

    async def append_run(self, run: Any, entries: Any, **options: Any) -> bool:
        self._pass("before append_run")
        written: bool = await self._inner.append_run(run, entries, **options)
        self._pass("after append_run")
        return written

    def _pass(self, point: str) -> None:
        self._left -= point == self._point
        if point == self._point and self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


async def main(command: str, url: str, folder: Path, kill: str) -> None:
    where, _, count = kill.rpartition(" ")
    nth = int(count or 0)
    hook = KillAt(where, nth=nth) if where in STEPS else None
    store = KilledWriting(open_url(url), where, nth)
    runtime = Runtime(registry(folder), store, settings=SETTINGS, on_step=hook)  # type: ignore[arg-type]
    models = KilledAsking(ScriptedModel(*SCRIPT), clock=runtime.clock)
    models.left = nth if where == "ask" else 0
    agent = Agent("sim/x", runtime=runtime, models=models, instructions="Pay what is due.")
    await runtime.open()
    known = await store.load_run("default", "the-run")
    assert command == "resume" or known is None
    if known is None:
        await agent.run("Pay all.", session="s", run_id="the-run")
    elif not known.outcome:
        await agent.resume("the-run")
    state = await load_run(store, runtime.clock, "default", "the-run")  # type: ignore[arg-type]
    report = await agent.replay("the-run")
    await runtime.close()
    history = [msgspec.to_builtins(item) for item in state.items]
    told = {"outcome": state.run.outcome, "text": state.text, "history": history, "replays": report.same}
    print(json.dumps(told))


if __name__ == "__main__":
    name, store_url, folder_name, kill_at = sys.argv[1:]
    asyncio.run(main(name, store_url, Path(folder_name), kill_at))
