"""A worker by itself, with an engine of the test's own."""

import asyncio
import threading
from contextlib import nullcontext
from types import SimpleNamespace

from groundwire.contracts.jobs import JobSettings
from groundwire.jobs.signals import Signal
from groundwire.jobs.worker import Worker


class SlowLook:
    """An engine whose first look at its lock lasts until it is let go on; notes what happens in which order."""

    def __init__(self):
        self.happened = []
        self.has_begun = threading.Event()
        self.may_end = threading.Event()
        self.liveness = self

    def is_held(self):
        self.has_begun.set()
        self.may_end.wait(30)
        self.happened.append("looked")
        return True

    def take_no_more(self):
        self.happened.append("took no more")

    def stop(self):
        self.happened.append("stopped")

    def let_go(self):
        self.happened.append("let go")

    def hold(self, worker): ...

    def launch(self, *worker): ...

    def tidy(self): ...

    def workers_with_runs(self):
        return set()

    def seize(self, worker):
        return nullcontext(False)


async def test_a_worker_that_stops_waits_for_what_its_companions_have_under_way():
    engine = SlowLook()
    worker = Worker(SimpleNamespace(engine=engine, forget=lambda _: 0), {}, JobSettings(), Signal(), clock=None)
    await worker.start()
    await asyncio.to_thread(engine.has_begun.wait, 30)
    stopping = asyncio.create_task(worker.stop())
    await asyncio.wait({stopping}, timeout=0.2)
    assert engine.happened == []
    engine.may_end.set()
    await stopping
    assert engine.happened == ["looked", "took no more", "stopped", "let go"]
