"""Calls and their results in the order that strict providers demand: all calls of a step, then one result for each.

A conversation that is in order already comes back as it is.
"""

from collections.abc import Sequence

from groundwire.codecs._warnings import Losses
from groundwire.contracts.messages import CallItem, Item, Message, NativeItem, ReasoningItem, ResultItem, TextPart

MISSING_RESULT = "This call was cancelled; it has no result."


def paired(items: Sequence[Item], losses: Losses) -> Sequence[Item]:
    """Every call gets exactly one result right after the model's step; results without a call become user text."""
    return items if _is_paired(items) else _pair(items, losses)


def _is_paired(items: Sequence[Item]) -> bool:
    asked: list[str] = []
    answered: set[str] = set()
    for item in items:
        kind = item.kind
        if kind == "result":
            if item.call_id not in asked or item.call_id in answered:  # type: ignore[union-attr]
                return False
            answered.add(item.call_id)  # type: ignore[union-attr]
            continue
        if answered:
            if len(answered) != len(asked):
                return False
            asked, answered = [], set()
        elif asked and item.split:
            return False
        if kind == "call":
            if item.call.call_id in asked:  # type: ignore[union-attr]
                return False
            asked.append(item.call.call_id)  # type: ignore[union-attr]
        elif asked and kind == "message" and item.role != "assistant":  # type: ignore[union-attr]
            return False
    return len(answered) == len(asked)


def _pair(items: Sequence[Item], losses: Losses) -> list[Item]:
    ordered: list[Item] = []
    taken: set[int] = set()
    place = 0
    while place < len(items):
        end = _end_of_step(items, place)
        if end == place:
            if place not in taken:
                ordered.append(_alone(items[place], place, losses))
            place += 1
            continue
        step = [items[index] for index in range(place, end) if index not in taken]
        ordered.extend(item for item in step if not isinstance(item, ResultItem))
        ordered.extend(_result_for(item, items, end, taken, losses) for item in step if isinstance(item, CallItem))
        place = end
    return ordered


def _end_of_step(items: Sequence[Item], place: int) -> int:
    """Where the model's step that begins here ends; `place` itself if none begins."""
    has_calls = False
    for end in range(place, len(items)):
        item = items[end]
        if not _is_models(item) or (has_calls and item.split):
            return end
        has_calls = has_calls or isinstance(item, CallItem)
    return len(items)


def _is_models(item: Item) -> bool:
    return isinstance(item, (CallItem, ReasoningItem, NativeItem)) or (
        isinstance(item, Message) and item.role == "assistant"
    )


def _result_for(call: CallItem, items: Sequence[Item], place: int, taken: set[int], losses: Losses) -> ResultItem:
    """The call's result, sought from `place` on, where its step has ended."""
    call_id = call.call.call_id
    between = False
    for index in range(place, len(items)):
        item = items[index]
        if isinstance(item, ResultItem) and item.call_id == call_id and index not in taken:
            taken.add(index)
            if between:
                losses.add("message_moved", f"items[{index}]", f"The result of {call_id!r} was moved to its call.")
            return item
        if isinstance(item, CallItem) and item.call.call_id == call_id:
            break  # the id is used again: later results belong to that call
        between = between or (isinstance(item, Message) and item.role != "assistant")
    losses.add("result_added", f"items[{place}]", f"The call {call_id!r} had no result.")
    return ResultItem(call_id=call_id, name=call.call.name, parts=(TextPart(text=MISSING_RESULT),), failed=True)


def _alone(item: Item, place: int, losses: Losses) -> Item:
    if not isinstance(item, ResultItem):
        return item
    losses.add("result_orphaned", f"items[{place}]", f"No call {item.call_id!r} comes before this result.")
    heading = TextPart(text=f"Result of the earlier call {item.name or item.call_id}: ")
    return Message(role="user", parts=(heading, *item.parts))
