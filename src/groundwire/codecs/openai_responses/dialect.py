"""The dialect's name, what single endpoints want beyond it, and how private data is kept and given back.

Private members whose names begin with "_" are this codec's own notes about the shape that something had on the wire.
"""

from typing import Any

from msgspec import Struct

from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.messages import Private

DIALECT = "openai-responses"
NOTHING: JsonObject = {}


class Profile(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What one endpoint or model wants beyond the dialect; the defaults are OpenAI's own newest API.

    `send_item_ids`: replay the ids of this dialect's items; off where they were never stored.
    `status_null`: write `status: null` on replayed calls that have none, for gateways that demand the member.
    `group_calls`: all calls of a step, then all outputs, nothing in between (DeepSeek's clone).
    `dropped_options`: members of the body that the endpoint refuses, such as `temperature` or `include`.
    `explicit_strict`: say `strict: false` for tools whose sender said nothing.
    `audio_input`: the endpoint takes sound in messages.
    `max_description`: the endpoint refuses longer descriptions of tools, so they are cut.
    """

    send_item_ids: bool = True
    status_null: bool = False
    group_calls: bool = False
    dropped_options: frozenset[str] = frozenset()
    explicit_strict: bool = True
    audio_input: bool = False
    max_description: int | None = None


DEFAULT_PROFILE = Profile()


def own(private: Private) -> JsonObject:
    """What this dialect kept on a value."""
    return private.get(DIALECT, NOTHING) if private else NOTHING


def unknown(source: JsonObject, known: frozenset[str]) -> JsonObject:
    """The members to keep for this dialect. Nobody outside may write our notes."""
    if source.keys() <= known:
        return NOTHING
    return {key: value for key, value in source.items() if key not in known and key[0:1] != "_"}


def kept(members: JsonObject) -> Private:
    return {DIALECT: members} if members else {}


def with_members(written: JsonObject, members: JsonObject) -> JsonObject:
    """Give back, in place, what was kept, except our own notes."""
    for key, value in members.items():
        if key[0:1] != "_":
            written[key] = value
    return written


def note_foreign(private: Private, path: str, losses: Losses) -> None:
    """Say that another dialect's private data does not go along."""
    if len(private) == 1 and DIALECT in private:
        return
    for dialect, members in private.items():
        if dialect != DIALECT and any(not key.startswith("_") for key in members):
            losses.add("private_dropped", path, f"Data that only {dialect} understands was left out.")


def text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None
