"""A process that delivers signals, and dies where it is told to: before it sends, between sending and noting, or after.

    child.py STORE URL KEY POINT

It prints the state of the signal when it has been delivered, if it lives so long.
"""

import asyncio
import os
import signal as signals
import sys

from groundwire.apps.supplier.signals.outbox import Outbox, SignalEndpoint
from groundwire.apps.supplier.signals.tables import SignalTables
from groundwire.jobs import open_jobs
from groundwire.serving import WebhookKey, WebhookSender
from groundwire.store import open_url
from tests.apps.supplier.signals.samples import LOOPBACK, signal


def die():
    os.kill(os.getpid(), signals.SIGKILL)


class MortalSender(WebhookSender):
    point = ""

    async def attempt(self, delivery):
        if self.point == "before":
            die()
        result = await super().attempt(delivery)
        if self.point == "between":
            die()
        return result


class MortalTables(SignalTables):
    point = ""

    async def note_attempt(self, *arguments, **options):
        await super().note_attempt(*arguments, **options)
        if self.point == "after":
            die()


async def run(store, url, key, point):
    MortalSender.point = MortalTables.point = point
    opened = open_url(store)
    await opened.open()
    jobs, sender, tables = open_jobs(store), MortalSender(allow=LOOPBACK), MortalTables(opened.database)
    await tables.open()
    outbox = Outbox(tables, jobs, sender, SignalEndpoint(url=url, keys=(WebhookKey(key),), allow=LOOPBACK))
    await outbox.receive_signals([signal()])
    await jobs.start(outbox.handlers)
    [job] = await jobs.list()
    job = await jobs.wait(job.job_id)
    row = await tables.find("default", "sig_1")
    print(job.status, row.state)
    await jobs.close()
    await sender.close()
    await opened.shut()


if __name__ == "__main__":
    asyncio.run(run(*sys.argv[1:]))
