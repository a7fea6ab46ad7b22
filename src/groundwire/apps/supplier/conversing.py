"""A chat's history as a model is given it: suppliers speak as user, the bot as assistant.

Pictures go along where the chat gave their bytes; otherwise their tokens are all that anybody knows of them.
"""

import base64
import binascii
import json
from collections.abc import Iterable, Sequence

from groundwire import Item, MediaPart, Message, TextPart
from groundwire.apps.supplier.contracts import Goal, HistoryEntry, Media, SourcingRequest, TraceEntry

MAX_IMAGE_BYTES = 5_000_000
MAX_IMAGES = 8
"""So many of the newest pictures are shown; of older ones the tokens remain."""
_SIGNATURES = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}


def to_items(history: Sequence[HistoryEntry]) -> tuple[Item, ...]:
    shown = _shown(history)
    return tuple(
        Message(
            role="user" if entry.role == "supplier" else "assistant",
            parts=(TextPart(text=entry.content), *shown.get(place, ())),
            turn=place + 1,
            split=True,
        )
        for place, entry in enumerate(history)
    )


def read_image(media: Media) -> MediaPart | None:
    """The picture, if it is one that a model can be shown: its bytes must be what its type says, and not too many."""
    signatures = _SIGNATURES.get(media.media_type)
    if signatures is None or not media.data or len(media.data) > MAX_IMAGE_BYTES * 4 // 3 + 4:
        return None
    try:
        data = base64.b64decode(media.data, validate=True)
    except (binascii.Error, ValueError):
        return None
    is_webp = media.media_type != "image/webp" or data[8:12] == b"WEBP"
    if len(data) > MAX_IMAGE_BYTES or not data.startswith(signatures) or not is_webp:
        return None
    return MediaPart(media_type=media.media_type, data=data, name=media.name or None)


def describe(request: SourcingRequest, goals: Sequence[Goal], trace: Iterable[TraceEntry]) -> dict[str, str]:
    """What prompts say about the request and about what is known already."""
    captured = [_line(entry) for entry in trace if entry.valid]
    return {
        "item": request.item,
        "qty": str(request.qty),
        "want": request.want or "无",
        "target_price": f"{request.target_price:g} 元" if request.target_price is not None else "未定",
        "supplier_name": request.supplier_name or "未知",
        "notes": f"- 备注：{request.notes}" if request.notes else "",
        "goals": "\n".join(f"- {goal.goal_id}{f'：{goal.description}' if goal.description else ''}" for goal in goals),
        "captured": "\n".join(captured) or "（暂无）",
    }


def _shown(history: Sequence[HistoryEntry]) -> dict[int, tuple[MediaPart, ...]]:
    shown: dict[int, tuple[MediaPart, ...]] = {}
    left = MAX_IMAGES
    for place in range(len(history) - 1, -1, -1):
        images = tuple(image for media in history[place].media[:left] if (image := read_image(media)) is not None)
        if images and history[place].role == "supplier":
            shown[place] = images
            left -= len(images)
        if left <= 0:
            break
    return shown


def _line(entry: TraceEntry) -> str:
    """One line, in quotes: what a supplier said stands in a prompt as material, never as a part of it."""
    args = entry.args
    about = args.get("goalId") or args.get("assetType") or args.get("mediaType") or ""
    value = args.get("value") or args.get("blockerType") or args.get("urgency") or args.get("description") or ""
    return f"- {entry.name} {about}: {json.dumps(str(value)[:200], ensure_ascii=False)}"
