"""A process on a store whose files others take away. Reads commands and answers each with a line of JSON.

python lost_child.py STORE WITNESS
    call KEY        an action under that key; its real effect is a line in the file WITNESS
    begin KEY       the same, but its handler waits; answers when it has begun
    end             lets that one finish, and answers with its envelope
    defer KEY       a call of a background tool
    effects         how many effects the store knows
    jobs            how many jobs there are
    audit           whether the chain of records holds
    close           closes the runtime
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from groundwire import Context, Registry, Runtime, Settings, tool
from groundwire.contracts.errors import GroundwireError
from groundwire.runtime.ledger import LedgerTimes


def witness(path: Path, line: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(descriptor, f"{line}\n".encode())
    os.close(descriptor)


class Child:
    def __init__(self, store: str, path: str) -> None:
        self._begun, self._may_end = asyncio.Event(), asyncio.Event()
        self._running: asyncio.Task[Any] | None = None

        @tool(category="action")
        async def pay(context: Context, *, wait: bool) -> str:
            """Pay."""
            witness(Path(path), context.idempotency_key)
            if wait:
                self._begun.set()
                await self._may_end.wait()
            return "paid"

        @tool(category="action", background=True)
        async def pay_later(context: Context) -> str:
            """Pay later."""
            witness(Path(path), context.idempotency_key)
            return "paid"

        settings = Settings(ledger=LedgerTimes(wait_seconds=0.1))
        self.runtime = Runtime(Registry([pay, pay_later]), store, settings=settings)

    async def call(self, key: str) -> Any:
        return _brief(await self.runtime.call("pay", {"wait": False}, idempotency_key=key))

    async def begin(self, key: str) -> Any:
        call = self.runtime.call("pay", {"wait": True}, idempotency_key=key)
        self._running = asyncio.get_running_loop().create_task(call)
        await self._begun.wait()
        return "begun"

    async def end(self) -> Any:
        assert self._running is not None
        self._may_end.set()
        return _brief(await self._running)

    async def defer(self, key: str) -> Any:
        return _brief(await self.runtime.call("pay_later", {}, idempotency_key=key))

    async def effects(self) -> Any:
        return len(await self.runtime.effects())

    async def jobs(self) -> Any:
        return len(await self.runtime.jobs.list())

    async def audit(self) -> Any:
        return (await self.runtime.verify_audit()).ok

    async def close(self) -> Any:
        await self.runtime.close()
        return "closed"


def _brief(result: Any) -> str:
    return "replayed" if result.meta.replayed else "ok" if result.ok else str(result.error.type)


async def main(store: str, path: str) -> None:
    child = Child(store, path)
    await child.runtime.open()
    print(json.dumps("ready"), flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        name, *arguments = line.split()
        try:
            answer = await getattr(child, name)(*arguments)
        except GroundwireError as error:
            answer = error.code
        print(json.dumps(answer), flush=True)


asyncio.run(main(*sys.argv[1:]))
