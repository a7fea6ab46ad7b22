"""The parts of a message's content: text, images, sounds, files, and what only some servers know.

Does not know which message they stand in, except that media belong into messages of the user.
"""

from collections.abc import Iterable
from typing import Any

from groundwire.codecs.openai_chat.profile import DIALECT
from groundwire.codecs.wire.media import (
    decode_base64,
    encode_base64,
    guess_media_type,
    media_kind,
    media_note,
    read_data_url,
    write_data_url,
)
from groundwire.codecs.wire.private import NOTHING, keep, note_foreign, own_members, unknown_values, visible
from groundwire.codecs.wire.reading import as_object, as_text, expected, optional_object, optional_text, required_text
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.messages import MediaPart, NativePart, Part, RefusalPart, TextPart

_TEXT = frozenset({"type", "text"})
_REFUSAL = frozenset({"type", "refusal"})
_ADDRESS = frozenset({"url", "detail"})
_SOUND = frozenset({"data", "format"})
_FILE = frozenset({"file_data", "filename", "file_id"})
_ADDRESSED = {"image_url": "image/*", "video_url": "video/*", "audio_url": "audio/*", "document_url": "application/pdf"}
_SOUND_TYPES = {"mp3": "audio/mpeg", "wav": "audio/wav"}
_SOUND_FORMATS = {
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
}


def read_parts(content: list[Any], path: str, *, from_user: bool = True) -> tuple[Part, ...]:
    return tuple(read_part(value, f"{path}[{place}]", from_user=from_user) for place, value in enumerate(content))


def read_part(value: Any, path: str, *, from_user: bool) -> Part:
    if type(value) is not dict:
        if isinstance(value, str):
            return TextPart(text=value, private={DIALECT: {"_bare": True}})
        raise expected(path, "an object", value)
    kind = value.get("type")
    if kind == "text":
        text = value.get("text")
        if type(text) is not str:
            text = required_text(value, "text", path)
        return (
            TextPart(text=text)
            if len(value) == 2
            else TextPart(text=text, private=keep(DIALECT, unknown_values(value, _TEXT)))
        )
    if kind == "refusal" and value.keys() == _REFUSAL:
        return RefusalPart(text=as_text(value["refusal"], f"{path}.refusal"))
    if type(kind) is str and kind in _ADDRESSED:
        return _read_addressed(value, kind, path, from_user=from_user)
    if kind == "input_audio":
        return _read_sound(value, path, from_user=from_user)
    if kind == "file":
        return _read_file(value, path, from_user=from_user)
    if not isinstance(kind, str):
        raise expected(f"{path}.type", "a string", kind)
    return NativePart(origin=DIALECT, value=value)


def _read_addressed(value: JsonObject, kind: str, path: str, *, from_user: bool) -> MediaPart:
    inner = value.get(kind)
    detail = None
    hints: JsonObject = dict(unknown_values(value, frozenset({"type", kind})))
    if isinstance(inner, str):
        hints["_flat"] = True
        url = inner
    else:
        address = as_object(inner, f"{path}.{kind}")
        url = required_text(address, "url", f"{path}.{kind}")
        detail = optional_text(address, "detail", f"{path}.{kind}")
        if members := unknown_values(address, _ADDRESS):
            hints["_inner"] = members
    if kind != "image_url" or not from_user:
        hints["_type"] = kind
    loaded = read_data_url(url, f"{path}.{kind}.url")
    if loaded is None:
        media_type = guess_media_type(url, _ADDRESSED[kind])
        return MediaPart(media_type=media_type, url=url, detail=detail, private=keep(DIALECT, hints))
    if not url.startswith(f"data:{loaded[0]};base64,"):
        hints["_head"] = url.partition(",")[0]
    return MediaPart(media_type=loaded[0], data=loaded[1], detail=detail, private=keep(DIALECT, hints))


def _read_sound(value: JsonObject, path: str, *, from_user: bool) -> MediaPart:
    inner = as_object(value.get("input_audio"), f"{path}.input_audio")
    where = f"{path}.input_audio"
    form = optional_text(inner, "format", where) or "wav"
    text = required_text(inner, "data", where)
    loaded = read_data_url(text, f"{where}.data")
    data = decode_base64(text, f"{where}.data") if loaded is None else loaded[1]
    hints: JsonObject = dict(unknown_values(value, frozenset({"type", "input_audio"})))
    if members := unknown_values(inner, _SOUND):
        hints["_inner"] = members
    if form not in _SOUND_TYPES or not from_user:
        hints["_type"] = "input_audio"
    return MediaPart(media_type=_SOUND_TYPES.get(form, f"audio/{form}"), data=data, private=keep(DIALECT, hints))


def _read_file(value: JsonObject, path: str, *, from_user: bool) -> MediaPart:
    inner = optional_object(value, "file", path)
    if inner is None:
        raise expected(f"{path}.file", "an object", None)
    where = f"{path}.file"
    name, text = optional_text(inner, "filename", where), optional_text(inner, "file_data", where)
    file_id = optional_text(inner, "file_id", where)
    hints: JsonObject = dict(unknown_values(value, frozenset({"type", "file"})))
    if members := unknown_values(inner, _FILE):
        hints["_inner"] = members
    media_type, data, url = guess_media_type(name, "application/octet-stream"), None, None
    if text is not None and text.startswith(("http://", "https://")):
        url, media_type = text, guess_media_type(name or text, "application/octet-stream")
    elif text is not None:
        loaded = read_data_url(text, f"{where}.file_data")
        if loaded is None:
            hints["_bare"], data = True, decode_base64(text, f"{where}.file_data")
        else:
            media_type, data = loaded
            if not text.startswith(f"data:{media_type};base64,"):
                hints["_head"] = text.partition(",")[0]
    if data is not None and name is None:
        hints["_unnamed"] = True
    is_default = data is not None and media_kind(media_type) not in ("image", "audio") and from_user
    if not is_default and not (data is None and url is None and (file_id or "").startswith("file-") and from_user):
        hints["_type"] = "file"
    return MediaPart(
        media_type=media_type, data=data, url=url, file_id=file_id, name=name, private=keep(DIALECT, hints)
    )


def write_parts(parts: Iterable[Part], path: str, losses: Losses, *, from_user: bool) -> list[JsonValue]:
    """Content as a list. What the dialect cannot say becomes a note in words, or is left out with a warning."""
    written: list[JsonValue] = []
    for part in parts:
        match part:
            case TextPart():
                written.append(write_text(part, path, losses))
            case RefusalPart():
                written.append({"type": "refusal", "refusal": part.text})
            case NativePart(origin=origin, value=value):
                if origin == DIALECT:
                    written.append(value)
                else:
                    losses.add("native_dropped", path, f"A part that only {origin} understands was left out.")
            case MediaPart():
                note_foreign(part.private, DIALECT, path, losses)
                media = write_media(part, from_user=from_user)
                if media is None:
                    losses.add("media_dropped", path, f"{part.media_type} cannot be sent here.")
                    media = {"type": "text", "text": media_note(part)}
                written.append(media)
    return written


def write_text(part: TextPart, path: str, losses: Losses) -> JsonValue:
    if not part.private:
        return {"type": "text", "text": part.text}
    note_foreign(part.private, DIALECT, path, losses)
    members = own_members(part.private, DIALECT)
    return part.text if "_bare" in members else {"type": "text", "text": part.text, **visible(members)}


def write_media(part: MediaPart, *, from_user: bool) -> JsonObject | None:
    """The part on the wire; None where there is no place for it."""
    members = own_members(part.private, DIALECT)
    kind = members.get("_type") or (_usual_type(part) if from_user else None)
    inner = members.get("_inner", NOTHING)
    if kind == "input_audio" and part.data is not None:
        form = _SOUND_FORMATS.get(part.media_type) or part.media_type.removeprefix("audio/")
        value: JsonValue = {"data": encode_base64(part.data), "format": form, **_object(inner)}
    elif kind == "file":
        value = {**_file_members(part, members), **_object(inner)}
    elif isinstance(kind, str) and kind in _ADDRESSED and (part.url or part.data is not None):
        url = part.url or _data_url(part, members)
        address: JsonObject = {"url": url} if part.detail is None else {"url": url, "detail": part.detail}
        value = url if "_flat" in members else {**address, **_object(inner)}
    else:
        return None
    return {"type": kind, kind: value, **visible(members)}


def _usual_type(part: MediaPart) -> str | None:
    kind = media_kind(part.media_type)
    if kind == "image" and (part.data is not None or part.url):
        return "image_url"
    if part.data is not None and kind == "audio":
        return "input_audio" if part.media_type in _SOUND_FORMATS else None
    if part.data is not None and kind == "file":
        return "file"
    # Only OpenAI's own file ids mean anything to it.
    return "file" if part.file_id is not None and part.file_id.startswith("file-") else None


def _file_members(part: MediaPart, members: JsonObject) -> JsonObject:
    value: JsonObject = {}
    if part.data is not None:
        value["file_data"] = encode_base64(part.data) if "_bare" in members else _data_url(part, members)
    elif part.url is not None:
        value["file_data"] = part.url
    if part.name is not None or (part.data is not None and "_unnamed" not in members):
        value["filename"] = part.name or "file"
    if part.file_id is not None:
        value["file_id"] = part.file_id
    return value


def _data_url(part: MediaPart, members: JsonObject) -> str:
    head = members.get("_head")
    data = part.data or b""
    return f"{head},{encode_base64(data)}" if isinstance(head, str) else write_data_url(part.media_type, data)


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else NOTHING
