"""The recorded Gemini traffic, and when two bodies say the same."""

import json
from pathlib import Path
from typing import Any

from groundwire.codecs import gemini
from groundwire.contracts.replies import Reply, ReplyPart

FOLDER = Path(__file__).parents[1] / "fixtures" / "gemini"
RECORDINGS: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))
}
UNARY = {name: recording for name, recording in RECORDINGS.items() if not recording["stream"]}
STREAMS = {name: recording for name, recording in RECORDINGS.items() if recording["stream"]}

_CAMEL = {"parameters_json_schema": "parametersJsonSchema", "inline_data": "inlineData", "mime_type": "mimeType"}
_BYTES = ("thoughtSignature", "data")


def same(value: Any) -> Any:
    """Without nulls, in camelCase, with standard base64."""
    if isinstance(value, list):
        return [same(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    plain = {_CAMEL.get(key, key): same(entry) for key, entry in value.items() if entry is not None}
    for key in _BYTES:
        if isinstance(plain.get(key), str):
            plain[key] = plain[key].replace("-", "+").replace("_", "/").rstrip("=")
    return plain


def decoded(*pieces: bytes, names: dict[str, str] | None = None) -> list[ReplyPart]:
    decoder = gemini.StreamDecoder(names=names)
    parts = [part for piece in pieces for part in decoder.feed(piece)]
    return [*parts, *decoder.finish()]


def reply_of(*pieces: bytes) -> Reply:
    last = decoded(*pieces)[-1]
    assert last.kind == "reply.ended"
    return last.reply


def events(*chunks: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\r\n\r\n" for chunk in chunks)


def chunk(*parts: Any, **candidate: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, **candidate}]}
