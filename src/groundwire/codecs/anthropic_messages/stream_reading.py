"""Server-sent events of one message as the parts of a reply, however the bytes were cut.

Never raises on what comes from upstream: a stream that cannot be read ends with a failure.
"""

from collections.abc import Mapping
from typing import Any

from groundwire.codecs.anthropic_messages.block_reading import CALL_MEMBERS, read_citation, read_redacted
from groundwire.codecs.anthropic_messages.failures import read_error
from groundwire.codecs.anthropic_messages.finishes import read_finish, read_usage
from groundwire.codecs.anthropic_messages.profile import DIALECT
from groundwire.codecs.anthropic_messages.responses import MESSAGE_MEMBERS, text_or_nothing
from groundwire.codecs.wire.building import ReplyBuilder, withdraw_calls
from groundwire.codecs.wire.gathering import GrowingTexts
from groundwire.codecs.wire.ids import ANTHROPIC_IDS, derived_id
from groundwire.codecs.wire.json import dump_text, read_object, whole_text, without_halves
from groundwire.codecs.wire.names import original_name
from groundwire.codecs.wire.private import keep, unknown_members
from groundwire.codecs.wire.results import object_arguments
from groundwire.codecs.wire.sse import Event, SseReader
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import WireError
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.messages import Citation, NativeItem, TextPart
from groundwire.contracts.replies import Finish, FinishReason, Reply, ReplyPart, ReplyStarted

_TEXT = frozenset({"type", "text", "citations"})
_THINKING = frozenset({"type", "thinking"})
_EVENT = frozenset({"type", "delta", "usage"})
_ENDING = frozenset({"stop_reason", "stop_sequence", "stop_details"})


class _Block:
    """A content block that is being written. `place` is its item's; a native block gets its item when it ends."""

    __slots__ = ("citations", "fragments", "kind", "place", "texts", "value")

    def __init__(self, kind: str, place: int, value: JsonObject) -> None:
        self.kind = kind
        self.place = place
        self.value = value
        self.fragments: list[str] = []
        self.citations: list[Citation] = []
        self.texts = GrowingTexts()


class StreamDecoder:
    def __init__(self, *, names: Mapping[str, str] | None = None) -> None:
        self._names = dict(names or {})
        self._reader = SseReader()
        self._builder = ReplyBuilder(DIALECT)
        self._has_begun = False
        self._has_ended = False
        self._reset()

    def _reset(self) -> None:
        self._reply_id = ""
        self._model = ""
        self._blocks: dict[int, _Block] = {}
        self._usage: JsonObject | None = None
        self._ending: JsonObject = {}
        self._extras: JsonObject = {}

    def feed(self, data: bytes) -> list[ReplyPart]:
        if self._has_ended:
            return []
        try:
            events = self._reader.feed(data)
        except ValueError as error:
            self._fail(str(error))
            return self._builder.take()
        for event in events:
            self._read(event)
        return self._builder.take()

    def finish(self) -> list[ReplyPart]:
        if not self._has_ended:
            for event in self._reader.finish():
                self._read(event)
        if not self._has_ended:
            if not self._has_begun:
                self._fail("The stream ended before a message began.")
            else:
                self._end()
        return self._builder.take()

    def _read(self, event: Event) -> None:
        if self._has_ended:
            return
        try:
            source = read_object(event.data, what="event", keep_halves=True)
            kind = source.get("type") or event.event
            if kind == "content_block_delta":
                self._delta(source)
                return
            if b"\\u" in event.data:
                source = without_halves(source)
            self._other(kind, source)
        except WireError as error:
            if event.data.strip() != b"[DONE]":
                self._fail(error.message)

    def _other(self, kind: object, source: JsonObject) -> None:
        if kind == "content_block_start":
            self._start_block(_index(source), source.get("content_block"))
        elif kind == "content_block_stop":
            self._stop_block(_index(source))
        elif kind == "message_start":
            self._start(source.get("message"))
        elif kind == "message_delta":
            self._message_delta(source)
        elif kind == "message_stop":
            self._end()
        elif kind == "error" or (kind != "ping" and isinstance(source.get("error"), dict)):
            self._has_ended = True
            self._builder.fail(read_error(source))

    def _start(self, message: Any) -> None:
        """A message begins; if one was under way, it is void."""
        self._reset()
        self._has_begun = True
        source = message if isinstance(message, dict) else {}
        self._reply_id, self._model = text_or_nothing(source.get("id")), text_or_nothing(source.get("model"))
        usage = source.get("usage")
        self._usage = _said(usage) if isinstance(usage, dict) else None
        self._extras = unknown_members(source, MESSAGE_MEMBERS)
        self._note_ending(source)
        started = ReplyStarted(reply_id=self._reply_id, model=self._model, usage=read_usage(self._usage))
        self._builder.begin(started)
        content = source.get("content")
        for place, block in enumerate(content if isinstance(content, list) else []):
            self._start_block(place, block)
            self._stop_block(place)

    def _start_block(self, index: int, block: Any) -> None:
        self._stop_block(index)
        value: JsonObject = block if isinstance(block, dict) else {}
        kind = text_or_nothing(value.get("type"))
        builder = self._builder
        if kind == "text":
            opened = _Block(kind, builder.open("message"), value)
            builder.text(opened.place, text_or_nothing(value.get("text")))
            listed = value.get("citations")
            for each in listed if isinstance(listed, list) else []:
                if isinstance(each, dict):
                    opened.citations.append(read_citation(each))
        elif kind == "thinking":
            opened = _Block(kind, builder.open("reasoning"), dict(value))
            builder.text(opened.place, text_or_nothing(value.get("thinking")))
        elif kind == "tool_use":
            opened = _Block(kind, self._open_call(value, index), value)
        else:
            opened = _Block("native", -1, value)
        self._blocks[index] = opened

    def _open_call(self, value: JsonObject, position: int) -> int:
        private = unknown_members(value, CALL_MEMBERS)
        call_id = text_or_nothing(value.get("id"))
        if not call_id:
            call_id = derived_id(f"{self._reply_id}#{position}", ANTHROPIC_IDS)
            private["_synthetic"] = True
        name = original_name(text_or_nothing(value.get("name")), self._names)
        return self._builder.open("call", call_id=call_id, name=name, private=keep(DIALECT, private))

    def _delta(self, source: JsonObject) -> None:
        delta = source.get("delta")
        if type(delta) is not dict:
            return
        kind = delta.get("type")
        index = _index(source)
        block = self._blocks.get(index) or self._missing(index, kind)
        if block is None:
            return
        if kind == "text_delta" and block.kind == "text":
            self._builder.text(block.place, text_or_nothing(delta.get("text")))
        elif kind == "input_json_delta":
            text = text_or_nothing(delta.get("partial_json"))
            block.fragments.append(text)
            if block.kind == "tool_use":
                self._builder.text(block.place, text)
        elif kind == "thinking_delta" and block.kind == "thinking":
            self._builder.text(block.place, text_or_nothing(delta.get("thinking")))
        elif kind == "signature_delta" and block.kind == "thinking":
            block.value["signature"] = text_or_nothing(delta.get("signature"))
        elif kind == "citations_delta" and block.kind == "text":
            citation = delta.get("citation")
            if isinstance(citation, dict):
                block.citations.append(read_citation(without_halves(citation)))
        elif block.kind == "native":
            _go_on(block, without_halves(delta))

    def _missing(self, index: int, kind: Any) -> _Block | None:
        """A text or thought whose beginning a proxy left out."""
        begun = {"text_delta": "text", "thinking_delta": "thinking"}.get(kind) if isinstance(kind, str) else None
        if begun is None or not self._has_begun:
            return None
        self._start_block(index, {"type": begun})
        return self._blocks[index]

    def _stop_block(self, index: int) -> None:
        block = self._blocks.pop(index, None)
        if block is not None:
            self._close(block)

    def _close(self, block: _Block, *, complete: bool = True) -> None:
        builder = self._builder
        block.texts.settle(block.value)
        if block.kind == "text":
            private = keep(DIALECT, unknown_members(block.value, _TEXT))
            builder.end_text(block.place, TextPart(text="", citations=tuple(block.citations), private=private))
        elif block.kind == "thinking":
            builder.keep(block.place, keep(DIALECT, unknown_members(block.value, _THINKING)))
        elif block.kind == "tool_use":
            if not block.fragments and block.value.get("input"):
                builder.text(block.place, dump_text(block.value["input"]))
        elif block.value.get("type") == "redacted_thinking":
            builder.add(read_redacted(block.value))
            return
        else:
            builder.add(NativeItem(origin=DIALECT, value=_with_input(block)))
            return
        builder.close(block.place, complete=complete)

    def _message_delta(self, source: JsonObject) -> None:
        delta = source.get("delta")
        if isinstance(delta, dict):
            self._note_ending(delta)
            self._extras.update(_said(unknown_members(delta, _ENDING)))
        usage = source.get("usage")
        if isinstance(usage, dict):
            self._usage = self._usage or {}
            self._usage.update(_said(usage))
        self._extras.update(_said(unknown_members(source, _EVENT)))

    def _note_ending(self, source: JsonObject) -> None:
        for name in _ENDING:
            if source.get(name) is not None:
                self._ending[name] = source[name]

    def _end(self) -> None:
        """The end of the message, or of a body that told why the model stopped; anything else was cut."""
        self._has_ended = True
        is_whole = "stop_reason" in self._ending
        for block in self._blocks.values():
            # A proxy may have left out the end of a block; its arguments tell whether they are whole.
            is_object = object_arguments(whole_text("".join(block.fragments)) or "{}") is not None
            self._close(block, complete=is_whole and is_object)
        items = self._builder.items()
        finish = read_finish(self._ending, items) if is_whole else Finish(reason=FinishReason.INCOMPLETE)
        reply = Reply(
            reply_id=self._reply_id,
            model=self._model,
            items=withdraw_calls(items, finish.reason),
            finish=finish,
            usage=read_usage(self._usage),
            extras=keep(DIALECT, self._extras),
        )
        self._builder.end(reply)

    def _fail(self, message: str) -> None:
        self._has_ended = True
        self._builder.fail(Failure(kind=FailureKind.BAD_RESPONSE, message=message, status=502))


def _index(source: JsonObject) -> int:
    """Where in the message; a server that leaves it out has one block at a time."""
    index = source.get("index")
    return index if isinstance(index, int) else 0


def _said(members: JsonObject) -> JsonObject:
    """Without nulls, which must not replace what was said before."""
    return {name: value for name, value in members.items() if value is not None}


def _go_on(block: _Block, delta: JsonObject) -> None:
    """A delta of a kind nobody here knows: texts go on, anything else replaces."""
    for name, more in delta.items():
        if name == "type":
            continue
        if isinstance(more, str) and isinstance(block.value.get(name, ""), str):
            block.texts.add(block.value, name, more)
        else:
            block.texts.replace(block.value, name, more)


def _with_input(block: _Block) -> JsonObject:
    """The block of a server's tool with the input that came in fragments."""
    text = whole_text("".join(block.fragments))
    if not text.strip():
        return block.value
    parsed = object_arguments(text)
    return {**block.value, "input": parsed if parsed is not None else text}
