"""What a client of Gemini Live says: its messages as frames, and frames as its messages.

The encoder remembers what a session has to remember: that setup was sent, who detects speech, which calls were made
or cancelled. It knows neither when the answer to setup comes nor how to resample audio.
"""

from collections.abc import Iterable
from typing import Any, Literal, get_args

import msgspec

from groundwire.codecs.gemini_live.contents import read_contents, read_result, write_contents, write_result
from groundwire.codecs.gemini_live.naming import DIALECT, TOOL_NAMES, camel_members
from groundwire.codecs.gemini_live.setups import read_setup, write_setup
from groundwire.codecs.wire.json import read_object
from groundwire.codecs.wire.live import (
    append_joined,
    joined,
    kept,
    merge,
    note_foreign,
    own_hint,
    own_members,
    read_bytes,
    split_rate,
    with_rate,
)
from groundwire.codecs.wire.media import encode_base64
from groundwire.codecs.wire.names import NameTable
from groundwire.codecs.wire.reading import join, optional_bool, optional_list, optional_text, rest_of
from groundwire.codecs.wire.warnings import Losses, WireWarning
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
from groundwire.contracts.messages import ResultItem

_Scheduling = Literal["interrupt", "when_idle", "silent"]
_SCHEDULING: dict[str, _Scheduling] = {name.upper(): name for name in get_args(_Scheduling)}
_BLOB = frozenset({"data", "mimeType"})


def decode_client(message: bytes | str | JsonObject) -> tuple[ClientFrame, ...]:
    """One message of a client. What is no JSON object, or has a member of a wrong type, is a WireError."""
    source = camel_members(read_object(message, what="frame"), "")
    frames: list[ClientFrame] = []
    for name, value in source.items():
        match name:
            case "setup":
                frames.append(read_setup(value, name))
            case "contextUpdate":
                frames.append(read_setup(value, name, is_update=True))
            case "clientContent":
                frames.append(_read_content(value, name))
            case "realtimeInput":
                frames.extend(_read_input(value, name))
            case "toolResponse":
                frames.append(_read_responses(value, name))
            case _:
                frames.append(NativeFrame(origin=DIALECT, value={name: value}))
    if not frames:
        frames.append(NativeFrame(origin=DIALECT, value={}))
    return joined(frames, DIALECT)


def _read_content(value: Any, path: str) -> UserContent:
    source = camel_members(value, path)
    private = rest_of(source, frozenset({"turns", "turnComplete"}))
    turn_complete = optional_bool(source, "turnComplete", path)
    if turn_complete is None:
        private["_turn_complete"] = True
    if "turns" not in source:
        private["_no_turns"] = True
    items = read_contents(optional_list(source, "turns", path), join(path, "turns"))
    return UserContent(items=items, turn_complete=turn_complete is True, private=kept(DIALECT, private))


def _read_input(value: Any, path: str) -> list[ClientFrame]:
    source = camel_members(value, path)
    frames: list[ClientFrame] = []
    for name, member in source.items():
        here = join(path, name)
        if name == "mediaChunks" and isinstance(member, list) and member:
            frames.extend(_read_blob(chunk, name, f"{here}[{place}]") for place, chunk in enumerate(member))
        elif name in ("audio", "video"):
            frames.append(_read_blob(member, name, here))
        elif name == "text":
            text = optional_text(source, name, path)
            frames.append(_native_input(name, None) if text is None else TextInput(text=text, private={DIALECT: {}}))
        elif name == "activityStart" and isinstance(member, dict):
            frames.append(ActivityStarted(private={DIALECT: member}))
        elif name == "activityEnd" and isinstance(member, dict):
            frames.append(ActivityEnded(private={DIALECT: member}))
        elif name == "audioStreamEnd" and member is True:
            frames.append(AudioStreamEnded(private={DIALECT: {}}))
        else:
            frames.append(_native_input(name, member))
    return frames or [NativeFrame(origin=DIALECT, value={"realtimeInput": source})]


def _native_input(name: str, value: JsonValue) -> NativeFrame:
    return NativeFrame(origin=DIALECT, value={"realtimeInput": {name: value}})


def _read_blob(value: Any, name: str, path: str) -> ClientFrame:
    """Audio or a picture; data that is no base64 stays as it is."""
    blob = camel_members(value, path)
    data, media_type = read_bytes(blob.get("data")), blob.get("mimeType")
    if data is None or not isinstance(media_type, str):
        return _native_input(name, [value] if name == "mediaChunks" else value)
    private = rest_of(blob, _BLOB)
    if name == "mediaChunks":
        private["_chunk"] = True
    if name == "audio" or (name == "mediaChunks" and media_type.startswith("audio/")):
        kind, rate = split_rate(media_type)
        if with_rate(kind, rate) != media_type:
            kind, rate = media_type, None
        return AudioInput(data=data, media_type=kind, rate=rate, private={DIALECT: private})
    return VideoInput(data=data, media_type=media_type, private={DIALECT: private})


def _read_responses(value: Any, path: str) -> ToolResponses:
    source = camel_members(value, path)
    here = join(path, "functionResponses")
    found = optional_list(source, "functionResponses", path)
    results = [read_result(result, f"{here}[{place}]") for place, result in enumerate(found)]
    scheduling = _common(results, "scheduling")
    will_continue = _common(results, "willContinue") is True
    known = _SCHEDULING.get(scheduling) if isinstance(scheduling, str) else None
    taken = {name for name, is_told in (("scheduling", known), ("willContinue", will_continue)) if is_told}
    return ToolResponses(
        results=tuple(_without(result, taken) for result in results),
        scheduling=known,
        will_continue=will_continue,
        respond=known != "silent",
        private={DIALECT: rest_of(source, frozenset({"functionResponses"}))},
    )


def _common(results: list[ResultItem], name: str) -> JsonValue:
    """What all results say alike; options that differ stay with their results."""
    values = [result.private.get(DIALECT, {}).get(name) for result in results]
    return values[0] if values and all(value == values[0] for value in values) else None


def _without(result: ResultItem, names: set[str]) -> ResultItem:
    own = result.private.get(DIALECT)
    if not own or not names:
        return result
    rest = {name: value for name, value in own.items() if name not in names}
    return msgspec.structs.replace(result, private=kept(DIALECT, rest))


def encode_client(frames: Iterable[ClientFrame], *, losses: Losses | None = None) -> list[JsonObject]:
    """Frames of one session from its beginning, or frames that need no memory."""
    return ClientEncoder(losses=losses).feed(*frames)


class ClientEncoder:
    """Writes the messages of one session. `names` leads from tool names on the wire to the caller's."""

    def __init__(self, *, losses: Losses | None = None) -> None:
        self._losses = Losses() if losses is None else losses
        self._table = NameTable(TOOL_NAMES, self._losses)
        self._is_set_up = False
        self._is_manual: bool | None = None
        self._is_active = False
        self._will_answer = False
        self._call_names: dict[str, str] = {}
        self._cancelled: set[str] = set()

    @property
    def names(self) -> dict[str, str]:
        return self._table.names

    @property
    def warnings(self) -> tuple[WireWarning, ...]:
        return self._losses.taken()

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
                return [{"realtimeInput": {"activityStart": own_members(frame.private, DIALECT)}}]
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
                if frame.origin == DIALECT:
                    return [frame.value]
                self._losses.add("native_dropped", frame.kind, f"Only {frame.origin} knows this: {_type_of(frame)}.")
        return []

    def _write_setup(self, frame: SessionSetup) -> list[JsonObject]:
        if frame.turn_detection is not None:
            self._is_manual = not frame.turn_detection.automatic
        written = write_setup(frame, self._table, self._losses)
        is_update = own_hint(frame.extras, DIALECT, "_update")
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
        content = own_members(frame.private, DIALECT)
        if not own_hint(frame.private, DIALECT, "_no_turns"):
            content["turns"] = list(write_contents(frame.items, self._losses, "items"))
        if frame.turn_complete or not own_hint(frame.private, DIALECT, "_turn_complete"):
            content["turnComplete"] = frame.turn_complete
        self._will_answer = frame.turn_complete
        return [{"clientContent": content}]

    def _write_media(self, frame: AudioInput | VideoInput) -> list[JsonObject]:
        is_audio = isinstance(frame, AudioInput)
        media_type = with_rate(frame.media_type, frame.rate) if isinstance(frame, AudioInput) else frame.media_type
        blob: JsonObject = {"data": encode_base64(frame.data), "mimeType": media_type}
        blob.update(own_members(frame.private, DIALECT))
        if own_hint(frame.private, DIALECT, "_chunk"):
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
        return [{"realtimeInput": {"activityEnd": own_members(frame.private, DIALECT)}}]

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
        note_foreign(frame.private, DIALECT, frame.kind, self._losses)
        if not written and frame.results:
            return []
        self._will_answer = frame.scheduling != "silent"
        rest = own_members(frame.private, DIALECT)
        return [{"toolResponse": merge(rest, {"functionResponses": written})}]

    def _write_request(self, frame: ResponseRequested) -> list[JsonObject]:
        """Live answers by itself to results, speech and complete turns; only what was left open needs a word."""
        if frame.instructions:
            self._losses.add("option_dropped", frame.kind, "Live takes no instructions for a single answer.")
        note_foreign(frame.private, DIALECT, frame.kind, self._losses, code="option_dropped")
        answers_anyway, self._will_answer = self._will_answer, False
        return [] if answers_anyway else [{"clientContent": {"turnComplete": True}}]


def _type_of(frame: NativeFrame) -> str:
    kind = frame.value.get("type")
    return kind if isinstance(kind, str) else ", ".join(sorted(frame.value))
