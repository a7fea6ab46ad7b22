"""A signal as the event that is sent: its JSON, its ids, and how long it may be. Pure."""

import hashlib
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from groundwire import GroundwireError, WireError
from groundwire.apps.supplier.contracts import BrainReceipt, Signal

EVENT_TYPE = "supplier.signal.created"
MAX_EVENT = 20_000
"""An event has fewer bytes than this."""

_MAX_TEXT = 2_000
_MARK = " … [cut]"
_MAX_ID = 256
_MAX_REASON = 100


class SignalTooLarge(GroundwireError):
    """Its event would be too long, although all that may be cut was."""

    code = "signal_too_large"


class SignalEvent(Struct, frozen=True, kw_only=True):
    """`timestamp` is when the signal was raised. `data` is the signal, as it was written."""

    type: str
    timestamp: str
    data: msgspec.Raw


def identified(signal: Signal) -> Signal:
    """The signal with an id: its own, or one that is made of all that it says."""
    if signal.signal_id:
        return signal
    digest = hashlib.sha256(write_signal(signal)).hexdigest()
    return replace(signal, signal_id=f"sig_{digest[:32]}")


def write_signal(signal: Signal) -> bytes:
    """Its JSON; WireError where it holds what cannot be written, or ids that no table could keep."""
    _check_ids(signal)
    try:
        return msgspec.json.encode(signal, order="deterministic")
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise WireError(f"cannot be written as JSON: {error}") from None


def webhook_id_of(signal_id: str) -> str:
    """The same for each attempt to deliver a signal, in whichever process."""
    return f"msg_{hashlib.sha256(signal_id.encode()).hexdigest()[:32]}"


def encode_event(signal: Signal, *, now: float) -> bytes:
    """The body of the event. Long free texts are cut, with a mark and a flag, where it would be too long otherwise.

    What the supplier said is never cut: it is the evidence. SignalTooLarge where that alone is too much, WireError
    where it cannot be written at all.
    """
    body = _encode(signal, now)
    if len(body) >= MAX_EVENT:
        body = _encode(_shortened(signal), now)
    if len(body) >= MAX_EVENT:
        raise SignalTooLarge(f"The event of a signal has {len(body)} bytes; it must be under {MAX_EVENT}.")
    return body


def decode_event(body: bytes) -> SignalEvent:
    """WireError for whatever is no event."""
    event: SignalEvent = _decode(body, SignalEvent)
    return event


def decode_signal(data: bytes | msgspec.Raw) -> Signal:
    """WireError for whatever is no signal, or has ids that no table could keep."""
    signal: Signal = _decode(bytes(data), Signal)
    _check_ids(signal)
    return signal


def refusal_in(answer: str, signal_id: str) -> str:
    """Why a receiver that answered well does not want the signal all the same; nothing where it does not say so."""
    try:
        receipt: BrainReceipt = _decode(answer.encode(), BrainReceipt)
    except WireError:
        return ""  # receivers need not answer with a receipt
    own = (signal_id, webhook_id_of(signal_id))
    return next((f"rejected: {one.reason[:_MAX_REASON]}" for one in receipt.rejected if one.id in own), "")


def iso_time(seconds: float) -> str:
    """ISO 8601, UTC, milliseconds."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _check_ids(signal: Signal) -> None:
    for name, value in (("signalId", signal.signal_id), ("sessionId", signal.session_id), ("goalId", signal.goal_id)):
        if value and not (len(value) <= _MAX_ID and value.isprintable()):
            raise WireError(f"must be at most {_MAX_ID} printable characters", path=f"data.{name}")
    if not signal.session_id:
        raise WireError("is empty", path="data.sessionId")


def _encode(signal: Signal, now: float) -> bytes:
    data = msgspec.Raw(write_signal(signal))
    return msgspec.json.encode(SignalEvent(type=EVENT_TYPE, timestamp=signal.timestamp or iso_time(now), data=data))


def _shortened(signal: Signal) -> Signal:
    flags = list(signal.flags)

    def cut(name: str, text: str) -> str:
        if len(text) <= _MAX_TEXT:
            return text
        flags.append(f"cut:{name}")
        return text[:_MAX_TEXT] + _MARK

    reason, unlock = cut("reason", signal.reason), cut("suggestedUnlock", signal.suggested_unlock)
    return replace(signal, reason=reason, suggested_unlock=unlock, flags=tuple(flags))


def _decode(data: bytes, kind: type[Any]) -> Any:
    try:
        data.decode()  # what is skipped over is not looked at by the decoder, and is kept all the same
        return msgspec.json.decode(data, type=kind)
    except RecursionError:
        raise WireError("is nested too deeply") from None
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise WireError(str(error)) from None
