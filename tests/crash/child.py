"""A process that makes calls and may be killed at any moment. Its real effects are lines in a file.

python child.py one  STORE FOLDER TOOL ID [STEP]  one call under one key; prints the envelope
python child.py many STORE FOLDER KEY COUNT       COUNT calls at once under the same key; prints the envelopes
python child.py work STORE FOLDER TOOL COUNT      COUNT calls under keys of their own, one after the other
"""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from groundwire import Context, Registry, Runtime, Settings, tool
from groundwire.contracts.results import encode_result
from groundwire.runtime.ledger import LedgerTimes
from groundwire.testing import KillAt

SETTINGS = Settings(ledger=LedgerTimes(lease_seconds=0.6, wait_seconds=20))


def effects(folder: Path) -> list[str]:
    file = folder / "effects.txt"
    return file.read_text().splitlines() if file.exists() else []


def cause(folder: Path, key: str) -> None:
    """The effect itself: one write that either happened or did not."""
    descriptor = os.open(folder / "effects.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(descriptor, f"{key}\n".encode())
    os.close(descriptor)


def registry(folder: Path, die: str = "") -> Registry:
    async def act(context: Context) -> dict[str, Any]:
        if die == "before effect":
            os.kill(os.getpid(), signal.SIGKILL)
        cause(folder, context.idempotency_key)
        if die == "after effect":
            os.kill(os.getpid(), signal.SIGKILL)
        return {"done": context.idempotency_key}

    def reconcile(context: Context) -> dict[str, Any] | None:
        (folder / "reconciled.txt").touch()
        done = context.idempotency_key in effects(folder)
        return {"done": context.idempotency_key} if done else None

    @tool(category="action")
    async def pay(amount: int, context: Context) -> dict[str, Any]:
        """Pay."""
        return await act(context)

    @tool(category="action", reconcile=reconcile)
    async def pay_and_know(amount: int, context: Context) -> dict[str, Any]:
        """Pay, and be able to say later whether it was paid."""
        return await act(context)

    return Registry([pay, pay_and_know])


async def one(store: str, folder: Path, name: str, call_id: str, step: str = "") -> None:
    in_handler = step in ("before effect", "after effect")
    hook = KillAt(step) if step and not in_handler else None
    runtime = Runtime(registry(folder, step if in_handler else ""), store, settings=SETTINGS, on_step=hook)
    result = await runtime.call(name, {"amount": 5}, session="s", call_id=call_id, idempotency_key="the-key")
    await runtime.close()
    print(encode_result(result).decode())


async def many(store: str, folder: Path, key: str, count: str) -> None:
    runtime = Runtime(registry(folder), store)  # nobody dies here, so nobody needs a short lease
    await runtime.open()
    print("ready", flush=True)
    sys.stdin.readline()
    calls = (runtime.call("pay", {"amount": 5}, idempotency_key=key) for _ in range(int(count)))
    for result in await asyncio.gather(*calls):
        print(encode_result(result).decode())
    await runtime.close()


async def work(store: str, folder: Path, name: str, count: str) -> None:
    runtime = Runtime(registry(folder), store, settings=SETTINGS)
    for number in range(int(count)):
        result = await runtime.call(name, {"amount": number}, session="s", idempotency_key=f"key-{number}")
        print(encode_result(result).decode(), flush=True)
    await runtime.close()


if __name__ == "__main__":
    command, store_url, folder_name, *rest = sys.argv[1:]
    asyncio.run({"one": one, "many": many, "work": work}[command](store_url, Path(folder_name), *rest))
