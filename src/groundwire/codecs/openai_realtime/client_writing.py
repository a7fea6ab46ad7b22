"""Frames as the events of a client of OpenAI Realtime.

Realtime never answers to results by itself. For frames of another API the encoder asks for the answer: once, after the
last open call has its result, and not while a response is still under way. For that it must hear the server.
"""

from collections.abc import Iterable

from groundwire.codecs.openai_realtime.conversations import write_item, write_result
from groundwire.codecs.openai_realtime.naming import DIALECT, NAME_RULE, PCM, RATES
from groundwire.codecs.openai_realtime.setups import write_setup
from groundwire.codecs.wire.live import note_left_out
from groundwire.codecs.wire.live_encoding import LiveEncoder
from groundwire.codecs.wire.media import encode_base64, write_data_url
from groundwire.codecs.wire.private import own_members, visible
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import NotExpressible
from groundwire.contracts.frames import (
    ActivityEnded,
    ActivityStarted,
    AudioInput,
    AudioStreamEnded,
    ClientFrame,
    ItemTruncated,
    NativeFrame,
    ResponseCancelled,
    ResponseRequested,
    ResponseStarted,
    ServerFrame,
    SessionSetup,
    TextInput,
    ToolCalls,
    ToolCallsCancelled,
    ToolResponses,
    TurnEnded,
    UserContent,
    VideoInput,
)
from groundwire.contracts.messages import Part, ResultItem, TextPart

_CREATE: JsonObject = {"type": "response.create"}


def encode_client(frames: Iterable[ClientFrame], *, losses: Losses | None = None) -> list[JsonObject]:
    """Frames of one session from its beginning, or frames that need no memory."""
    return ClientEncoder(losses=losses).feed(*frames)


class ClientEncoder(LiveEncoder):
    """Writes the events of one client."""

    def __init__(self, *, losses: Losses | None = None) -> None:
        super().__init__(DIALECT, NAME_RULE, losses)
        self._format = PCM
        self._is_responding = False
        self._is_wanted = False
        self._open: set[str] = set()
        self._partial: dict[str, tuple[Part, ...]] = {}

    def heard(self, *frames: ServerFrame) -> list[JsonObject]:
        """What the server said meanwhile, and the request that could not be made before."""
        for frame in frames:
            if isinstance(frame, ResponseStarted):
                self._is_responding = True
            elif isinstance(frame, TurnEnded):
                self._is_responding = False
            elif isinstance(frame, ToolCalls):
                self._open.update(item.call.call_id for item in frame.calls if item.complete)
            elif isinstance(frame, ToolCallsCancelled):
                self._open.difference_update(frame.call_ids)
        return self._due()

    def feed(self, *frames: ClientFrame) -> list[JsonObject]:
        events: list[JsonObject] = []
        for frame in frames:
            events.extend(self._write(frame))
        return events

    def _due(self) -> list[JsonObject]:
        if not self._is_wanted or self._is_responding or self._open:
            return []
        self._is_wanted = False
        return [dict(_CREATE)]

    def _write(self, frame: ClientFrame) -> list[JsonObject]:
        match frame:
            case AudioInput():
                return self._write_audio(frame)
            case SessionSetup():
                return self._write_setup(frame)
            case UserContent():
                return self._write_content(frame)
            case ToolResponses():
                return self._write_responses(frame)
            case TextInput():
                self._is_wanted = True
                return [_message([{"type": "input_text", "text": frame.text}]), *self._due()]
            case VideoInput():
                self._losses.add("frame_approximated", frame.kind, "Pictures go into the conversation one by one.")
                image: JsonObject = {"type": "input_image", "image_url": write_data_url(frame.media_type, frame.data)}
                return [_message([image])]
            case ActivityStarted():
                # A user who speaks interrupts; without an answer under way there is nothing to say.
                return [{"type": "response.cancel"}] if self._is_responding else []
            case ActivityEnded():
                if DIALECT in frame.private:
                    return [visible(own_members(frame.private, DIALECT))]
                self._is_wanted = True
                return [{"type": "input_audio_buffer.commit"}, *self._due()]
            case AudioStreamEnded():
                self._losses.add("frame_dropped", frame.kind, "Realtime waits for silence or for a commit.")
                return []
            case NativeFrame():
                return self._write_native(frame)
            case ResponseRequested() | ResponseCancelled() | ItemTruncated():
                return [self._write_command(frame)]

    def _write_command(self, frame: ResponseRequested | ResponseCancelled | ItemTruncated) -> JsonObject:
        event = visible(own_members(frame.private, DIALECT))
        match frame:
            case ResponseRequested():
                event["type"] = "response.create"
                if frame.instructions is not None:
                    options = event.get("response")
                    rest = options if isinstance(options, dict) else {}
                    event["response"] = {**rest, "instructions": frame.instructions}
            case ResponseCancelled():
                event["type"] = "response.cancel"
                if frame.response_id is not None:
                    event["response_id"] = frame.response_id
            case ItemTruncated():
                event["type"] = "conversation.item.truncate"
                event["item_id"] = frame.item_id
                event["content_index"] = frame.content_index
                event["audio_end_ms"] = frame.audio_end_ms
        return event

    def _write_setup(self, frame: SessionSetup) -> list[JsonObject]:
        session = write_setup(frame, self._table, self._losses)
        audio = frame.input_format
        if audio is not None:
            self._format = audio if audio.media_type in RATES and audio.rate in (None, RATES[audio.media_type]) else PCM
        event = own_members(frame.extras, DIALECT).get("_event")
        return [{"type": "session.update", **(event if isinstance(event, dict) else {}), "session": session}]

    def _write_audio(self, frame: AudioInput) -> list[JsonObject]:
        if DIALECT not in frame.private:
            agreed = self._format.media_type, self._format.rate or RATES[self._format.media_type]
            given = frame.media_type, frame.rate or RATES.get(frame.media_type)
            if given != agreed:
                raise NotExpressible(
                    f"The session takes {agreed[0]} of {agreed[1]} Hz, not {given[0]} of {given[1]} Hz.",
                    path=frame.kind,
                    hint="Resample the audio before it is encoded.",
                )
        event: JsonObject = {"type": "input_audio_buffer.append"}
        return [{**event, **visible(own_members(frame.private, DIALECT)), "audio": encode_base64(frame.data)}]

    def _write_content(self, frame: UserContent) -> list[JsonObject]:
        around = visible(own_members(frame.private, DIALECT))
        events: list[JsonObject] = []
        for place, item in enumerate(frame.items):
            written = write_item(item, self._losses, f"items[{place}]")
            if written is not None:
                events.append({"type": "conversation.item.create", **around, "item": written})
        if frame.turn_complete:
            self._is_wanted = True
            events.extend(self._due())
        return events

    def _write_responses(self, frame: ToolResponses) -> list[JsonObject]:
        around = visible(own_members(frame.private, DIALECT))
        events: list[JsonObject] = []
        note_left_out(frame.private, DIALECT, frame.kind, self._losses)
        for place, result in enumerate(frame.results):
            whole = self._whole(result, is_last=not frame.will_continue)
            if whole is None:
                continue
            item = write_result(whole, self._losses, f"results[{place}]")
            events.append({"type": "conversation.item.create", **around, "item": item})
            self._open.discard(result.call_id)
        if frame.respond and frame.scheduling != "silent" and not frame.will_continue:
            self._is_wanted = True
        return [*events, *self._due()]

    def _whole(self, result: ResultItem, *, is_last: bool) -> ResultItem | None:
        """Results that come piece by piece are sent as one: a call has one output here."""
        before = self._partial.pop(result.call_id, ())
        if is_last and not before:
            return result
        self._losses.add("frame_approximated", "tool.responses", "Results in pieces are sent as one, at their end.")
        line = (TextPart(text="\n"),) if before and result.text else ()
        parts = (*before, *line, *result.parts)
        if not is_last:
            self._partial[result.call_id] = parts
            return None
        return ResultItem(call_id=result.call_id, name=result.name, parts=parts, failed=result.failed)


def _message(content: list[JsonValue]) -> JsonObject:
    item: JsonObject = {"type": "message", "role": "user", "content": content}
    return {"type": "conversation.item.create", "item": item}
