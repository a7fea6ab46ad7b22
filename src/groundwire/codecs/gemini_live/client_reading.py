"""The messages of a client of Gemini Live as frames."""

from typing import Any, Literal, get_args

import msgspec

from groundwire.codecs.gemini_live.contents import read_contents, read_result
from groundwire.codecs.gemini_live.naming import DIALECT, camel_members
from groundwire.codecs.gemini_live.setups import read_setup
from groundwire.codecs.wire.json import read_object
from groundwire.codecs.wire.live import joined, read_bytes, split_rate, with_rate
from groundwire.codecs.wire.private import keep, own_members, unknown_members
from groundwire.codecs.wire.reading import join, optional_bool, optional_list, optional_text
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.frames import (
    ActivityEnded,
    ActivityStarted,
    AudioInput,
    AudioStreamEnded,
    ClientFrame,
    NativeFrame,
    TextInput,
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
    private = unknown_members(source, frozenset({"turns", "turnComplete"}))
    turn_complete = optional_bool(source, "turnComplete", path)
    if turn_complete is None:
        private["_turn_complete"] = True
    if "turns" not in source:
        private["_no_turns"] = True
    items = read_contents(optional_list(source, "turns", path), join(path, "turns"))
    return UserContent(items=items, turn_complete=turn_complete is True, private=keep(DIALECT, private))


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
    private = unknown_members(blob, _BLOB)
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
        private={DIALECT: unknown_members(source, frozenset({"functionResponses"}))},
    )


def _common(results: list[ResultItem], name: str) -> JsonValue:
    """What all results say alike; options that differ stay with their results."""
    values = [own_members(result.private, DIALECT).get(name) for result in results]
    return values[0] if values and all(value == values[0] for value in values) else None


def _without(result: ResultItem, names: set[str]) -> ResultItem:
    own = result.private.get(DIALECT)
    if not own or not names:
        return result
    rest = {name: value for name, value in own.items() if name not in names}
    return msgspec.structs.replace(result, private=keep(DIALECT, rest))
