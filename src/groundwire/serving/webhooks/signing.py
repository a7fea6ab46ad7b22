"""Signatures of webhooks, version v1: HMAC-SHA256 over id, timestamp and the exact bytes of the body.

Pure: the time is an argument. What is signed, and what a receiver makes of it, is others' affair.
"""

import binascii
import hmac
import secrets
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from groundwire.contracts.errors import AccessError, ConfigError

ID_HEADER = "webhook-id"
TIME_HEADER = "webhook-timestamp"
SIGNATURE_HEADER = "webhook-signature"
TOLERANCE = 300
"""Seconds that a sender's clock may differ from ours, in either direction."""
KEY_PREFIX = "whsec_"
FEWEST_KEY_BYTES, MOST_KEY_BYTES = 24, 64

_NEW_KEY_BYTES = 32
_MOST_ID_CHARS = 256
_MOST_TIME_DIGITS = 12
_VERSION = "v1"


class WebhookRefused(AccessError):
    """What came does not prove that it is from who has the key, or not that it is from now."""

    code = "webhook_refused"


class WebhookHeaderMissing(WebhookRefused):
    code = "webhook_header_missing"


class WebhookHeaderInvalid(WebhookRefused):
    code = "webhook_header_invalid"


class WebhookTooOld(WebhookRefused):
    code = "webhook_too_old"


class WebhookTooNew(WebhookRefused):
    code = "webhook_too_new"


class WebhookSignatureWrong(WebhookRefused):
    code = "webhook_signature_wrong"


class WebhookKey:
    """A key of 24 to 64 bytes, given as `whsec_` and base64. It does not print itself."""

    __slots__ = ("_secret",)

    def __init__(self, text: str) -> None:
        form = f"It has the form {KEY_PREFIX}… with {FEWEST_KEY_BYTES} to {MOST_KEY_BYTES} bytes in base64."
        encoded = text.strip().removeprefix(KEY_PREFIX).rstrip("=")
        if not text.strip().startswith(KEY_PREFIX):
            raise ConfigError(f"A webhook's key begins with {KEY_PREFIX}.", hint=form)
        try:
            secret = b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
        except (binascii.Error, ValueError):
            raise ConfigError("A webhook's key is not base64.", hint=form) from None
        if not FEWEST_KEY_BYTES <= len(secret) <= MOST_KEY_BYTES:
            raise ConfigError(f"A webhook's key has {len(secret)} bytes.", hint=form)
        self._secret = secret

    def signature(self, webhook_id: str, timestamp: str, body: bytes) -> bytes:
        return hmac.digest(self._secret, b"%b.%b.%b" % (webhook_id.encode(), timestamp.encode(), body), "sha256")

    def __repr__(self) -> str:
        return "WebhookKey(…)"

    def __reduce__(self) -> str:
        raise TypeError("a key is not stored")


def new_webhook_key() -> str:
    """A new key, to be shown once to who shares it."""
    return KEY_PREFIX + b64encode(secrets.token_bytes(_NEW_KEY_BYTES)).decode()


def sign_webhook(keys: Sequence[WebhookKey], webhook_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The headers of a request with this body. Each key signs: while keys are changed, the old one and the new."""
    if not keys:
        raise ConfigError("A webhook needs a key to be signed with.")
    if not _is_webhook_id(webhook_id):
        raise ConfigError(f"{webhook_id[:40]!r} cannot be the id of a webhook: printable ASCII without a full stop.")
    signatures = (key.signature(webhook_id, str(timestamp), body) for key in keys)
    return {
        ID_HEADER: webhook_id,
        TIME_HEADER: str(timestamp),
        SIGNATURE_HEADER: " ".join(f"{_VERSION},{b64encode(signature).decode()}" for signature in signatures),
    }


class VerifiedWebhook(Struct, frozen=True):
    """`webhook_id` is the same each time that a delivery is tried; `timestamp` is of this attempt."""

    webhook_id: str
    timestamp: int


def verify_webhook(
    keys: Iterable[WebhookKey], headers: Mapping[str, str], body: bytes, *, now: float
) -> VerifiedWebhook:
    """What was proved; a WebhookRefused where it was not. One signature of one key is enough."""
    found = {name.lower(): value for name, value in headers.items()}
    missing = [name for name in (ID_HEADER, TIME_HEADER, SIGNATURE_HEADER) if not found.get(name)]
    if missing:
        raise WebhookHeaderMissing(f"The header {missing[0]} is missing.")
    webhook_id, timestamp = found[ID_HEADER], found[TIME_HEADER]
    if not _is_webhook_id(webhook_id):
        raise WebhookHeaderInvalid(f"{ID_HEADER} must be printable ASCII without a full stop.")
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= _MOST_TIME_DIGITS):
        raise WebhookHeaderInvalid(f"{TIME_HEADER} must be whole seconds since 1970.")
    if now - int(timestamp) > TOLERANCE:
        raise WebhookTooOld(f"{TIME_HEADER} is more than {TOLERANCE} seconds ago.")
    if int(timestamp) - now > TOLERANCE:
        raise WebhookTooNew(f"{TIME_HEADER} is more than {TOLERANCE} seconds ahead.")
    given = list(_signatures(found[SIGNATURE_HEADER]))
    wanted = [key.signature(webhook_id, timestamp, body) for key in keys]
    # All are compared, however early one fits: the time taken says nothing.
    fits = [hmac.compare_digest(one, other) for one in wanted for other in given]
    if not any(fits):
        raise WebhookSignatureWrong("No signature is by a key that is known here.")
    return VerifiedWebhook(webhook_id, int(timestamp))


def _signatures(header: str) -> Iterable[bytes]:
    """Those of our version that can be read; a sender may add others."""
    for part in header.split():
        version, _, encoded = part.partition(",")
        if version == _VERSION and encoded.isascii():
            try:
                yield b64decode(encoded, validate=True)
            except (binascii.Error, ValueError):
                continue


def _is_webhook_id(webhook_id: str) -> bool:
    is_plain = webhook_id.isascii() and webhook_id.isprintable() and "." not in webhook_id and " " not in webhook_id
    return is_plain and 0 < len(webhook_id) <= _MOST_ID_CHARS
