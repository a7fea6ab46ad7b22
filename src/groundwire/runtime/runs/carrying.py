"""Carrying out the calls of one reply: what only looks runs together, actions one after another in the order given."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

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


async def carry_out(
    execute: Execute, turn: Turn, calls: Sequence[CallItem], settings: RunSettings
) -> list[Carried | None]:
    """One entry per call, in their order; None for an action that comes after one that waits."""
    done: list[Carried | None] = [None] * len(calls)

    async def carry(place: int) -> bool:
        carried = done[place] = await execute(turn, _corrected(calls[place].call, turn, settings))
        return carried[1] is None

    async def act(places: list[int]) -> None:
        for place in places:
            if not await carry(place):
                return

    actions: list[int] = []
    others: list[int] = []
    for place, item in enumerate(calls):
        (actions if is_action(turn, item.call.name) else others).append(place)
    if not others or len(calls) == 1:
        await act(actions or others)
        return done
    try:
        async with asyncio.TaskGroup() as group:
            for place in others:
                group.create_task(carry(place))
            group.create_task(act(actions))
    except BaseExceptionGroup as failures:  # only a store can fail here, and one reason is enough
        raise failures.exceptions[0] from None
    return done


def shown_item(call: ToolCall, result: ToolResult, settings: RunSettings) -> ResultItem:
    """The result as the model is shown it."""
    if not settings.tool_result_transforms:
        return result_item(call, result)
    return result_item(call, result, apply_to_envelope(model_view(result), settings.tool_result_transforms))


def _corrected(call: ToolCall, turn: Turn, settings: RunSettings) -> ToolCall:
    if not settings.tool_call_transforms:
        return call
    entry = turn.find(call.name)
    return apply_to_call(call, settings.tool_call_transforms, entry.spec.parameters if entry is not None else None)


def is_action(turn: Turn, name: str) -> bool:
    entry = turn.find(name)
    return entry is not None and entry.is_action


def is_unguarded_action(turn: Turn, name: str) -> bool:
    """Whether nothing but its reservation stands between an action and what it does."""
    entry = turn.find(name)
    return entry is not None and entry.is_action and not entry.is_guarded
