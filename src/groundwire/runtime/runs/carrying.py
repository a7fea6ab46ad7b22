"""Carrying out the calls of one reply: what only looks runs together, actions one after another in the order given."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import Any, TypeAlias

from groundwire.contracts.calls import ToolCall
from groundwire.contracts.messages import CallItem, ResultItem
from groundwire.contracts.projections import model_view, result_item
from groundwire.contracts.results import ToolResult
from groundwire.runtime.attempt import CallWaits
from groundwire.runtime.runs.settings import RunSettings
from groundwire.runtime.transforms import apply_to_call, apply_to_envelope
from groundwire.runtime.turns import Turn

Execute: TypeAlias = Callable[[Turn, ToolCall], Awaitable[ToolResult]]
"""Gives the result of a call, or raises CallWaits."""


class Batch:
    """The calls of one reply, their results, and the approvals that some wait for. One that was not begun has neither.

    `is_unguarded`: nothing but its reservation stands between each call and what it does.
    """

    __slots__ = ("actions", "calls", "is_unguarded", "others", "results", "waiting")

    def __init__(self, turn: Turn, calls: Sequence[CallItem]) -> None:
        self.calls = calls
        self.results: list[ToolResult | None] = [None] * len(calls)
        self.waiting: dict[str, str] = {}
        self.actions: list[int] = []
        self.others: list[int] = []
        is_guarded = False
        for place, item in enumerate(calls):
            entry = turn.find(item.call.name)
            if entry is not None and entry.is_action:
                self.actions.append(place)
                is_guarded |= entry.is_guarded
            else:
                self.others.append(place)
        self.is_unguarded = not (self.others or is_guarded)


def carry_out(execute: Execute, turn: Turn, batch: Batch, settings: RunSettings) -> Coroutine[Any, Any, None]:
    """Fill in what is done. An action that comes after one that waits is not begun."""
    if batch.others and len(batch.calls) > 1:
        return _together(execute, turn, batch, settings)
    return _one_by_one(execute, turn, batch, batch.actions or batch.others, settings)


async def _one_by_one(execute: Execute, turn: Turn, batch: Batch, places: Iterable[int], settings: RunSettings) -> None:
    for place in places:
        call = batch.calls[place].call
        if settings.tool_call_transforms:
            call = _corrected(call, turn, settings)
        try:
            batch.results[place] = await execute(turn, call)
        except CallWaits as waits:
            batch.waiting[batch.calls[place].call.call_id] = waits.confirmation_id
            return


async def _together(execute: Execute, turn: Turn, batch: Batch, settings: RunSettings) -> None:
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(_one_by_one(execute, turn, batch, places, settings))
                for places in (*((place,) for place in batch.others), batch.actions)
            ]
    except BaseExceptionGroup as failures:  # only a store can fail here, and one reason is enough
        raise failures.exceptions[0] from None
    # A tool can cancel its own task: a group takes no notice of that, and a result would be missing.
    if any(task.cancelled() for task in tasks):
        raise asyncio.CancelledError


def shown_item(call: ToolCall, result: ToolResult, settings: RunSettings) -> ResultItem:
    """The result as the model is shown it."""
    if not settings.tool_result_transforms:
        return result_item(call, result)
    return result_item(call, result, apply_to_envelope(model_view(result), settings.tool_result_transforms))


def _corrected(call: ToolCall, turn: Turn, settings: RunSettings) -> ToolCall:
    entry = turn.find(call.name)
    return apply_to_call(call, settings.tool_call_transforms, entry.spec.parameters if entry is not None else None)
