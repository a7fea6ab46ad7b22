"""Calls and their results in the order that strict providers demand: all calls of a step, then one result for each.

A conversation that is in order already comes back as it is.
"""

from collections import defaultdict, deque
from collections.abc import Sequence

from groundwire.codecs._warnings import Losses
from groundwire.contracts.messages import CallItem, Item, Message, NativeItem, ReasoningItem, ResultItem, TextPart

MISSING_RESULT = "This call was cancelled; it has no result."


def paired(items: Sequence[Item], losses: Losses) -> Sequence[Item]:
    """Every call gets exactly one result right after the model's step; results without a call become user text."""
    return items if _is_paired(items) else _Pairing(items, losses).ordered()


def _is_paired(items: Sequence[Item]) -> bool:
    asked: set[str] = set()
    answered: set[str] = set()
    for item in items:
        if isinstance(item, ResultItem):
            if item.call_id not in asked or item.call_id in answered:
                return False
            answered.add(item.call_id)
            continue
        if answered:
            if len(answered) != len(asked):
                return False
            asked, answered = set(), set()
        elif asked and item.split:
            return False
        if isinstance(item, CallItem):
            if item.call.call_id in asked:
                return False
            asked.add(item.call.call_id)
        elif asked and not _is_models(item):
            return False
    return len(answered) == len(asked)


def _is_models(item: Item) -> bool:
    return isinstance(item, (CallItem, ReasoningItem, NativeItem)) or (
        isinstance(item, Message) and item.role == "assistant"
    )


class _Pairing:
    """Puts one conversation in order: one walk to see what is where, one to write it down."""

    def __init__(self, items: Sequence[Item], losses: Losses) -> None:
        self._items = items
        self._losses = losses
        self._owner: dict[int, int] = {}
        """Which call (by place) each result (by place) belongs to: the latest open call of its id."""
        self._result: dict[int, int] = {}
        waiting: defaultdict[str, deque[int]] = defaultdict(deque)
        for place, item in enumerate(items):
            if isinstance(item, CallItem):
                waiting[item.call.call_id].append(place)
            elif isinstance(item, ResultItem) and waiting[item.call_id]:
                call = waiting[item.call_id].pop()
                self._owner[place] = call
                self._result[call] = place

    def ordered(self) -> list[Item]:
        ordered: list[Item] = []
        place = 0
        while place < len(self._items):
            end = self._end_of_step(place)
            after = max(end, place + 1)
            ordered.extend(self._alone(index) for index in range(place, after) if index not in self._owner)
            step = enumerate(self._items[place:end], place)
            ordered.extend(self._result_of(item, index, end) for index, item in step if isinstance(item, CallItem))
            place = after
        return ordered

    def _end_of_step(self, place: int) -> int:
        """Where the model's step that begins here ends; `place` itself if none begins."""
        asked: set[str] = set()
        for end in range(place, len(self._items)):
            item = self._items[end]
            if not _is_models(item) or (asked and item.split):
                return end
            if isinstance(item, CallItem):
                if item.call.call_id in asked:
                    return end  # an id that comes again can only be told apart in a step of its own
                asked.add(item.call.call_id)
        return len(self._items)

    def _result_of(self, call: CallItem, place: int, end: int) -> Item:
        found = self._result.get(place)
        if found is None:
            self._losses.add("result_added", f"items[{place}]", f"The call {call.call.call_id!r} had no result.")
            parts = (TextPart(text=MISSING_RESULT),)
            return ResultItem(call_id=call.call.call_id, name=call.call.name, parts=parts, failed=True)
        if found > end and not isinstance(self._items[found - 1], ResultItem):
            message = f"The result of {call.call.call_id!r} was moved to its call."
            self._losses.add("message_moved", f"items[{found}]", message)
        return self._items[found]

    def _alone(self, place: int) -> Item:
        item = self._items[place]
        if not isinstance(item, ResultItem):
            return item
        self._losses.add("result_orphaned", f"items[{place}]", f"No call {item.call_id!r} comes before this result.")
        heading = TextPart(text=f"Result of the earlier call {item.name or item.call_id}: ")
        return Message(role="user", parts=(heading, *item.parts))
