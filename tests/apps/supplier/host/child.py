"""The service in a process of its own, on a clock that its parent moves.

python child.py STORE NOW BRAIN SECRET HOLD
    prints its address, then obeys lines: `pass SECONDS` moves the clock, `idle` waits until nothing is due; each is
    answered with a line. With an empty BRAIN nobody is told of signals. The model's request number HOLD, if there is
    one, is never answered: `held` is printed instead.
"""

import asyncio
import sys
from contextlib import asynccontextmanager

from groundwire import Settings, StoreSettings
from groundwire.apps.supplier.agents import Roles, supplier_registry, with_grounding
from groundwire.apps.supplier.contracts import GroundingMode
from groundwire.apps.supplier.negotiator import RULES, rules_models
from groundwire.apps.supplier.opening import ABOUT, SupplierOptions, open_supplier
from groundwire.apps.supplier.signals.outbox import SignalEndpoint
from groundwire.jobs import JobSettings, open_jobs
from groundwire.serving import WebhookKey, service_application
from groundwire.serving.running import serving
from groundwire.testing import FakeClock


class Holding:
    """Rules that fall silent in the middle of a turn."""

    def __init__(self, models, hold):
        self._models, self._hold, self._asked = models, hold, 0

    async def complete(self, request, options=None):
        self._asked += 1
        if self._asked == self._hold:
            print("held", flush=True)
            await asyncio.Event().wait()
        return await self._models.complete(request)

    async def close(self):
        await self._models.close()


async def main(store, now, brain, secret, hold):
    clock = FakeClock(float(now))
    jobs = open_jobs(store, clock=clock, settings=JobSettings(poll_seconds=0.02))
    options = SupplierOptions(
        roles=Roles(bot=RULES, summary=RULES),
        brain=SignalEndpoint(url=brain, keys=(WebhookKey(secret),), allow=("127.0.0.0/8",)) if brain else None,
    )

    @asynccontextmanager
    async def opening(runtime):
        async with open_supplier(runtime, jobs, Holding(rules_models(clock), int(hold)), options) as (_, endpoints):
            yield endpoints

    settings = with_grounding(Settings(store=StoreSettings(url=store)), GroundingMode.STRICT)
    application = service_application(
        settings, opening, about=ABOUT, registry=supplier_registry(), environ={}, clock=clock
    )
    async with serving(application, "127.0.0.1") as url:
        print(url, flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            command, _, argument = line.strip().partition(" ")
            if command == "pass":
                clock.advance(float(argument))
            else:
                await jobs.idle()
            print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
