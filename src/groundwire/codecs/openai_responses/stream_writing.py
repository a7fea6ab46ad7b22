"""The parts of a reply as the event stream of OpenAI Responses: every item with its whole life cycle.

Ids stay the same from an item's first event to the final response, as the official clients demand. Knows nothing of
where the parts come from.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from groundwire.codecs.openai_responses.failures import write_error
from groundwire.codecs.openai_responses.item_writing import Offered, write_output_item
from groundwire.codecs.openai_responses.profile import DIALECT
from groundwire.codecs.openai_responses.responses import (
    item_id_of,
    made_item_id,
    mark_cut,
    response_id_of,
    write_frame,
)
from groundwire.codecs.wire.json import dump
from groundwire.codecs.wire.private import give_back, own_members
from groundwire.codecs.wire.sse import write_event
from groundwire.codecs.wire.warnings import Losses, WireWarning
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.messages import (
    CallItem,
    Item,
    Message,
    NativeItem,
    Private,
    ReasoningItem,
    RefusalPart,
    TextPart,
)
from groundwire.contracts.replies import (
    CallDelta,
    Finish,
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
)
from groundwire.contracts.requests import ModelRequest

_TERMINAL = {"completed": "response.completed", "failed": "response.failed"}
_FAILED_CODES = {
    FailureKind.RATE_LIMIT: "rate_limit_exceeded",
    FailureKind.CONTENT_FILTER: "invalid_prompt",
    FailureKind.INVALID_REQUEST: "invalid_prompt",
}


class _Slot:
    """An item that was announced: where it stands in the output, its id, and what was sent of it."""

    __slots__ = ("channel", "content_index", "has_ended", "is_custom", "item_id", "output_index", "texts")

    def __init__(self, output_index: int, item_id: str) -> None:
        self.output_index = output_index
        self.item_id = item_id
        self.channel = ""
        self.content_index = -1
        self.texts: list[str] = []
        self.is_custom = False
        self.has_ended = False


class StreamEncoder:
    """`created` is the time for a reply that does not say when it was made."""

    def __init__(self, *, request: ModelRequest | None = None, created: int | None = None) -> None:
        self._request = request
        self._created = created
        self._offered = Offered(request)
        self._losses = Losses()
        self._slots: dict[int, _Slot] = {}
        self._out: list[bytes] = []
        self._number = 0
        self._reply: Reply | None = None
        self._response_id = ""
        self._has_ended = False

    @property
    def warnings(self) -> tuple[WireWarning, ...]:
        return self._losses.taken()

    def feed(self, part: ReplyPart) -> bytes:
        if self._has_ended:
            return b""
        self._handlers[part.kind](self, part)
        return self._taken()

    def finish(self) -> bytes:
        if not self._has_ended:
            self._fail(Failure(kind=FailureKind.BAD_RESPONSE, message="The answer broke off.", status=502))
        return self._taken()

    def _taken(self) -> bytes:
        written = b"".join(self._out)
        self._out = []
        return written

    def _send(self, kind: str, members: JsonObject) -> None:
        self._out.append(write_event(dump({"type": kind, "sequence_number": self._number, **members}), kind))
        self._number += 1

    # The life of the response

    def _on_started(self, part: ReplyStarted) -> None:
        if self._reply is not None:
            self._fail(Failure(kind=FailureKind.BAD_RESPONSE, message="The answer began anew.", status=502))
            return
        self._response_id = response_id_of(part.reply_id, part.model)
        self._reply = Reply(
            reply_id=self._response_id,
            model=part.model,
            created=part.created,
            finish=Finish(reason=FinishReason.PAUSED, raw="in_progress"),
        )
        frame = write_frame(self._reply, self._response_id, self._request, self._created, Losses())
        self._send("response.created", {"response": frame})
        self._send("response.in_progress", {"response": frame})

    def _on_ended(self, part: ReplyEnded) -> None:
        reply = part.reply
        if self._reply is None:
            self._on_started(ReplyStarted(reply_id=reply.reply_id, model=reply.model, created=reply.created))
        for index, item in enumerate(reply.items):
            slot = self._slots.get(index)
            if slot is None or not slot.has_ended:
                self._on_item_ended(ItemEnded(index=index, item=item))
        if reply.alternatives:
            self._losses.add("extra_dropped", "alternatives", "Only the first answer can be sent here.")
        frame = write_frame(reply, self._response_id, self._request, self._created, self._losses)
        output = self._final_output(reply)
        mark_cut(frame, reply.items, output)
        frame["output"] = output
        self._send(_TERMINAL.get(str(frame["status"]), "response.incomplete"), {"response": frame})
        self._has_ended = True

    def _final_output(self, reply: Reply) -> list[JsonValue]:
        placed: list[tuple[int, JsonValue]] = []
        for index, item in enumerate(reply.items):
            slot = self._slots.get(index)
            written = None if slot is None else self._written(item, index, slot)
            if slot is not None and written is not None:
                placed.append((slot.output_index, written))
        return [written for _, written in sorted(placed, key=lambda entry: entry[0])]

    def _on_failed(self, part: ReplyFailed) -> None:
        self._fail(part.failure)

    def _fail(self, failure: Failure) -> None:
        """The error itself, and the end of the response if it had begun."""
        error = write_error(failure)
        members: JsonObject = {key: error[key] for key in ("code", "message", "param")}
        self._send("error", members)
        if self._reply is not None:
            frame = write_frame(self._reply, self._response_id, self._request, self._created, Losses())
            code = _FAILED_CODES.get(failure.kind, "server_error")
            frame.update({"status": "failed", "error": {"code": code, "message": failure.message}})
            self._send("response.failed", {"response": frame})
        self._has_ended = True

    # Items

    def _open(self, index: int, kind: str, item: JsonObject, private: Private) -> _Slot:
        if self._reply is None:
            self._on_started(ReplyStarted())
        known = own_members(private, DIALECT).get("id")
        item_id = known if isinstance(known, str) and known else made_item_id(kind, self._response_id, index)
        slot = self._slots[index] = _Slot(len(self._slots), item_id)
        added = give_back(item, own_members(private, DIALECT))
        self._send("response.output_item.added", {"output_index": slot.output_index, "item": {**added, "id": item_id}})
        return slot

    def _on_item_ended(self, part: ItemEnded) -> None:
        slot = self._slots.get(part.index)
        if slot is not None and slot.has_ended:
            return
        if slot is None:
            if not self._announce(part.item, part.index):
                return
            slot = self._slots[part.index]
        item = part.item
        if isinstance(item, CallItem):
            self._end_call(slot, item, part.index)
        else:
            self._end_part(slot)
        slot.has_ended = True
        written = self._written(item, part.index, slot)
        if written is not None:
            self._send("response.output_item.done", {"output_index": slot.output_index, "item": written})

    def _announce(self, item: Item, index: int) -> bool:
        """Begin an item of which no piece came before its end; false if it cannot be sent at all."""
        item_id = item_id_of(item, self._response_id, index, self._offered)
        written = write_output_item(item, f"items[{index}]", item_id, self._losses, self._offered)
        if written is None:
            return False
        if isinstance(item, CallItem):
            call = item.call
            self._on_call(ReplyCallStarted(index=index, call_id=call.call_id, name=call.name, private=item.private))
        elif isinstance(item, Message):
            self._open(index, "message", _empty_message(), _early(item.private))
            for part in item.parts:
                if isinstance(part, TextPart) and part.text:
                    self._on_text(ReplyTextDelta(index=index, text=part.text))
                elif isinstance(part, RefusalPart):
                    self._on_refusal(RefusalDelta(index=index, text=part.text))
        elif isinstance(item, ReasoningItem):
            self._open(index, "reasoning", {"type": "reasoning", "summary": []}, _early(item.private))
            if item.text:
                self._on_thought(ReasoningDelta(index=index, text=item.text))
        else:
            self._open(index, "item", dict(written), {DIALECT: {"id": item_id}})
        return True

    def _written(self, item: Item, index: int, slot: _Slot) -> JsonObject | None:
        written = write_output_item(item, f"items[{index}]", slot.item_id, self._losses, self._offered)
        if written is not None and isinstance(item, NativeItem) and written.get("id") != slot.item_id:
            written = {**written, "id": slot.item_id}
        return written

    # Pieces of messages and reasoning

    def _on_text(self, part: ReplyTextDelta) -> None:
        slot = self._slots.get(part.index)
        if slot is None:
            slot = self._open(part.index, "message", _empty_message(), _early(part.private))
        if slot.channel != "text":
            self._begin_part(slot, "text", {"type": "output_text", "text": "", "annotations": [], "logprobs": []})
        slot.texts.append(part.text)
        self._send("response.output_text.delta", {**_place(slot), "delta": part.text, "logprobs": []})

    def _on_refusal(self, part: RefusalDelta) -> None:
        slot = self._slots.get(part.index)
        if slot is None:
            slot = self._open(part.index, "message", _empty_message(), _early(part.private))
        if slot.channel != "refusal":
            self._begin_part(slot, "refusal", {"type": "refusal", "refusal": ""})
        slot.texts.append(part.text)
        self._send("response.refusal.delta", {**_place(slot), "delta": part.text})

    def _on_thought(self, part: ReasoningDelta) -> None:
        slot = self._slots.get(part.index)
        if slot is None:
            slot = self._open(part.index, "reasoning", {"type": "reasoning", "summary": []}, _early(part.private))
        if not slot.channel:
            members = own_members(part.private, DIALECT)
            slot.channel = "content" if members.get("_content") or members.get("content") else "summary"
            slot.content_index = 0
            if slot.channel == "content":
                begun: JsonObject = {"type": "reasoning_text", "text": ""}
                self._send("response.content_part.added", {**_place(slot), "part": begun})
            else:
                begun = {"type": "summary_text", "text": ""}
                self._send("response.reasoning_summary_part.added", {**_summary_place(slot), "part": begun})
        slot.texts.append(part.text)
        if slot.channel == "content":
            self._send("response.reasoning_text.delta", {**_place(slot), "delta": part.text})
        else:
            self._send("response.reasoning_summary_text.delta", {**_summary_place(slot), "delta": part.text})

    def _begin_part(self, slot: _Slot, channel: str, part: JsonObject) -> None:
        self._end_part(slot)
        slot.channel = channel
        slot.content_index += 1
        self._send("response.content_part.added", {**_place(slot), "part": part})

    def _end_part(self, slot: _Slot) -> None:
        text = "".join(slot.texts)
        place = _place(slot)
        if slot.channel == "text":
            self._send("response.output_text.done", {**place, "text": text, "logprobs": []})
            part: JsonObject = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
            self._send("response.content_part.done", {**place, "part": part})
        elif slot.channel == "refusal":
            self._send("response.refusal.done", {**place, "refusal": text})
            self._send("response.content_part.done", {**place, "part": {"type": "refusal", "refusal": text}})
        elif slot.channel == "content":
            self._send("response.reasoning_text.done", {**place, "text": text})
            self._send("response.content_part.done", {**place, "part": {"type": "reasoning_text", "text": text}})
        elif slot.channel == "summary":
            place = _summary_place(slot)
            self._send("response.reasoning_summary_text.done", {**place, "text": text})
            part = {"type": "summary_text", "text": text}
            self._send("response.reasoning_summary_part.done", {**place, "part": part})
        slot.channel, slot.texts = "", []

    # Calls

    def _on_call(self, part: ReplyCallStarted) -> None:
        is_custom = self._offered.is_custom(part.name, part.private)
        item: JsonObject = {"type": "function_call", "status": "in_progress", "arguments": ""}
        if is_custom:
            item = {"type": "custom_tool_call", "input": ""}
        item.update({"call_id": part.call_id, **self._offered.spelled(part.name)})
        slot = self._open(part.index, "custom" if is_custom else "call", item, _early(part.private))
        slot.is_custom = is_custom

    def _on_arguments(self, part: CallDelta) -> None:
        slot = self._slots.get(part.index)
        if slot is None:
            return
        slot.texts.append(part.text)
        if not slot.is_custom:  # plain text can only be read from the whole argument
            self._send("response.function_call_arguments.delta", {**_item_place(slot), "delta": part.text})

    def _end_call(self, slot: _Slot, item: CallItem, index: int) -> None:
        written = self._written(item, index, slot)
        if written is None:
            return
        place = _item_place(slot)
        if written["type"] == "custom_tool_call":
            self._send("response.custom_tool_call_input.delta", {**place, "delta": written["input"]})
            self._send("response.custom_tool_call_input.done", {**place, "input": written["input"]})
            return
        if slot.is_custom or not slot.texts:
            self._send("response.function_call_arguments.delta", {**place, "delta": written["arguments"]})
        members = {**place, "name": written["name"], "arguments": written["arguments"]}
        self._send("response.function_call_arguments.done", members)

    _handlers: ClassVar[dict[str, Callable[["StreamEncoder", Any], None]]] = {
        "reply.started": _on_started,
        "reply.ended": _on_ended,
        "reply.failed": _on_failed,
        "text.delta": _on_text,
        "refusal.delta": _on_refusal,
        "reasoning.delta": _on_thought,
        "call.started": _on_call,
        "call.delta": _on_arguments,
        "item.ended": _on_item_ended,
    }


def _item_place(slot: _Slot) -> JsonObject:
    return {"item_id": slot.item_id, "output_index": slot.output_index}


def _place(slot: _Slot) -> JsonObject:
    return {"item_id": slot.item_id, "output_index": slot.output_index, "content_index": slot.content_index}


def _summary_place(slot: _Slot) -> JsonObject:
    return {"item_id": slot.item_id, "output_index": slot.output_index, "summary_index": 0}


def _empty_message() -> JsonObject:
    return {"type": "message", "status": "in_progress", "role": "assistant", "content": []}


def _early(private: Private) -> Private:
    """Of what is known of an item, only what holds before it is whole."""
    members = own_members(private, DIALECT)
    return {DIALECT: {key: members[key] for key in ("id", "phase", "namespace") if key in members}} if members else {}
