"""The shapes of what /api answers, derived from the records themselves where they have one."""

from typing import Annotated, Any

import msgspec

from groundwire.contracts import jobs, records, runs
from groundwire.contracts.audit import ChainProblem
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.schemas import ENVELOPE as ENVELOPE_NAME
from groundwire.contracts.schemas import load
from groundwire.runtime.showing import is_time, shown_name

MOST_NOTE = 10_000
Note = Annotated[str, msgspec.Meta(max_length=MOST_NOTE, description="Why, for the record.")]
"""The member of a body that says why a person decided so."""
_TIME: JsonObject = {"type": ["string", "null"], "format": "date-time"}


def _object(properties: JsonObject, *, closed: bool = True) -> JsonObject:
    shape: JsonObject = {"type": "object", "properties": properties, "required": list(properties)}
    return {**shape, "additionalProperties": False} if closed else shape


def _record(kind: type[msgspec.Struct], *, without: str = "", **more: Any) -> JsonObject:
    """The shape of what `show_record` makes of a struct, but for the field `without`."""
    fields = [field for field in msgspec.structs.fields(kind) if field.name != without]
    return _object({shown_name(field.name): _field(field.name, field.type) for field in fields} | more)


def _field(name: str, kind: Any) -> JsonObject:
    if is_time(name):
        return _TIME
    if kind in (bytes, bytes | None):  # stored JSON, or the text of what is none
        return {}
    (shape,), components = msgspec.json.schema_components([kind])
    return next(iter(components.values())) if "$ref" in shape else _without_ref(shape)


def _without_ref(shape: JsonObject) -> JsonObject:
    """Records hold plain values; what refers to something else is any JSON."""
    return {} if "$ref" in str(shape) else shape


def _inline(schema: JsonObject) -> JsonObject:
    """A schema with `$defs` of its own, without the names that only a document of its own needs."""
    return {name: value for name, value in schema.items() if name not in ("$schema", "$id")}


RUN = _record(runs.Run, status={"enum": [status.value for status in runs.RunStatus]})
CALL = _record(records.CallRecord)
SESSION = _record(records.Session)
APPROVAL = _record(records.Confirmation, without="binding", expired={"type": "boolean"})
EFFECT = _record(records.Effect)
JOB = _record(jobs.Job)
TRACE = _object({
    "run": RUN,
    "entries": {"type": "array", "items": _object({"seq": {"type": "integer"}, "createdAt": _TIME, "kind": {"type": "string"}}, closed=False)},
    "calls": {"type": "array", "items": CALL},
    "openCalls": {"type": "array", "items": _object({name: {"type": "string"} for name in ("callId", "name", "raw", "approvalId")})},
})  # fmt: skip
DECIDED = _object({"effectId": {"type": "string"}, "status": {"enum": ["settled", "released"]}})
HEAD = _object({"seq": {"type": "integer"}, "hash": {"type": "string"}})
CHAIN_REPORT = _object({
    "ok": {"type": "boolean"},
    "records": {"type": "integer"},
    "firstSeq": {"type": "integer"},
    "head": HEAD,
    "keyed": {"type": "boolean"},
    "checkpoint": {"enum": ["checked", "none"]},
    "problems": {"type": "array", "items": _record(ChainProblem)},
})  # fmt: skip
_ENTRY: JsonObject = {field.name: {} for field in msgspec.structs.fields(records.AuditEntry)}
AUDIT_RECORD = _object({
    "seq": {"type": "integer"},
    "previous_hash": {"type": "string"},
    "hash": {"type": "string"},
    **_ENTRY,
    "created_at": {"type": "string", "format": "date-time"},
    "kind": {"type": "string"},
    "tool_name": {"type": "string"},
    "success": {"type": "boolean"},
})  # fmt: skip
_DECISION: JsonObject = {"note": {"type": "string", "maxLength": MOST_NOTE}}
_WHEN: JsonObject = {"required": ["happened"], "type": "object", "additionalProperties": False}
RECONCILED: JsonObject = {
    "oneOf": [
        {**_WHEN, "properties": {"happened": {"const": True}, **_DECISION, "result": {}}},
        {**_WHEN, "properties": {"happened": {"const": False}, **_DECISION}},
    ]
}
ENVELOPE = _inline(load(ENVELOPE_NAME))
