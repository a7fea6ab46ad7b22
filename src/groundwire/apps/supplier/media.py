"""Voices and pictures: what can be heard or shown, and what the bot is told where it cannot be."""

import base64
import binascii
import logging
from collections.abc import Awaitable, Callable, Sequence

from msgspec.structs import replace

from groundwire.apps.supplier.contracts import HistoryEntry, Media
from groundwire.apps.supplier.conversing import read_image
from groundwire.apps.supplier.messages import MessageKind, classify_message

log = logging.getLogger("groundwire.supplier")

TRANSCRIBED = "[语音转文字]"
"""Stands before words that a machine heard, so that everybody can see whose they are."""
MAX_SOUND_BYTES = 10_000_000

Transcriber = Callable[[Media], Awaitable[str]]
"""Turns a recording into words; nothing for one that cannot be understood."""


def is_unread_voice(history: Sequence[HistoryEntry], place: int) -> bool:
    return history[place].role == "supplier" and classify_message(history, place).kind is MessageKind.VOICE


def has_unread_voice(history: Sequence[HistoryEntry]) -> bool:
    return any(is_unread_voice(history, place) for place in range(len(history)))


def is_of_use(media: Media) -> bool:
    """Whether its bytes can be shown or heard. All others are not worth keeping."""
    return read_image(media) is not None or _is_sound(media)


def _is_sound(media: Media) -> bool:
    if not media.media_type.startswith("audio/") or not media.media_type.isprintable():
        return False
    if not media.data or len(media.data) > MAX_SOUND_BYTES * 4 // 3 + 4:
        return False
    try:
        return len(base64.b64decode(media.data, validate=True)) <= MAX_SOUND_BYTES
    except (binascii.Error, ValueError):
        return False


def shows_tokens_only(history: Sequence[HistoryEntry], place: int) -> bool:
    """Whether something was sent of which the bot sees no more than that."""
    entry = history[place]
    tokens = classify_message(history, place).media
    named = sum(token.count for token in tokens if token.media_type is not None)
    return named > sum(1 for media in entry.media if read_image(media) is not None)


async def hear(entry: HistoryEntry, transcriber: Transcriber | None) -> HistoryEntry:
    """A recording as text, where somebody can listen to it; else the entry as it came."""
    if transcriber is None or not is_unread_voice((entry,), 0):
        return entry
    sound = next((media for media in entry.media if _is_sound(media)), None)
    if sound is None:
        return entry
    try:
        words = (await transcriber(sound)).strip()
    except Exception:  # whatever listens is not ours: the message counts all the same, as one that nobody heard
        log.exception("a recording could not be transcribed")
        return entry
    return replace(entry, content=f"{TRANSCRIBED} {words}") if words else entry
