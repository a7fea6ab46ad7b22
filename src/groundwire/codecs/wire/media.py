"""Media on the wire: data URLs, base64 in its spellings, which kind of thing a media type is, and words in its place."""

import base64
import binascii
import mimetypes
from typing import Literal

from groundwire.contracts.errors import WireError
from groundwire.contracts.messages import MediaPart

_TO_STANDARD = str.maketrans("-_", "+/")


def decode_base64(text: str, path: str) -> bytes:
    """Standard or url-safe, with or without padding and line breaks."""
    plain = "".join(text.split()).translate(_TO_STANDARD).rstrip("=")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise WireError("is not base64", path=path) from None


def encode_base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def read_data_url(url: str, path: str) -> tuple[str, bytes] | None:
    """Media type and bytes of a data URL; None for any other address."""
    if url[:5].lower() != "data:":
        return None
    head, comma, payload = url[5:].partition(",")
    media_type, *parameters = head.split(";")
    if not comma or "base64" not in [parameter.strip().lower() for parameter in parameters]:
        raise WireError("is not a base64 data URL", path=path)
    return media_type.strip().lower() or "text/plain", decode_base64(payload, path)


def write_data_url(media_type: str, data: bytes) -> str:
    return f"data:{media_type};base64,{encode_base64(data)}"


def media_kind(media_type: str) -> Literal["image", "audio", "video", "file"]:
    head = media_type.partition("/")[0].lower()
    return head if head in ("image", "audio", "video") else "file"  # type: ignore[return-value]


def media_note(part: MediaPart, fate: str = "left out") -> str:
    """What is said in the place of media that cannot stand there."""
    where = part.name or part.url or part.file_id
    return f"[{part.media_type} {fate}: {where}]" if where else f"[{part.media_type} {fate}]"


def guess_media_type(name: str | None, default: str) -> str:
    """From a file name or an address, by its ending."""
    return (mimetypes.guess_type(name.partition("?")[0])[0] if name else None) or default
