"""Calls and their results in the order that strict providers demand: all calls of a step, then one result for each.

A conversation that is in order already comes back as it is.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from groundwire.codecs.wire.ids import unique_id
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.messages import CallItem, Item, Message, NativeItem, ReasoningItem, ResultItem, TextPart

BEGINNING = "(The conversation begins here.)"
"""What the user is made to say where a conversation cannot begin with the model; taken out again when read back."""
MISSING_RESULT = "This call was cancelled; it has no result."


def paired(items: Sequence[Item], losses: Losses, *, places: Sequence[int] | None = None) -> Iterable[tuple[int, Item]]:
    """Every call gets exactly one result right after the model's step; results without a call become user text.

    Each item comes with its place in the request, and an added result with that of its call. `places` are the places of
    these items where they are not the whole request.
    """
    if places is None:
        places = range(len(items))
    return zip(places, items, strict=True) if _is_paired(items) else _Pairing(items, places, losses).ordered()


def without_beginning(items: tuple[Item, ...]) -> tuple[Item, ...]:
    """The conversation without the beginning that we put before it."""
    first = items[0] if items else None
    if isinstance(first, Message) and first.role == "user" and len(first.parts) == 1 and first.text == BEGINNING:
        return items[1:]
    return items


def _is_paired(items: Sequence[Item]) -> bool:
    asked: set[str] = set()
    answered: set[str] = set()
    for item in items:
        if not asked and type(item) is Message:
            continue
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
        elif asked and not is_models(item):
            return False
    return len(answered) == len(asked)


def is_models(item: Item) -> bool:
    """Whether the model itself made it."""
    return isinstance(item, (CallItem, ReasoningItem, NativeItem)) or (
        isinstance(item, Message) and item.role == "assistant"
    )


class _Pairing:
    """Puts one conversation in order: one walk to see what is where, one to write it down."""

    def __init__(self, items: Sequence[Item], places: Sequence[int], losses: Losses) -> None:
        self._items = items
        self._places = places
        self._losses = losses
        self._owner: dict[int, int] = {}
        """Which call (by place) each result (by place) belongs to."""
        self._result: dict[int, int] = {}
        self._renamed: dict[int, str] = {}
        """Calls (by place) whose id another call of the same step has too."""
        waiting: defaultdict[str, deque[int]] = defaultdict(deque)
        taken = {item.call.call_id for item in items if isinstance(item, CallItem)}
        step_of: dict[str, int] = {}
        step = 0
        for place, item in enumerate(items):
            if not is_models(item) or item.split:
                step += 1
            if isinstance(item, CallItem):
                call_id = item.call.call_id
                if step_of.get(call_id) != step:
                    waiting[call_id].clear()  # an id that is used anew: later results belong to the later calls
                else:
                    self._renamed[place] = unique_id(call_id, taken)
                step_of[call_id] = step
                taken.add(self._renamed.get(place, call_id))
                waiting[call_id].append(place)
            elif isinstance(item, ResultItem) and waiting[item.call_id]:
                call = waiting[item.call_id].popleft()
                self._owner[place] = call
                self._result[call] = place

    def ordered(self) -> list[tuple[int, Item]]:
        ordered: list[tuple[int, Item]] = []
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
        has_calls = False
        for end in range(place, len(self._items)):
            item = self._items[end]
            if not is_models(item) or (has_calls and item.split):
                return end
            has_calls = has_calls or isinstance(item, CallItem)
        return len(self._items)

    def _path(self, place: int) -> str:
        return f"items[{self._places[place]}]"

    def _result_of(self, call: CallItem, place: int, end: int) -> tuple[int, Item]:
        found = self._result.get(place)
        call_id = self._renamed.get(place, call.call.call_id)
        if found is None:
            self._losses.add("result_added", self._path(place), f"The call {call_id!r} had no result.")
            parts = (TextPart(text=MISSING_RESULT),)
            added = ResultItem(call_id=call_id, name=call.call.name, parts=parts, failed=True)
            return self._places[place], added
        if found > end and not isinstance(self._items[found - 1], ResultItem):
            self._losses.add("message_moved", self._path(found), f"The result of {call_id!r} was moved to its call.")
        result = self._items[found]
        return self._places[found], replace(result, call_id=call_id) if place in self._renamed else result

    def _alone(self, place: int) -> tuple[int, Item]:
        return self._places[place], self._written_alone(place)

    def _written_alone(self, place: int) -> Item:
        item = self._items[place]
        if isinstance(item, CallItem) and place in self._renamed:
            renamed = self._renamed[place]
            self._losses.add("call_id_rewritten", self._path(place), f"{item.call.call_id!r} is sent as {renamed!r}.")
            return replace(item, call=replace(item.call, call_id=renamed))
        if not isinstance(item, ResultItem):
            return item
        self._losses.add("result_orphaned", self._path(place), f"No call {item.call_id!r} comes before this result.")
        heading = TextPart(text=f"Result of the earlier call {item.name or item.call_id}: ")
        return Message(role="user", parts=(heading, *item.parts))
