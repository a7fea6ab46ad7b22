"""Stream decoders build their reply with this: it keeps the order of the items, makes call ids unique, and turns each
piece of news into the parts that a caller sees. And the other way: a whole reply as such parts.
"""

from collections.abc import Iterable
from itertools import groupby

from msgspec.structs import replace

from groundwire.codecs.wire.ids import unique_id
from groundwire.codecs.wire.json import whole_text
from groundwire.codecs.wire.results import object_arguments, read_arguments
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.failures import Failure
from groundwire.contracts.messages import (
    CallItem,
    Item,
    Message,
    NativeItem,
    Part,
    Private,
    ReasoningItem,
    RefusalPart,
    TextPart,
)
from groundwire.contracts.replies import (
    CallDelta,
    FinishReason,
    ItemEnded,
    ReasoningDelta,
    RefusalDelta,
    Reply,
    ReplyCallStarted,
    ReplyEnded,
    ReplyFailed,
    ReplyPart,
    ReplyStarted,
    ReplyTextDelta,
    WireWarning,
)


class _Open:
    """An item that is still being written."""

    __slots__ = ("call_id", "half", "kind", "name", "parts", "private", "refusals", "texts")

    def __init__(self, kind: str, call_id: str = "", name: str = "") -> None:
        self.kind = kind
        self.call_id = call_id
        self.name = name
        self.texts: list[str] = []
        self.half = ""
        self.parts: list[Part] = []
        self.refusals: list[str] = []
        """Pieces of a refusal that comes before `texts`."""
        self.private: Private = {}


class ReplyBuilder:
    """Collects one reply. Places are given out in the order in which items begin; `out` fills with the news."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.out: list[ReplyPart] = []
        self._items: list[_Open | Item] = []
        self._call_ids: set[str] = set()
        self._announced: dict[int, Private] = {}

    def take(self) -> list[ReplyPart]:
        """The news since the last time."""
        news, self.out = self.out, []
        return news

    def begin(self, started: ReplyStarted) -> None:
        """A reply begins, or begins anew: what came before is void."""
        self._items = []
        self._call_ids = set()
        self._announced = {}
        self.out.append(started)

    def open(self, kind: str, *, call_id: str = "", name: str = "", private: Private | None = None) -> int:
        """Begin an item of kind `message`, `reasoning` or `call`, and get its place.

        `private` is what is known of it already; it goes with the item's first piece.
        """
        if kind == "call":
            call_id = unique_id(call_id, self._call_ids)
            self._call_ids.add(call_id)
            place = len(self._items)
            self.out.append(ReplyCallStarted(index=place, call_id=call_id, name=name, private=private or {}))
        opened = _Open(kind, call_id, name)
        self._items.append(opened)
        if private:
            opened.private = private
            if kind != "call":
                self._announced[len(self._items) - 1] = private
        return len(self._items) - 1

    def announce(self, place: int, private: Private) -> None:
        """What goes with the item's first piece, if that has not come yet."""
        item = self._items[place]
        if isinstance(item, _Open) and place in self._announced:
            self._announced[place] = item.private = private

    def settle(self, place: int, item: Item) -> None:
        """The item at this place has ended, and this is what it came to; a call keeps the id that it was begun with."""
        before = self._items[place]
        begun = before.call_id if isinstance(before, _Open) else before.call.call_id if before.kind == "call" else ""
        if isinstance(item, CallItem) and begun and item.call.call_id != begun:
            call = item.call
            call = ToolCall(call_id=begun, name=call.name, raw=call.raw, arguments=call.arguments, origin=call.origin)
            item = CallItem(call=call, complete=item.complete, split=item.split, private=item.private)
        self._items[place] = item
        if isinstance(before, _Open):
            self.out.append(ItemEnded(index=place, item=item))

    def last(self, kind: str) -> int | None:
        """The place of the last item, if it is still open and of this kind."""
        item = self._items[-1] if self._items else None
        return len(self._items) - 1 if isinstance(item, _Open) and item.kind == kind else None

    def text(self, place: int, text: str) -> None:
        """More text of a message, of reasoning, or of a call's arguments."""
        item = self._items[place]
        if not isinstance(item, _Open) or not text:
            return
        if item.half or "\ud800" <= text[-1] <= "\udfff" or not text.isascii():
            text = _hold_half(item, text)
        if not text:
            return
        item.texts.append(text)
        if item.kind == "call":
            self.out.append(CallDelta(index=place, text=text))
            return
        private = self._announced.pop(place, {}) if self._announced else {}
        if item.kind == "message":
            self.out.append(ReplyTextDelta(index=place, text=text, private=private))
        else:
            self.out.append(ReasoningDelta(index=place, text=text, private=private))

    def refuse(self, place: int, text: str) -> None:
        """More of a refusal inside a message."""
        item = self._items[place]
        if isinstance(item, _Open) and text:
            if item.texts or item.half:
                self._close_text(item)
            item.refusals.append(text)
            self.out.append(RefusalDelta(index=place, text=text, private=self._announced.pop(place, {})))

    def part(self, place: int, part: Part) -> None:
        """A whole part of a message. A text part closes the text before it."""
        item = self._items[place]
        if isinstance(item, _Open):
            self._close_text(item)
            item.parts.append(part)
            if isinstance(part, TextPart) and part.text:
                self.out.append(ReplyTextDelta(index=place, text=part.text))

    def end_text(self, place: int, part: TextPart | None = None) -> None:
        """The text that is being written is one part, with what else `part` knows about it."""
        item = self._items[place]
        if isinstance(item, _Open):
            _close_refusal(item)
            text = "".join(item.texts) + whole_text(item.half)
            item.texts, item.half = [], ""
            if part is not None:
                item.parts.append(TextPart(text=text, citations=part.citations, private=part.private))
            elif text:
                item.parts.append(TextPart(text=text))

    def keep(self, place: int, private: Private) -> None:
        """Private data of the item, replaced as a whole per dialect."""
        item = self._items[place]
        if isinstance(item, _Open):
            item.private = {**item.private, **private}

    def become(self, place: int, kind: str) -> None:
        """An open item turns out to be of another kind, such as text that was reasoning."""
        item = self._items[place]
        if isinstance(item, _Open):
            item.kind = kind

    def name(self, place: int, name: str) -> None:
        item = self._items[place]
        if isinstance(item, _Open):
            item.name = name

    def name_of(self, place: int) -> str:
        item = self._items[place]
        return item.name if isinstance(item, _Open) else ""

    def pieces_of(self, place: int) -> list[str]:
        """The pieces of what was written so far of an open item; not to be changed."""
        item = self._items[place]
        return item.texts if isinstance(item, _Open) else []

    def text_of(self, place: int) -> str:
        """What was written so far of an open item."""
        item = self._items[place]
        return "".join(item.texts) if isinstance(item, _Open) else ""

    def add(self, item: Item) -> int:
        """A whole item that came in one piece."""
        if isinstance(item, CallItem):
            call_id = unique_id(item.call.call_id, self._call_ids)
            self._call_ids.add(call_id)
            call = ToolCall(
                call_id=call_id,
                name=item.call.name,
                raw=item.call.raw,
                arguments=item.call.arguments,
                origin=item.call.origin,
            )
            item = CallItem(call=call, complete=item.complete, split=item.split, private=item.private)
            self.out.append(ReplyCallStarted(index=len(self._items), call_id=call_id, name=call.name))
            self.out.append(CallDelta(index=len(self._items), text=call.raw))
        elif isinstance(item, Message) and item.text:
            self.out.append(ReplyTextDelta(index=len(self._items), text=item.text))
        elif isinstance(item, ReasoningItem) and item.text:
            self.out.append(ReasoningDelta(index=len(self._items), text=item.text))
        self._items.append(item)
        self.out.append(ItemEnded(index=len(self._items) - 1, item=item))
        return len(self._items) - 1

    def close(self, place: int, *, complete: bool = True) -> None:
        """The item at this place has ended. A call whose text is no JSON, or that was cut, is not complete."""
        item = self._items[place]
        if isinstance(item, _Open):
            whole = self._whole(item, complete=complete)
            self._items[place] = whole
            self.out.append(ItemEnded(index=place, item=whole))

    def close_all(self, *, complete: bool = True) -> None:
        for place, item in enumerate(self._items):
            if isinstance(item, _Open):
                self.close(place, complete=complete)

    def items(self) -> tuple[Item, ...]:
        """What has ended so far."""
        return tuple(item for item in self._items if not isinstance(item, _Open))

    def end(self, reply: Reply) -> None:
        self.out.append(ReplyEnded(reply=reply))

    def fail(self, failure: Failure) -> None:
        self.out.append(ReplyFailed(failure=failure))

    def _close_text(self, item: _Open) -> None:
        _close_refusal(item)
        text = "".join(item.texts) + whole_text(item.half)
        item.texts, item.half = [], ""
        if text:
            item.parts.append(TextPart(text=text))

    def _whole(self, item: _Open, *, complete: bool) -> Item:
        if item.kind == "message":
            self._close_text(item)
            return Message(role="assistant", parts=_with_joined_refusals(item.parts), private=item.private)
        text = "".join(item.texts) + whole_text(item.half)
        if item.kind == "reasoning":
            return ReasoningItem(text=text, private=item.private)
        call = ToolCall(call_id=item.call_id, name=item.name, raw=read_arguments(text), origin=self.origin)
        return CallItem(call=call, complete=complete, private=item.private)


def _close_refusal(item: _Open) -> None:
    if not item.refusals:
        return
    item.parts.append(RefusalPart(text="".join(item.refusals)))
    item.refusals = []


def _with_joined_refusals(parts: list[Part]) -> tuple[Part, ...]:
    """Refusals one behind the other are one."""
    joined: list[Part] = []
    for kind, run in groupby(parts, type):
        if kind is RefusalPart:
            joined.append(RefusalPart(text="".join([part.text for part in run if isinstance(part, RefusalPart)])))
        else:
            joined.extend(run)
    return tuple(joined)


def _hold_half(item: _Open, text: str) -> str:
    """Keep back a high surrogate at the end, until its other half comes."""
    text = item.half + text
    item.half = ""
    if "\ud800" <= text[-1] <= "\udbff":
        text, item.half = text[:-1], text[-1]
    return whole_text(text)


def withdraw_calls(items: Iterable[Item], reason: FinishReason) -> tuple[Item, ...]:
    """Mark the calls that must not run because of how the reply ended.

    A malformed call condemns all; a reply cut by its length condemns the last, and any that is no JSON object.
    """
    items = tuple(items)
    if reason in (FinishReason.MALFORMED_CALL, FinishReason.FAILED, FinishReason.INCOMPLETE, FinishReason.CANCELLED):
        return tuple(_withdrawn(item) if isinstance(item, CallItem) else item for item in items)
    if reason in (FinishReason.LENGTH, FinishReason.CONTEXT_FULL):
        last = len(items) - 1
        return tuple(
            _withdrawn(item)
            if isinstance(item, CallItem) and (place == last or object_arguments(item.call.raw) is None)
            else item
            for place, item in enumerate(items)
        )
    return items


def _withdrawn(item: CallItem) -> CallItem:
    return CallItem(call=item.call, complete=False, split=item.split, private=item.private)


_SEEM_WHOLE = frozenset({
    FinishReason.END, FinishReason.STOP_SEQUENCE, FinishReason.TOOL_CALLS, FinishReason.PAUSED, FinishReason.INCOMPLETE,
})  # fmt: skip


def would_run_cut(item: Item, reason: FinishReason) -> bool:
    """Whether a client would run this call although it was cut off, because the end of the reply does not tell it so."""
    return isinstance(item, CallItem) and not item.complete and reason in _SEEM_WHOLE


def parts_of(reply: Reply, *, piece: int | None = None) -> list[ReplyPart]:
    """A whole reply as the parts of a stream, in pieces of so many characters if wanted."""
    started = ReplyStarted(reply_id=reply.reply_id, model=reply.model, created=reply.created, warnings=reply.warnings)
    parts: list[ReplyPart] = [started]
    for index, item in enumerate(reply.items):
        deltas = deltas_of(item, index, piece)
        if deltas and not isinstance(item, NativeItem) and item.private:
            deltas[0] = replace(deltas[0], private=item.private)
        parts += [*deltas, ItemEnded(index=index, item=item)]
    parts.append(ReplyEnded(reply=reply))
    return parts


def noted(part: ReplyPart, warnings: tuple[WireWarning, ...]) -> ReplyPart:
    """The part, with warnings about the request if it is the beginning or the end of a reply."""
    if isinstance(part, ReplyStarted):
        return replace(part, warnings=(*warnings, *part.warnings))
    if isinstance(part, ReplyEnded):
        return ReplyEnded(reply=replace(part.reply, warnings=(*warnings, *part.reply.warnings)))
    return part


def deltas_of(item: Item, index: int, piece: int | None = None) -> list[ReplyPart]:
    """The pieces of one item, without its end."""
    deltas: list[ReplyPart] = []
    match item:
        case Message():
            for part in item.parts:
                if isinstance(part, TextPart):
                    deltas.extend(ReplyTextDelta(index=index, text=text) for text in _pieces(part.text, piece))
                elif isinstance(part, RefusalPart):
                    deltas.extend(RefusalDelta(index=index, text=text) for text in _pieces(part.text, piece))
        case ReasoningItem():
            deltas.extend(ReasoningDelta(index=index, text=text) for text in _pieces(item.text, piece))
        case CallItem(call=call):
            deltas.append(ReplyCallStarted(index=index, call_id=call.call_id, name=call.name))
            deltas.extend(CallDelta(index=index, text=text) for text in _pieces(call.raw, piece))
    return deltas


def _pieces(text: str, size: int | None) -> list[str]:
    if not text:
        return []
    return [text] if size is None else [text[start : start + size] for start in range(0, len(text), max(1, size))]
