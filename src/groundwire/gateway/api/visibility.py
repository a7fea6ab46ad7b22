"""Hides texts for operators from callers without the scope `admin`. On a server without keys, every caller has it.

Texts for operators are those of exceptions, with tracebacks, and what a provider sent beyond its message. Members stay,
without the text, so that the shape of an answer does not depend on its reader.
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
"""Members of a failure that the client of a model does not get either."""


def show_effect(effect: Effect, caller: Caller) -> JsonObject:
    """An effect, with its note only if a person wrote it: before a decision, it is the text of an exception."""
    if not caller.has_scope("admin") and not effect.decided_by:
        effect = replace(effect, note="")
    return show_record(effect)


def show_job(job: Job, caller: Caller) -> JsonObject:
    """A job, with the text of its last error only for an admin."""
    return show_record(job if caller.has_scope("admin") else replace(job, error=""))


def show_audit_record(record: AuditRecord | UnreadableRecord, caller: Caller) -> JsonObject:
    """An audit record; the reason of a call is the step that decided it, and only for an admin also why."""
    shown = show_audit(record)
    if not caller.has_scope("admin") and shown.get("kind") == "call":
        shown["reason"] = str(shown["reason"]).partition(":")[0]
    return shown


def show_run_trace(trace: Trace, caller: Caller, *, now: float) -> JsonObject:
    """A run with its entries and calls; the body of a provider's error only for an admin."""
    shown: dict[str, Any] = show_trace(trace, now=now)
    if not caller.has_scope("admin"):
        shown["entries"] = [_without_body(entry) for entry in shown["entries"]]
    return shown


def _without_body(entry: JsonObject) -> JsonObject:
    failure = entry.get("failure")
    if not isinstance(failure, dict):
        return entry
    return {**entry, "failure": {name: value for name, value in failure.items() if name not in _OF_PROVIDER}}
