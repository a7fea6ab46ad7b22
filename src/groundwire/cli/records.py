"""Stored records as commands show them: times as ISO 8601 in UTC, stored envelopes as the JSON that they are."""

from typing import Any

import msgspec

from groundwire.contracts.records import AuditRecord, UnreadableRecord
from groundwire.runtime.clock import to_iso


def show_time(seconds: float | None) -> str:
    """A moment, or a dash for none."""
    return to_iso(seconds) if seconds else "-"


def show_record(record: msgspec.Struct) -> dict[str, Any]:
    """All fields of a record, ready for JSON."""
    return {name: _show_field(name, value) for name, value in msgspec.structs.asdict(record).items()}


def show_audit(record: AuditRecord | UnreadableRecord) -> dict[str, Any]:
    """A record of the chain with its entry's fields beside its own."""
    if isinstance(record, UnreadableRecord):
        return {"seq": record.seq, "id": record.record_id, "unreadable": record.reason}
    place = {"seq": record.seq, "previous_hash": record.previous_hash, "hash": record.hash}
    return place | msgspec.structs.asdict(record.entry)


def _show_field(name: str, value: Any) -> Any:
    if name.endswith("_at") or name == "lease_until":
        return to_iso(value) if value else None
    if isinstance(value, bytes):
        try:
            return msgspec.json.decode(value)
        except (msgspec.DecodeError, UnicodeError):
            return value.decode("utf-8", "backslashreplace")
    return value
