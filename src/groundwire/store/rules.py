"""The rules that every store follows, free of any database: expiry, decisions, retention, storable text."""

from collections.abc import Sequence
from enum import Enum
from typing import Any

import msgspec

from groundwire.contracts.canonical import canonical_json
from groundwire.contracts.errors import InvalidJson, NotFound, RunExists, StoreError
from groundwire.contracts.keys import ApiKey
from groundwire.contracts.records import (
    AuditEntry,
    AuditHead,
    Closing,
    Confirmation,
    ConfirmationStatus,
    Effect,
    EffectStatus,
    Transition,
)
from groundwire.contracts.runs import Run, RunEntry
from groundwire.contracts.texts import storable as storable_text

OPEN_STATUSES = (ConfirmationStatus.PENDING, ConfirmationStatus.APPROVED, ConfirmationStatus.DENIED)
NOT_STORABLE = (InvalidJson, ValueError, OverflowError, TypeError)
"""How an audit entry shows that it cannot be hashed: lone surrogates, numbers that are none."""
RUN_CHANGES = ("turn", "model", "outcome", "text", "entries", "updated_at")
"""What an append replaces in the head of a run. Its ids, its session and its creation time stay."""
LEASE_FIELDS = ("owner", "due_at", "resumes", "cancel_requested")
"""What `swap_lease` replaces in the head of a run."""


def is_lapsed(effect: Effect, now: float) -> bool:
    """Whether the owner stopped renewing, so that nobody knows how the call ended."""
    return effect.status is EffectStatus.RESERVED and effect.lease_until <= now


def lapsed(effect: Effect) -> Effect:
    return msgspec.structs.replace(effect, status=EffectStatus.UNKNOWN)


def is_open(confirmation: Confirmation, now: float) -> bool:
    return confirmation.status in OPEN_STATUSES and confirmation.expires_at > now


def is_approved(confirmation: Confirmation, now: float) -> bool:
    return confirmation.status == ConfirmationStatus.APPROVED and confirmation.expires_at > now


def accepts(effect: Effect, transition: Transition) -> bool:
    """Whether the reservation that `transition` ends is still the one that holds the key."""
    return effect.status is not EffectStatus.SETTLED and effect.attempt == transition.attempt and not effect.decided_by


def retention_entry(entry: AuditEntry, removed_to: AuditHead, count: int) -> AuditEntry:
    reason = canonical_json({"removed_to": removed_to.seq, "hash": removed_to.hash, "count": count}).decode()
    return msgspec.structs.replace(entry, reason=reason)


def gone(before: str) -> NotFound:
    return NotFound(f"there is no row {before} to go on from", hint="It was removed: start from the first page.")


def begun(run: Run, entries: Sequence[RunEntry]) -> Run:
    """The head of a new run as it is stored."""
    if run.entries:
        raise StoreError(f"the new run {run.run_id} cannot have {run.entries} entries already")
    return appended(run, entries)


def check_places(run: Run, entries: Sequence[RunEntry]) -> None:
    """Whether these entries follow those that the run counts."""
    for seq, entry in enumerate(entries, run.entries + 1):
        if entry.seq != seq:
            raise StoreError(f"entry {entry.seq} of the run {run.run_id} stands where {seq} must be")


def appended(run: Run, entries: Sequence[RunEntry]) -> Run:
    """The head of a run as it is stored with these entries behind those that it counts."""
    check_places(run, entries)
    return msgspec.structs.replace(
        run, model=storable_text(run.model), text=storable_text(run.text), entries=run.entries + len(entries)
    )


def run_exists(run: Run) -> RunExists:
    return RunExists(f"there is already a run {run.run_id}", hint="A run is created once, and then appended to.")


def key_exists(key: ApiKey) -> StoreError:
    return StoreError(f"there is already a key {key.key_id}, or one with the same secret")


def storable(closing: Closing) -> Closing:
    """The same closing with the characters replaced that no database takes: NUL and lone surrogates.

    They come from models and tools. Losing such a character is better than losing the record of a call.
    """
    call = closing.call and _clean(closing.call)
    return Closing(
        call=call,
        entry=_clean(closing.entry),
        transition=closing.transition and _clean(closing.transition),
        charges=closing.charges,
    )


def _clean(value: Any) -> Any:
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        return storable_text(value)
    if isinstance(value, tuple):
        return tuple(_clean(item) for item in value)
    if isinstance(value, msgspec.Struct):
        return type(value)(**{name: _clean(getattr(value, name)) for name in value.__struct_fields__})
    return value
