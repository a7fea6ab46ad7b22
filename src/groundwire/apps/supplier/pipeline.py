"""The production entry: what to do with a supplier's message, and what to tell operations when it is over.

`handle_incoming_message` and `handle_conversation_end` keep nothing: histories and traces come in and go out. Whoever
calls them stores, sends and delivers; `host` is such a caller.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from groundwire import Clock
from groundwire.apps.supplier.agents import SupplierAgents
from groundwire.apps.supplier.conclusions import Setting, to_signals
from groundwire.apps.supplier.contracts import (
    Goal,
    GroundingMode,
    HistoryEntry,
    IncomingResult,
    SourcingRequest,
    Status,
    SummaryResult,
    TraceEntry,
    goals_of,
)
from groundwire.apps.supplier.grounding import ground_trace
from groundwire.apps.supplier.media import Transcriber, hear, is_unread_voice, shows_tokens_only
from groundwire.apps.supplier.messages import is_human
from groundwire.apps.supplier.signals.events import iso_time
from groundwire.apps.supplier.statuses import Detection, Silence, Situation, detect_status

ASK_FOR_TEXT = "不好意思，我这边听不了语音，麻烦您打字发给我可以吗？"
_DEFLECT = "对方要求换到平台外的渠道。礼貌说明我们只在平台上沟通，不留任何联系方式，然后继续问没问完的事项。"
_TOKENS_ONLY = "对方发来的图片或文件在这里只是标记，你看不到内容。承认收到，并请对方用文字说明关键信息。"


class Pipeline:
    """What the two functions need besides the conversation: agents, a grounding mode, a clock, perhaps ears."""

    def __init__(
        self,
        agents: SupplierAgents,
        *,
        grounding: GroundingMode = GroundingMode.STRICT,
        clock: Clock | None = None,
        transcriber: Transcriber | None = None,
        silence: Silence | None = None,
    ) -> None:
        self.agents = agents
        self.grounding = grounding
        self.clock = clock or agents.runtime.clock
        self.silence = silence or Silence()
        self._transcriber = transcriber

    async def hear(self, entry: HistoryEntry) -> HistoryEntry:
        """A recording as text, where somebody can listen; else as it came."""
        return await hear(entry, self._transcriber)

    def status_of(
        self,
        request: SourcingRequest,
        goals: Sequence[Goal],
        history: Sequence[HistoryEntry],
        trace: Sequence[TraceEntry],
        *,
        waiting_since: float | None = None,
        lines_used_up: bool = False,
    ) -> Detection:
        """Where the conversation stands by this pipeline's clock and patience."""
        since = None if waiting_since is None else datetime.fromtimestamp(waiting_since, UTC)
        situation = Situation(now=self.now, waiting_since=since, lines_used_up=lines_used_up, silence=self.silence)
        return detect_status(request, goals, history, trace, situation)

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(self.clock.now(), UTC)


async def handle_incoming_message(
    *,
    sr: SourcingRequest,
    goals: Sequence[Goal] = (),
    history: Sequence[HistoryEntry],
    bot_tool_trace: Sequence[TraceEntry] = (),
    pipeline: Pipeline,
    run_id: str = "",
    tenant: str = "default",
) -> IncomingResult:
    """What the newest message leads to. `bot_tool_trace` is what earlier turns captured: without it, only goals that
    this message settles count towards the end.

    An automatic reply and one that a model could not be reached for have no reply; the history is then as it came.
    """
    goals = tuple(goals) or goals_of(sr)
    said = [*history[:-1], await pipeline.hear(history[-1])] if history else []
    if not said or said[-1].role != "supplier" or not is_human(said, len(said) - 1):
        found = pipeline.status_of(sr, goals, said, bot_tool_trace)
        return IncomingResult(reply="", tool_calls=(), status=found.status, history=tuple(said))
    if is_unread_voice(said, len(said) - 1):
        return _replied(ASK_FOR_TEXT, (), said, sr, goals, bot_tool_trace, pipeline)
    before = pipeline.status_of(sr, goals, said, bot_tool_trace)
    turn = await pipeline.agents.call_bot(
        sr, goals, said, bot_tool_trace, situation=_situation(said, before), run_id=run_id, tenant=tenant
    )
    captured = ground_trace(turn.trace, said, pipeline.grounding)
    if not turn.reply:
        return IncomingResult(reply="", tool_calls=captured, status=Status.ERROR, history=tuple(said))
    return _replied(turn.reply, captured, said, sr, goals, bot_tool_trace, pipeline)


async def handle_follow_up(
    *,
    sr: SourcingRequest,
    goals: Sequence[Goal] = (),
    history: Sequence[HistoryEntry],
    bot_tool_trace: Sequence[TraceEntry] = (),
    reason: str,
    pipeline: Pipeline,
    run_id: str = "",
    tenant: str = "default",
) -> IncomingResult:
    """The bot speaks first: a time that was named has come, or nobody has answered."""
    goals = tuple(goals) or goals_of(sr)
    turn = await pipeline.agents.call_bot(
        sr,
        goals,
        history,
        bot_tool_trace,
        aside="（供应商还没有新消息，现在到了跟进的时间。请写一句简短礼貌的跟进消息。）",
        situation=f"跟进原因：{reason}",
        run_id=run_id,
        tenant=tenant,
    )
    if not turn.reply:
        return IncomingResult(reply="", tool_calls=(), status=Status.ERROR, history=tuple(history))
    spoken = HistoryEntry(role="bot", content=turn.reply, timestamp=iso_time(pipeline.clock.now()))
    return IncomingResult(
        reply=turn.reply,
        tool_calls=ground_trace(turn.trace, history, pipeline.grounding),
        status=Status.CONTINUE,
        history=(*history, spoken),
    )


async def handle_conversation_end(
    *,
    sr: SourcingRequest,
    goals: Sequence[Goal] = (),
    history: Sequence[HistoryEntry],
    bot_tool_trace: Sequence[TraceEntry],
    status: Status | None = None,
    pipeline: Pipeline,
    run_id: str = "",
    tenant: str = "default",
) -> SummaryResult:
    """What operations are told. `status` is how it ended, where the caller knows better than the words themselves.

    A model that cannot be reached leaves what the end itself demands; `failure` then says so.
    """
    goals = tuple(goals) or goals_of(sr)
    found = pipeline.status_of(sr, goals, history, bot_tool_trace)
    if status is not None and status is not found.status:
        found = replace(found, status=status)
    summary = await pipeline.agents.call_summary(
        sr, goals, history, bot_tool_trace, found.status, run_id=run_id, tenant=tenant
    )
    setting = Setting(
        request=sr,
        goals=goals,
        history=tuple(history),
        trace=tuple(bot_tool_trace),
        found=found,
        mode=pipeline.grounding,
        now=pipeline.now,
    )
    return SummaryResult(
        summary_text=summary.text,
        signals=to_signals(summary.trace, setting),
        tool_calls=ground_trace(summary.trace, history, pipeline.grounding),
        failure=summary.failure,
    )


def open_conversation(sr: SourcingRequest) -> str:
    """The bot's first line. It needs no model: nobody has said anything yet."""
    wish = f"，需要{sr.want}" if sr.want else ""
    return f"您好，我们想采购{sr.item}，数量{sr.qty}左右{wish}。请问有货吗？起订量、单价和交期是多少？"


def _situation(history: Sequence[HistoryEntry], found: Detection) -> str:
    notes = [_DEFLECT] if found.deflect else []
    if shows_tokens_only(history, len(history) - 1):
        notes.append(_TOKENS_ONLY)
    return "\n".join(notes)


def _replied(
    reply: str,
    captured: tuple[TraceEntry, ...],
    said: Sequence[HistoryEntry],
    sr: SourcingRequest,
    goals: Sequence[Goal],
    earlier: Sequence[TraceEntry],
    pipeline: Pipeline,
) -> IncomingResult:
    spoken = HistoryEntry(role="bot", content=reply, timestamp=iso_time(pipeline.clock.now()))
    found = pipeline.status_of(sr, goals, said, (*earlier, *captured))
    return IncomingResult(reply=reply, tool_calls=captured, status=found.status, history=(*said, spoken))
