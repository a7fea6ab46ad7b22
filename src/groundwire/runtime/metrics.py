"""Metrics, computed from what the store holds, so that they are right however many processes serve.

Two forms of one snapshot: JSON, and Prometheus text.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.ports import Store
from groundwire.contracts.records import ToolSample
from groundwire.runtime.recorder import TALLY

log = logging.getLogger("groundwire")

WINDOW = 1_000
SIZE_ALERT_CHARS = 1_500


def percentile(values: Sequence[float], percent: float) -> float:
    """Nearest rank: the smallest value that at least `percent` of all values do not exceed."""
    if not values:
        return 0.0
    ordered = sorted(values)
    rank = max(1, -(-len(ordered) * percent // 100))
    return ordered[int(rank) - 1]


async def take_snapshot(store: Store, tenant: str, *, context: JsonObject) -> JsonObject:
    """Everything at once. Percentiles are over each tool's newest responses, counts over all time."""
    tools = await store.tools_called(tenant)
    samples = {tool: await store.tool_samples(tenant, tool, limit=WINDOW) for tool in tools}
    samples = {tool: found for tool, found in samples.items() if found}  # names that only models invented have none
    totals = await store.session_totals(tenant)
    return {
        "responseSizes": {tool: _percentiles([s.chars for s in found]) for tool, found in samples.items()},
        "responseTokens": {tool: _tokens(found) for tool, found in samples.items()},
        "latencyMs": {tool: _percentiles([s.duration_ms for s in found]) for tool, found in samples.items()},
        "calls": _tallies(await store.list_counters(tenant, TALLY)),
        "context": context,
        "loopDetection": {"activeSessions": totals.active, "totalTurnsTracked": totals.turns_tracked},
        "sessions": {
            "total": totals.total,
            "active": totals.active,
            "turns": totals.turns,
            "calls": totals.calls,
            "peakTokens": totals.peak_tokens,
        },
        "alerts": list[JsonValue](_alerts(samples)),
    }


def log_alerts(snapshot: JsonObject) -> None:
    alerts = snapshot["alerts"]
    for alert in alerts if isinstance(alerts, list) else []:
        log.warning("%s", alert)


def to_prometheus(snapshot: JsonObject) -> str:
    """Prometheus text exposition, version 0.0.4."""
    lines: list[str] = []
    _summary(lines, "groundwire_response_chars", "Size of tool responses in characters.", snapshot["responseSizes"])
    _summary(lines, "groundwire_latency_ms", "Time from call to result.", snapshot["latencyMs"])
    _heading(lines, "groundwire_response_tokens_avg", "gauge", "Average tokens of a tool's responses.")
    for tool, tokens in _items(snapshot["responseTokens"]):
        lines.append(f'groundwire_response_tokens_avg{{tool="{_label(tool)}"}} {dict(_items(tokens))["avg"]}')
    _heading(lines, "groundwire_calls_total", "counter", "Tool calls by tool and outcome.")
    for tool, outcomes in _items(snapshot["calls"]):
        for outcome, count in _items(outcomes):
            lines.append(f'groundwire_calls_total{{tool="{_label(tool)}",outcome="{_label(outcome)}"}} {count}')
    for section, prefix in (("sessions", "groundwire_sessions"), ("context", "groundwire_context")):
        for name, value in _items(snapshot[section]):
            metric = f"{prefix}_{_snake(name)}"
            _heading(lines, metric, "gauge", f"{section}: {name}.")
            lines.append(f"{metric} {value}")
    return "\n".join(lines) + "\n"


def _percentiles(values: Sequence[float]) -> JsonObject:
    return {f"p{percent}": percentile(values, percent) for percent in (50, 95, 99)}


def _tokens(samples: Sequence[ToolSample]) -> JsonObject:
    values = [sample.tokens for sample in samples]
    average = round(sum(values) / len(values), 2) if values else 0.0
    return {"avg": average, "p95": percentile(values, 95)}


def _tallies(counters: dict[str, float]) -> JsonObject:
    calls: dict[str, dict[str, int]] = {}
    for scope, count in sorted(counters.items()):
        tool, _, outcome = scope.rpartition(" ")
        calls.setdefault(tool, {})[outcome] = int(count)
    return {tool: dict(outcomes) for tool, outcomes in calls.items()}


def _alerts(samples: dict[str, list[ToolSample]]) -> list[str]:
    alerts: list[str] = []
    for tool, found in samples.items():
        p95 = percentile([sample.chars for sample in found], 95)
        if p95 > SIZE_ALERT_CHARS:
            alerts.append(
                f"responses of {tool} are large: 95% are up to {p95:.0f} characters (alert at {SIZE_ALERT_CHARS})"
            )
    return alerts


def _items(value: object) -> list[tuple[str, object]]:
    return sorted(value.items()) if isinstance(value, dict) else []


def _summary(lines: list[str], metric: str, text: str, values: object) -> None:
    _heading(lines, metric, "summary", text)
    for tool, percentiles in _items(values):
        for name, value in _items(percentiles):
            lines.append(f'{metric}{{tool="{_label(tool)}",quantile="0.{name[1:]}"}} {value}')


def _heading(lines: list[str], metric: str, kind: str, text: str) -> None:
    lines.append(f"# HELP {metric} {text}")
    lines.append(f"# TYPE {metric} {kind}")


def _label(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _snake(name: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name)
