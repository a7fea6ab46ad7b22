"""A run's calls as trace entries: what the model asked for, whether its form was right, each thing once a turn.

It does not judge evidence.
"""

import json
from collections.abc import Iterable, Sequence

from groundwire import CallItem, ErrorType, Item, Registry, ResultItem
from groundwire.apps.supplier.contracts import JsonObject, TraceEntry

_WELL_FORMED = frozenset({ErrorType.UNGROUNDED, ErrorType.LOOP_DETECTED})
"""Refusals of calls that were right in form: grounding is judged later, and repeated calls are dropped."""


def read_trace(items: Iterable[Item], turn: int, registry: Registry) -> tuple[TraceEntry, ...]:
    results: dict[str, ResultItem] = {}
    calls: list[CallItem] = []
    for item in items:
        if isinstance(item, CallItem):
            calls.append(item)
        elif isinstance(item, ResultItem):
            results[item.call_id] = item
    entries: list[TraceEntry] = []
    seen: set[str] = set()
    for item in calls:
        entry = _entry(item, results.get(item.call.call_id), turn, registry)
        known = json.dumps([entry.name, entry.args], sort_keys=True, default=str)
        if known not in seen:
            seen.add(known)
            entries.append(entry)
    return tuple(entries)


def _entry(item: CallItem, result: ResultItem | None, turn: int, registry: Registry) -> TraceEntry:
    call = item.call
    args = _arguments(call.raw)
    error = _error_of(result)
    if error is None and item.complete:
        return TraceEntry(turn=turn, name=call.name, args=args, call_id=call.call_id)
    missing = {name: None for name in _required(registry, call.name) if name not in args}
    said = error or "the call was cut off"
    return TraceEntry(
        turn=turn, name=call.name, args={**args, **missing}, call_id=call.call_id, valid=False, error=said
    )


def _arguments(raw: str) -> JsonObject:
    """As far as they can be read: a trace keeps broken calls too."""
    try:
        given = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {}


def _error_of(result: ResultItem | None) -> str | None:
    """What was wrong with the form of the call, if anything was."""
    if result is None:
        return "the call was never carried out"
    if not result.failed:
        return None
    try:
        error = json.loads(result.text)["error"]
        kind, message = error["type"], str(error["message"])
    except (ValueError, LookupError, TypeError):
        return result.text
    return None if kind in _WELL_FORMED else message


def _required(registry: Registry, name: str) -> Sequence[str]:
    tool = registry.find(name)
    required = None if tool is None else tool.spec.parameters.get("required")
    return tuple(map(str, required)) if isinstance(required, list) else ()
