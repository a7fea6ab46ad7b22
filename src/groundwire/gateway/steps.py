"""The model's steps that called tools, kept until the results are back.

Clients send a step back as their dialect shows it, often without what only its provider can read: signatures,
ciphertexts, thoughts. What is missing is put back, provided that the calls are the very same. A step is found by its
first call's id and by what the user had said, because there are models that count their calls anew each time; some
clients put a message of their own in between, so a few messages count as what was said. Gemini's clients may leave the
ids out: their steps are found by the calls themselves, and by all that was said.
"""

import hashlib
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import islice

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from groundwire.contracts.messages import CallItem, Item, Message, NativeItem, ResultItem
from groundwire.contracts.texts import storable
from groundwire.gateway.tables import Tables
from groundwire.runtime.runs.comparing import read_raw

_WITHOUT_IDS = "gemini"
"""The dialect in which calls need no ids."""
_LOOK_BACK = 3
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(tuple[Item, ...]).decode


class Step(Struct, frozen=True, kw_only=True):
    """`items` is what was said and done after `asked`, `shown` what the client got of that, in its dialect."""

    dialect: str
    asked: Sequence[Item]
    items: Sequence[Item]
    shown: Sequence[Item]


class _Span(Struct, frozen=True):
    """A step that came back bare: where it may be kept, and its items."""

    keys: list[str]
    start: int
    end: int


class Steps:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def keep(self, tenant: str, step: Step, created: int) -> None:
        """Remember what the client cannot bring back."""
        calls = [item for item in step.shown if type(item) is CallItem]
        if not calls or (step.items is step.shown and all(_is_public(item) for item in step.items)):
            return
        written = _encode(tuple(step.items)).decode()
        said = next(_said_before(step.asked), "")
        await self._tables.add_step(tenant, _key(calls[0], said), created, written)
        if step.dialect == _WITHOUT_IDS:
            await self._tables.add_step(tenant, _key_without_id(calls, _all_said(step.asked)), created, written)

    async def restored(self, tenant: str, items: tuple[Item, ...], dialect: str) -> tuple[Item, ...]:
        """The items of a request in this dialect, with the steps since the user last spoke as the model made them."""
        spans = _open_steps(items, dialect)
        if not spans:
            return items
        known = await self._tables.steps(tenant, [key for span in spans for key in span.keys])
        made: list[Item] = []
        ids: dict[str, str] = {}
        done = 0
        for span in spans:
            given = items[span.start : span.end]
            kept = (_decode(known[key]) for key in span.keys if key in known)
            step = next((step for step in kept if _same_calls(step, given)), given)
            if step is not given:
                ids.update(zip(_ids_of(given), _ids_of(step), strict=True))
            made.extend(_answering(items[done : span.start], ids))
            made.extend(step)
            done = span.end
        return (*made, *_answering(items[done:], ids))


def _is_public(item: Item) -> bool:
    return type(item) in (Message, CallItem) and not item.private  # type: ignore[union-attr]


def _open_steps(items: tuple[Item, ...], dialect: str) -> list[_Span]:
    """The steps of the current turn whose calls have come back bare."""
    if not items or type(items[-1]) is not ResultItem:
        return []
    place = _turn_of(items)
    said = list(islice(_said_before(items[:place]), _LOOK_BACK)) or [""]
    all_said = _all_said(items) if dialect == _WITHOUT_IDS else ""
    spans: list[_Span] = []
    while place < len(items):
        end = place
        while end < len(items) and type(items[end]) is not ResultItem:
            end += 1
        calls = [item for item in items[place:end] if type(item) is CallItem]
        if calls and not any(_is_whole(item, dialect) for item in items[place:end]):
            keys = [_key(calls[0], text) for text in said]
            spans.append(_Span([_key_without_id(calls, all_said)] if _lacks_id(calls[0]) else keys, place, end))
        while end < len(items) and type(items[end]) is ResultItem:
            end += 1
        place = end
    return spans


def _is_whole(item: Item, dialect: str) -> bool:
    """Whether the client kept what another dialect's provider had said of it."""
    return type(item) is not NativeItem and any(origin != dialect for origin in item.private)  # type: ignore[union-attr]


def _lacks_id(call: CallItem) -> bool:
    """Whether the id was made when the call was read."""
    return "_synthetic" in call.private.get(_WITHOUT_IDS, ())


def _turn_of(items: Sequence[Item]) -> int:
    """Where the current turn begins: behind the last message that is not the model's."""
    for place in range(len(items) - 1, -1, -1):
        item = items[place]
        if type(item) is Message and item.role != "assistant":
            return place + 1
    return 0


def _said_before(items: Sequence[Item]) -> Iterator[str]:
    """The messages at the end that are not the model's, the last first."""
    return (item.text for item in reversed(items) if type(item) is Message and item.role != "assistant")


def _key(call: CallItem, text: str) -> str:
    return f"{storable(call.call.call_id)}#{_digest(text)}"


def _all_said(items: Sequence[Item]) -> str:
    """A digest of everything that is not the model's."""
    return _digest("\n".join(_said_before(items)))


def _key_without_id(calls: Sequence[CallItem], all_said: str) -> str:
    made = [(item.call.name, _arguments(item)) for item in calls]
    return f"#{all_said}{_digest(msgspec.json.encode(made, order='deterministic').decode())}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _same_calls(stored: Sequence[Item], given: Sequence[Item]) -> bool:
    """Whether the calls that came back are those that were handed out: all that have no result here."""
    answered = {item.call_id for item in stored if type(item) is ResultItem}
    expected, found = _calls_of(stored, answered), _calls_of(given, answered)
    if any(_lacks_id(call) for call in found):
        return [_without_id(call) for call in expected] == [_without_id(call) for call in found]
    return bool(stored) and [_with_id(call) for call in expected] == [_with_id(call) for call in found]


def _calls_of(items: Sequence[Item], answered: Container[str] = ()) -> list[CallItem]:
    return [item for item in items if type(item) is CallItem and item.call.call_id not in answered]


def _without_id(item: CallItem) -> tuple[str, object]:
    return item.call.name, _arguments(item)


def _with_id(item: CallItem) -> tuple[str, str, object]:
    return item.call.call_id, item.call.name, _arguments(item)


def _ids_of(items: Sequence[Item]) -> list[str]:
    answered = {item.call_id for item in items if type(item) is ResultItem}
    return [item.call.call_id for item in _calls_of(items, answered)]


def _answering(items: Sequence[Item], ids: Mapping[str, str]) -> list[Item]:
    """The items, with each result under the id that its call has at the provider."""
    return [
        replace(item, call_id=ids[item.call_id]) if type(item) is ResultItem and item.call_id in ids else item
        for item in items
    ]


def _arguments(item: CallItem) -> object:
    return read_raw(item.call.raw) if item.call.arguments is None else item.call.arguments
