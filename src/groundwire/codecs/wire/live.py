"""What the codecs of live sessions share: what a frame loses, members taken out of nested options, audio names."""

from typing import Any, TypeVar

import msgspec

from groundwire.codecs.wire.media import decode_base64
from groundwire.codecs.wire.private import note_foreign, own_members
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import WireError
from groundwire.contracts.frames import Frame, SessionSetup
from groundwire.contracts.messages import Private

AnyFrame = TypeVar("AnyFrame", bound=Frame)

_WHERE = frozenset({
    "type", "event_id", "previous_item_id", "response_id", "item_id", "output_index", "content_index", "obfuscation",
    "role", "call_id",
})  # fmt: skip
"""Members that only say where a frame stood in its own stream: nothing is lost without them."""


def note_left_out(private: Private, dialect: str, path: str, losses: Losses, code: str = "private_dropped") -> None:
    """Tell what other dialects kept as a loss, except where a frame stood."""
    note_foreign(private, dialect, path, losses, carried=_WHERE, code=code)


def take(source: JsonObject, *path: str) -> Any:
    """Remove and return a member some levels down; objects that it leaves empty go too. None if it is not there."""
    name, *rest = path
    if not rest:
        return source.pop(name, None)
    inner = source.get(name)
    if not isinstance(inner, dict) or rest[0] not in inner:
        return None
    value = take(inner, *rest)
    if not inner:
        del source[name]
    return value


def put(target: JsonObject, value: JsonValue, *path: str) -> None:
    """Set a member some levels down, making the objects on the way."""
    *way, name = path
    for step in way:
        inner = target.get(step)
        if not isinstance(inner, dict):
            inner = target[step] = {}
        target = inner
    target[name] = value


def merge(target: JsonObject, more: JsonObject) -> JsonObject:
    """Join `more` into `target`: objects member by member, lists one behind the other, anything else replaced."""
    for key, value in more.items():
        present = target.get(key)
        if isinstance(value, dict) and isinstance(present, dict):
            target[key] = merge(dict(present), value)
        elif isinstance(value, list) and isinstance(present, list):
            target[key] = [*present, *value]
        else:
            target[key] = value
    return target


def read_bytes(value: JsonValue) -> bytes | None:
    """The bytes of a base64 text; None if it is none, as when a recording was cut."""
    try:
        return decode_base64(value, "") if isinstance(value, str) else None
    except WireError:
        return None


def split_rate(media_type: str) -> tuple[str, int | None]:
    """`audio/pcm;rate=16000` as its type and its rate. Any other parameter stays with the type."""
    head, _, parameter = media_type.partition(";")
    name, _, value = parameter.partition("=")
    digits = value.strip()
    if name.strip().lower() == "rate" and digits.isascii() and digits.isdigit() and len(digits) < 10:
        return head.strip(), int(digits)
    return media_type, None


def with_rate(media_type: str, rate: int | None) -> str:
    return media_type if rate is None else f"{media_type};rate={rate}"


def joined(frames: list[AnyFrame], dialect: str) -> tuple[AnyFrame, ...]:
    """Frames of one message: all but the first say that they belong to the one before."""
    if len(frames) < 2:
        return tuple(frames)
    return (frames[0], *(_marked(frame, dialect) for frame in frames[1:]))


def _marked(frame: AnyFrame, dialect: str) -> AnyFrame:
    place = "extras" if isinstance(frame, SessionSetup) else "private"
    private: Private = getattr(frame, place)
    return msgspec.structs.replace(
        frame, **{place: {**private, dialect: {**private.get(dialect, {}), "_joined": True}}}
    )


def append_joined(messages: list[JsonObject], found: list[JsonObject], frame: Frame, dialect: str) -> None:
    """Add what a frame became, into the last message if it once stood there."""
    private = frame.extras if isinstance(frame, SessionSetup) else frame.private
    if messages and len(found) == 1 and own_members(private, dialect).get("_joined"):
        messages[-1] = merge(dict(messages[-1]), found[0])
    else:
        messages.extend(found)
