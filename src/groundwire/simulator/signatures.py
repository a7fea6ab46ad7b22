"""Signatures that any process can check later, because they depend on nothing but what they sign.

They stand where real models put theirs: on Gemini's calls, on Anthropic's thinking, in the ciphertext of OpenAI's
reasoning. Nothing is secret here: the key only keeps other people's signatures from passing by accident.
"""

import base64
import binascii
import hashlib
import hmac
import re

from groundwire.contracts.canonical import JsonObject, canonical_json

_KEY = b"groundwire simulator, signatures, 1"
_FAMILY = re.compile(r"([a-z]+)(?:-(\d+))?")
_SIZE = hashlib.sha256().digest_size
PLACEHOLDERS = frozenset({b"skip_thought_signature_validator", b"context_engineering_is_the_way_to_go"})
"""What Gemini documents for calls that no Gemini model made."""


def family_of(model: str) -> str:
    """The models that read each other's signatures: `gemini-3` of `models/gemini-3-flash`, `claude` of any Claude."""
    found = _FAMILY.match(model.rsplit("/", 1)[-1].lower())
    return "" if found is None else "-".join(part for part in found.groups() if part)


def sign_call(model: str, name: str, arguments: JsonObject) -> str:
    return _text(_digest("call", family_of(model), name, arguments))


def is_call_signature(signature: str, model: str, name: str, arguments: JsonObject) -> bool:
    """Whether it is ours for this call, or one of the documented placeholders, in base64 or as they are."""
    data = read_base64(signature)
    if data is None:
        return False
    wanted = _digest("call", family_of(model), name, arguments)
    return data in PLACEHOLDERS or signature.encode() in PLACEHOLDERS or hmac.compare_digest(data, wanted)


def sign_text(model: str, text: str) -> str:
    return _text(_digest("text", family_of(model), text, {}))


def is_text_signature(signature: str, model: str, text: str) -> bool:
    data = read_base64(signature)
    return data is not None and hmac.compare_digest(data, _digest("text", family_of(model), text, {}))


def seal(model: str, text: str) -> str:
    """Thoughts in a form that only shows whether they were changed; it is no encryption."""
    return _text(_digest("seal", family_of(model), text, {}) + text.encode("utf-8", "surrogatepass"))


def unseal(token: str, model: str) -> str | None:
    """The thoughts, if they are those that were sealed for this family."""
    data = read_base64(token)
    if data is None or len(data) < _SIZE:
        return None
    text = data[_SIZE:].decode("utf-8", "replace")
    return text if hmac.compare_digest(data[:_SIZE], _digest("seal", family_of(model), text, {})) else None


def read_base64(text: str) -> bytes | None:
    """Standard or url-safe, padded or not, as proto JSON takes it."""
    try:
        plain = text.replace("-", "+").replace("_", "/").rstrip("=")
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def _digest(purpose: str, family: str, text: str, arguments: JsonObject) -> bytes:
    content = canonical_json([purpose, family, text, arguments])
    return hmac.new(_KEY, content, hashlib.sha256).digest()


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
