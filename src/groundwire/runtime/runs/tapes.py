"""A recorded run played back: its answers, results, plans and prices, each where the loop asks for it.

The tape takes the places of the model, the tools and the clock, so that the loop that made the record can run on it
again. It decides nothing: what the loop makes of it is compared elsewhere.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Sequence

import msgspec

from groundwire.contracts.calls import ToolCall
from groundwire.contracts.errors import ErrorDetail, ErrorType, ProviderError
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.messages import ResultItem
from groundwire.contracts.records import CallRecord
from groundwire.contracts.replies import Reply, ReplyEnded, ReplyPart, Usage
from groundwire.contracts.requests import ModelRequest, SendOptions
from groundwire.contracts.results import ToolResult, decode_result
from groundwire.contracts.runs import (
    Added,
    Answered,
    Ended,
    Failed,
    Outcome,
    Paused,
    Plan,
    Planned,
    Resulted,
    RunBody,
)
from groundwire.runtime.arguments import kept_id
from groundwire.runtime.attempt import CallWaits
from groundwire.runtime.runs.asking import RunStopped
from groundwire.runtime.runs.plans import digest_of
from groundwire.runtime.runs.state import RunState
from groundwire.runtime.runs.traces import Trace
from groundwire.runtime.turns import Turn

_NO_OPTIONS = SendOptions()


class Tape:
    """Provider, executor, planner, price list, judge of forms and clock of one exact replay."""

    def __init__(self, trace: Trace) -> None:
        self._entries = trace.entries
        self._place = 1  # the beginning is what the replay begins with
        self._limit = trace.options.limits.max_seconds or 0.0
        self._records = {record.call_id: record for record in trace.calls if not record.parent_call_id}
        self._order = trace.calls
        self._under = _under_their_roots(trace.calls)
        self._names = _first_names(trace)
        self._counted: set[str] = set()
        self._batch: Batch | None = None
        self._cost: float | None = None
        self._fault = ""
        self._seconds = 0.0
        self.is_stopped = False
        """Whether the loop was stopped here because it was stopped there."""

    # The model.

    async def complete(self, request: ModelRequest, options: SendOptions = _NO_OPTIONS) -> Reply:
        answer = self._take((Answered, Failed), before=(Resulted, Paused, Ended))
        if answer is None:
            self._stop_if_stopped()
            raise ProviderError(Failure(kind=FailureKind.NOT_FOUND, message="The record has no answer to this."))
        self._pass_time()
        if isinstance(answer, Failed):
            raise ProviderError(answer.failure)
        assert isinstance(answer, Answered)  # noqa: S101 - there is no third
        self._cost, self._fault = answer.cost, answer.fault
        return answer.reply

    async def stream(self, request: ModelRequest, options: SendOptions = _NO_OPTIONS) -> AsyncGenerator[ReplyPart]:
        yield ReplyEnded(reply=await self.complete(request, options))

    async def close(self) -> None:
        return None

    def price(self, _model: str, _usage: Usage) -> float | None:
        return self._cost

    def check_output(self, _state: RunState, _reply: Reply) -> str:
        return self._fault

    def plan_step(self, state: RunState, turn: Turn) -> Plan:
        """The recorded plan; its digest is worked out again."""
        planned = self._take((Planned,), before=(Answered, Failed, Resulted, Paused, Ended))
        if isinstance(planned, Planned):
            state.record(Planned(plan=planned.plan, digest=digest_of(planned.plan)))
        return state.plan or Plan(model=state.options.model)

    # The tools.

    async def execute(self, turn: Turn, call: ToolCall) -> ToolResult:
        if self._batch is None:
            self._batch = Batch(self._take((Resulted, Paused), before=(Answered, Failed, Ended)))
        batch = self._batch
        call_id = kept_id(call.call_id)
        if call.call_id in batch.waiting:
            raise CallWaits(not_recorded(call), batch.waiting[call.call_id])
        shown, record = batch.take(call.call_id), self._records.get(call_id)
        is_counted = record is not None and call_id not in batch.call_ids and call_id not in self._counted
        batch.call_ids.add(call_id)
        if record is not None and self._is_of(record, call):
            return decode_result(record.result)
        result = read_shown(shown) if shown is not None else None
        if result is None:
            return not_recorded(call)
        batch.refusals += not (result.ok or is_counted)  # a second call of one id is refused without a record
        return result

    async def after_batch(self, turn: Turn) -> None:
        batch, self._batch = self._batch or Batch(None), None
        self._count(turn, batch.call_ids - self._counted)
        self._counted |= batch.call_ids
        turn.refusals += batch.refusals
        if not batch.is_recorded:
            self._stop_if_stopped()
        self._pass_time()

    # The clock.

    def now(self) -> float:
        return self._seconds

    def monotonic(self) -> float:
        return self._seconds

    async def sleep(self, seconds: float) -> None:
        self._seconds += seconds

    # The record.

    def begin_part(self, turn: Turn) -> None:
        """A turn counts what the parts of the run before it did, as it did when the run was taken up again."""
        self._count(turn, self._counted)

    def end_part(self) -> bool:
        """Go past the end of this part of the run; whether it was taken up again after that."""
        self.is_stopped = False
        while self._place < len(self._entries):
            self._place += 1
            if isinstance(self._entries[self._place - 1], Ended):
                return self._place < len(self._entries)
        return False

    def _take(self, wanted: tuple[type[RunBody], ...], *, before: tuple[type[RunBody], ...]) -> RunBody | None:
        """The next entry of that kind, if it comes before one of the others."""
        for place in range(self._place, len(self._entries)):
            body = self._entries[place]
            if isinstance(body, wanted):
                self._place = place + 1
                return body
            if isinstance(body, before):
                return None
        return None

    def _ending(self) -> Ended | None:
        """The end of this part, if nothing but remarks stands before it."""
        for place in range(self._place, len(self._entries)):
            body = self._entries[place]
            if isinstance(body, Ended):
                return body
            if not isinstance(body, (Added, Planned)):
                return None
        return None

    def _stop_if_stopped(self) -> None:
        """Whoever was waited for when the run was cancelled, or its process died, never came back."""
        ending = self._ending()
        is_cut = all(isinstance(body, (Added, Planned)) for body in self._entries[self._place :])
        if is_cut or (ending is not None and ending.outcome is Outcome.CANCELLED):
            self.is_stopped = True
            raise RunStopped

    def _pass_time(self) -> None:
        """The clock stands still until the record says that time ran out."""
        ending = self._ending()
        if ending is not None and ending.outcome is Outcome.TIME_LIMIT:
            self._seconds += self._limit

    def _is_of(self, record: CallRecord, call: ToolCall) -> bool:
        """Whether a call is the recorded one, and not another one that came under the same id."""
        return record.raw == call.raw and self._names.get(record.call_id) == call.name

    def _count(self, turn: Turn, call_ids: set[str]) -> None:
        """Let the turn know of these calls, and of those that their tools made, in the order in which they ended."""
        places = sorted(place for call_id in call_ids for place in self._under.get(call_id, ()))
        turn.rebuild([self._order[place] for place in places], decode_result)


class Batch:
    """What the record has on the calls of one reply: results, or the approvals that some wait for."""

    def __init__(self, body: RunBody | None) -> None:
        self.is_recorded = body is not None
        self.waiting: dict[str, str] = body.waiting if isinstance(body, Paused) else {}
        self.call_ids: set[str] = set()
        self.refusals = 0
        self._shown: dict[str, deque[ResultItem]] = {}
        for item in body.items if isinstance(body, Resulted) else ():
            if isinstance(item, ResultItem):
                self._shown.setdefault(item.call_id, deque()).append(item)

    def take(self, call_id: str) -> ResultItem | None:
        shown = self._shown.get(call_id)
        return shown.popleft() if shown else None


def read_shown(item: ResultItem) -> ToolResult | None:
    """A result from what the model was shown of it; None if that cannot be read."""
    try:
        return decode_result(item.text)
    except msgspec.DecodeError:
        return None


def not_recorded(call: ToolCall) -> ToolResult:
    """What a model is told of a call that the record cannot answer."""
    return ToolResult.failure(
        ErrorType.NOT_FOUND,
        f"{call.name} was not called like this in the recorded run, and a replay carries nothing out. Go on without it.",
        detail=ErrorDetail.NOT_RECORDED,
    )


def _first_names(trace: Trace) -> dict[str, str]:
    names: dict[str, str] = {}
    for step in trace.steps():
        for asked in step.asked:
            names.setdefault(kept_id(asked.call.call_id), asked.call.name)
    return names


def _under_their_roots(records: Sequence[CallRecord]) -> dict[str, list[int]]:
    """For each call of the model the places of all calls that were made under it, its own among them."""
    parents = {record.call_id: record.parent_call_id for record in records}
    roots: dict[str, str] = {}
    under: dict[str, list[int]] = {}
    for place, record in enumerate(records):
        above: dict[str, None] = {}
        root = record.call_id
        while root not in roots and root not in above and parents.get(root):
            above[root] = None
            root = parents[root]
        root = roots.get(root, root)
        roots.update(dict.fromkeys((*above, record.call_id), root))
        under.setdefault(root, []).append(place)
    return under
