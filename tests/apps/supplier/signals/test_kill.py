"""A process is killed with SIGKILL around the sending of a signal, or around its keeping. The brain has it once."""

import asyncio
import contextlib
import signal
import sys
import time
from pathlib import Path

import httpx2 as httpx
import pytest

from groundwire.testing import FakeClock
from tests.apps.supplier.brain.conftest import running_brain
from tests.apps.supplier.signals.samples import KEY
from tests.apps.supplier.signals.samples import signal as a_signal
from tests.apps.supplier.signals.test_outbox import running

ROOT = Path(__file__).parents[4]


@pytest.fixture(params=["sqlite", "postgres"])
def store(request, tmp_path):
    return f"sqlite:///{tmp_path}/store.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


async def deliver(store, url, point=""):
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.apps.supplier.signals.child",
        store,
        url,
        KEY,
        point,
        stdout=pipe,
        stderr=pipe,
        cwd=ROOT,
    )
    out, errors = await process.communicate()
    return process.returncode, out.decode(), errors.decode()


@pytest.mark.requirement("A-059")
@pytest.mark.parametrize(("point", "deliveries"), [("before", 1), ("between", 2), ("after", 1)])
async def test_a_signal_whose_sender_was_killed_is_with_the_brain_once(store, tmp_path, point, deliveries):
    async with running_brain(f"sqlite:///{tmp_path}/brain.db") as brain:
        url = f"{brain.base_url}/signals"
        code, _, errors = await deliver(store, url, point)
        assert code == -signal.SIGKILL, errors
        code, out, errors = await deliver(store, url)
        assert (code, out) == (0, "done delivered\n"), errors
        [received] = (await brain.get("/api/signals")).json()["items"]
    assert (received["signalId"], received["deliveries"]) == ("sig_1", deliveries)


@pytest.mark.requirement("A-059")
async def test_two_senders_at_once_deliver_a_signal_once(store, tmp_path):
    async with running_brain(f"sqlite:///{tmp_path}/brain.db") as brain:
        url = f"{brain.base_url}/signals"
        ended = await asyncio.gather(deliver(store, url), deliver(store, url))
        assert [(code, out) for code, out, _ in ended] == [(0, "done delivered\n")] * 2, ended
        [received] = (await brain.get("/api/signals")).json()["items"]
    assert (received["signalId"], received["deliveries"]) == ("sig_1", 1)


@contextlib.asynccontextmanager
async def mortal_brain(store, point):
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.apps.supplier.brain.child", store, KEY, point, stdin=pipe, stdout=pipe, cwd=ROOT
    )
    yield process, (await process.stdout.readline()).decode().strip()
    process.stdin.close()
    await process.wait()


@pytest.mark.requirement("A-059")
@pytest.mark.parametrize(("point", "deliveries"), [("before", 1), ("after", 2)])
async def test_a_brain_that_was_killed_over_a_signal_has_it_once_when_it_is_back(tmp_path, point, deliveries):
    clock = FakeClock(time.time())
    outbox, kept = f"sqlite:///{tmp_path}/store.db", f"sqlite:///{tmp_path}/brain.db"
    async with mortal_brain(kept, point) as (process, url), running(outbox, f"{url}/signals", clock) as one:
        await one.outbox.receive_signals([a_signal()])
        await one.jobs.idle()
        assert await process.wait() == -signal.SIGKILL
        assert await one.state() == ("queued", 1, 0, "connection_broken")
    clock.advance(5)
    async with mortal_brain(kept, "never") as (_, url), running(outbox, f"{url}/signals", clock) as one:
        await one.jobs.idle()
        assert await one.state() == ("delivered", 2, 200, "")
        async with httpx.AsyncClient(base_url=url) as client:
            [received] = (await client.get("/api/signals")).json()["items"]
    assert (received["signalId"], received["deliveries"]) == ("sig_1", deliveries)
