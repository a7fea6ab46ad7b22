"""Reasons of an end that no dialect has: what the content says counts, and whoever sends it on tells that it was guessed."""

from collections.abc import Iterable

from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.messages import CallItem, Item
from groundwire.contracts.replies import Finish, FinishReason

UNNAMED = "_unnamed"


def reason_of(items: Iterable[Item]) -> FinishReason:
    """For a missing, empty or unknown reason: what the content says."""
    return FinishReason.TOOL_CALLS if any(isinstance(item, CallItem) for item in items) else FinishReason.END


def unnamed(raw: str | None) -> JsonObject:
    """The note on a reason that was said, but in a word that nobody knows."""
    return {UNNAMED: True} if raw else {}


def note_unnamed(finish: Finish, dialect: str, sent: str, losses: Losses) -> None:
    """Tell that such a word of another dialect is sent as a reason that it may not mean."""
    if any(UNNAMED in members for origin, members in finish.private.items() if origin != dialect):
        losses.add("finish_approximated", "finish", f"{finish.raw!r} is no known reason and was sent as {sent}.")
