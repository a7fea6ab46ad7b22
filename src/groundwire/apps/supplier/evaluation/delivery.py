"""The signals of a run handed over when it is over: to a log beside the report, or to a brain that listens."""

import os
from collections.abc import Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from groundwire import ConfigError
from groundwire.apps.supplier.contracts import Signal
from groundwire.evals import Total, TrialRecord

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from groundwire.apps.supplier.signals.receivers import Receiver
    from groundwire.serving import WebhookKey

TO_FILE = "file"
SIGNAL_LOG = "signals.jsonl"
SECRET_VARIABLE = "GROUNDWIRE_BRAIN_SECRET"  # noqa: S105 - where a secret stands is none
LOOPBACK = ("127.0.0.0/8", "::1/128")
"""An evaluation may tell a brain on this machine; other private networks stay closed to it."""


def check_target(target: str) -> None:
    """A ConfigError where it is clear already that nothing could be delivered there."""
    if target in ("", TO_FILE):
        return
    from groundwire.serving import check_webhook_target

    check_webhook_target(target, LOOPBACK)
    if not _keys():
        raise ConfigError(f"A brain wants signed signals, and {SECRET_VARIABLE} is not set.", hint="whsec_…")


async def deliver(records: Sequence[TrialRecord], folder: Path, target: str) -> tuple[Total, ...]:
    """How many of the signals of each model have arrived. Who has one already keeps it once."""
    totals: list[Total] = []
    async with _open_receiver(target, folder) as receiver:
        for model in dict.fromkeys(record.trial.model for record in records):
            signals = [signal for record in records if record.trial.model == model for signal in _signals_of(record)]
            receipt = await receiver.receive_signals(signals)
            missing = tuple(dict.fromkeys(rejection.reason for rejection in receipt.rejected))
            totals.append(
                Total(
                    model=model,
                    name="signals delivered",
                    count=len(receipt.accepted),
                    of=len(signals),
                    missing=missing,
                )
            )
    return tuple(totals)


def _signals_of(record: TrialRecord) -> list[Signal]:
    raised = record.state.get("signals", []) if isinstance(record.state, dict) else []
    return msgspec.convert(raised, list[Signal])


def _keys() -> "list[WebhookKey]":
    from groundwire.serving import WebhookKey

    return [WebhookKey(text) for text in os.environ.get(SECRET_VARIABLE, "").split()]


@asynccontextmanager
async def _open_receiver(target: str, folder: Path) -> "AsyncIterator[Receiver]":
    from groundwire.apps.supplier.signals.receivers import FileReceiver, WebhookReceiver
    from groundwire.serving import WebhookSender

    if target == TO_FILE:
        yield FileReceiver(folder / SIGNAL_LOG)
        return
    sender = WebhookSender(allow=LOOPBACK)
    try:
        yield WebhookReceiver(sender, target, _keys())
    finally:
        await sender.close()
