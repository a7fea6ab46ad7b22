"""A case carried out: its lines come in one by one, through the production pipeline, on a clock that waits for nobody.

What came of it is told as a plain value. Whether that is right is for `checks` to say.
"""

import json
from collections.abc import Sequence
from datetime import datetime

from groundwire import CallItem, Registry, RunResult, Runtime, Settings
from groundwire.apps.supplier.agents import Roles, SupplierAgents, with_grounding
from groundwire.apps.supplier.contracts import (
    Goal,
    GroundingMode,
    HistoryEntry,
    IncomingResult,
    JsonObject,
    SourcingRequest,
    Status,
    SummaryResult,
    TraceEntry,
    as_json,
)
from groundwire.apps.supplier.conversing import to_items
from groundwire.apps.supplier.evaluation.cases import Case
from groundwire.apps.supplier.grounding import ground_trace, turn_at
from groundwire.apps.supplier.messages import is_human
from groundwire.apps.supplier.pipeline import (
    Pipeline,
    handle_conversation_end,
    handle_follow_up,
    handle_incoming_message,
    open_conversation,
)
from groundwire.apps.supplier.signals.events import iso_time
from groundwire.apps.supplier.traces import read_trace
from groundwire.evals import Contestant, Conversed
from groundwire.testing import FakeClock

PAUSE = 300.0
"""Seconds that a supplier takes to write."""
MAX_NUDGES = 2


async def carry_out_case(
    case: Case, contestant: Contestant, seed: int, mode: GroundingMode, registry: Registry
) -> Conversed:
    begin = datetime.fromisoformat(case.clock).timestamp() - PAUSE * len(case.lines)
    clock = FakeClock(begin)
    results: list[RunResult] = []
    async with Runtime(registry, "memory://", settings=with_grounding(Settings(), mode), clock=clock) as runtime:
        agents = SupplierAgents(
            runtime,
            contestant.models,
            Roles(bot=contestant.name, summary=contestant.name),
            settings=contestant.settings,
            sampling=contestant.sampling,
            price=contestant.price,
            on_run=results.append,
        )
        drive = _Drive(case, f"{case.id}-{seed}", Pipeline(agents, grounding=mode, clock=clock), clock, results)
        await drive.talk()
        summary, calls = await drive.end()
        return Conversed(
            results=tuple(results),
            conversation=to_items(drive.history),
            text=summary.summary_text if summary is not None else "",
            state={"model": contestant.name, **drive.tell(summary, calls)},
        )


class _Drive:
    """One conversation, as a host would lead it."""

    def __init__(
        self, case: Case, session_id: str, pipeline: Pipeline, clock: FakeClock, results: list[RunResult]
    ) -> None:
        self._case = case
        self._request: SourcingRequest = case.request_for(session_id)
        self._goals: tuple[Goal, ...] = case.goals
        self._pipeline = pipeline
        self._clock = clock
        self._results = results
        self._status = Status.CONTINUE
        self.history: tuple[HistoryEntry, ...] = ()
        self._trace: tuple[TraceEntry, ...] = ()
        self._made: list[TraceEntry] = []
        self._nudges = 0

    async def talk(self) -> None:
        self.history = (self._entry("bot", open_conversation(self._request)),)
        for line in self._case.lines:
            self._clock.advance(PAUSE)
            self.history = (*self.history, self._entry("supplier", line))
            await self._hear()
            if self._status is Status.ERROR:
                return
        if not any(is_human(self.history, place) for place in range(len(self.history))):
            await self._wait()
        elif self._status is Status.CONTINUE:
            self._status = self._found(lines_used_up=True)

    async def end(self) -> tuple[SummaryResult | None, tuple[TraceEntry, ...]]:
        """With all that the summary agent asked for. Nothing is summarised where no model can be reached."""
        if self._status is Status.ERROR:
            return None, ()
        before = len(self._results)
        summary = await handle_conversation_end(
            sr=self._request,
            goals=self._goals,
            history=self.history,
            bot_tool_trace=self._trace,
            status=self._status,
            pipeline=self._pipeline,
        )
        return summary, self._judged(before, turn_at(self.history, len(self.history)))

    async def _hear(self) -> None:
        before, turn = len(self._results), turn_at(self.history, len(self.history))
        result = await handle_incoming_message(
            sr=self._request,
            goals=self._goals,
            history=self.history,
            bot_tool_trace=self._trace,
            pipeline=self._pipeline,
        )
        self._made += self._judged(before, turn)
        self._take(result)

    async def _wait(self) -> None:
        """Nobody answers. Who was never answered at all is asked again, and then it is left at that."""
        window = self._pipeline.silence.window.total_seconds()
        part = window / (MAX_NUDGES + 1)
        for _ in range(MAX_NUDGES if not self._case.lines else 0):
            self._clock.advance(part)
            result = await handle_follow_up(
                sr=self._request,
                goals=self._goals,
                history=self.history,
                bot_tool_trace=self._trace,
                reason="对方还没有回复",
                pipeline=self._pipeline,
            )
            self._nudges += 1
            self._take(result)
            if self._status is Status.ERROR:
                return
        self._clock.advance(window - self._nudges * part)
        self._status = self._found()

    def _found(self, *, lines_used_up: bool = False) -> Status:
        return self._pipeline.status_of(
            self._request, self._goals, self.history, self._trace, lines_used_up=lines_used_up
        ).status

    def _take(self, result: IncomingResult) -> None:
        self.history, self._status = result.history, result.status
        self._trace = (*self._trace, *result.tool_calls)

    def _judged(self, since: int, turn: int) -> tuple[TraceEntry, ...]:
        """All that the model asked for since then, with its evidence, whatever the pipeline has dropped of it."""
        registry = self._pipeline.agents.runtime.registry
        made = [entry for result in self._results[since:] for entry in read_trace(result.items, turn, registry)]
        return ground_trace(made, self.history, GroundingMode.REPORT)

    def _entry(self, role: str, content: str) -> HistoryEntry:
        return HistoryEntry(
            role="bot" if role == "bot" else "supplier", content=content, timestamp=iso_time(self._clock.now())
        )

    def tell(self, summary: SummaryResult | None, calls: Sequence[TraceEntry]) -> JsonObject:
        return {
            "status": self._status.value,
            "history": as_json(self.history),
            "botToolTrace": as_json(self._trace),
            "botCalls": as_json(self._made),
            "summaryText": summary.summary_text if summary is not None else "",
            "signals": as_json(summary.signals) if summary is not None else [],
            "summaryCalls": as_json(calls),
            "nudges": self._nudges,
            "repeatedCalls": sum(_repeated(result) for result in self._results),
        }


def _repeated(result: RunResult) -> int:
    """Calls that say what another of the same run has said."""
    said = [_words(item) for item in result.items if isinstance(item, CallItem)]
    return len(said) - len(set(said))


def _words(item: CallItem) -> str:
    try:
        arguments = json.dumps(json.loads(item.call.raw), sort_keys=True)
    except (ValueError, RecursionError):
        arguments = item.call.raw
    return f"{item.call.name} {arguments}"
