"""Frames as the messages of a Gemini Live server.

For frames of another API the encoder adds what Live says and they do not: the end of generation before the end of the
turn. A turn that only called tools does not end here, because in Live the answer to their results belongs to it.
"""

from collections.abc import Iterable

from groundwire.codecs.gemini_live.contents import write_call
from groundwire.codecs.gemini_live.naming import DIALECT, NAME_RULE
from groundwire.codecs.gemini_live.usages import write_reason, write_usage
from groundwire.codecs.wire.live import append_joined, note_left_out, with_rate
from groundwire.codecs.wire.live_encoding import LiveEncoder
from groundwire.codecs.wire.media import encode_base64
from groundwire.codecs.wire.private import own_members, visible
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.frames import (
    AudioOutput,
    GenerationCompleted,
    GoingAway,
    Interrupted,
    LiveFailed,
    NativeFrame,
    ResponseStarted,
    ResumptionUpdated,
    ServerFrame,
    SessionReady,
    SpeechStarted,
    SpeechStopped,
    TextOutput,
    ToolCalls,
    ToolCallsCancelled,
    Transcript,
    TurnEnded,
    UsageReported,
)
from groundwire.contracts.replies import FinishReason, Usage


def encode_server(frames: Iterable[ServerFrame], *, losses: Losses | None = None) -> list[JsonObject]:
    return ServerEncoder(losses=losses).feed(*frames)


class ServerEncoder(LiveEncoder):
    """Writes the messages of one session."""

    def __init__(self, *, losses: Losses | None = None) -> None:
        super().__init__(DIALECT, NAME_RULE, losses)
        self._has_completed = False
        self._usage: Usage | None = None

    def feed(self, *frames: ServerFrame) -> list[JsonObject]:
        messages: list[JsonObject] = []
        for frame in frames:
            append_joined(messages, self._write(frame), frame, DIALECT)
        return messages

    def _write(self, frame: ServerFrame) -> list[JsonObject]:
        note_left_out(frame.private, DIALECT, frame.kind, self._losses)
        match frame:
            case AudioOutput() | TextOutput():
                return [_content("modelTurn", _turn_of(frame))]
            case Transcript():
                return [
                    _content("inputTranscription" if frame.speaker == "user" else "outputTranscription", _words(frame))
                ]
            case ToolCalls():
                return self._write_calls(frame)
            case TurnEnded():
                return self._write_end(frame)
            case Interrupted():
                return [_content("interrupted", True)]
            case GenerationCompleted():
                self._has_completed = True
                return [_content("generationComplete", True)]
            case UsageReported():
                return [{"usageMetadata": write_usage(frame.usage, self._losses)}]
            case NativeFrame():
                return self._write_native(frame)
            case _:
                return self._write_notice(frame)

    def _write_notice(
        self,
        frame: SessionReady
        | ResponseStarted
        | ToolCallsCancelled
        | GoingAway
        | ResumptionUpdated
        | SpeechStarted
        | SpeechStopped
        | LiveFailed,
    ) -> list[JsonObject]:
        rest = visible(own_members(frame.private, DIALECT))
        match frame:
            case SessionReady():
                named: JsonObject = {"sessionId": frame.session_id} if frame.session_id else {}
                return [{"setupComplete": {**rest, **named}}] if frame.configured else []
            case ToolCallsCancelled():
                return [{"toolCallCancellation": {**rest, "ids": list(frame.call_ids)}}]
            case GoingAway():
                left: JsonObject = {} if frame.seconds_left is None else {"timeLeft": f"{frame.seconds_left:g}s"}
                return [{"goAway": rest if DIALECT in frame.private else left}]
            case ResumptionUpdated():
                update: JsonObject = {"newHandle": frame.handle, "resumable": frame.resumable}
                return [{"sessionResumptionUpdate": rest if DIALECT in frame.private else update}]
            case SpeechStarted() | SpeechStopped():
                is_start = isinstance(frame, SpeechStarted)
                activity: JsonObject = {"voiceActivityType": "ACTIVITY_START" if is_start else "ACTIVITY_END"}
                if frame.offset_ms is not None:
                    activity["audioOffset"] = f"{frame.offset_ms / 1000:g}s"
                return [{"voiceActivity": rest if DIALECT in frame.private else activity}]
            case LiveFailed():
                message = "Live has no message for failures: close the connection with `encode_close`."
                self._losses.add("frame_dropped", frame.kind, message)
                return []
            case ResponseStarted():  # Live begins to answer without saying so
                return []

    def _write_calls(self, frame: ToolCalls) -> list[JsonObject]:
        calls: list[JsonValue] = []
        for place, item in enumerate(frame.calls):
            here = f"calls[{place}]"
            if not item.complete and DIALECT not in item.private:
                self._losses.add("frame_dropped", here, "A call that was cut is not passed on: it must not run.")
                continue
            note_left_out(item.private, DIALECT, here, self._losses)
            wire = write_call(item, self._losses, here)
            if item.call.name:
                wire["name"] = self._table.wire(item.call.name, here)
            calls.append(wire)
        rest = visible(own_members(frame.private, DIALECT))
        return [{"toolCall": {**rest, "functionCalls": calls}}] if calls or not frame.calls else []

    def _write_end(self, frame: TurnEnded) -> list[JsonObject]:
        is_own = DIALECT in frame.private
        usage = frame.usage or self._usage
        if not is_own and frame.finish.reason is FinishReason.TOOL_CALLS:
            self._usage = usage
            return []
        content: JsonObject = {"turnComplete": True, **visible(own_members(frame.private, DIALECT))}
        reason = write_reason(frame.finish, self._losses, is_own=is_own)
        if reason is not None:
            content["turnCompleteReason"] = reason
        message: JsonObject = {"serverContent": content}
        if usage is not None:
            message["usageMetadata"] = write_usage(usage, self._losses)
        is_announced = is_own or self._has_completed or frame.finish.reason is FinishReason.CANCELLED
        self._has_completed, self._usage = False, None
        return [message] if is_announced else [_content("generationComplete", True), message]


def _content(name: str, value: JsonValue) -> JsonObject:
    return {"serverContent": {name: value}}


def _turn_of(frame: AudioOutput | TextOutput) -> JsonObject:
    around = own_members(frame.private, DIALECT).get("_turn")
    part: JsonObject
    if isinstance(frame, AudioOutput):
        part = {"inlineData": {"mimeType": with_rate(frame.media_type, frame.rate), "data": encode_base64(frame.data)}}
    else:
        part = {"text": frame.text, **({"thought": True} if frame.thought else {})}
        part.update(visible(own_members(frame.private, DIALECT)))
    return {**(around if isinstance(around, dict) else {}), "parts": [part]}


def _words(frame: Transcript) -> JsonObject:
    words = visible(own_members(frame.private, DIALECT))
    if frame.text or own_members(frame.private, DIALECT).get("_text"):
        words["text"] = frame.text
    if frame.finished or own_members(frame.private, DIALECT).get("_finished"):
        words["finished"] = frame.finished
    return words
