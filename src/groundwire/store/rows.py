"""Records to rows and back. Columns stand in the order of the records' fields."""

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from groundwire.contracts.canonical import canonical_json, dump_json, parse_json
from groundwire.contracts.errors import GroundwireError, InvalidJson
from groundwire.contracts.keys import ApiKey
from groundwire.contracts.records import (
    AuditEntry,
    AuditRecord,
    CallRecord,
    Confirmation,
    ConfirmationStatus,
    Effect,
    EffectStatus,
    Session,
    UnreadableRecord,
)
from groundwire.contracts.results import Evidence
from groundwire.contracts.runs import Run, RunEntry
from groundwire.contracts.texts import storable
from groundwire.store.transactions import Row

SESSION_FIELDS = Session.__struct_fields__
CALL_FIELDS = CallRecord.__struct_fields__
EFFECT_FIELDS = Effect.__struct_fields__
CONFIRMATION_FIELDS = Confirmation.__struct_fields__
ENTRY_FIELDS = AuditEntry.__struct_fields__
RUN_FIELDS = Run.__struct_fields__
RUN_ENTRY_FIELDS = RunEntry.__struct_fields__
KEY_FIELDS = ApiKey.__struct_fields__
AUDIT_FIELDS = ("seq", "previous_hash", "hash", *ENTRY_FIELDS)

_KEY_LISTS = ("scopes", "models", "tools", "default_tools", "limits")
_OK = CALL_FIELDS.index("ok")
_EXECUTED = CALL_FIELDS.index("executed")
_STATUS = EFFECT_FIELDS.index("status")
_ID = AUDIT_FIELDS.index("id")
_DURATION = ENTRY_FIELDS.index("duration_ms")
_EVIDENCE = ENTRY_FIELDS.index("evidence")
_INTENTS = ENTRY_FIELDS.index("intents")
_TEXTS = tuple(set(AUDIT_FIELDS) - {"seq", "success", "duration_ms", "error", "evidence", "intents"})


def session_values(session: Session) -> tuple[object, ...]:
    values = list(msgspec.structs.astuple(session))
    values[SESSION_FIELDS.index("state")] = dump_json(session.state).decode()
    values[SESSION_FIELDS.index("loop_history")] = dump_json(list(session.loop_history)).decode()
    return tuple(values)


def session_of(row: Row) -> Session:
    fields: dict[str, Any] = dict(zip(SESSION_FIELDS, row, strict=True))
    fields["state"] = parse_json(fields["state"])
    history = parse_json(fields["loop_history"])
    fields["loop_history"] = tuple(history) if isinstance(history, list) else ()
    return Session(**fields)


def call_values(seq: int, call: CallRecord) -> tuple[object, ...]:
    return (seq, *msgspec.structs.astuple(call))


def call_of(row: Row) -> CallRecord:
    values = list(row)
    values[_OK], values[_EXECUTED] = bool(values[_OK]), bool(values[_EXECUTED])
    return CallRecord(**dict(zip(CALL_FIELDS, values, strict=True)))


def effect_values(effect: Effect) -> tuple[object, ...]:
    values = msgspec.structs.astuple(effect)
    return (*values[:_STATUS], effect.status._value_, *values[_STATUS + 1 :])


def effect_of(row: Row) -> Effect:
    values = list(row)
    values[_STATUS] = EffectStatus(values[_STATUS])
    return Effect(**dict(zip(EFFECT_FIELDS, values, strict=True)))


def confirmation_values(confirmation: Confirmation) -> tuple[object, ...]:
    values = list(msgspec.structs.astuple(confirmation))
    values[CONFIRMATION_FIELDS.index("status")] = confirmation.status.value
    values[CONFIRMATION_FIELDS.index("arguments")] = dump_json(confirmation.arguments).decode()
    values[CONFIRMATION_FIELDS.index("supplied")] = dump_json(list(confirmation.supplied)).decode()
    values[CONFIRMATION_FIELDS.index("argument_schema")] = dump_json(confirmation.argument_schema).decode()
    values[CONFIRMATION_FIELDS.index("evidence")] = _evidence_text(confirmation.evidence)
    return tuple(values)


def confirmation_of(row: Row) -> Confirmation:
    fields: dict[str, Any] = dict(zip(CONFIRMATION_FIELDS, row, strict=True))
    fields["status"] = ConfirmationStatus(fields["status"])
    fields["arguments"] = parse_json(fields["arguments"])
    fields["edited"] = bool(fields["edited"])  # SQLite stores booleans as 0 and 1
    fields["supplied"] = msgspec.json.decode(fields["supplied"], type=tuple[str, ...])
    fields["argument_schema"] = parse_json(fields["argument_schema"])
    fields["evidence"] = msgspec.json.decode(fields["evidence"], type=tuple[Evidence, ...])
    return Confirmation(**fields)


def run_values(run: Run) -> tuple[object, ...]:
    return msgspec.structs.astuple(run)


def run_changes(run: Run, added: int) -> tuple[object, ...]:
    """The values of RUN_CHANGES after so many entries were added."""
    return run.turn, storable(run.model), run.outcome, storable(run.text), run.entries + added, run.updated_at


def run_of(row: Row) -> Run:
    fields: dict[str, Any] = dict(zip(RUN_FIELDS, row, strict=True))
    fields["cancel_requested"] = bool(fields["cancel_requested"])
    return Run(**fields)


def lease_values(run: Run) -> tuple[object, ...]:
    """The values of LEASE_FIELDS in a run."""
    return run.owner, run.due_at, run.resumes, run.cancel_requested


def run_entry_rows(run: Run, entries: Sequence[RunEntry]) -> list[tuple[object, ...]]:
    return [(run.tenant, run.run_id, entry.seq, entry.body, entry.created_at) for entry in entries]


def run_entry_of(row: Row) -> RunEntry:
    return RunEntry(**dict(zip(RUN_ENTRY_FIELDS, row, strict=True)))


def key_values(key: ApiKey) -> tuple[object, ...]:
    fields = msgspec.to_builtins(key)
    return tuple(dump_json(fields[name]).decode() if name in _KEY_LISTS else fields[name] for name in KEY_FIELDS)


def key_of(row: Row) -> ApiKey:
    fields: dict[str, Any] = dict(zip(KEY_FIELDS, row, strict=True))
    return msgspec.convert({**fields, **{name: parse_json(fields[name]) for name in _KEY_LISTS}}, ApiKey)


def audit_values(record: AuditRecord) -> tuple[object, ...]:
    entry = record.entry
    values = list(msgspec.structs.astuple(entry))
    values[_DURATION] = entry.duration_ms + 0.0  # minus zero would read back as something else
    values[_EVIDENCE] = _evidence_text(entry.evidence) if entry.evidence else "[]"
    values[_INTENTS] = canonical_json(list(entry.intents)).decode() if entry.intents else "[]"
    return (record.seq, record.previous_hash, record.hash, *values)


def audit_of(row: Row) -> AuditRecord | UnreadableRecord:
    """The record in a row, if each column holds exactly what was written there.

    The hash covers values. What spells the same value differently (a space in JSON, 1 for true, text for a number)
    is told apart here.
    """
    fields: dict[str, Any] = dict(zip(AUDIT_FIELDS, row, strict=True))
    try:
        fields["success"] = _read_flag(fields["success"])
        fields["evidence"] = _read_evidence(fields["evidence"])
        fields["intents"] = _read_intents(fields["intents"])
        _check_numbers(fields["seq"], fields["duration_ms"])
        for name in _TEXTS:
            _text_of(name, fields[name])
        if fields["error"] is not None:
            _text_of("error", fields["error"])
        seq, previous_hash, hash_ = fields.pop("seq"), fields.pop("previous_hash"), fields.pop("hash")
        return AuditRecord(seq=seq, previous_hash=previous_hash, hash=hash_, entry=AuditEntry(**fields))
    except (GroundwireError, msgspec.ValidationError, ValueError, TypeError) as error:
        seq = row[0] if isinstance(row[0], int) else 0
        record_id = row[_ID].encode("utf-8", "replace").decode() if isinstance(row[_ID], str) else ""
        return UnreadableRecord(seq=seq, record_id=record_id, reason=str(error))


def _read_flag(value: object) -> bool:
    if isinstance(value, int) and value in {0, 1}:
        return bool(value)
    raise InvalidJson("success is neither true nor false")


def _read_evidence(text: object) -> tuple[Evidence, ...]:
    if text == "[]":
        return ()
    evidence = msgspec.convert(parse_json(_text_of("evidence", text)), tuple[Evidence, ...])
    if _evidence_text(evidence) != text:
        raise InvalidJson("evidence is not in the form in which it was written")
    return evidence


def _read_intents(text: object) -> tuple[str, ...]:
    if text == "[]":
        return ()
    intents = msgspec.convert(parse_json(_text_of("intents", text)), tuple[str, ...])
    if canonical_json(list(intents)).decode() != text:
        raise InvalidJson("intents is not in the form in which it was written")
    return intents


def _evidence_text(evidence: Sequence[Evidence]) -> str:
    return canonical_json(msgspec.to_builtins(evidence)).decode()


def _text_of(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidJson(f"{name} is not text")
    value.encode()  # what was not UTF-8 has come back as surrogates, and fails here
    return value


def _check_numbers(seq: object, duration: object) -> None:
    if not isinstance(seq, int):
        raise InvalidJson("seq is not a whole number")
    if not isinstance(duration, float) or not math.isfinite(duration):
        raise InvalidJson("duration_ms is not a number")
    if duration == 0 and math.copysign(1.0, duration) < 0:
        raise InvalidJson("duration_ms is not the zero that was written")
