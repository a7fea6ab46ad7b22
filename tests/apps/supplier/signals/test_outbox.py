"""Signals that are kept until they have arrived: by the real engine, on the test's clock, over real sockets."""

import asyncio
import contextlib
import json
import sys
import time

import pytest

from groundwire import ConfigError, NotFound, Registry, Runtime
from groundwire.apps.supplier.contracts import BrainReceipt, Rejection
from groundwire.apps.supplier.signals.events import webhook_id_of
from groundwire.apps.supplier.signals.outbox import DELIVER, Outbox, SignalEndpoint, endpoint_from, open_outbox
from groundwire.apps.supplier.signals.tables import SignalTables
from groundwire.jobs import JobSettings, JobStatus, open_jobs
from groundwire.serving import WebhookKey, WebhookSender
from groundwire.store import open_url
from tests.apps.supplier.brain.conftest import running_brain
from tests.apps.supplier.signals.samples import FOLLOW_UP, KEY, LOOPBACK, NEW_KEY, signal
from tests.serving.webhooks.wire import receiving, status

FINE, BROKEN = status("204 Fine"), status("500 Oh")
KEPT = BrainReceipt(accepted=("sig_1",), attempts=0, delivered_at="")


class Running:
    """An outbox and what it stands on."""

    def __init__(self, tables, jobs, outbox):
        self.tables, self.jobs, self.outbox = tables, jobs, outbox

    async def state(self, number=1):
        row = await self.tables.find("default", f"sig_{number}")
        return row.state, row.attempts, row.status, row.error

    async def job(self):
        [job] = await self.jobs.list(kind=DELIVER)
        return job


@contextlib.asynccontextmanager
async def running(store, url, clock=None, *, keys=(KEY,)):
    """A process's outbox; it works on jobs while the block runs, by the clock that is given or by that of the machine."""
    opened = open_url(store)
    await opened.open()
    jobs = open_jobs(store, clock=clock, settings=JobSettings(poll_seconds=0.02))
    sender = WebhookSender(allow=LOOPBACK, clock=clock)
    tables = SignalTables(opened.database)
    await tables.open()
    endpoint = SignalEndpoint(url=url, keys=tuple(map(WebhookKey, keys)), allow=LOOPBACK)
    outbox = Outbox(tables, jobs, sender, endpoint, now=time.time if clock is None else clock.now, chance=lambda: 0.0)
    try:
        await jobs.start(outbox.handlers)
        yield Running(tables, jobs, outbox)
    finally:
        await jobs.close()
        await sender.close()
        await opened.shut()


def answering(*answers):
    """One answer after the other; the last one for ever."""
    left = list(answers)

    async def answer(writer):
        writer.write(left.pop(0) if len(left) > 1 else left[0])
        await writer.drain()

    return answer


@pytest.fixture
def small_store(tmp_path):
    """For what does not depend on the store."""
    return f"sqlite:///{tmp_path}/store.db"


@pytest.mark.requirement("A-058")
async def test_signals_are_kept_first_and_then_reach_the_brain_once(store_url, clock):
    async with running_brain("memory://", clock) as brain:
        async with running(store_url, f"{brain.base_url}/signals", clock) as one:
            receipt = await one.outbox.receive_signals([signal(1), FOLLOW_UP, signal(1)])
            assert receipt == BrainReceipt(accepted=("sig_1", "sig_2"), attempts=0, delivered_at="")
            await one.jobs.idle()
            assert await one.outbox.receive_signals([FOLLOW_UP]) == BrainReceipt(accepted=("sig_2",), attempts=0)
            await one.jobs.idle()
            assert await one.outbox.receipt("mes2-01") == BrainReceipt(
                accepted=("sig_1", "sig_2"), attempts=1, delivered_at="2023-11-14T22:13:20.000Z"
            )
        received = (await brain.get("/api/signals")).json()["items"]
    assert sorted((item["signalId"], item["deliveries"]) for item in received) == [("sig_1", 1), ("sig_2", 1)]


async def test_a_failure_is_tried_again_after_the_delay_of_the_schedule_with_the_same_bytes(store_url, clock):
    async with receiving(answering(BROKEN, BROKEN, FINE)) as there, running(store_url, there.url, clock) as one:
        assert await one.outbox.receive_signals([signal()]) == KEPT
        await one.jobs.idle()
        for attempts, wait in ((1, 5), (2, 300)):
            assert await one.state() == ("queued", attempts, 500, "receiver_failed")
            clock.advance(wait - 1)
            await one.jobs.idle()
            assert len(there.requests) == attempts
            clock.advance(1)
            await one.jobs.idle()
        assert await one.state() == ("delivered", 3, 204, "")
        assert (await one.job()).status is JobStatus.DONE
    assert [headers["webhook-id"] for _, headers, _ in there.requests] == [webhook_id_of("sig_1")] * 3
    assert len({body for _, _, body in there.requests}) == 1


async def test_after_the_last_attempt_it_is_a_dead_letter_and_can_be_sent_again(small_store, clock):
    async with receiving(answering(*[BROKEN] * 10, FINE)) as there, running(small_store, there.url, clock) as one:
        await one.outbox.receive_signals([signal()])
        for _ in range(12):
            await one.jobs.idle()
            clock.advance(86_400)
        assert await one.state() == ("dead", 10, 500, "receiver_failed")
        [dead] = await one.jobs.list(status=JobStatus.FAILED)
        assert (dead.attempt, dead.error) == (10, "receiver_failed: The receiver answered with 500.")
        assert (await one.outbox.receipt("mes2-01")).rejected == (Rejection(id="sig_1", reason="receiver_failed"),)
        await one.jobs.retry(dead.job_id)
        await one.jobs.idle()
        assert await one.state() == ("delivered", 11, 204, "")
    assert {headers["webhook-id"] for _, headers, _ in there.requests} == {webhook_id_of("sig_1")}


async def command(store, *arguments):
    """What `groundwire` prints, as an operator's process of its own."""
    options = [*arguments, "--store", store]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "groundwire", *options, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()
    assert process.returncode == 0
    return said.decode()


async def test_a_dead_letter_is_listed_and_sent_again_from_the_command_line(small_store):
    async with receiving(answering(status("410 Gone"), FINE)) as there, running(small_store, there.url) as one:
        await one.outbox.receive_signals([signal()])
        await one.jobs.idle()
        [dead] = json.loads(await command(small_store, "jobs", "list", "--status", "failed", "--json"))
        assert (dead["kind"], dead["key"], dead["error"][:13]) == (DELIVER, "sig_1", "endpoint_gone")
        await command(small_store, "app", "supplier", "signals", "enable", there.url)
        await command(small_store, "jobs", "retry", dead["jobId"])
        assert (await one.jobs.wait(dead["jobId"])).status is JobStatus.DONE
        assert await one.state() == ("delivered", 2, 204, "")
    assert len(there.requests) == 2


@pytest.mark.parametrize(
    ("answer", "wait"),
    [
        (status("429 Slow"), 60),
        (status("502 Bad"), 60),
        (status("504 Late"), 60),
        (status("503 Busy", "retry-after: 700"), 700),
        (status("503 Busy", "retry-after: Tue, 14 Nov 2023 22:23:20 GMT"), 600),
        (status("503 Busy", "retry-after: 99999999"), 86_400),
        (status("503 Busy", "retry-after: 1"), 5),
        (status("301 There", "location: http://127.0.0.1/"), 5),
    ],
)
async def test_a_receiver_is_left_alone_as_long_as_it_needs(small_store, clock, answer, wait):
    async with receiving(answering(answer, FINE)) as there, running(small_store, there.url, clock) as one:
        await one.outbox.receive_signals([signal()])
        await one.jobs.idle()
        assert (await one.job()).due_at == clock.now() + wait
        clock.advance(wait)
        await one.jobs.idle()
        assert (await one.state())[0] == "delivered"
    assert len(there.requests) == 2


async def test_an_address_that_wants_no_more_gets_no_more_also_after_a_restart(shared_url, clock):
    async with receiving(answering(status("410 Gone"), FINE)) as there:
        async with running(shared_url, there.url, clock) as one:
            await one.outbox.receive_signals([signal(1)])
            await one.jobs.idle()
            assert await one.state(1) == ("dead", 1, 410, "endpoint_gone")
        async with running(shared_url, there.url, clock) as one:
            await one.outbox.receive_signals([signal(2)])
            await one.jobs.idle()
            assert await one.state(2) == ("dead", 0, 0, "endpoint_disabled")
            assert await one.tables.disabled("default") == {there.url: 1_700_000_000_000}
            assert len(there.requests) == 1
            assert (await one.outbox.enable(), await one.outbox.enable()) == (True, False)
            for dead in await one.jobs.list(status=JobStatus.FAILED):
                await one.jobs.retry(dead.job_id)
            await one.jobs.idle()
            assert [(await one.state(number))[0] for number in (1, 2)] == ["delivered", "delivered"]


async def test_what_cannot_be_sent_is_rejected_and_never_queued(small_store, clock):
    async with receiving(FINE) as there, running(small_store, there.url, clock) as one:
        half = signal(3, signal_id="", reason="half a character: \ud800")
        receipt = await one.outbox.receive_signals([signal(1, supplier_quote="x" * 20_000), half, signal(2)])
        await one.jobs.idle()
        assert receipt == BrainReceipt(
            accepted=("sig_2",),
            rejected=(Rejection(id="sig_1", reason="signal_too_large"), Rejection(id="", reason="invalid_body")),
            attempts=0,
        )
        with pytest.raises(NotFound):
            await one.tables.find("default", "sig_1")
    assert len(there.requests) == 1


async def test_while_keys_are_changed_both_sign(small_store, clock):
    async with (
        running_brain("memory://", clock, keys=(KEY,)) as old,
        running_brain("memory://", clock, keys=(NEW_KEY,)) as new,
    ):
        for number, brain in enumerate((old, new)):
            async with running(small_store, f"{brain.base_url}/signals", clock, keys=(NEW_KEY, KEY)) as one:
                await one.outbox.receive_signals([signal(number)])
                await one.jobs.idle()
                assert (await one.state(number))[0] == "delivered"


async def test_an_outbox_opens_in_a_runtimes_store_and_stays_away_from_private_addresses_unless_told(
    small_store, clock
):
    async with receiving(FINE) as there, Runtime(Registry(), small_store, clock=clock) as runtime:
        environ = {"GROUNDWIRE_BRAIN_URL": there.url, "GROUNDWIRE_BRAIN_SECRET": f"{KEY} {NEW_KEY}"}
        with pytest.raises(ConfigError, match="not public"):
            endpoint_from(environ)
        endpoint = endpoint_from({**environ, "GROUNDWIRE_BRAIN_ALLOW": "10.0.0.0/8 127.0.0.0/8"})
        jobs = open_jobs(small_store, clock=clock, settings=JobSettings(poll_seconds=0.02))
        async with open_outbox(runtime, jobs, endpoint) as outbox:
            await outbox.receive_signals([signal()])
            await jobs.start(outbox.handlers)
            await jobs.idle()
            await jobs.close()
        assert (await SignalTables(runtime.database).find("default", "sig_1")).state == "delivered"
    assert len(there.requests) == 1


@pytest.mark.requirement("A-059")
async def test_what_a_brain_answers_well_and_rejects_is_a_dead_letter_and_not_delivered(small_store, clock):
    async with running_brain("memory://", clock) as brain:
        address = f"{brain.base_url}/signals"
        async with running(small_store, address, clock) as one:
            await one.outbox.receive_signals([signal()])
            await one.jobs.idle()
        async with running(f"{small_store}.second", address, clock) as other:
            await other.outbox.receive_signals([signal(reason="said otherwise")])
            await other.jobs.idle()
            assert await other.state() == ("dead", 1, 200, "rejected: id_reused")
            assert (await other.outbox.receipt("mes2-01")).rejected == (
                Rejection(id="sig_1", reason="rejected: id_reused"),
            )
            assert (await other.job()).status is JobStatus.FAILED


def test_without_an_address_there_is_no_endpoint_and_without_a_key_it_is_a_mistake():
    assert endpoint_from({"GROUNDWIRE_BRAIN_SECRET": KEY}) is None
    with pytest.raises(ConfigError, match="GROUNDWIRE_BRAIN_SECRET"):
        endpoint_from({"GROUNDWIRE_BRAIN_URL": "https://ops.example/signals"})


async def test_what_was_kept_by_one_process_is_delivered_by_the_next(small_store, clock):
    async with receiving(FINE) as there:
        async with running(small_store, there.url, clock) as one:
            await one.jobs.close()  # nobody works
            await one.outbox.receive_signals([signal()])
        assert there.requests == []
        async with running(small_store, there.url, clock) as one:
            await one.jobs.idle()
            assert await one.state() == ("delivered", 1, 204, "")
