"""Records as their reader may see them: texts for operators only for an admin, who every caller is without keys.

Texts for operators are those of exceptions, with tracebacks, and what a provider said beyond its message. Members stay,
without the text, so that the shape of an answer does not depend on who reads it.
"""

from typing import Any

from msgspec.structs import replace

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.jobs import Job
from groundwire.contracts.keys import Caller
from groundwire.contracts.records import AuditRecord, Effect, UnreadableRecord
from groundwire.runtime.runs.traces import Trace
from groundwire.runtime.showing import show_audit, show_record, show_trace

_OF_PROVIDER = ("body", "detail")
"""Members of a failure that go beyond what the client of a model is told."""


def show_effect(effect: Effect, caller: Caller) -> JsonObject:
    """The note of a person who decided the effect is for all readers; until then it is the text of what went wrong."""
    if not caller.has_scope("admin") and not effect.decided_by:
        effect = replace(effect, note="")
    return show_record(effect)


def show_job(job: Job, caller: Caller) -> JsonObject:
    return show_record(job if caller.has_scope("admin") else replace(job, error=""))


def show_audit_record(record: AuditRecord | UnreadableRecord, caller: Caller) -> JsonObject:
    """The reason of a call is the step that decided it, and for operators why."""
    shown = show_audit(record)
    if not caller.has_scope("admin") and shown.get("kind") == "call":
        shown["reason"] = str(shown["reason"]).partition(":")[0]
    return shown


def show_run_trace(trace: Trace, caller: Caller, *, now: float) -> JsonObject:
    shown: dict[str, Any] = show_trace(trace, now=now)
    if not caller.has_scope("admin"):
        shown["entries"] = [_without_body(entry) for entry in shown["entries"]]
    return shown


def _without_body(entry: JsonObject) -> JsonObject:
    failure = entry.get("failure")
    if not isinstance(failure, dict):
        return entry
    return {**entry, "failure": {name: value for name, value in failure.items() if name not in _OF_PROVIDER}}
