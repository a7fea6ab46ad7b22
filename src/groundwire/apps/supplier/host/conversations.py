"""A conversation as the host keeps it, and how each thing that happens changes it. Pure: no store, no clock, no model.

What must be done next follows from the value alone, so that a process that died leaves nothing behind that only it knew.
"""

from collections.abc import Callable, Iterable

from msgspec import Struct
from msgspec.structs import replace

from groundwire.apps.supplier.conclusions import history_hash
from groundwire.apps.supplier.contracts import (
    BrainReceipt,
    Goal,
    HistoryEntry,
    IncomingResult,
    Signal,
    SignalType,
    SourcingRequest,
    Status,
    SummaryResult,
    TraceEntry,
)
from groundwire.apps.supplier.messages import is_human, parse_time

MAX_FOLLOW_UPS = 3
MAX_ENTRIES = 2_000
"""A chat that has more has gone wrong: its next message is refused."""


class FollowUp(Struct, frozen=True, kw_only=True, rename="camel"):
    """A turn that the bot will begin by itself. `history_ref` names the conversation that it goes on from."""

    due_at: float
    attempt: int
    reason: str
    history_ref: str


class Outgoing(Struct, frozen=True, kw_only=True, rename="camel"):
    """A reply that is to be sent. `is_sent` once the chat has taken it."""

    message_id: str
    text: str
    is_sent: bool = False


class SummaryRecord(Struct, frozen=True, kw_only=True, rename="camel"):
    """What was told to operations at one end of the conversation, and what became of it."""

    history_ref: str
    status: Status
    summary_text: str
    signals: tuple[Signal, ...]
    tool_calls: tuple[TraceEntry, ...]
    created_at: float
    brain_receipt: BrainReceipt | None = None


class Conversation(Struct, frozen=True, kw_only=True, rename="camel"):
    """`inbox` are messages that arrived and were not answered yet, in the order in which they were written.

    `waiting_since` is when we last said something: silence counts from there, whatever a machine sends meanwhile.
    """

    request: SourcingRequest
    goals: tuple[Goal, ...]
    status: Status
    opened_at: float
    waiting_since: float
    history: tuple[HistoryEntry, ...] = ()
    bot_tool_trace: tuple[TraceEntry, ...] = ()
    inbox: tuple[HistoryEntry, ...] = ()
    outbox: tuple[Outgoing, ...] = ()
    silence_due: float | None = None
    """When somebody looks whether we still wait for an answer; one such appointment is enough at a time."""
    follow_up: FollowUp | None = None
    follow_ups: int = 0
    """How often we came back since a person answered last."""
    summaries: tuple[SummaryRecord, ...] = ()
    failure: str = ""

    @property
    def session_id(self) -> str:
        return self.request.session_id

    @property
    def history_ref(self) -> str:
        """Names what we and people have said. A machine's words after the end are no reason to tell everything again."""
        said = [
            entry for place, entry in enumerate(self.history) if entry.role == "bot" or is_human(self.history, place)
        ]
        return history_hash(said)

    @property
    def summary(self) -> SummaryRecord | None:
        """The one of the conversation as it stands."""
        ref = self.history_ref
        return next((one for one in self.summaries if one.history_ref == ref), None)

    def knows(self, message_id: str) -> bool:
        """Whether the supplier's message of this id has come. Our own ids are other names, though they may look alike."""
        said = (*self.history, *self.inbox)
        return any(entry.message_id == message_id for entry in said if entry.role == "supplier")


def opened(request: SourcingRequest, goals: Iterable[Goal], line: HistoryEntry, now: float) -> Conversation:
    begun = Conversation(request=request, goals=tuple(goals), status=Status.CONTINUE, opened_at=now, waiting_since=now)
    return _said(begun, line, now)


def arrived(conversation: Conversation, entry: HistoryEntry) -> Conversation:
    """A message came in. A person's ends every plan to come back, and opens a conversation that was over."""
    place = _place_of(entry, conversation.inbox)
    inbox = (*conversation.inbox[:place], entry, *conversation.inbox[place:])
    waiting = replace(conversation, inbox=inbox)
    if not is_human((*conversation.history, *inbox), len(conversation.history) + place):
        return waiting
    return replace(waiting, status=Status.CONTINUE, follow_up=None, follow_ups=0, failure="")


def _place_of(entry: HistoryEntry, inbox: tuple[HistoryEntry, ...]) -> int:
    """Before those that were written later, where the chat says when; else at the end."""
    written = parse_time(entry.timestamp)
    later = (
        place
        for place, other in enumerate(inbox)
        if written and (moment := parse_time(other.timestamp)) and moment > written
    )
    return next(later, len(inbox))


def answered(conversation: Conversation, result: IncomingResult, reply_id: str, now: float) -> Conversation:
    """The first message of the inbox was handled; with a reply, unless there was nothing to say.

    Silence is not for a message to tell: a machine's may come when somebody has only just begun to wait for an answer.
    """
    heard = result.history[len(conversation.history)]
    after = replace(
        conversation,
        inbox=conversation.inbox[1:],
        history=(*conversation.history, heard),
        bot_tool_trace=(*conversation.bot_tool_trace, *result.tool_calls),
        failure="",
    )
    if result.reply:
        after = _said(after, replace(result.history[-1], message_id=reply_id), now)
    return after if result.status in {Status.CONTINUE, Status.NO_REPLY} else ended(after, result.status)


def given_up(conversation: Conversation, failure: str) -> Conversation:
    """The model could not be reached: the message stands without a reply, and the next one will find it there."""
    heard = (*conversation.history, *conversation.inbox[:1])
    return ended(replace(conversation, inbox=conversation.inbox[1:], history=heard, failure=failure), Status.ERROR)


def ended(conversation: Conversation, status: Status) -> Conversation:
    return replace(conversation, status=status)


def followed_up(conversation: Conversation, result: IncomingResult, reply_id: str, now: float) -> Conversation:
    spoken = replace(result.history[-1], message_id=reply_id)
    after = replace(
        conversation,
        status=Status.CONTINUE,
        follow_up=None,
        follow_ups=conversation.follow_ups + 1,
        bot_tool_trace=(*conversation.bot_tool_trace, *result.tool_calls),
    )
    return _said(after, spoken, now)


def summarised(conversation: Conversation, result: SummaryResult, due: float | None, now: float) -> Conversation:
    """The end was read. `due` is when to come back, if a signal asks for it; there are only so many attempts."""
    ref = conversation.history_ref
    record = SummaryRecord(
        history_ref=ref,
        status=conversation.status,
        summary_text=result.summary_text,
        signals=result.signals,
        tool_calls=result.tool_calls,
        created_at=now,
    )
    plan = None
    if due is not None and conversation.follow_ups < MAX_FOLLOW_UPS:
        asked = next(signal for signal in result.signals if signal.signal_type is SignalType.SCHEDULE_FOLLOW_UP)
        plan = FollowUp(due_at=due, attempt=conversation.follow_ups + 1, reason=asked.reason, history_ref=ref)
    return replace(conversation, summaries=(*conversation.summaries, record), follow_up=plan)


def watched(conversation: Conversation, ends_at: Callable[[float], float]) -> Conversation:
    """While it is the supplier's turn, somebody will look for silence when it ends."""
    if conversation.status is not Status.CONTINUE or conversation.inbox or conversation.silence_due is not None:
        return conversation
    return replace(conversation, silence_due=ends_at(conversation.waiting_since))


def looked_for_silence(conversation: Conversation, status: Status | None) -> Conversation:
    """The appointment was kept. `status` is how it ends, if nobody has answered in time."""
    seen = replace(conversation, silence_due=None)
    waits = conversation.status is Status.CONTINUE and not conversation.inbox
    return ended(seen, status) if waits and status is not None else seen


def sent(conversation: Conversation, message_id: str) -> Conversation:
    marked = tuple(replace(one, is_sent=True) if one.message_id == message_id else one for one in conversation.outbox)
    return replace(conversation, outbox=marked)


def received(conversation: Conversation, history_ref: str, receipt: BrainReceipt) -> Conversation:
    """Whoever is told of signals has answered for those of a summary."""
    return replace(
        conversation,
        summaries=tuple(
            replace(one, brain_receipt=receipt) if one.history_ref == history_ref else one
            for one in conversation.summaries
        ),
    )


def _said(conversation: Conversation, line: HistoryEntry, now: float) -> Conversation:
    return replace(
        conversation,
        history=(*conversation.history, line),
        outbox=(*conversation.outbox, Outgoing(message_id=line.message_id, text=line.content)),
        waiting_since=now,
    )
