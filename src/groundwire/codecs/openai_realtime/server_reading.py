"""What the server of OpenAI Realtime says, as frames. Reads leniently: what it does not understand stays as it came.

A call comes as a lifecycle of many events. These pass as they are, and at the end of the response its calls are told
once, together: only then is it known that they are whole, and that nobody cancelled them.
"""

from collections.abc import Mapping

from groundwire.codecs.openai_realtime.failures import read_error
from groundwire.codecs.openai_realtime.naming import BETA_NAMES, DIALECT, PCM
from groundwire.codecs.openai_realtime.usages import read_finish, read_usage
from groundwire.codecs.wire.building import withdraw_calls
from groundwire.codecs.wire.json import read_object
from groundwire.codecs.wire.live import read_bytes
from groundwire.codecs.wire.names import original_name
from groundwire.codecs.wire.private import keep, unknown_members
from groundwire.codecs.wire.reading import count_of
from groundwire.codecs.wire.results import read_arguments
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.frames import (
    AudioFormat,
    AudioOutput,
    Interrupted,
    LiveFailed,
    NativeFrame,
    ResponseStarted,
    ServerFrame,
    SessionReady,
    SpeechStarted,
    SpeechStopped,
    TextOutput,
    ToolCalls,
    Transcript,
    TurnEnded,
)
from groundwire.contracts.messages import CallItem, Private
from groundwire.contracts.replies import Finish, FinishReason

_DELTA = frozenset({"delta"})
_ITEM_EVENTS = frozenset({"response.output_item.added", "response.output_item.done"})
_TOLD: Private = {DIALECT: {"_told": True}}
"""Marks a frame that says again what stands in the end of the response, which alone is written."""


def decode_server(
    message: bytes | str | JsonObject, *, names: Mapping[str, str] | None = None
) -> tuple[ServerFrame, ...]:
    """One event by itself. Within a session, a decoder also knows what came before it."""
    return ServerDecoder(names=names).feed(message)


class _Call:
    """A call whose arguments are still coming."""

    __slots__ = ("arguments", "call_id", "is_done", "name", "pieces")

    def __init__(self) -> None:
        self.call_id = ""
        self.name = ""
        self.pieces: list[str] = []
        self.arguments: str | None = None
        self.is_done = False


class ServerDecoder:
    """Reads the events of one session. `names` leads from tool names on the wire to the caller's."""

    def __init__(self, *, names: Mapping[str, str] | None = None) -> None:
        self._names = names or {}
        self._format = PCM
        self._calls: dict[str, dict[str, _Call]] = {}
        self._worded: set[str] = set()

    def feed(self, message: bytes | str | JsonObject) -> tuple[ServerFrame, ...]:
        """The frames of one event. Only what is no JSON object is a WireError."""
        event = read_object(message, what="event")
        kind = event.get("type")
        kind = BETA_NAMES.get(kind, kind) if isinstance(kind, str) else ""
        if kind == "response.done" and isinstance(event.get("response"), dict):
            return self._read_end(event)
        found = self._read_delta(event, kind) or self._read_words(event, kind) or self._read_notice(event, kind)
        if found is None:
            self._follow_call(event, kind)
            found = NativeFrame(origin=DIALECT, value=event)
        return (found,)

    def _read_delta(self, event: JsonObject, kind: str) -> ServerFrame | None:
        delta = event.get("delta")
        if not isinstance(delta, str):
            return None
        private = {DIALECT: unknown_members(event, _DELTA)}
        match kind:
            case "response.output_audio.delta":
                data = read_bytes(delta)
                if data is not None:
                    audio = self._format
                    return AudioOutput(data=data, media_type=audio.media_type, rate=audio.rate, private=private)
            case "response.output_text.delta":
                return TextOutput(text=delta, private=private)
            case "response.output_audio_transcript.delta":
                self._worded.add(_item_of(event))
                return Transcript(speaker="assistant", text=delta, private=private)
            case "conversation.item.input_audio_transcription.delta":
                self._worded.add(_item_of(event))
                return Transcript(speaker="user", text=delta, private=private)
        return None

    def _read_words(self, event: JsonObject, kind: str) -> ServerFrame | None:
        """The end of a transcript: its text is told only if it did not come before in pieces."""
        whole = event.get("transcript")
        is_model = kind == "response.output_audio_transcript.done"
        if not isinstance(whole, str) or not (
            is_model or kind == "conversation.item.input_audio_transcription.completed"
        ):
            return None
        item = _item_of(event)
        text = "" if item in self._worded else whole
        self._worded.discard(item)
        return Transcript(
            speaker="assistant" if is_model else "user", text=text, finished=True, private={DIALECT: dict(event)}
        )

    def _read_notice(self, event: JsonObject, kind: str) -> ServerFrame | None:
        session, response, error = event.get("session"), event.get("response"), event.get("error")
        match kind:
            case "session.created" | "session.updated" if isinstance(session, dict):
                self._note_format(session)
                return SessionReady(
                    session_id=_text(session.get("id")),
                    model=_text(session.get("model")),
                    configured=kind == "session.updated",
                    private={DIALECT: event},
                )
            case "response.created" if isinstance(response, dict):
                self._note_format(response)
                return ResponseStarted(response_id=_text(response.get("id")), private={DIALECT: event})
            case "input_audio_buffer.speech_started":
                return SpeechStarted(offset_ms=count_of(event, "audio_start_ms"), private={DIALECT: event})
            case "input_audio_buffer.speech_stopped":
                return SpeechStopped(offset_ms=count_of(event, "audio_end_ms"), private={DIALECT: event})
            case "error" | "conversation.item.input_audio_transcription.failed" if isinstance(error, dict):
                return LiveFailed(failure=read_error(error), private={DIALECT: event})
        return None

    def _note_format(self, source: JsonObject) -> None:
        value: JsonValue = source
        for name in ("audio", "output", "format"):
            value = value.get(name) if isinstance(value, dict) else None
        if isinstance(value, dict) and isinstance(value.get("type"), str):
            self._format = AudioFormat(media_type=_text(value["type"]), rate=count_of(value, "rate"))

    def _follow_call(self, event: JsonObject, kind: str) -> None:
        """Keep what the events say about calls: the end of the response may come without its output."""
        item = event.get("item")
        if kind.startswith("response.function_call_arguments."):
            call = self._call(event, _item_of(event))
            _note_names(call, event)
            if kind.endswith(".delta"):
                call.pieces.append(_text(event.get("delta")))
            else:
                call.arguments = read_arguments(event.get("arguments"))
                call.is_done = True
        elif kind in _ITEM_EVENTS and isinstance(item, dict) and item.get("type") == "function_call":
            call = self._call(event, _text(item.get("id")))
            _note_names(call, item)
            if kind.endswith(".done"):
                call.arguments = read_arguments(item.get("arguments"))
                call.is_done = item.get("status", "completed") == "completed"

    def _call(self, event: JsonObject, item_id: str) -> _Call:
        calls = self._calls.setdefault(_text(event.get("response_id")), {})
        return calls.setdefault(item_id, _Call())

    def _read_end(self, event: JsonObject) -> tuple[ServerFrame, ...]:
        response = event["response"]
        response = response if isinstance(response, dict) else {}
        response_id = _text(response.get("id"))
        calls = self._ended_calls(response, self._calls.pop(response_id, {}))
        finish = read_finish(response, calls)
        calls = tuple(item for item in withdraw_calls(calls, finish.reason) if isinstance(item, CallItem))
        usage = response.get("usage")
        frames: list[ServerFrame] = []
        if calls:
            frames.append(ToolCalls(calls=calls, private=_TOLD))
        if finish.reason is FinishReason.CANCELLED and finish.detail == "turn_detected":
            frames.append(Interrupted(private=_TOLD))
        failure = _failure_of(response, finish)
        if failure is not None:
            frames.append(failure)
        counted = read_usage(usage) if isinstance(usage, dict) else None
        rest = response if counted is None else unknown_members(response, frozenset({"usage"}))
        private = {DIALECT: {**event, "response": rest}}
        return (*frames, TurnEnded(finish=finish, usage=counted, private=private))

    def _ended_calls(self, response: JsonObject, followed: dict[str, _Call]) -> tuple[CallItem, ...]:
        output = response.get("output")
        found: list[CallItem] = []
        for item in output if isinstance(output, list) else []:
            if isinstance(item, dict) and item.get("type") == "function_call":
                followed.pop(_text(item.get("id")), None)
                is_done = item.get("status", "completed") == "completed"
                raw = read_arguments(item.get("arguments"))
                found.append(
                    self._item(_text(item.get("call_id")), _text(item.get("name")), raw, item, is_done=is_done)
                )
        for item_id, call in followed.items():
            raw = read_arguments("".join(call.pieces)) if call.arguments is None else call.arguments
            found.append(self._item(call.call_id or item_id, call.name, raw, {}, is_done=call.is_done))
        return tuple(found)

    def _item(self, call_id: str, name: str, raw: str, item: JsonObject, *, is_done: bool) -> CallItem:
        call = ToolCall(
            call_id=call_id or _text(item.get("id")),
            name=original_name(name, self._names),
            raw=raw,
            origin=DIALECT,
        )
        rest = unknown_members(item, frozenset({"type", "call_id", "name", "arguments"}))
        return CallItem(call=call, complete=is_done, private=keep(DIALECT, rest))


def _failure_of(response: JsonObject, finish: Finish) -> LiveFailed | None:
    if finish.reason is not FinishReason.FAILED:
        return None
    details = response.get("status_details")
    error = details.get("error") if isinstance(details, dict) else None
    return LiveFailed(failure=read_error(error if isinstance(error, dict) else {}), private=_TOLD)


def _note_names(call: _Call, source: JsonObject) -> None:
    call.call_id = _text(source.get("call_id")) or call.call_id
    call.name = _text(source.get("name")) or call.name


def _item_of(event: JsonObject) -> str:
    return _text(event.get("item_id"))


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""
