"""A stream as Gemini writes it: each frame a response with the next pieces, a call whole in one frame, the reason last.

A text that was signed is on its way before its signature is known, so the signature follows on an empty text part, as
Gemini itself does it. The array form is what clients get that did not ask for server-sent events.
"""

from typing import Any

from groundwire.codecs.gemini.failures import encode_error
from groundwire.codecs.gemini.finishes import write_finish
from groundwire.codecs.gemini.parts import write_part
from groundwire.codecs.gemini.profile import DIALECT
from groundwire.codecs.gemini.response_writing import (
    candidate_of,
    closing_members,
    is_answer,
    own_extras,
    without_citations,
    write_item,
    write_items,
)
from groundwire.codecs.wire.ids import GEMINI_IDS, IdTable
from groundwire.codecs.wire.json import dump
from groundwire.codecs.wire.private import note_foreign, take_own, visible
from groundwire.codecs.wire.sse import write_event
from groundwire.codecs.wire.warnings import Losses, WireWarning
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.messages import CallItem, Message, ReasoningItem, RefusalPart, TextPart
from groundwire.contracts.replies import (
    CallDelta,
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
)
from groundwire.contracts.requests import ModelRequest

_RESTARTED = Failure(
    kind=FailureKind.BAD_RESPONSE, message="The upstream began its answer anew after a part had been sent.", status=502
)


class StreamEncoder:
    """Feed the parts of a reply, get the bytes to send. `array` writes one JSON array instead of events."""

    def __init__(
        self,
        *,
        request: ModelRequest | None = None,
        created: int | None = None,
        array: bool = False,
    ) -> None:
        self._request = request
        self._is_array = array
        self._losses = Losses()
        self._ids = IdTable(GEMINI_IDS, self._losses)
        self._head: JsonObject = {}
        self._frames = 0
        self._is_over = False
        self._sent: set[int] = set()
        self._held: list[tuple[str, CallItem]] = []

    @property
    def warnings(self) -> tuple[WireWarning, ...]:
        return self._losses.taken()

    def feed(self, part: ReplyPart) -> bytes:
        if self._is_over:
            return b""
        if isinstance(part, ReplyTextDelta):
            self._sent.add(part.index)
            return self._chunk([{"text": part.text}])
        if isinstance(part, (CallDelta, ReplyCallStarted)):
            return b""
        if isinstance(part, ReasoningDelta):
            self._sent.add(part.index)
            return self._chunk([{"text": part.text, "thought": True}])
        if isinstance(part, RefusalDelta):
            self._sent.add(part.index)
            return self._chunk([{"text": part.text}])
        if isinstance(part, ItemEnded):
            return self._end_item(part)
        if isinstance(part, ReplyStarted):
            return self._start(part)
        if isinstance(part, ReplyEnded):
            return self._end(part.reply)
        return self._fail(part)

    def finish(self) -> bytes:
        """The end of the body; nothing marks it in the form with events."""
        self._is_over = True
        if not self._is_array:
            return b""
        return b"]" if self._frames else b"[]"

    def _start(self, part: ReplyStarted) -> bytes:
        if self._frames:
            return self._fail(ReplyFailed(failure=_RESTARTED))
        model = part.model or (self._request.model if self._request is not None else "")
        self._head = {}
        if model:
            self._head["modelVersion"] = model
        if part.reply_id:
            self._head["responseId"] = part.reply_id
        self._sent = set()
        return b""

    def _end_item(self, part: ItemEnded) -> bytes:
        """What the pieces could not say: calls, media, native entries, and signatures."""
        item, path = part.item, f"items[{part.index}]"
        if isinstance(item, CallItem) and not item.complete:
            self._held.append((path, item))  # whether a cut call may be shown depends on how the reply ends
            return b""
        if isinstance(item, Message):
            parts = self._rest_of_message(item, path, was_sent=part.index in self._sent)
        elif isinstance(item, ReasoningItem) and part.index in self._sent:
            members = visible(take_own(item.private, DIALECT, path, self._losses)) if item.private else {}
            parts = [{"text": "", "thought": True, **members}] if members else []
        else:
            parts = write_item(item, None, self._losses, path, self._ids)
        return self._chunk(parts) if parts else b""

    def _rest_of_message(self, item: Message, path: str, *, was_sent: bool) -> list[JsonObject]:
        parts: list[JsonObject] = []
        if item.private:
            note_foreign(item.private, DIALECT, path, self._losses)
        for part in item.parts:
            if not was_sent or not isinstance(part, (TextPart, RefusalPart)):
                written = write_part(without_citations(part), self._losses, path)
                if written is not None and written != {"text": ""}:
                    parts.append(written)
            elif isinstance(part, TextPart) and part.private:
                members = visible(take_own(part.private, DIALECT, path, self._losses))
                if members:
                    parts.append({"text": "", **members})
        return parts

    def _end(self, reply: Reply) -> bytes:
        self._is_over = True
        extras = own_extras(reply, self._losses)
        body: dict[str, Any] = {}
        if is_answer(reply):
            held: list[JsonObject] = []
            for path, item in self._held:
                held.extend(write_item(item, reply.finish, self._losses, path, self._ids))
            ending = write_finish(reply.finish, self._losses)
            last = held or ([{"text": ""}] if reply.items else [])
            body["candidates"] = [candidate_of(0, last, reply.items, ending, extras)]
            for place, other in enumerate(reply.alternatives, 1):
                parts = write_items(other.items, other.finish, self._losses)
                ending = write_finish(other.finish, self._losses)
                body["candidates"].append(candidate_of(place, parts, other.items, ending, extras))
        body.update({**self._head, **closing_members(reply, self._request, extras, self._losses)})
        return self._frame(body)

    def _fail(self, part: ReplyFailed) -> bytes:
        self._is_over = True
        return self._frame(encode_error(part.failure)[1])

    def _chunk(self, parts: list[JsonObject]) -> bytes:
        content: JsonObject = {"parts": list(parts), "role": "model"}
        return self._frame({"candidates": [{"content": content, "index": 0}], **self._head})

    def _frame(self, body: JsonObject) -> bytes:
        data = dump(body)
        self._frames += 1
        if not self._is_array:
            return write_event(data)
        return (b"[" if self._frames == 1 else b",\r\n") + data
