"""From the summary agent's calls to signals, and the signals that follow from how a conversation ended.

Severity, wording and timing follow rules here; a model only says what it saw. Nothing is delivered here.
"""

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec
from msgspec.structs import replace

from groundwire.apps.supplier.contracts import (
    BlockerType,
    Confidence,
    FollowUpTiming,
    Goal,
    Grounding,
    GroundingMode,
    HistoryEntry,
    JsonObject,
    Severity,
    Signal,
    SignalType,
    SourcingRequest,
    Status,
    TraceEntry,
)
from groundwire.apps.supplier.grounding import QUOTE, ground_quote
from groundwire.apps.supplier.media import has_unread_voice
from groundwire.apps.supplier.messages import is_human, parse_time, time_of
from groundwire.apps.supplier.signals.events import iso_time
from groundwire.apps.supplier.statuses import Detection
from groundwire.apps.supplier.timing import HORIZON, plan_return, read_promise

SILENCE = "silence"
DEFAULT_DELAY_HOURS = 24.0
HORIZON_HOURS = HORIZON / timedelta(hours=1)
UNKNOWN_GOAL = "unknown_goal"
UNKNOWN_YEAR = "unknown_year"
"""With the year: its holidays are not known, so the time was estimated, or is not moved into working hours."""
OVERDUE = "overdue"
_TYPES = {"extract_timing": SignalType.SCHEDULE_FOLLOW_UP, "flag_escalation": SignalType.HUMAN_ESCALATION}
_ENDS = {Status.REJECTED: SignalType.HUMAN_ESCALATION, Status.WECHAT_REDIRECT: SignalType.WECHAT_REDIRECT}


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """What all signals of one summary have in common."""

    request: SourcingRequest
    goals: tuple[Goal, ...]
    history: tuple[HistoryEntry, ...]
    trace: tuple[TraceEntry, ...]
    found: Detection
    mode: GroundingMode
    now: datetime


def to_signals(made: Sequence[TraceEntry], setting: Setting) -> tuple[Signal, ...]:
    """Signals for the calls that were right in form, then what the end itself demands."""
    signals = [_signal(entry, setting) for entry in made if entry.valid]
    strict = setting.mode is GroundingMode.STRICT
    kept = [
        signal for signal in signals if not strict or signal.grounding is None or signal.grounding.grounded is not False
    ]
    kept += _beyond_horizon(kept, setting)
    if not kept and (ruled := _by_status(setting)) is not None:
        kept.append(ruled)
    return tuple(replace(signal, signal_id=_signal_id(signal, setting, place)) for place, signal in enumerate(kept))


def history_hash(history: Sequence[HistoryEntry]) -> str:
    """Names a conversation as far as it has come: what was said, by whom, in order."""
    said = [[entry.role, entry.content] for entry in history]
    return hashlib.sha256(msgspec.json.encode(said)).hexdigest()


def _signal(entry: TraceEntry, setting: Setting) -> Signal:
    args = entry.args
    kind = _TYPES.get(entry.name) or SignalType(args["signalType"])
    quote = args.get(QUOTE)
    blocker = BlockerType(args["blockerType"]) if args.get("blockerType") else None
    grounding = ground_quote(quote, setting.history)
    timing, unknown_year = None, None
    if kind is SignalType.SCHEDULE_FOLLOW_UP:
        timing, unknown_year = _timing(args, grounding, setting)
    goal_id = args.get("goalId")
    flags = [UNKNOWN_GOAL] if goal_id and goal_id not in {goal.goal_id for goal in setting.goals} else []
    flags += [f"{UNKNOWN_YEAR}:{unknown_year}"] if unknown_year is not None else []
    return Signal(
        **_common(setting),
        source="summary-agent-llm",
        signal_type=kind,
        severity=_severity(kind, quote, timing, setting),
        reason=_reason(kind, args, blocker, timing),
        goal_id=goal_id,
        blocker_type=blocker,
        supplier_quote=quote,
        suggested_unlock=str(args.get("suggestedUnlock") or ""),
        follow_up_timing=timing,
        evidence={"kind": SILENCE} if quote is None and timing is not None else None,
        grounding=grounding,
        flags=tuple(flags),
    )


def _common(setting: Setting) -> JsonObject:
    request = setting.request
    return {
        "session_id": request.session_id,
        "supplier_id": request.supplier_id,
        "supplier_name": request.supplier_name,
        "timestamp": iso_time(setting.now.timestamp()),
    }


def _timing(args: JsonObject, grounding: Grounding, setting: Setting) -> tuple[FollowUpTiming, int | None]:
    """The calendar's answer for words that it knows, else the model's estimate, else a day; and the year that is unknown."""
    quote = args.get(QUOTE) or ""
    known = read_promise(quote, _said_at(grounding, setting)) if quote else None
    if known is not None and known.timing is not None:
        return _not_overdue(replace(known.timing, raw_phrase=quote), setting), known.unknown_year
    hours = float(args.get("delayHours") or DEFAULT_DELAY_HOURS)
    timing, unknown_year = _estimated(hours, quote, args.get("confidence") or "low", setting)
    return timing, unknown_year if known is None else known.unknown_year


def _said_at(grounding: Grounding, setting: Setting) -> datetime:
    """明天 is the day after it was said. What a machine says holds whenever it is read."""
    place = grounding.message
    if place is None or not is_human(setting.history, place):
        return setting.now
    return time_of(setting.history, place) or setting.now


def _not_overdue(timing: FollowUpTiming, setting: Setting) -> FollowUpTiming:
    """A time that has passed while the conversation went on is kept at the next opportunity."""
    due = parse_time(timing.due_at)
    if due is not None and due <= setting.now:
        soon, _, _ = plan_return(0.0, setting.now)
        return replace(timing, due_at=soon.isoformat(), clamped_to=OVERDUE)
    return timing


def _estimated(
    hours: float, phrase: str, confidence: Confidence, setting: Setting
) -> tuple[FollowUpTiming, int | None]:
    due, why, unknown_year = plan_return(hours, setting.now)
    timing = FollowUpTiming(
        delay_hours=round(hours, 1), raw_phrase=phrase, confidence=confidence, due_at=due.isoformat(), clamped_to=why
    )
    return timing, unknown_year


def _severity(kind: SignalType, quote: str | None, timing: FollowUpTiming | None, setting: Setting) -> Severity:
    match kind:
        case SignalType.ASSET_REQUEST:
            urgent = any(entry.args.get("urgency") == "blocking_quote" for entry in setting.trace if entry.valid)
            return "high" if urgent else "medium"
        case SignalType.HUMAN_ESCALATION:
            return "high" if setting.found.status is Status.REJECTED else "medium"
        case SignalType.SCHEDULE_FOLLOW_UP:
            return "low" if quote is not None and timing is not None and timing.confidence == "low" else "medium"
        case SignalType.MANUAL_REVIEW:
            return "medium" if has_unread_voice(setting.history) else "low"
        case _:
            return "low"


def _reason(kind: SignalType, args: JsonObject, blocker: BlockerType | None, timing: FollowUpTiming | None) -> str:
    said = str(args.get("reason") or "")
    if kind is SignalType.HUMAN_ESCALATION:
        return f"{blocker.value}: {said}" if blocker is not None else said
    if timing is None:
        return said
    if not timing.raw_phrase:
        return f"Supplier has not replied (~{timing.delay_hours:.0f}h)."
    return f'Supplier indicated timing: "{timing.raw_phrase}" (~{timing.delay_hours:.0f}h).'


def _beyond_horizon(signals: Sequence[Signal], setting: Setting) -> list[Signal]:
    """A promise past the cap is more than a timer should wait for: somebody has to know."""
    return [
        Signal(
            **_common(setting),
            source="status-rule",
            signal_type=SignalType.HUMAN_ESCALATION,
            severity="medium",
            reason=f"The supplier's time is more than {HORIZON_HOURS:.0f} h away.",
            goal_id=signal.goal_id,
            supplier_quote=signal.supplier_quote,
            grounding=signal.grounding,
        )
        for signal in signals
        if signal.follow_up_timing is not None and signal.follow_up_timing.delay_hours > HORIZON_HOURS
    ]


def _by_status(setting: Setting) -> Signal | None:
    """What the end says by itself, so that operations are never blind: it quotes the message that decided it."""
    found = setting.found
    if found.status is Status.NO_REPLY:
        timing, unknown_year = _estimated(DEFAULT_DELAY_HOURS, "", "low", setting)
        return Signal(
            **_common(setting),
            source="status-rule",
            signal_type=SignalType.SCHEDULE_FOLLOW_UP,
            severity="medium",
            reason=_reason(SignalType.SCHEDULE_FOLLOW_UP, {}, None, timing),
            follow_up_timing=timing,
            evidence={"kind": SILENCE},
            flags=() if unknown_year is None else (f"{UNKNOWN_YEAR}:{unknown_year}",),
        )
    if found.status is Status.ERROR:
        return Signal(
            **_common(setting),
            source="status-rule",
            signal_type=SignalType.MANUAL_REVIEW,
            severity="medium",
            reason="The model could not be reached, and the supplier waits for an answer.",
        )
    kind = _ENDS.get(found.status)
    if kind is None:
        return None
    return Signal(
        **_common(setting),
        source="status-rule",
        signal_type=kind,
        severity=_severity(kind, found.quote, None, setting),
        reason=f"The conversation ended as {found.status.value}.",
        supplier_quote=found.quote or None,
        grounding=ground_quote(found.quote or None, setting.history),
    )


def _signal_id(signal: Signal, setting: Setting, place: int) -> str:
    """The same for the same summary of the same conversation, so that a receiver knows what it has."""
    named = f"{setting.request.session_id}\n{history_hash(setting.history)}\n{place}\n{signal.signal_type.value}"
    return "sig_" + hashlib.sha256(named.encode()).hexdigest()[:24]
