"""Whoever takes signals, behind one interface: the memory of this process, a file, or a webhook.

Each takes the same signal as often as it comes and keeps it once. How signals come about is others' affair, and so is
trying again: see `outbox` for that.
"""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Protocol

import msgspec
from msgspec import Struct

from groundwire import GroundwireError
from groundwire.apps.supplier.contracts import BrainReceipt, Rejection, Signal
from groundwire.apps.supplier.signals.events import encode_event, identified, iso_time, refusal_in, webhook_id_of
from groundwire.serving import WebhookDelivery, WebhookKey, WebhookSender


class Receiver(Protocol):
    async def receive_signals(self, signals: Sequence[Signal]) -> BrainReceipt:
        """Take them, and say what became of each. What was accepted before is accepted again, and kept once."""
        ...


class MemoryReceiver:
    """Keeps signals as long as the process lives, in the order in which they came."""

    def __init__(self, *, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self.signals: dict[str, Signal] = {}

    async def receive_signals(self, signals: Sequence[Signal]) -> BrainReceipt:
        named = [identified(signal) for signal in signals]
        for signal in named:
            self.signals.setdefault(signal.signal_id, signal)
        return _all_accepted(named, self._now())


class LoggedSignal(Struct, frozen=True, kw_only=True, rename="camel"):
    """A line of the log."""

    received_at: str
    signal: Signal


class FileReceiver:
    """Appends signals to a file, a line of JSON for each. Several processes may share it.

    A line is written as a whole or, if the process dies over it, taken away by the next who writes.
    """

    def __init__(self, path: str | Path, *, now: Callable[[], float] = time.time) -> None:
        self._path = Path(path)
        self._now = now
        self._known: set[str] = set()
        self._read_to = 0

    async def receive_signals(self, signals: Sequence[Signal]) -> BrainReceipt:
        named = [identified(signal) for signal in signals]
        if named:
            await asyncio.to_thread(self._append, named)
        return _all_accepted(named, self._now())

    def _append(self, signals: Sequence[Signal]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a+b") as file:
            _lock(file)
            self._catch_up(file)
            new = {signal.signal_id: signal for signal in reversed(signals) if signal.signal_id not in self._known}
            received_at = iso_time(self._now())
            lines = [
                msgspec.json.encode(LoggedSignal(received_at=received_at, signal=signal)) + b"\n"
                for signal in reversed(new.values())
            ]
            file.write(b"".join(lines))
            file.flush()
            os.fsync(file.fileno())
            self._known.update(new)
            self._read_to = file.tell()

    def _catch_up(self, file: BinaryIO) -> None:
        """Learn what others have written meanwhile, and take away a line that nobody finished."""
        if file.seek(0, os.SEEK_END) < self._read_to:  # somebody has begun the file anew
            self._known, self._read_to = set(), 0
        file.seek(self._read_to)
        written = file.read()
        whole = written[: written.rfind(b"\n") + 1]
        if len(whole) < len(written):
            file.truncate(self._read_to + len(whole))
        self._known.update(line.signal.signal_id for line in _lines(whole))


def read_signal_log(path: str | Path) -> list[LoggedSignal]:
    """What a FileReceiver has written, the oldest first; a line that is none of its own is passed over."""
    file = Path(path)
    return _lines(file.read_bytes()) if file.exists() else []


class WebhookReceiver:
    """Sends each signal once, now. One that fails is rejected, with the code of what went wrong."""

    def __init__(
        self,
        sender: WebhookSender,
        url: str,
        keys: Sequence[WebhookKey],
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._sender = sender
        self._url = url
        self._keys = tuple(keys)
        self._now = now

    async def receive_signals(self, signals: Sequence[Signal]) -> BrainReceipt:
        accepted: list[str] = []
        rejected: list[Rejection] = []
        for given in signals:
            try:
                signal = identified(given)
                error = await self._send(signal)
            except GroundwireError as refusal:
                signal, error = given, refusal.code
            if error:
                rejected.append(Rejection(id=signal.signal_id, reason=error))
            else:
                accepted.append(signal.signal_id)
        delivered_at = iso_time(self._now()) if accepted else ""
        return BrainReceipt(accepted=tuple(accepted), rejected=tuple(rejected), delivered_at=delivered_at)

    async def _send(self, signal: Signal) -> str:
        """Why it was not delivered; nothing if it was."""
        body = encode_event(signal, now=self._now())
        webhook_id = webhook_id_of(signal.signal_id)
        delivery = WebhookDelivery(url=self._url, keys=self._keys, webhook_id=webhook_id, body=body)
        result = await self._sender.attempt(delivery)
        return result.error or refusal_in(result.answer, signal.signal_id)


def _all_accepted(signals: Sequence[Signal], now: float) -> BrainReceipt:
    ids = tuple(dict.fromkeys(signal.signal_id for signal in signals))
    return BrainReceipt(accepted=ids, delivered_at=iso_time(now))


def _lines(data: bytes) -> list[LoggedSignal]:
    found: list[LoggedSignal] = []
    for line in data.split(b"\n"):
        with suppress(msgspec.MsgspecError, UnicodeError, RecursionError):
            found.append(msgspec.json.decode(line, type=LoggedSignal))
    return found


def _lock(file: BinaryIO) -> None:
    """Until it is closed. Where there are no such locks, one process is meant to write."""
    try:
        import fcntl
    except ImportError:
        return
    fcntl.flock(file, fcntl.LOCK_EX)
