"""Signals kept until they have arrived: durable, tried again on schedule, and in the end a dead letter.

A receiver like any other, on top of the jobs engine. Its handler sends; the engine decides who works, when, and goes on
after a crash. A signal that was sent by a process that died before it could say so is sent again under the same id, and
whoever receives it keeps it once.
"""

import random
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

from msgspec import Struct

from groundwire import ConfigError, GroundwireError, Runtime
from groundwire.apps.supplier.contracts import BrainReceipt, JsonObject, Rejection, Signal
from groundwire.apps.supplier.signals.events import encode_event, identified, iso_time, refusal_in, webhook_id_of
from groundwire.apps.supplier.signals.tables import SignalRow, SignalTables, ids_of
from groundwire.jobs import Job, JobFailed, JobHandler, Jobs, RetryLater, RetrySchedule
from groundwire.serving import (
    WEBHOOK_DELAYS,
    AttemptOutcome,
    AttemptResult,
    WebhookDelivery,
    WebhookKey,
    WebhookSender,
    check_webhook_target,
    wait_after,
)

DELIVER = "supplier.deliver_signal"
"""The kind of its jobs."""
SCHEDULE = RetrySchedule(delays=WEBHOOK_DELAYS)


class SignalEndpoint(Struct, frozen=True, kw_only=True):
    """Where signals go. While keys are changed there are two of them, and both sign.

    `allow` are networks that it may be in although they are not public, such as `127.0.0.0/8`. A ConfigError where it is
    clear already that nothing could arrive.
    """

    url: str
    keys: tuple[WebhookKey, ...]
    allow: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_webhook_target(self.url, self.allow)


def endpoint_from(environ: Mapping[str, str]) -> SignalEndpoint | None:
    """`GROUNDWIRE_BRAIN_URL`, `GROUNDWIRE_BRAIN_SECRET` and `GROUNDWIRE_BRAIN_ALLOW`; None where there is no address.

    Several keys, or networks, stand with spaces between them.
    """
    url = environ.get("GROUNDWIRE_BRAIN_URL", "")
    if not url:
        return None
    keys = tuple(map(WebhookKey, environ.get("GROUNDWIRE_BRAIN_SECRET", "").split()))
    if not keys:
        raise ConfigError("Signals to GROUNDWIRE_BRAIN_URL need a key.", hint="set GROUNDWIRE_BRAIN_SECRET=whsec_…")
    return SignalEndpoint(url=url, keys=keys, allow=tuple(environ.get("GROUNDWIRE_BRAIN_ALLOW", "").split()))


class Outbox:
    """`receive_signals` answers when they are kept: `attempts` is 0 then, and nothing is delivered yet.

    `handlers` are for the worker; `receipt` tells later what became of the signals of a session.
    """

    def __init__(
        self,
        tables: SignalTables,
        jobs: Jobs,
        sender: WebhookSender,
        endpoint: SignalEndpoint,
        *,
        tenant: str = "default",
        now: Callable[[], float] = time.time,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._tables = tables
        self._jobs = jobs
        self._sender = sender
        self._endpoint = endpoint
        self._now = now
        self._tenant = tenant
        self._chance = chance

    @property
    def handlers(self) -> Mapping[str, JobHandler]:
        return {DELIVER: self.deliver}

    async def receive_signals(self, signals: Sequence[Signal]) -> BrainReceipt:
        kept: list[str] = []
        rejected: list[Rejection] = []
        for given in signals:
            try:
                signal = identified(given)
                body = encode_event(signal, now=self._now())
            except GroundwireError as error:
                rejected.append(Rejection(id=given.signal_id, reason=error.code))
                continue
            await self._tables.add(self._tenant, signal, body, self._now_ms())
            # A job with this key may be there already: then this is that job.
            payload: JsonObject = {"signalId": signal.signal_id}
            await self._jobs.submit(DELIVER, payload, tenant=self._tenant, key=signal.signal_id, schedule=SCHEDULE)
            kept.append(signal.signal_id)
        return BrainReceipt(accepted=tuple(dict.fromkeys(kept)), rejected=tuple(rejected), attempts=0)

    async def receipt(self, session_id: str) -> BrainReceipt:
        """What became of a session's signals so far; those that are still on their way are in neither list."""
        rows = await self._tables.of_session(self._tenant, session_id)
        delivered = max((row.delivered for row in rows), default=0)
        return BrainReceipt(
            accepted=ids_of(rows, "delivered"),
            rejected=tuple(Rejection(id=row.signal_id, reason=row.error) for row in rows if row.state == "dead"),
            attempts=max((row.attempts for row in rows), default=0),
            delivered_at=iso_time(delivered / 1000) if delivered else "",
        )

    async def enable(self) -> bool:
        """Let signals go to an address again that had said it wants no more. Dead ones stay dead until retried."""
        return await self._tables.enable(self._tenant, self._endpoint.url)

    async def deliver(self, job: Job) -> None:
        """The work of a job: one attempt, and what follows from it."""
        row = await self._tables.find(job.tenant, str(job.payload["signalId"]))
        if row.state == "delivered":
            return
        if self._endpoint.url in await self._tables.disabled(job.tenant):
            await self._tables.bury(job.tenant, row.signal_id, "endpoint_disabled")
            raise JobFailed("endpoint_disabled: the receiver has said that it wants no more.", retry=False)
        result = await self.attempt(row)
        if result.is_delivered and (refusal := refusal_in(result.answer, row.signal_id)):
            await self._tables.note_attempt(
                job.tenant, row.signal_id, "dead", status=result.status, error=refusal, delivered=0
            )
            raise JobFailed(refusal, retry=False)
        wait = wait_after(result, job.attempt, self._chance())
        is_last = wait is None or job.attempt >= job.max_attempts
        await self._note(job.tenant, row, result, is_last=is_last)
        if result.is_delivered:
            return
        told = f"{result.error}: {result.message}"
        raise JobFailed(told, retry=False) if wait is None or is_last else RetryLater(wait, told)

    async def attempt(self, row: SignalRow) -> AttemptResult:
        """Send a kept signal once; nothing is noted."""
        delivery = WebhookDelivery(
            url=self._endpoint.url,
            keys=self._endpoint.keys,
            webhook_id=webhook_id_of(row.signal_id),
            body=row.body.encode(),
        )
        return await self._sender.attempt(delivery)

    async def _note(self, tenant: str, row: SignalRow, result: AttemptResult, *, is_last: bool) -> None:
        if result.outcome is AttemptOutcome.GONE:
            await self._tables.disable(tenant, self._endpoint.url, self._now_ms())
        await self._tables.note_attempt(
            tenant,
            row.signal_id,
            "delivered" if result.is_delivered else "dead" if is_last else "queued",
            status=result.status,
            error=result.error,
            delivered=self._now_ms() if result.is_delivered else 0,
        )

    def _now_ms(self) -> int:
        return int(self._now() * 1000)


@asynccontextmanager
async def open_outbox(
    runtime: Runtime, jobs: Jobs, endpoint: SignalEndpoint, *, tenant: str = "default"
) -> AsyncIterator[Outbox]:
    """An outbox in the runtime's store."""
    tables = SignalTables(runtime.database)
    await tables.open()
    sender = WebhookSender(allow=endpoint.allow, clock=runtime.clock)
    try:
        yield Outbox(tables, jobs, sender, endpoint, tenant=tenant, now=runtime.clock.now)
    finally:
        await sender.close()
