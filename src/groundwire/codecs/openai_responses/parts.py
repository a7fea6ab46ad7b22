"""Content parts: the pieces of messages and of tool outputs, both ways. Knows no items."""

from typing import Any

from groundwire.codecs.openai_responses.citations import read_annotations, write_annotations
from groundwire.codecs.openai_responses.profile import DIALECT, Profile
from groundwire.codecs.wire.media import (
    decode_base64,
    guess_media_type,
    media_kind,
    media_note,
    read_data_url,
    write_data_url,
)
from groundwire.codecs.wire.private import NOTHING, give_back, keep, note_foreign, own_members, unknown_members
from groundwire.codecs.wire.reading import as_list, as_object, expected, optional_text
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import WireError
from groundwire.contracts.messages import MediaPart, NativePart, Part, RefusalPart, TextPart

_TEXT_TYPES = frozenset({"input_text", "output_text", "text"})
_TEXT_MEMBERS = frozenset({"type", "text", "annotations"})
_IMAGE_MEMBERS = frozenset({"type", "image_url", "file_id", "detail"})
_FILE_MEMBERS = frozenset({"type", "file_data", "file_url", "file_id", "filename"})
_AUDIO_MEMBERS = frozenset({"type", "input_audio"})
_AUDIO_FORMATS = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}
_ENDINGS = {"application/pdf": ".pdf", "text/plain": ".txt", "text/csv": ".csv", "application/json": ".json"}


def read_parts(content: Any, path: str, text_type: str, *, answer: bool = False) -> tuple[Part, ...]:
    """`text_type` is what a text is called in this place; `answer` says that the parts come from a response."""
    return tuple(
        _read_part(part, f"{path}[{place}]", text_type, answer=answer)
        for place, part in enumerate(as_list(content, path))
    )


def _read_part(part: Any, path: str, text_type: str, *, answer: bool) -> Part:
    part = as_object(part, path)
    kind = part.get("type")
    if isinstance(kind, str) and kind in _TEXT_TYPES:
        return _read_text(part, path, text_type, answer=answer)
    if kind == "refusal":
        return RefusalPart(text=optional_text(part, "refusal", path) or "")
    if kind == "input_image":
        return _read_image(part, path)
    if kind == "input_file":
        return _read_file(part, path)
    if kind == "input_audio" and isinstance(part.get("input_audio"), dict):
        return _read_audio(part, path)
    if not isinstance(kind, str) and not answer:
        raise expected(f"{path}.type", "a string", kind)
    return NativePart(origin=DIALECT, value=part)


def _read_text(part: JsonObject, path: str, text_type: str, *, answer: bool) -> TextPart:
    text = part.get("text")
    if not isinstance(text, str):
        if not answer:
            raise expected(f"{path}.text", "a string", text)
        text = ""
    if len(part) == 2 and part["type"] == text_type == "input_text":
        return TextPart(text=text)
    members = unknown_members(part, _TEXT_MEMBERS)
    if part["type"] != text_type:
        members = {**members, "_type": part["type"]}
    if part["type"] != "output_text":
        if "annotations" in part:
            members = {**members, "annotations": part["annotations"]}
        return TextPart(text=text, private=keep(DIALECT, members))
    if answer:
        if members.get("logprobs") == []:
            members = {key: value for key, value in members.items() if key != "logprobs"}
        elif "logprobs" not in members:
            members = {**members, "_no_logprobs": True}
    annotations = part.get("annotations")
    if not isinstance(annotations, list):
        return TextPart(text=text, private=keep(DIALECT, {**members, "_no_annotations": True}))
    return TextPart(text=text, citations=read_annotations(annotations), private=keep(DIALECT, members))


def _read_image(part: JsonObject, path: str) -> MediaPart:
    members = unknown_members(part, _IMAGE_MEMBERS)
    if "detail" not in part:
        members = {**members, "_no_detail": True}
    url = optional_text(part, "image_url", path)
    file_id = optional_text(part, "file_id", path)
    media_type, data, members = _read_address(url, f"{path}.image_url", "image/*", members)
    return MediaPart(
        media_type=media_type,
        data=data,
        url=url if data is None else None,
        file_id=file_id,
        detail=optional_text(part, "detail", path),
        private=keep(DIALECT, _with_file_note(file_id, members)),
    )


def _read_file(part: JsonObject, path: str) -> MediaPart:
    members = unknown_members(part, _FILE_MEMBERS)
    name = optional_text(part, "filename", path)
    if name is None:
        members = {**members, "_no_name": True}
    content = optional_text(part, "file_data", path)
    url = optional_text(part, "file_url", path)
    file_id = optional_text(part, "file_id", path)
    guessed = guess_media_type(name or url, "application/octet-stream")
    media_type, data, members = _read_address(content, f"{path}.file_data", guessed, members)
    if content is not None and data is None:
        data, members = decode_base64(content, f"{path}.file_data"), {**members, "_plain": True}
    if media_kind(media_type) != "file":
        members = {**members, "_type": "input_file"}
    return MediaPart(
        media_type=media_type,
        data=data,
        url=url,
        file_id=file_id,
        name=name,
        private=keep(DIALECT, _with_file_note(file_id, members)),
    )


def _read_address(
    address: str | None, path: str, media_type: str, members: JsonObject
) -> tuple[str, bytes | None, JsonObject]:
    """Media type and bytes, if the address is a data URL; a head that we would write otherwise is noted."""
    if address is None or address[:5].lower() != "data:":
        return media_type, None, members
    found = read_data_url(address, path)
    if found is None:
        return media_type, None, members
    head = address[: address.index(",") + 1]
    if head != f"data:{found[0]};base64,":
        members = {**members, "_head": head}
    return found[0], found[1], members


def _with_file_note(file_id: str | None, members: JsonObject) -> JsonObject:
    """Ids that do not look like this provider's are noted as its own, or they would not be sent again."""
    return members if file_id is None or file_id.startswith("file-") else {**members, "_file": True}


def _read_audio(part: JsonObject, path: str) -> MediaPart:
    audio = as_object(part["input_audio"], f"{path}.input_audio")
    wire_format = optional_text(audio, "format", f"{path}.input_audio") or "wav"
    data = optional_text(audio, "data", f"{path}.input_audio")
    if data is None:
        raise WireError("is missing", path=f"{path}.input_audio.data")
    members = {**unknown_members(part, _AUDIO_MEMBERS), "_type": "input_audio", "_format": wire_format}
    media_type = "audio/mpeg" if wire_format == "mp3" else f"audio/{wire_format}"
    return MediaPart(
        media_type=media_type, data=decode_base64(data, f"{path}.input_audio.data"), private=keep(DIALECT, members)
    )


def write_parts(
    parts: tuple[Part, ...], path: str, text_type: str, losses: Losses, profile: Profile, *, answer: bool = False
) -> list[JsonObject]:
    written: list[JsonObject] = []
    for place, part in enumerate(parts):
        here = f"{path}[{place}]"
        if isinstance(part, TextPart):
            written.append(write_text(part, here, text_type, losses, answer=answer))
        elif isinstance(part, MediaPart):
            note_foreign(part.private, DIALECT, here, losses)
            media = write_media(part, profile) if text_type == "input_text" else None
            written.append(media or _note(part, here, text_type, losses))
        elif isinstance(part, RefusalPart):
            if text_type == "output_text":
                written.append({"type": "refusal", "refusal": part.text})
            else:
                written.append({"type": text_type, "text": part.text})
        elif part.origin == DIALECT:
            written.append(part.value)
        else:
            losses.add("native_dropped", here, f"A part that only {part.origin} understands was left out.")
    return written


def write_text(part: TextPart, path: str, text_type: str, losses: Losses, *, answer: bool) -> JsonObject:
    members = NOTHING
    if part.private:
        note_foreign(part.private, DIALECT, path, losses)
        members = own_members(part.private, DIALECT)
    wire_type = members.get("_type", text_type)
    if answer and wire_type not in ("output_text", "text"):
        wire_type = text_type
    written: JsonObject = {"type": wire_type, "text": part.text}
    if wire_type == "output_text":
        if not members.get("_no_annotations") or part.citations:
            written["annotations"] = write_annotations(part, path, losses)
        if answer and not members.get("_no_logprobs"):
            written["logprobs"] = []
    elif part.citations:
        losses.add("citation_dropped", path, "Only texts of the model have citations here.")
    return give_back(written, members) if members else written


def write_media(part: MediaPart, profile: Profile) -> JsonObject | None:
    """The part, or None where this dialect has no place for it."""
    members = own_members(part.private, DIALECT)
    wire_type, kind = members.get("_type"), media_kind(part.media_type)
    file_id = part.file_id
    if file_id is not None and not file_id.startswith("file-") and not members.get("_file"):
        file_id = None
    if wire_type == "input_audio" or (wire_type is None and kind == "audio" and profile.audio_input):
        return _write_audio(part, members)
    if part.data is None and part.url is None and file_id is None:
        return None
    if wire_type == "input_file" or kind == "file":
        return _write_file(part, file_id, members)
    return _write_image(part, file_id, members) if kind == "image" else None


def _write_image(part: MediaPart, file_id: str | None, members: JsonObject) -> JsonObject:
    written: JsonObject = {"type": "input_image"}
    if part.data is not None:
        written["image_url"] = _data_url(part, members)
    elif part.url is not None:
        written["image_url"] = part.url
    if file_id is not None:
        written["file_id"] = file_id
    if part.detail is not None or not members.get("_no_detail"):
        written["detail"] = part.detail or "auto"
    return give_back(written, members)


def _write_file(part: MediaPart, file_id: str | None, members: JsonObject) -> JsonObject:
    written: JsonObject = {"type": "input_file"}
    if part.data is not None:
        written["file_data"] = _data_url(part, members)
    if part.url is not None:
        written["file_url"] = part.url
    if file_id is not None:
        written["file_id"] = file_id
    if part.name is not None:
        written["filename"] = part.name
    elif part.data is not None and not members.get("_no_name"):
        written["filename"] = "file" + _ENDINGS.get(part.media_type, "")
    return give_back(written, members)


def _write_audio(part: MediaPart, members: JsonObject) -> JsonObject | None:
    wire_format = members.get("_format") or _AUDIO_FORMATS.get(part.media_type)
    if part.data is None or wire_format is None:
        return None
    data = write_data_url("", part.data).partition(",")[2]
    return give_back({"type": "input_audio", "input_audio": {"data": data, "format": wire_format}}, members)


def _data_url(part: MediaPart, members: JsonObject) -> str:
    address = write_data_url(part.media_type, part.data or b"")
    if members.get("_plain"):
        return address.partition(",")[2]
    head = members.get("_head")
    return head + address.partition(",")[2] if isinstance(head, str) else address


def _note(part: MediaPart, path: str, text_type: str, losses: Losses) -> JsonObject:
    losses.add("media_dropped", path, f"{part.media_type} has no place here and was replaced by a note.")
    written: JsonObject = {"type": text_type, "text": media_note(part)}
    return {**written, "annotations": []} if text_type == "output_text" else written
