"""The event stream of OpenAI Responses, read into the parts of a reply.

Events say which item they belong to by its id; what an item came to is taken from its `done` event, and from the final
response object if that says more. Knows nothing of connections: bytes come in, parts come out.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from groundwire.codecs.openai_responses.failures import failure_in, read_error
from groundwire.codecs.openai_responses.item_reading import PARAGRAPH, read_output_item
from groundwire.codecs.openai_responses.namespaces import told_name
from groundwire.codecs.openai_responses.profile import DIALECT
from groundwire.codecs.openai_responses.responses import read_time, reply_of
from groundwire.codecs.wire.building import ReplyBuilder
from groundwire.codecs.wire.failures import body_text
from groundwire.codecs.wire.ids import OPENAI_RESPONSES_IDS, derived_id
from groundwire.codecs.wire.json import dump_text, read_object, whole_text, without_halves
from groundwire.codecs.wire.private import keep
from groundwire.codecs.wire.reading import text_or_none
from groundwire.codecs.wire.sse import Event, SseReader
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import WireError
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.messages import CallItem, Item, Message, NativeItem, ReasoningItem, RefusalPart, TextPart
from groundwire.contracts.replies import Finish, FinishReason, Reply, ReplyPart, ReplyStarted

_MAX_HEAD = 65536
_STREAMED_KINDS = frozenset({"message", "reasoning", "function_call", "custom_tool_call"})
_EARLY = ("id", "phase", "namespace")


class _Track:
    """An item of the stream: its place in the reply, and what was seen of it."""

    __slots__ = ("channel", "index", "kind", "part", "place", "streamed", "wire")

    def __init__(self, place: int, kind: str, wire: JsonObject, index: Any) -> None:
        self.place = place
        self.index = index if isinstance(index, int) else -1
        self.kind = kind
        self.wire = wire
        self.streamed = False
        self.channel = ""
        self.part: Any = None


class StreamDecoder:
    def __init__(self, *, names: Mapping[str, str] | None = None) -> None:
        self._names = names
        self._reader = SseReader()
        self._builder = ReplyBuilder(DIALECT)
        self._tracks: list[_Track] = []
        self._by_id: dict[str, _Track] = {}
        self._by_index: dict[int, _Track] = {}
        self._response: JsonObject = {}
        self._head = b""
        self._has_events = False
        self._has_started = False
        self._is_queued = False
        self._has_ended = False

    def feed(self, data: bytes) -> list[ReplyPart]:
        if self._has_ended:
            return []
        if not self._has_events and len(self._head) < _MAX_HEAD:
            self._head += data[:_MAX_HEAD]
        try:
            events = self._reader.feed(data)
        except ValueError as error:
            self._fail(_bad(str(error)))
            return self._builder.take()
        for event in events:
            self._take(event)
        return self._builder.take()

    def finish(self) -> list[ReplyPart]:
        """The body has ended. Without a last event the reply is incomplete, and none of its calls may run."""
        for event in self._reader.finish():
            self._take(event)
        if not self._has_ended:
            self._end_early()
        return self._builder.take()

    def _end_early(self) -> None:
        if not self._has_events:
            self._fail(failure_in(self._head) or _bad("The stream had no events.", self._head))
            return
        self._close_rest(complete=False)
        reason, raw = (FinishReason.PAUSED, "queued") if self._is_queued else (FinishReason.INCOMPLETE, None)
        wire = {**self._response, "status": "queued" if self._is_queued else "incomplete"}
        reply = reply_of(wire, self._builder.items())
        finish = Finish(reason=reason, raw=raw)
        self._end(
            Reply(
                reply_id=reply.reply_id,
                model=reply.model,
                created=reply.created,
                items=reply.items,
                finish=finish,
                usage=reply.usage,
                extras=reply.extras,
            )
        )

    def _take(self, event: Event) -> None:
        if self._has_ended or event.data == b"[DONE]":
            return
        self._has_events = True
        try:
            wire = read_object(event.data, what="event", keep_halves=True)
            kind = wire.get("type")
            if not isinstance(kind, str):
                kind = event.event or ("error" if wire.get("error") else "")
            if not kind.endswith(".delta") and _may_have_halves(event.data):
                wire = without_halves(wire)
            handle = self._handlers.get(kind)
            if handle is not None:
                handle(self, wire)
        except WireError as error:
            self._fail(_bad(error.message, event.data))

    # The life of the response

    def _on_begin(self, wire: JsonObject) -> None:
        response = _object(wire.get("response"))
        self._is_queued = wire.get("type") == "response.queued"
        is_same = response.get("id") == self._response.get("id") and not self._tracks
        self._response = response or self._response
        if self._has_started and (is_same or wire.get("type") != "response.created"):
            return
        self._has_started = True
        self._tracks, self._by_id, self._by_index = [], {}, {}
        self._builder.begin(
            ReplyStarted(
                reply_id=text_or_none(response.get("id")) or "",
                model=text_or_none(response.get("model")) or "",
                created=read_time(response),
            )
        )

    def _on_end(self, wire: JsonObject) -> None:
        response = _object(wire.get("response"))
        if not self._has_started:
            self._on_begin({"response": response})
        if response.get("status") == "failed" or wire.get("type") == "response.failed":
            self._fail(read_error(response.get("error")))
            return
        if "status" not in response:
            response = {**response, "status": str(wire.get("type")).removeprefix("response.")}
        output = response.get("output")
        for index, item in enumerate(output if isinstance(output, list) else []):
            if isinstance(item, dict):
                self._settle(item, index)
        self._close_rest(complete=response["status"] == "completed")
        self._end(reply_of(response, self._builder.items()))

    def _on_error(self, wire: JsonObject) -> None:
        error = wire.get("error")
        self._fail(read_error(error or {**wire, "type": wire.get("error_type")}))

    # Items

    def _on_item(self, wire: JsonObject) -> None:
        item = _object(wire.get("item"))
        index = wire.get("output_index")
        known = self._by_id.get(str(item.get("id")))
        # Some servers give every item the same id; a place that is new tells them apart.
        if item and (known is None or (isinstance(index, int) and index > known.index >= 0)):
            self._open(item, wire)

    def _open(self, item: JsonObject, event: JsonObject) -> _Track:
        if not self._has_started:
            self._on_begin({})
        kind = text_or_none(item.get("type")) or "message"
        index = event.get("output_index")
        members = _early(item)
        if kind in ("function_call", "custom_tool_call"):
            place = self._open_call(item, kind, index, members)
        elif kind == "message":
            place = self._builder.open("message", private=keep(DIALECT, members))
        elif kind == "reasoning":
            place = self._builder.open("reasoning", private={DIALECT: members})
        else:
            place = self._builder.open("native")
        track = _Track(place, kind, item, index)
        item_id = text_or_none(item.get("id")) or text_or_none(event.get("item_id"))
        self._tracks.append(track)
        if item_id:
            self._by_id[item_id] = track
        if isinstance(index, int):
            self._by_index[index] = track
        return track

    def _open_call(self, item: JsonObject, kind: str, index: object, members: JsonObject) -> int:
        call_id, name = text_or_none(item.get("call_id")), text_or_none(item.get("name")) or ""
        if not call_id:
            call_id = derived_id(f"{self._seed()}#{index}", OPENAI_RESPONSES_IDS)
        if kind == "custom_tool_call":
            members = {**members, "_custom": True}
        name = told_name(item, name, self._names)
        return self._builder.open("call", call_id=call_id, name=name, private=keep(DIALECT, members))

    def _seed(self) -> str:
        return text_or_none(self._response.get("id")) or ""

    def _on_item_done(self, wire: JsonObject) -> None:
        item = _object(wire.get("item"))
        index = wire.get("output_index")
        if item:
            self._settle(item, index if isinstance(index, int) else None)

    def _settle(self, wire: JsonObject, index: int | None) -> None:
        """An item as it was in the end: what was not streamed of it is told now, all at once."""
        track = self._track_of(wire.get("id"), index, text_or_none(wire.get("type")))
        if track is None:
            track = self._open(wire, {"output_index": index})
        elif track.streamed and track.wire == wire:
            return
        track.wire = wire
        item = read_output_item(wire, f"output[{index}]", f"{self._seed()}#{index}", self._names)
        if not track.streamed:
            self._tell(item, track.place)
            track.streamed = True
        self._builder.settle(track.place, item)

    def _tell(self, item: Item, place: int) -> None:
        if isinstance(item, CallItem):
            self._builder.text(place, item.call.raw)
        elif isinstance(item, ReasoningItem):
            self._builder.text(place, item.text)
        elif isinstance(item, Message):
            for part in item.parts:
                if isinstance(part, TextPart):
                    self._builder.text(place, part.text)
                elif isinstance(part, RefusalPart):
                    self._builder.refuse(place, part.text)

    def _track_of(self, item_id: object, index: object, kind: str | None = None) -> _Track | None:
        track = self._by_id.get(item_id) if isinstance(item_id, str) else None
        if track is not None and isinstance(index, int) and index != track.index:
            there = self._by_index.get(index)
            return there if there is not None and there.wire.get("id") == item_id else track
        if track is None and isinstance(index, int):
            track = self._by_index.get(index)
            if track is not None and kind is not None and track.kind != kind:
                return None
        return track

    def _close_rest(self, *, complete: bool) -> None:
        for track in self._tracks:
            if not track.streamed and track.kind not in _STREAMED_KINDS:
                self._builder.settle(track.place, NativeItem(origin=DIALECT, value=track.wire))
                track.streamed = True
            elif track.kind == "custom_tool_call" and track.channel == "input":
                track.channel = ""
                self._builder.text(track.place, '"}')
        self._builder.close_all(complete=complete)

    # Pieces of items

    def _piece(self, wire: JsonObject, kind: str) -> tuple[_Track, str] | None:
        item_id, text = wire.get("item_id"), wire.get("delta")
        if not isinstance(text, str):
            return None
        track = self._track_of(item_id, wire.get("output_index"))
        if track is None:
            if kind == "function_call":
                return None  # nameless until its item is told
            track = self._open({"type": kind}, wire)
        track.streamed = True
        return track, text

    def _on_text(self, wire: JsonObject) -> None:
        found = self._piece(wire, "message")
        if found is not None and found[0].kind == "message":
            self._builder.text(found[0].place, found[1])

    def _on_refusal(self, wire: JsonObject) -> None:
        found = self._piece(wire, "message")
        if found is not None and found[0].kind == "message":
            self._builder.refuse(found[0].place, whole_text(found[1]))

    def _on_part_done(self, wire: JsonObject) -> None:
        track = self._track_of(wire.get("item_id"), wire.get("output_index"))
        if track is not None and track.kind == "message":
            self._builder.end_text(track.place)

    def _on_arguments(self, wire: JsonObject) -> None:
        found = self._piece(wire, "function_call")
        if found is not None and found[0].kind == "function_call":
            self._builder.text(found[0].place, found[1])

    def _on_whole(self, wire: JsonObject) -> None:
        """A text or arguments that came without pieces."""
        track = self._track_of(wire.get("item_id"), wire.get("output_index"))
        text = wire.get("arguments", wire.get("text"))
        if track is not None and not track.streamed and isinstance(text, str) and text:
            track.streamed = True
            self._builder.text(track.place, text)

    def _on_input(self, wire: JsonObject) -> None:
        """The plain text of a custom call, told as the one JSON argument that it is for everybody else."""
        found = self._piece(wire, "function_call")
        if found is None or found[0].kind != "custom_tool_call":
            return
        track, text = found
        if track.channel != "input":
            track.channel = "input"
            self._builder.text(track.place, '{"input":"')
        # Halves of a pair stay escapes, so that they meet again in the joined JSON text.
        escaped = dump_text(text) if whole_text(text) == text else json.dumps(text)
        self._builder.text(track.place, escaped[1:-1])

    def _on_input_done(self, wire: JsonObject) -> None:
        track = self._track_of(wire.get("item_id"), wire.get("output_index"))
        if track is not None and track.channel == "input":
            track.channel = "done"
            self._builder.text(track.place, '"}')

    def _on_thought(self, wire: JsonObject) -> None:
        """A piece of the thoughts or of their summary; where both come, the first kind is told as it comes."""
        found = self._piece(wire, "reasoning")
        if found is None or found[0].kind != "reasoning":
            return
        track, text = found
        is_summary = wire.get("type") == "response.reasoning_summary_text.delta"
        channel, part = ("summary", wire.get("summary_index")) if is_summary else ("content", wire.get("content_index"))
        if not track.channel:
            track.channel, track.part = channel, part
            if channel == "content":
                self._builder.announce(track.place, {DIALECT: {**_early(track.wire), "_content": True}})
        elif track.channel != channel:
            return
        elif track.part != part:
            track.part = part
            self._builder.text(track.place, PARAGRAPH)
        self._builder.text(track.place, text)

    # The end

    def _end(self, reply: Reply) -> None:
        self._has_ended = True
        self._builder.end(reply)

    def _fail(self, failure: Failure) -> None:
        self._has_ended = True
        self._builder.fail(failure)

    _handlers: ClassVar[dict[str, Callable[["StreamDecoder", JsonObject], None]]] = {
        "response.created": _on_begin,
        "response.queued": _on_begin,
        "response.in_progress": _on_begin,
        "response.completed": _on_end,
        "response.incomplete": _on_end,
        "response.cancelled": _on_end,
        "response.failed": _on_end,
        "error": _on_error,
        "response.output_item.added": _on_item,
        "response.output_item.done": _on_item_done,
        "response.content_part.done": _on_part_done,
        "response.output_text.delta": _on_text,
        "response.refusal.delta": _on_refusal,
        "response.output_text.done": _on_whole,
        "response.function_call_arguments.delta": _on_arguments,
        "response.function_call_arguments.done": _on_whole,
        "response.custom_tool_call_input.delta": _on_input,
        "response.custom_tool_call_input.done": _on_input_done,
        "response.reasoning_summary_text.delta": _on_thought,
        "response.reasoning_text.delta": _on_thought,
    }


def _object(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _early(item: JsonObject) -> JsonObject:
    """What is certain of an item before it is whole."""
    return {key: item[key] for key in _EARLY if item.get(key) is not None}


def _may_have_halves(data: bytes) -> bool:
    return b"\\ud" in data or b"\\uD" in data


def _bad(message: str, data: bytes = b"") -> Failure:
    return Failure(kind=FailureKind.BAD_RESPONSE, message=message, status=502, body=body_text(data))
