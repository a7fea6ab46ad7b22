"""Media on Gemini's wire: bytes in `inlineData`, addresses and uploaded files in `fileData`."""

from groundwire.codecs.gemini.casing import camel_keys
from groundwire.codecs.gemini.profile import DIALECT
from groundwire.codecs.wire.media import decode_base64, encode_base64, guess_media_type, media_note
from groundwire.codecs.wire.private import keep, take_own, unknown_values, visible
from groundwire.codecs.wire.reading import as_object, optional_text, required_text
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.messages import MediaPart

_BLOB = frozenset({"mimeType", "data", "displayName"})
_FILE = frozenset({"mimeType", "fileUri", "displayName"})
_OWN_HOST = "https://generativelanguage.googleapis.com/"
_OPEN_ADDRESSES = ("https://", "http://")


def is_media(part: JsonObject) -> bool:
    return part.get("inlineData") is not None or part.get("fileData") is not None


def read_media(part: JsonObject, path: str) -> MediaPart:
    """The media of a part, with everything else that stood beside it."""
    key = "inlineData" if part.get("inlineData") is not None else "fileData"
    wire = camel_keys(as_object(part[key], f"{path}.{key}"))
    members = unknown_values(part, frozenset({key}))
    if further := unknown_values(wire, _BLOB if key == "inlineData" else _FILE):
        members[key] = further
    media_type = optional_text(wire, "mimeType", f"{path}.{key}")
    name = optional_text(wire, "displayName", f"{path}.{key}")
    if key == "inlineData":
        if media_type is None:
            media_type = "application/octet-stream"
            members["_untyped"] = True
        data = decode_base64(required_text(wire, "data", f"{path}.{key}"), f"{path}.{key}.data")
        return MediaPart(media_type=media_type, data=data, name=name, private=keep(DIALECT, members))
    uri = required_text(wire, "fileUri", f"{path}.{key}")
    if media_type is None:
        media_type = guess_media_type(uri, "application/octet-stream")
        members["_untyped"] = True
    # Only Google can open its own uploads and buckets; any other address is open to everybody.
    if uri.startswith(_OPEN_ADDRESSES) and not uri.startswith(_OWN_HOST):
        return MediaPart(media_type=media_type, url=uri, name=name, private=keep(DIALECT, members))
    return MediaPart(media_type=media_type, file_id=uri, name=name, private={DIALECT: members})


def write_media(part: MediaPart, losses: Losses, path: str) -> JsonObject:
    """A part for the media, or a note in words where Gemini has no access to it."""
    members = take_own(part.private, DIALECT, path, losses) if part.private else {}
    if part.detail not in (None, "auto"):
        losses.add("option_dropped", path, f"An image cannot be looked at with the detail {part.detail!r}.")
    wire: JsonObject = {}
    if part.data is not None:
        key = "inlineData"
        if "_untyped" not in members:
            wire["mimeType"] = part.media_type
        wire["data"] = encode_base64(part.data)
    else:
        uri = part.url or part.file_id
        if uri is None or (part.url is None and DIALECT not in part.private and not _is_own_file(uri)):
            losses.add("media_dropped", path, "Gemini cannot open this file.")
            return {"text": media_note(part)}
        key = "fileData"
        media_type = part.media_type if "*" not in part.media_type else guess_media_type(uri, part.media_type)
        if "_untyped" not in members and "*" not in media_type:
            wire["mimeType"] = media_type
        wire["fileUri"] = uri
    if part.name is not None:
        wire["displayName"] = part.name
    further = members.get(key)
    if isinstance(further, dict):
        wire.update(visible(further))
    return {key: wire, **{name: value for name, value in visible(members).items() if name != key}}


def _is_own_file(uri: str) -> bool:
    return uri.startswith(("gs://", _OWN_HOST, "files/"))
