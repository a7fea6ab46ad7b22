"""A brain in a process of its own that dies where it is told to: before it keeps a signal, or before it says so.

    child.py STORE KEY POINT

It prints its address, and lives until its input is closed.
"""

import asyncio
import os
import signal
import sys
from contextlib import asynccontextmanager

from groundwire import Settings, StoreSettings
from groundwire.apps.supplier.brain.endpoints import ABOUT, BrainDoor, brain_endpoints
from groundwire.apps.supplier.brain.tables import BrainTables
from groundwire.serving import WebhookKey, service_application
from groundwire.serving.running import serving


class MortalTables(BrainTables):
    point = ""

    async def add(self, *arguments):
        if self.point == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        there = await super().add(*arguments)
        if self.point == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return there


async def run(store, key, point):
    MortalTables.point = point

    @asynccontextmanager
    async def opening(runtime):
        tables = MortalTables(runtime.database)
        await tables.open()
        yield brain_endpoints(BrainDoor(tables, [WebhookKey(key)], runtime.clock, "default"))

    settings = Settings(store=StoreSettings(url=store))
    async with serving(service_application(settings, opening, about=ABOUT, environ={}), "127.0.0.1") as url:
        print(url, flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(run(*sys.argv[1:]))
