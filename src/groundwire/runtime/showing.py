"""Stored records as JSON, the same for every listing: names in camelCase, times in ISO 8601, envelopes as what they are.

Audit records keep the form that is fixed for them. Knows neither who asks nor where it is shown.
"""

import msgspec
from msgspec.structs import asdict

from groundwire.contracts.audit import ChainReport
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.records import AuditRecord, Confirmation, ConfirmationStatus, UnreadableRecord
from groundwire.contracts.runs import Run
from groundwire.runtime.clock import to_iso
from groundwire.runtime.runs.traces import Trace

_OPEN = (ConfirmationStatus.PENDING, ConfirmationStatus.APPROVED)


def show_record(record: msgspec.Struct) -> JsonObject:
    """All fields of a session, call, effect, approval or run."""
    return {shown_name(name): _show_field(name, value) for name, value in asdict(record).items()}


def show_approval(approval: Confirmation, *, now: float) -> JsonObject:
    """An approval as JSON, without its internal binding, and with whether it has expired, which is not stored."""
    shown = show_record(approval)
    del shown["binding"]
    return {**shown, "expired": approval.status in _OPEN and approval.expires_at <= now}


def show_run(run: Run, *, now: float) -> JsonObject:
    """A run as JSON, with its status, which follows from its lease and the time."""
    return {**show_record(run), "status": run.status(now).value}


def show_trace(trace: Trace, *, now: float) -> JsonObject:
    """A run as JSON: its entries, in the form of the canonical conversation, each with number and time, and its calls.

    `openCalls` are those that the model made last and that have no result: in flight, waiting, or cut off.
    """
    entries = [
        {"seq": seq, "createdAt": to_iso(created_at), **msgspec.to_builtins(body)}
        for (seq, created_at), body in zip(trace.places, trace.entries, strict=True)
    ]
    calls = [show_record(call) for call in trace.calls]
    return {
        "run": show_run(trace.run, now=now),
        "entries": [*entries],
        "calls": [*calls],
        "openCalls": _show_open(trace),
    }


def _show_open(trace: Trace) -> list[JsonValue]:
    steps, closed = trace.steps(), {call.call_id for call in trace.calls}
    last = steps[-1].asked if steps else ()
    return [
        {"callId": asked.call.call_id, "name": asked.call.name, "raw": asked.call.raw, "approvalId": asked.approval}
        for asked in last
        if asked.shown is None and asked.call.call_id not in closed
    ]


def show_audit(record: AuditRecord | UnreadableRecord) -> JsonObject:
    """A record of the chain with its entry's fields beside its own."""
    if isinstance(record, UnreadableRecord):
        return {"seq": record.seq, "id": record.record_id, "unreadable": record.reason}
    place: JsonObject = {"seq": record.seq, "previous_hash": record.previous_hash, "hash": record.hash}
    entry: JsonObject = msgspec.to_builtins(record.entry)
    return place | entry


def show_report(report: ChainReport) -> JsonObject:
    """What reading the whole chain has shown."""
    return {
        "ok": report.ok,
        "records": report.records,
        "firstSeq": report.first_seq,
        "head": msgspec.to_builtins(report.head),
        "keyed": report.keyed,
        "checkpoint": report.checkpoint,
        "problems": [show_record(problem) for problem in report.problems],
    }


def _show_field(name: str, value: object) -> JsonValue:
    if is_time(name):
        return to_iso(value) if isinstance(value, (int, float)) and value else None
    if isinstance(value, bytes):
        try:
            decoded: JsonValue = msgspec.json.decode(value)
            return decoded
        except (msgspec.DecodeError, UnicodeError):
            return value.decode("utf-8", "backslashreplace")
    shown: JsonValue = msgspec.to_builtins(value)
    return shown


def is_time(name: str) -> bool:
    """Whether a field of that name holds seconds since the epoch."""
    return name.endswith("_at") or name == "lease_until"


def shown_name(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.title, others))
