"""The model's steps that called tools, kept until the results are back.

Clients send a step back as their dialect shows it, often without what only its provider can read: signatures,
ciphertexts, thoughts. What is missing is put back, provided that the calls are the very same. A step is found by its
first call's id and by what the user had said, because there are models that count their calls anew each time.
"""

import hashlib
from collections.abc import Container, Sequence

import msgspec

from groundwire.contracts.messages import CallItem, Item, Message, NativeItem, ResultItem
from groundwire.gateway.tables import Tables

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(tuple[Item, ...]).decode


class Steps:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def keep(
        self, tenant: str, asked: Sequence[Item], items: Sequence[Item], shown: Sequence[Item], created: int
    ) -> None:
        """Remember what the client cannot bring back: `items` is what was said and done, `shown` what it got of that."""
        first = next((item for item in shown if type(item) is CallItem), None)
        if first is None or (items is shown and all(_is_public(item) for item in items)):
            return
        key = _key(first, asked[_turn_of(asked) - 1 : _turn_of(asked)])
        await self._tables.add_step(tenant, key, created, _encode(tuple(items)).decode())

    async def restored(self, tenant: str, items: tuple[Item, ...], dialect: str) -> tuple[Item, ...]:
        """The items of a request in this dialect, with the steps since the user last spoke as the model made them."""
        spans = _open_steps(items, dialect)
        if not spans:
            return items
        known = await self._tables.steps(tenant, [key for key, _, _ in spans])
        made: list[Item] = []
        done = 0
        for key, start, end in spans:
            stored = _decode(known[key]) if key in known else ()
            made.extend(items[done:start])
            made.extend(stored if _same_calls(stored, items[start:end]) else items[start:end])
            done = end
        return (*made, *items[done:])


def _is_public(item: Item) -> bool:
    return type(item) in (Message, CallItem) and not item.private  # type: ignore[union-attr]


def _open_steps(items: tuple[Item, ...], dialect: str) -> list[tuple[str, int, int]]:
    """Key, start and end of each step of the current turn whose calls have come back bare."""
    if not items or type(items[-1]) is not ResultItem:
        return []
    start = _turn_of(items)
    said = items[start - 1 : start]
    spans: list[tuple[str, int, int]] = []
    place = start
    while place < len(items):
        end = place
        while end < len(items) and type(items[end]) is not ResultItem:
            end += 1
        step = items[place:end]
        first = next((item for item in step if type(item) is CallItem), None)
        if first is not None and not any(_is_whole(item, dialect) for item in step):
            spans.append((_key(first, said), place, end))
        while end < len(items) and type(items[end]) is ResultItem:
            end += 1
        place = end
    return spans


def _is_whole(item: Item, dialect: str) -> bool:
    """Whether the client kept what another dialect's provider had said of it."""
    return type(item) is not NativeItem and any(origin != dialect for origin in item.private)  # type: ignore[union-attr]


def _turn_of(items: Sequence[Item]) -> int:
    """Where the current turn begins: behind the last message that is not the model's."""
    for place in range(len(items) - 1, -1, -1):
        item = items[place]
        if type(item) is Message and item.role != "assistant":
            return place + 1
    return 0


def _key(call: CallItem, said: Sequence[Item]) -> str:
    text = "".join(item.text for item in said if type(item) is Message)
    return f"{call.call.call_id}#{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}"


def _same_calls(stored: Sequence[Item], given: Sequence[Item]) -> bool:
    """Whether the calls that came back are those that were handed out: all that have no result here."""
    answered = {item.call_id for item in stored if type(item) is ResultItem}
    return bool(stored) and _calls_of(stored, answered) == _calls_of(given, answered)


def _calls_of(items: Sequence[Item], answered: Container[str]) -> list[tuple[str, str, object]]:
    calls = [item for item in items if type(item) is CallItem and item.call.call_id not in answered]
    return [(item.call.call_id, item.call.name, _arguments(item)) for item in calls]


def _arguments(item: CallItem) -> object:
    if item.call.arguments is not None:
        return item.call.arguments
    try:
        return msgspec.json.decode(item.call.raw)
    except (msgspec.MsgspecError, RecursionError):
        return item.call.raw
