"""Frames as the messages of a client of Gemini Live.

The encoder remembers what a session has to remember: that setup was sent, who detects speech, which calls were made
or cancelled. It knows neither when the answer to setup comes nor how to resample audio.
"""

from collections.abc import Iterable

import msgspec

from groundwire.codecs.gemini_live.contents import write_contents, write_result
from groundwire.codecs.gemini_live.naming import DIALECT, NAME_RULE
from groundwire.codecs.gemini_live.setups import write_setup
from groundwire.codecs.wire.live import append_joined, merge, note_left_out, with_rate
from groundwire.codecs.wire.live_encoding import LiveEncoder
from groundwire.codecs.wire.media import encode_base64
from groundwire.codecs.wire.private import own_members, visible
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject, JsonValue
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
    ServerFrame,
    SessionSetup,
    TextInput,
    ToolCalls,
    ToolCallsCancelled,
    ToolResponses,
    UserContent,
    VideoInput,
)


def encode_client(frames: Iterable[ClientFrame], *, losses: Losses | None = None) -> list[JsonObject]:
    """Frames of one session from its beginning, or frames that need no memory."""
    return ClientEncoder(losses=losses).feed(*frames)


class ClientEncoder(LiveEncoder):
    """Writes the messages of one session."""

    def __init__(self, *, losses: Losses | None = None) -> None:
        super().__init__(DIALECT, NAME_RULE, losses)
        self._is_set_up = False
        self._is_manual: bool | None = None
        self._is_active = False
        self._will_answer = False
        self._call_names: dict[str, str] = {}
        self._cancelled: set[str] = set()

    def heard(self, *frames: ServerFrame) -> list[JsonObject]:
        """What the server said meanwhile: results get the names of their calls, cancelled calls no result."""
        for frame in frames:
            if isinstance(frame, ToolCalls):
                self._call_names.update((item.call.call_id, item.call.name) for item in frame.calls)
            elif isinstance(frame, ToolCallsCancelled):
                self._cancelled.update(frame.call_ids)
        return []

    def feed(self, *frames: ClientFrame) -> list[JsonObject]:
        messages: list[JsonObject] = []
        for frame in frames:
            append_joined(messages, self._write(frame), frame, DIALECT)
        return messages

    def _write(self, frame: ClientFrame) -> list[JsonObject]:
        match frame:
            case AudioInput() | VideoInput():
                return self._write_media(frame)
            case SessionSetup():
                return self._write_setup(frame)
            case UserContent():
                return self._write_content(frame)
            case TextInput():
                self._will_answer = True
                return [{"realtimeInput": {"text": frame.text}}]
            case ActivityStarted():
                self._is_active = True
                return [{"realtimeInput": {"activityStart": visible(own_members(frame.private, DIALECT))}}]
            case ActivityEnded():
                return self._write_activity_end(frame)
            case AudioStreamEnded():
                return [{"realtimeInput": {"audioStreamEnd": True}}]
            case ToolResponses():
                return self._write_responses(frame)
            case ResponseRequested():
                return self._write_request(frame)
            case ResponseCancelled():
                self._losses.add("frame_dropped", frame.kind, "A client of Live cannot stop an answer by name.")
            case ItemTruncated():
                self._losses.add("frame_dropped", frame.kind, "Live itself cuts its history at an interruption.")
            case NativeFrame():
                return self._write_native(frame)
        return []

    def _write_setup(self, frame: SessionSetup) -> list[JsonObject]:
        if frame.turn_detection is not None:
            self._is_manual = not frame.turn_detection.automatic
        written = write_setup(frame, self._table, self._losses)
        is_update = own_members(frame.extras, DIALECT).get("_update")
        if not is_update and (DIALECT in frame.extras or not self._is_set_up):
            self._is_set_up = True
            return [{"setup": written}]
        if not is_update:
            for name in sorted(written.keys() - {"systemInstruction", "tools", "model"}):
                del written[name]
                self._losses.add("option_dropped", f"setup.{name}", "Live cannot change it in a running session.")
            written.pop("model", None)
        return [{"contextUpdate": written}] if written or is_update else []

    def _write_content(self, frame: UserContent) -> list[JsonObject]:
        content = visible(own_members(frame.private, DIALECT))
        if not own_members(frame.private, DIALECT).get("_no_turns"):
            content["turns"] = list(write_contents(frame.items, self._losses, "items"))
        if frame.turn_complete or not own_members(frame.private, DIALECT).get("_turn_complete"):
            content["turnComplete"] = frame.turn_complete
        self._will_answer = frame.turn_complete
        return [{"clientContent": content}]

    def _write_media(self, frame: AudioInput | VideoInput) -> list[JsonObject]:
        is_audio = isinstance(frame, AudioInput)
        media_type = with_rate(frame.media_type, frame.rate) if isinstance(frame, AudioInput) else frame.media_type
        blob: JsonObject = {"data": encode_base64(frame.data), "mimeType": media_type}
        blob.update(visible(own_members(frame.private, DIALECT)))
        if own_members(frame.private, DIALECT).get("_chunk"):
            return [{"realtimeInput": {"mediaChunks": [blob]}}]
        messages: list[JsonObject] = []
        if is_audio and self._is_manual and not self._is_active and DIALECT not in frame.private:
            self._is_active = True
            messages.append({"realtimeInput": {"activityStart": {}}})
        messages.append({"realtimeInput": {"audio" if is_audio else "video": blob}})
        return messages

    def _write_activity_end(self, frame: ActivityEnded) -> list[JsonObject]:
        self._is_active = False
        self._will_answer = True
        if self._is_manual is False and DIALECT not in frame.private:
            # While the server detects speech, activityEnd is an error; the end of the stream makes it listen no longer.
            self._losses.add("frame_approximated", frame.kind, "audioStreamEnd is sent while Live detects speech.")
            return [{"realtimeInput": {"audioStreamEnd": True}}]
        return [{"realtimeInput": {"activityEnd": visible(own_members(frame.private, DIALECT))}}]

    def _write_responses(self, frame: ToolResponses) -> list[JsonObject]:
        shared: JsonObject = {}
        if frame.scheduling is not None:
            shared["scheduling"] = frame.scheduling.upper()
        if frame.will_continue:
            shared["willContinue"] = True
        written: list[JsonValue] = []
        for place, result in enumerate(frame.results):
            if result.call_id in self._cancelled:
                self._losses.add("frame_dropped", frame.kind, f"{result.call_id!r} was cancelled: no result is sent.")
                continue
            if not result.name and result.call_id in self._call_names:
                result = msgspec.structs.replace(result, name=self._call_names[result.call_id])  # noqa: PLW2901
            wire = write_result(result, self._losses, f"results[{place}]")
            if result.name:
                wire["name"] = self._table.wire(result.name)
            written.append({**shared, **wire})
        note_left_out(frame.private, DIALECT, frame.kind, self._losses)
        if not written and frame.results:
            return []
        self._will_answer = frame.scheduling != "silent"
        rest = visible(own_members(frame.private, DIALECT))
        return [{"toolResponse": merge(rest, {"functionResponses": written})}]

    def _write_request(self, frame: ResponseRequested) -> list[JsonObject]:
        """Live answers by itself to results, speech and complete turns; only what was left open needs a word."""
        if frame.instructions:
            self._losses.add("option_dropped", frame.kind, "Live takes no instructions for a single answer.")
        note_left_out(frame.private, DIALECT, frame.kind, self._losses, code="option_dropped")
        answers_anyway, self._will_answer = self._will_answer, False
        return [] if answers_anyway else [{"clientContent": {"turnComplete": True}}]
