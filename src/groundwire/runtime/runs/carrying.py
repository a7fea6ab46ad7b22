"""Carrying out the calls of one reply: what only looks runs together, actions one after another in the order given."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from msgspec import Struct

from groundwire.contracts.calls import ToolCall
from groundwire.contracts.messages import CallItem, ResultItem
from groundwire.contracts.projections import model_view, result_item
from groundwire.contracts.records import Confirmation
from groundwire.contracts.results import ToolResult
from groundwire.runtime.runs.settings import RunSettings
from groundwire.runtime.transforms import apply_to_call, apply_to_envelope
from groundwire.runtime.turns import Turn

Carried: TypeAlias = tuple[ToolResult, Confirmation | None]
"""The result of a call; or what it waits for, and then the result is none."""
Execute: TypeAlias = Callable[[Turn, ToolCall], Awaitable[Carried]]


class Batch(Struct, frozen=True, kw_only=True):
    """The calls of one reply by their places: actions, and those that only look.

    `is_unguarded`: nothing but its reservation stands between each call and what it does.
    """

    calls: Sequence[CallItem]
    actions: list[int]
    others: list[int]
    is_unguarded: bool


def sort_calls(turn: Turn, calls: Sequence[CallItem]) -> Batch:
    actions: list[int] = []
    others: list[int] = []
    is_guarded = False
    for place, item in enumerate(calls):
        entry = turn.find(item.call.name)
        if entry is not None and entry.is_action:
            actions.append(place)
            is_guarded |= entry.is_guarded
        else:
            others.append(place)
    return Batch(calls=calls, actions=actions, others=others, is_unguarded=not (others or is_guarded))


async def carry_out(execute: Execute, turn: Turn, batch: Batch, settings: RunSettings) -> list[Carried | None]:
    """One entry per call, in their order; None for an action that comes after one that waits."""
    done: list[Carried | None] = [None] * len(batch.calls)

    async def one_by_one(places: list[int]) -> None:
        for place in places:
            call = batch.calls[place].call
            if settings.tool_call_transforms:
                call = _corrected(call, turn, settings)
            carried = done[place] = await execute(turn, call)
            if carried[1] is not None:
                return

    if not batch.others or len(batch.calls) == 1:
        await one_by_one(batch.actions or batch.others)
        return done
    try:
        async with asyncio.TaskGroup() as group:
            for place in batch.others:
                group.create_task(one_by_one([place]))
            group.create_task(one_by_one(batch.actions))
    except BaseExceptionGroup as failures:  # only a store can fail here, and one reason is enough
        raise failures.exceptions[0] from None
    return done


def shown_item(call: ToolCall, result: ToolResult, settings: RunSettings) -> ResultItem:
    """The result as the model is shown it."""
    if not settings.tool_result_transforms:
        return result_item(call, result)
    return result_item(call, result, apply_to_envelope(model_view(result), settings.tool_result_transforms))


def _corrected(call: ToolCall, turn: Turn, settings: RunSettings) -> ToolCall:
    entry = turn.find(call.name)
    return apply_to_call(call, settings.tool_call_transforms, entry.spec.parameters if entry is not None else None)
