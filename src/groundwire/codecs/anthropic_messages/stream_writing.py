"""The parts of any provider's reply as the events of a Messages stream.

Blocks come one after the other in this dialect. So text that is interrupted goes on in a block of its own, and what
comes while a call's arguments are still being written waits until they are whole.
"""

from groundwire.codecs.anthropic_messages.failures import encode_error
from groundwire.codecs.anthropic_messages.finishes import BROKEN, write_finish, write_usage
from groundwire.codecs.anthropic_messages.profile import DIALECT
from groundwire.codecs.anthropic_messages.responses import (
    write_citations,
    write_extras,
    write_id,
    write_message,
    write_thoughts,
)
from groundwire.codecs.wire.building import would_run_cut
from groundwire.codecs.wire.json import dump
from groundwire.codecs.wire.private import give_back, note_foreign, take_own
from groundwire.codecs.wire.sse import write_event
from groundwire.codecs.wire.warnings import Losses, WireWarning
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.messages import CallItem, Item, Message, NativeItem, ReasoningItem, TextPart
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
)
from groundwire.contracts.requests import ModelRequest

_MESSAGE_LEVEL = frozenset({"context_management"})


class StreamEncoder:
    def __init__(
        self,
        *,
        request: ModelRequest | None = None,
        created: int | None = None,
    ) -> None:
        self._request = request
        self._losses = Losses()
        self._out: list[bytes] = []
        self._has_begun = False
        self._has_ended = False
        self._next = 0
        self._kind = ""
        self._item = -1
        self._told: set[int] = set()
        self._waiting: list[ReplyPart] = []

    @property
    def warnings(self) -> tuple[WireWarning, ...]:
        return self._losses.taken()

    def feed(self, part: ReplyPart) -> bytes:
        if self._has_ended:
            return b""
        if type(part) is ReplyTextDelta and self._kind == "text" and self._item == part.index:
            return self._delta_bytes({"type": "text_delta", "text": part.text})
        self._take(part)
        written = b"".join(self._out)
        self._out = []
        return written

    def finish(self) -> bytes:
        """A stream that nobody ended is told as broken."""
        if self._has_ended:
            return b""
        self._fail(Failure(kind=FailureKind.BAD_RESPONSE, message="The stream broke off.", status=502))
        written = b"".join(self._out)
        self._out = []
        return written

    def _take(self, part: ReplyPart) -> None:
        if isinstance(part, ReplyFailed):
            self._fail(part.failure)
        elif isinstance(part, ReplyStarted):
            self._start(part)
        elif isinstance(part, ReplyEnded):
            self._release(part.reply)
        elif self._kind == "tool_use" and part.index != self._item:
            self._waiting.append(part)
        else:
            self._begin()
            self._write(part)
            if self._waiting and self._kind != "tool_use":
                waiting, self._waiting = self._waiting, []
                for each in waiting:
                    self._take(each)

    def _write(
        self, part: ReplyTextDelta | RefusalDelta | ReasoningDelta | ReplyCallStarted | CallDelta | ItemEnded
    ) -> None:
        if isinstance(part, (ReplyTextDelta, RefusalDelta)):
            self._open("text", part.index, {"type": "text", "text": ""})
            self._delta({"type": "text_delta", "text": part.text})
        elif isinstance(part, CallDelta):
            if self._kind == "tool_use":
                self._delta({"type": "input_json_delta", "partial_json": part.text})
        elif isinstance(part, ReasoningDelta):
            self._open("thinking", part.index, {"type": "thinking", "thinking": "", "signature": ""})
            self._delta({"type": "thinking_delta", "thinking": part.text})
        elif isinstance(part, ReplyCallStarted):
            self._start_call(part)
        else:
            self._end_item(part.index, part.item)

    def _begin(self) -> None:
        if not self._has_begun:
            self._start(ReplyStarted())

    def _start(self, part: ReplyStarted) -> None:
        if self._has_begun:
            message = "The upstream began its answer anew after part of it had been sent."
            self._fail(Failure(kind=FailureKind.BAD_RESPONSE, message=message, status=502))
            return
        self._has_begun = True
        model = part.model or ("" if self._request is None else self._request.model)
        message_: JsonObject = {
            "id": part.reply_id or "msg_0",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": write_usage(part.usage, self._losses),
        }
        self._event("message_start", {"message": message_})

    def _open(self, kind: str, item: int, block: JsonObject) -> None:
        """Go on with the block of this item, or begin one."""
        self._told.add(item)
        if self._kind == kind and self._item == item:
            return
        self._stop()
        self._kind, self._item = kind, item
        self._event("content_block_start", {"index": self._next, "content_block": block})

    def _stop(self) -> None:
        if self._kind:
            self._event("content_block_stop", {"index": self._next})
            self._next += 1
            self._kind, self._item = "", -1

    def _start_call(self, part: ReplyCallStarted) -> None:
        path = f"items[{part.index}]"
        block: JsonObject = {
            "type": "tool_use",
            "id": write_id(part.call_id, path, self._losses),
            "name": part.name,
            "input": {},
        }
        self._open("tool_use", part.index, give_back(block, take_own(part.private, DIALECT, path, self._losses)))
        self._delta({"type": "input_json_delta", "partial_json": ""})

    def _end_item(self, index: int, item: Item) -> None:
        path = f"items[{index}]"
        if isinstance(item, Message):
            self._end_message(index, item, path)
        elif isinstance(item, ReasoningItem):
            self._end_reasoning(index, item, path)
        elif isinstance(item, CallItem):
            if index not in self._told:
                call = item.call
                self._start_call(
                    ReplyCallStarted(index=index, call_id=call.call_id, name=call.name, private=item.private)
                )
                self._delta({"type": "input_json_delta", "partial_json": call.raw})
            if self._item == index:
                self._stop()
        elif isinstance(item, NativeItem) and item.origin == DIALECT:
            self._whole(item.value)
        else:
            self._losses.add("native_dropped", path, "An entry that this dialect cannot say was left out.")

    def _end_message(self, index: int, item: Message, path: str) -> None:
        """The text was told already; what hangs on it comes now, and what is no text."""
        if index not in self._told:
            for block in write_message(item, path, self._losses):
                self._whole(block)
            return
        note_foreign(item.private, DIALECT, path, self._losses)
        for part in item.parts:
            if isinstance(part, TextPart):
                note_foreign(part.private, DIALECT, path, self._losses)
                for citation in write_citations(part, path, self._losses):
                    self._open("text", index, {"type": "text", "text": ""})
                    self._delta({"type": "citations_delta", "citation": citation})
        if self._item == index:
            self._stop()
        silent = tuple(part for part in item.parts if part.kind in ("media", "native_part"))
        for block in write_message(Message(role=item.role, parts=silent), path, self._losses):
            self._whole(block)

    def _end_reasoning(self, index: int, item: ReasoningItem, path: str) -> None:
        block = write_thoughts(item, path, self._losses)
        if block is None:
            return
        if index not in self._told:
            self._whole(block)
            return
        if self._item == index:
            if block.get("signature"):
                self._delta({"type": "signature_delta", "signature": block["signature"]})
            self._stop()

    def _whole(self, block: JsonObject) -> None:
        """A block in one piece. Texts and thoughts come in deltas even then, as clients expect them."""
        self._stop()
        kind = block.get("type")
        self._kind = "native"
        if kind == "text":
            citations = block.get("citations")
            self._event("content_block_start", {"index": self._next, "content_block": {"type": "text", "text": ""}})
            self._delta({"type": "text_delta", "text": block["text"]})
            for citation in citations if isinstance(citations, list) else []:
                self._delta({"type": "citations_delta", "citation": citation})
        elif kind == "thinking":
            start: JsonObject = {**block, "thinking": "", "signature": ""}
            self._event("content_block_start", {"index": self._next, "content_block": start})
            if block["thinking"]:
                self._delta({"type": "thinking_delta", "thinking": block["thinking"]})
            if block.get("signature"):
                self._delta({"type": "signature_delta", "signature": block["signature"]})
        else:
            self._event("content_block_start", {"index": self._next, "content_block": block})
        self._stop()

    def _release(self, reply: Reply) -> None:
        """Everything that waited, then the end."""
        self._begin()
        while self._waiting and not self._has_ended:
            self._stop()
            waiting, self._waiting = self._waiting, []
            for each in waiting:
                self._take(each)
        if reply.finish.reason in BROKEN:
            self._fail(_failure(reply))
            return
        if any(would_run_cut(item, reply.finish.reason) for item in reply.items):
            message = "A call was cut off, and the client would run it."
            self._fail(Failure(kind=FailureKind.MALFORMED_CALL, message=message, status=502))
            return
        self._stop()
        self._has_ended = True
        delta = write_finish(reply.finish, self._losses)
        extras: JsonObject = {}
        write_extras(reply, extras, self._losses)
        event: JsonObject = {"usage": write_usage(reply.usage, self._losses)}
        for name, value in extras.items():
            (event if name in _MESSAGE_LEVEL else delta)[name] = value
        self._event("message_delta", {"delta": delta, **event})
        self._event("message_stop", {})
        if reply.alternatives:
            self._losses.add("option_dropped", "alternatives", "The dialect has one answer only.")

    def _fail(self, failure: Failure) -> None:
        self._has_ended = True
        _, body = encode_error(failure)
        self._out.append(write_event(dump(body), "error"))

    def _delta(self, delta: JsonObject) -> None:
        self._out.append(self._delta_bytes(delta))

    def _delta_bytes(self, delta: JsonObject) -> bytes:
        return write_event(
            dump({"type": "content_block_delta", "index": self._next, "delta": delta}), "content_block_delta"
        )

    def _event(self, name: str, members: JsonObject) -> None:
        self._out.append(write_event(dump({"type": name, **members}), name))


def _failure(reply: Reply) -> Failure:
    reason = reply.finish.reason
    kind = FailureKind.MALFORMED_CALL if reason is FinishReason.MALFORMED_CALL else FailureKind.BAD_RESPONSE
    message = reply.finish.detail or f"The answer broke off ({reply.finish.raw or reason.value})."
    return Failure(kind=kind, message=message, status=502)
