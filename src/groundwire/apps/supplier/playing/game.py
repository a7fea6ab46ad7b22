"""One game: opening, message and answer in turn, and the summary at the end. Moves come as they are made."""

from collections.abc import AsyncIterator
from typing import TypeAlias

from msgspec import Struct

from groundwire.apps.supplier.contracts import (
    HistoryEntry,
    Signal,
    SourcingRequest,
    Speaker,
    Status,
    TraceEntry,
    goals_of,
)
from groundwire.apps.supplier.pipeline import (
    Pipeline,
    handle_conversation_end,
    handle_incoming_message,
    open_conversation,
)
from groundwire.apps.supplier.playing.players import Supplier
from groundwire.apps.supplier.signals.events import iso_time
from groundwire.testing import FakeClock

PAUSE = 60.0
MOST_TURNS = 100


class Said(Struct, frozen=True, kw_only=True, tag_field="move", tag="said"):
    role: Speaker
    content: str


class Captured(Struct, frozen=True, kw_only=True, tag_field="move", tag="captured"):
    entry: TraceEntry


class Ended(Struct, frozen=True, kw_only=True, rename="camel", tag_field="move", tag="ended"):
    status: Status
    summary_text: str
    signals: tuple[Signal, ...]


Move: TypeAlias = Said | Captured | Ended


async def play(
    pipeline: Pipeline, supplier: Supplier, request: SourcingRequest, clock: FakeClock, *, turns: int = 12
) -> AsyncIterator[Move]:
    """Until the conversation ends, the supplier falls silent, or so many messages have been answered.

    `clock` is the pipeline's own: silence takes no time here.
    """
    goals = goals_of(request)
    history: tuple[HistoryEntry, ...] = ()
    trace: tuple[TraceEntry, ...] = ()
    status = Status.CONTINUE

    def entry(role: Speaker, content: str) -> HistoryEntry:
        return HistoryEntry(role=role, content=content, timestamp=iso_time(clock.now()))

    history = (entry("bot", open_conversation(request)),)
    yield Said(role="bot", content=history[0].content)
    for _ in range(turns):
        clock.advance(PAUSE)
        line = await supplier.answer(history)
        if not line:
            clock.advance(pipeline.silence.window.total_seconds())
            status = pipeline.status_of(request, goals, history, trace).status
            break
        yield Said(role="supplier", content=line)
        result = await handle_incoming_message(
            sr=request,
            goals=goals,
            history=(*history, entry("supplier", line)),
            bot_tool_trace=trace,
            pipeline=pipeline,
        )
        for call in result.tool_calls:
            yield Captured(entry=call)
        if result.reply:
            yield Said(role="bot", content=result.reply)
        history, status, trace = result.history, result.status, (*trace, *result.tool_calls)
        if status is not Status.CONTINUE:
            break
    summary = await handle_conversation_end(
        sr=request, goals=goals, history=history, bot_tool_trace=trace, status=status, pipeline=pipeline
    )
    yield Ended(status=status, summary_text=summary.summary_text, signals=summary.signals)
