"""A model's content, part by part, as items of the conversation.

Texts that follow each other share a message, except that a signed text ends it: nothing may be joined to it.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from groundwire.codecs.gemini.casing import camel_keys
from groundwire.codecs.gemini.parts import (
    ModelPart,
    is_signed,
    read_model_part,
    read_model_part_leniently,
)
from groundwire.codecs.wire.ids import OPENAI_CHAT_IDS, derived_id, unique_id
from groundwire.codecs.wire.json import dump_text
from groundwire.codecs.wire.reading import as_object
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.messages import CallItem, Item, MediaPart, Message, Part, TextPart

_PLAIN_ID = re.compile(r"[A-Za-z0-9_-]{1,28}").fullmatch


class TurnReader:
    """Reads one model turn. `prefix` begins the ids of calls that came without one."""

    __slots__ = ("_ids", "_names", "_parts", "_place", "_prefix", "items")

    def __init__(self, prefix: str, names: Mapping[str, str]) -> None:
        self.items: list[Item] = []
        self._prefix = prefix
        self._names = names
        self._parts: list[Part] = []
        self._ids: set[str] = set()
        self._place = 0

    def read(self, parts: Iterable[Any], path: str) -> list[Item]:
        """Strictly, for requests."""
        for place, part in enumerate(parts):
            at = f"{path}[{place}]"
            self._add(read_model_part(camel_keys(as_object(part, at)), at, self._made_id(), self._names))
        return self._ended()

    def read_leniently(self, parts: Iterable[Any]) -> list[Item]:
        """For responses: entries that are no objects say nothing."""
        for part in parts:
            if isinstance(part, dict):
                self._add(read_model_part_leniently(camel_keys(part), self._made_id(), self._names))
        return self._ended()

    def _made_id(self) -> str:
        return f"{self._prefix}_{self._place}"

    def _add(self, read: ModelPart) -> None:
        if isinstance(read, TextPart):
            self._parts.append(read)
            if is_signed(read):
                self._end_message()
            return
        if isinstance(read, MediaPart):
            self._parts.append(read)
            return
        self._end_message()
        if isinstance(read, CallItem):
            self._place += 1
            read = with_unique_id(read, self._ids)
        self.items.append(read)

    def _end_message(self) -> None:
        if self._parts:
            self.items.append(Message(role="assistant", parts=tuple(self._parts)))
            self._parts = []

    def _ended(self) -> list[Item]:
        self._end_message()
        return self.items


def with_unique_id(item: CallItem, taken: set[str]) -> CallItem:
    call = item.call
    if call.call_id not in taken:
        taken.add(call.call_id)
        return item
    call_id = unique_id(call.call_id, taken)
    taken.add(call_id)
    call = ToolCall(call_id=call_id, name=call.name, raw=call.raw, arguments=call.arguments, origin=call.origin)
    return CallItem(call=call, complete=item.complete, split=item.split, private=item.private)


def id_prefix(reply_id: str, place: int, candidate: JsonObject | None = None) -> str:
    """What the ids of calls without one begin with: the same for the same response, however often it is read."""
    is_plain = reply_id.isalnum() and reply_id.isascii() and len(reply_id) <= 28
    if not is_plain and not _PLAIN_ID(reply_id):
        seed = reply_id or dump_text(candidate or {})
        reply_id = derived_id(seed, OPENAI_CHAT_IDS)[5:21]
    return f"call_{reply_id}_{place}" if place else f"call_{reply_id}"
