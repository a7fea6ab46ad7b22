"""What the server of Gemini Live says, as frames. Reads leniently: what it does not understand stays as it came."""

from collections.abc import Mapping
from typing import Any

from groundwire.codecs.gemini_live.contents import read_call
from groundwire.codecs.gemini_live.naming import DIALECT, camel_members
from groundwire.codecs.gemini_live.usages import read_finish, read_usage
from groundwire.codecs.wire.failures import read_duration
from groundwire.codecs.wire.json import read_object
from groundwire.codecs.wire.live import joined, read_bytes, split_rate, with_rate
from groundwire.codecs.wire.names import original_name
from groundwire.codecs.wire.private import keep, own_members, unknown_members
from groundwire.codecs.wire.results import read_arguments
from groundwire.contracts.calls import ToolCall
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import WireError
from groundwire.contracts.frames import (
    AudioOutput,
    GenerationCompleted,
    GoingAway,
    Interrupted,
    NativeFrame,
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
from groundwire.contracts.messages import CallItem
from groundwire.contracts.replies import Usage

_TURN = frozenset({"turnComplete", "turnCompleteReason", "interactionStatus"})
_WORDS = frozenset({"inputTranscription", "outputTranscription"})


def decode_server(
    message: bytes | str | JsonObject, *, names: Mapping[str, str] | None = None
) -> tuple[ServerFrame, ...]:
    """One message by itself. Within a session, a decoder also knows calls without an id and interrupted turns."""
    return ServerDecoder(names=names).feed(message)


class ServerDecoder:
    """Reads the messages of one session. `names` leads from tool names on the wire to the caller's."""

    def __init__(self, *, names: Mapping[str, str] | None = None) -> None:
        self._names = names or {}
        self._calls = 0
        self._is_interrupted = False

    def feed(self, message: bytes | str | JsonObject) -> tuple[ServerFrame, ...]:
        """The frames of one message, in the order in which they matter. Only what is no JSON object is a WireError."""
        source = camel_members(read_object(message, what="frame"), "")
        usage = source.get("usageMetadata")
        counted = read_usage(camel_members(usage, "usageMetadata")) if isinstance(usage, dict) else None
        content = source.get("serverContent")
        ends_turn = isinstance(content, dict) and camel_members(content, "").get("turnComplete") is True
        frames: list[ServerFrame] = []
        for name, value in source.items():
            if name == "serverContent" and isinstance(value, dict) and value:
                frames.extend(self._read_content(camel_members(value, name), counted))
            elif name == "usageMetadata" and counted is not None:
                if not ends_turn:
                    frames.append(UsageReported(usage=counted))
            elif name == "toolCall" and isinstance(value, dict):
                frames.extend(self._read_calls(camel_members(value, name)))
            else:
                frames.append(_read_notice(name, value))
        return joined(frames or [NativeFrame(origin=DIALECT, value={})], DIALECT)

    def _read_content(self, content: JsonObject, usage: Usage | None) -> list[ServerFrame]:
        frames: list[ServerFrame] = []
        ends: list[ServerFrame] = []
        for name, value in content.items():
            if name in _WORDS:
                frames.append(_read_words(name, value))
            elif name == "modelTurn" and isinstance(value, dict):
                frames.extend(_read_turn(camel_members(value, name)))
            elif name == "interrupted" and value is True:
                self._is_interrupted = True
                frames.append(Interrupted())
            elif name == "generationComplete" and value is True:
                ends.insert(0, GenerationCompleted())
            elif name == "turnComplete" and value is True:
                ends.append(self._read_end(content, usage))
            elif name not in _TURN or content.get("turnComplete") is not True:
                frames.append(_native(name, value))
        return [*frames, *ends]

    def _read_end(self, content: JsonObject, usage: Usage | None) -> TurnEnded:
        reason, status = content.get("turnCompleteReason"), content.get("interactionStatus")
        private: JsonObject = {} if status is None else {"interactionStatus": status}
        if reason is not None and not isinstance(reason, str):
            private["turnCompleteReason"] = reason
        raw = reason if isinstance(reason, str) else None
        finish = read_finish(raw, is_interrupted=self._is_interrupted)
        self._is_interrupted = False
        return TurnEnded(finish=finish, usage=usage, private={DIALECT: private})

    def _read_calls(self, value: JsonObject) -> list[ServerFrame]:
        """Every call that can be read at all: one that gets no answer would block the session."""
        entries = value.get("functionCalls")
        if not isinstance(entries, list) or not entries:
            return [NativeFrame(origin=DIALECT, value={"toolCall": value})]
        rest = unknown_members(value, frozenset({"functionCalls"}))
        frames: list[ServerFrame] = []
        calls: list[CallItem] = []
        for entry in entries:
            self._calls += 1
            try:
                calls.append(self._read_call(entry))
            except WireError:
                # In its place among the calls, so that they are written again in their order.
                if calls:
                    frames.append(ToolCalls(calls=tuple(calls), private={DIALECT: rest}))
                    calls, rest = [], {}
                frames.append(NativeFrame(origin=DIALECT, value={"toolCall": {**rest, "functionCalls": [entry]}}))
                rest = {}
        if calls:
            frames.append(ToolCalls(calls=tuple(calls), private={DIALECT: rest}))
        return frames

    def _read_call(self, entry: Any) -> CallItem:
        source = camel_members(entry, "toolCall.functionCalls")
        arguments = source.get("args")
        odd = arguments is not None and not isinstance(arguments, dict)
        item = read_call({**source, "args": None} if odd else source, "toolCall", call_id=f"call_{self._calls}")
        call = item.call
        call = ToolCall(
            call_id=call.call_id,
            name=original_name(call.name, self._names),
            raw=read_arguments(arguments) if odd else call.raw,
            arguments=None if odd else call.arguments,
            origin=DIALECT,
        )
        private = item.private
        if odd:
            private = {DIALECT: {**own_members(private, DIALECT), "_args": arguments}}
        return CallItem(call=call, complete=source.get("willContinue") is not True, private=private)


def _native(name: str, value: JsonValue) -> NativeFrame:
    return NativeFrame(origin=DIALECT, value={"serverContent": {name: value}})


def _read_words(name: str, value: JsonValue) -> ServerFrame:
    """A piece of a transcript. Empty ones come too, and say nothing."""
    words = camel_members(value, name) if isinstance(value, dict) else {}
    text, finished = words.get("text"), words.get("finished")
    if not words or not isinstance(text, (str, type(None))) or not isinstance(finished, (bool, type(None))):
        return _native(name, value)
    private = unknown_members(words, frozenset({"text", "finished"}))
    if text == "":
        private["_text"] = True
    if finished is False:
        private["_finished"] = True
    return Transcript(
        speaker="user" if name == "inputTranscription" else "assistant",
        text=text or "",
        finished=finished is True,
        private=keep(DIALECT, private),
    )


def _read_turn(turn: JsonObject) -> list[ServerFrame]:
    parts = turn.get("parts")
    rest = unknown_members(turn, frozenset({"parts"}))
    if not isinstance(parts, list) or not parts:
        return [_native("modelTurn", turn)]
    frames: list[ServerFrame] = []
    for place, part in enumerate(parts):
        around = rest if place == 0 else {}
        read = _read_part(camel_members(part, "parts"), around) if isinstance(part, dict) else None
        frames.append(_native("modelTurn", {**around, "parts": [part]}) if read is None else read)
    return frames


def _read_part(part: JsonObject, around: JsonObject) -> ServerFrame | None:
    """Speech or text; `around` is what the turn says beside its parts, and goes with the first of them."""
    private: JsonObject = {"_turn": around} if around else {}
    text, thought, blob = part.get("text"), part.get("thought"), part.get("inlineData")
    if isinstance(text, str) and thought in (None, True):
        private.update(unknown_members(part, frozenset({"text", "thought"})))
        return TextOutput(text=text, thought=thought is True, private=keep(DIALECT, private))
    if isinstance(blob, dict) and len(part) == 1:
        blob = camel_members(blob, "inlineData")
        data, media_type = read_bytes(blob.get("data")), blob.get("mimeType")
        if data is not None and isinstance(media_type, str) and media_type.startswith("audio/") and len(blob) == 2:
            kind, rate = split_rate(media_type)
            if with_rate(kind, rate) != media_type:
                kind, rate = media_type, None
            return AudioOutput(data=data, media_type=kind, rate=rate, private=keep(DIALECT, private))
    return None


def _read_notice(name: str, value: JsonValue) -> ServerFrame:
    """A member of the message itself that is one frame."""
    if isinstance(value, dict):
        source = camel_members(value, name)
        match name:
            case "setupComplete":
                session = source.get("sessionId")
                if isinstance(session, (str, type(None))):
                    rest = unknown_members(source, frozenset({"sessionId"} if session else ()))
                    return SessionReady(session_id=session or "", private={DIALECT: rest})
            case "toolCallCancellation":
                ids = source.get("ids")
                if isinstance(ids, list) and all(isinstance(call_id, str) for call_id in ids):
                    rest = unknown_members(source, frozenset({"ids"}))
                    return ToolCallsCancelled(call_ids=tuple(str(call_id) for call_id in ids), private={DIALECT: rest})
            case "goAway":
                return GoingAway(seconds_left=read_duration(source.get("timeLeft")), private={DIALECT: source})
            case "sessionResumptionUpdate":
                handle, resumable = source.get("newHandle"), source.get("resumable")
                return ResumptionUpdated(
                    handle=handle if isinstance(handle, str) else "",
                    resumable=resumable is True,
                    private={DIALECT: source},
                )
            case "voiceActivity":
                offset = read_duration(source.get("audioOffset"))
                at = None if offset is None else round(offset * 1000)
                if source.get("voiceActivityType") == "ACTIVITY_START":
                    return SpeechStarted(offset_ms=at, private={DIALECT: source})
                if source.get("voiceActivityType") == "ACTIVITY_END":
                    return SpeechStopped(offset_ms=at, private={DIALECT: source})
    return NativeFrame(origin=DIALECT, value={name: value})
