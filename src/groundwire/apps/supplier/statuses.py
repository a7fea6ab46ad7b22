"""Where a conversation stands, by rules over its messages and captures, and which words decided it.

It carries nothing out: what a status leads to is for the pipeline to say.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from groundwire.apps.supplier.contracts import Goal, HistoryEntry, SourcingRequest, Status, TraceEntry
from groundwire.apps.supplier.messages import MessageClass, classify_message, parse_time, time_of
from groundwire.apps.supplier.reading import ReadingContext, asked_goals, read_message
from groundwire.apps.supplier.reading.channels import find_invitation
from groundwire.apps.supplier.reading.refusals import find_refusal, offers_something
from groundwire.apps.supplier.timing import CHINA, Calendar, UnknownYear, WorkingHours, read_timing

GoalState: TypeAlias = Literal["captured", "blocked", "waiting", "open"]

NEED_A_FILE = frozenset({"unit_price", "customization"})
"""The goals that wait for a file without which nobody can quote."""
_NO_STOCK = {"out_of_stock", "discontinued"}


@dataclass(frozen=True, kw_only=True)
class Silence:
    """How long a supplier may say nothing. With `working_hours`, only those count."""

    window: timedelta = timedelta(hours=24)
    working_hours: WorkingHours | None = None
    calendar: Calendar = CHINA

    def ends_at(self, since: datetime) -> datetime:
        """When it has lasted too long. Where the holidays of a year are not known, every hour counts."""
        if self.working_hours is not None:
            with suppress(UnknownYear):
                return self.working_hours.after(since, self.window, self.calendar)
        return since + self.window


@dataclass(frozen=True, kw_only=True)
class Situation:
    """What the messages themselves do not tell. Without `now`, which has a zone, nobody is silent.

    `waiting_since` begins the silence anew, as a follow-up does; otherwise it begins with our first message that has no
    answer. `lines_used_up`: nothing more will come, as in a recorded case.
    """

    now: datetime | None = None
    failed: bool = False
    lines_used_up: bool = False
    waiting_since: datetime | None = None
    silence: Silence = field(default_factory=Silence)


@dataclass(frozen=True, kw_only=True)
class Detection:
    """The status, the rule that decided it, and the message (its place in the history) with the words, if any did.

    `deflect`: the supplier invites elsewhere for the first time, and our next message declines. `unknown_year`: working
    hours could not be counted, and every hour was.
    """

    status: Status
    rule: str
    message: int | None = None
    start: int | None = None
    end: int | None = None
    quote: str = ""
    deflect: bool = False
    goals: Mapping[str, GoalState] = field(default_factory=dict)
    unknown_year: int | None = None


@dataclass(frozen=True, kw_only=True)
class _Spoken:
    """A message by a person of the supplier's."""

    index: int
    text: str
    kind: MessageClass


def detect_status(
    request: SourcingRequest,
    goals: Sequence[Goal],
    history: Sequence[HistoryEntry],
    trace: Sequence[TraceEntry],
    situation: Situation | None = None,
) -> Detection:
    """The first rule that holds: failure, another channel, refusal, nothing left to ask, silence; else it goes on."""
    situation = situation or Situation()
    if situation.failed:
        return Detection(status=Status.ERROR, rule="model_unreachable")
    spoken = tuple(_people_of(history))
    states = goal_states(goals, history, trace, situation)
    silent, unknown_year = _is_silent(history, spoken, situation)
    invitation, pushed = _find_invitation(history, spoken)
    if invitation and (pushed or (silent and invitation.message == spoken[-1].index)):
        rule = "invited_again" if pushed else "silent_after_invitation"
        return _decided(invitation, Status.WECHAT_REDIRECT, rule, states, unknown_year)
    if refusal := _find_refusal(request, spoken):
        return _decided(refusal, Status.REJECTED, "refused", states)
    deflect = invitation is not None and not _answered(history, invitation)
    if spoken and states and "open" not in states.values():
        return Detection(status=Status.COMPLETED, rule="goals_settled", goals=states, deflect=deflect)
    if spoken and situation.lines_used_up:
        return Detection(status=Status.COMPLETED, rule="lines_used_up", goals=states)
    if silent or situation.lines_used_up:
        return Detection(status=Status.NO_REPLY, rule="silent", goals=states, unknown_year=unknown_year)
    if invitation and deflect:
        return _decided(invitation, Status.CONTINUE, "invited", states, deflect=True)
    return Detection(status=Status.CONTINUE, rule="goals_open", goals=states)


def goal_states(
    goals: Sequence[Goal],
    history: Sequence[HistoryEntry],
    trace: Sequence[TraceEntry],
    situation: Situation | None = None,
) -> dict[str, GoalState]:
    """How each goal stands. A capture that is invalid or has no evidence settles nothing."""
    situation = situation or Situation()
    counted = [entry for entry in trace if entry.valid and not (entry.grounding and entry.grounding.grounded is False)]
    captured = {str(entry.args.get("goalId")) for entry in counted if entry.name == "log_data"}
    blocked = {str(entry.args.get("goalId")) for entry in counted if entry.name == "note_blocker"}
    waiting = set(NEED_A_FILE) if any(_blocks_a_quote(entry) for entry in counted) else set()
    names = [goal.goal_id for goal in goals]
    settled = captured | blocked | waiting
    waiting |= _promised(history, [name for name in names if name not in settled], situation)

    def state_of(name: str) -> GoalState:
        if name in captured:
            return "captured"
        if name in blocked:
            return "blocked"
        return "waiting" if name in waiting else "open"

    return {name: state_of(name) for name in names}


def _blocks_a_quote(entry: TraceEntry) -> bool:
    return entry.name == "note_file_request" and entry.args.get("urgency") == "blocking_quote"


def _promised(history: Sequence[HistoryEntry], names: Sequence[str], situation: Situation) -> set[str]:
    """The goals for which a time was named that has not come: those the message speaks of, else those we had asked
    about, else all that are open. 稍等 names no time."""
    found: set[str] = set()
    question: tuple[str, ...] = ()
    for index, entry in enumerate(history):
        if entry.role == "bot":
            question = asked_goals(entry.content)
            continue
        clock = time_of(history, index) or situation.now
        if clock is None or not classify_message(history, index).readable:
            continue
        reading = read_timing(entry.content, clock, calendar=situation.silence.calendar)
        timing = reading.timing if reading else None
        if timing is None or timing.confidence == "low":
            continue
        due = parse_time(timing.due_at)
        if due is None or (situation.now and due <= situation.now):
            continue
        about = [goal for goal in asked_goals(entry.content) if goal in names] or [
            goal for goal in question if goal in names
        ]
        found.update(about or names)
    return found


def _people_of(history: Sequence[HistoryEntry]) -> Iterator[_Spoken]:
    for index, entry in enumerate(history):
        if entry.role == "supplier":
            kind = classify_message(history, index)
            if kind.human:
                yield _Spoken(index=index, text=entry.content, kind=kind)


@dataclass(frozen=True, kw_only=True)
class _Evidence:
    message: int
    start: int
    end: int
    quote: str


def _evidence(spoken: _Spoken, span: tuple[int, int]) -> _Evidence:
    return _Evidence(message=spoken.index, start=span[0], end=span[1], quote=spoken.text[span[0] : span[1]])


def _find_invitation(history: Sequence[HistoryEntry], spoken: Sequence[_Spoken]) -> tuple[_Evidence | None, bool]:
    """The last invitation elsewhere, and whether it came although we had answered an earlier one."""
    found = [_evidence(one, span) for one in spoken if (span := find_invitation(one.text))]
    if not found:
        return None, False
    pushed = next((one for one in found[1:] if _speaks(history, found[0].message, one.message)), None)
    return pushed or found[-1], pushed is not None


def _speaks(history: Sequence[HistoryEntry], after: int, before: int) -> bool:
    return any(entry.role == "bot" for entry in history[after + 1 : before])


def _answered(history: Sequence[HistoryEntry], evidence: _Evidence) -> bool:
    return _speaks(history, evidence.message, len(history))


def _find_refusal(request: SourcingRequest, spoken: Sequence[_Spoken]) -> _Evidence | None:
    """A refusal that no offer and no fact of a later message takes back."""
    context = ReadingContext(item=request.item, qty=request.qty, want=request.want)
    standing: _Evidence | None = None
    for one in spoken:
        if span := find_refusal(one.text):
            standing = standing or _evidence(one, span)
        elif standing and (offers_something(one.text) or _states_a_fact(one, context)):
            standing = None
    return standing


def _states_a_fact(spoken: _Spoken, context: ReadingContext) -> bool:
    captures = read_message(spoken.text, context) if spoken.kind.readable else ()
    return any(capture.tool == "log_data" and capture.value not in _NO_STOCK for capture in captures)


def _is_silent(
    history: Sequence[HistoryEntry], spoken: Sequence[_Spoken], situation: Situation
) -> tuple[bool, int | None]:
    since = situation.waiting_since or _waiting_since(history, spoken)
    if since is None or situation.now is None:
        return False, None
    silence = situation.silence
    if silence.working_hours is None:
        return situation.now - since >= silence.window, None
    try:
        waited = silence.working_hours.between(since, situation.now, silence.calendar)
    except UnknownYear as unknown:
        return situation.now - since >= silence.window, unknown.year
    return waited >= silence.window, None


def _waiting_since(history: Sequence[HistoryEntry], spoken: Sequence[_Spoken]) -> datetime | None:
    """When it became the supplier's turn: our first message after their last. Reminders do not begin it anew."""
    last = spoken[-1].index if spoken else -1
    ours = [entry for entry in history[last + 1 :] if entry.role == "bot"]
    known = (moment for entry in ours if (moment := parse_time(entry.timestamp)))
    theirs = parse_time(history[last].timestamp) if ours and spoken else None
    return next(known, theirs)


def _decided(
    evidence: _Evidence,
    status: Status,
    rule: str,
    states: Mapping[str, GoalState],
    unknown_year: int | None = None,
    *,
    deflect: bool = False,
) -> Detection:
    return Detection(
        status=status,
        rule=rule,
        message=evidence.message,
        start=evidence.start,
        end=evidence.end,
        quote=evidence.quote,
        deflect=deflect,
        goals=states,
        unknown_year=unknown_year,
    )
