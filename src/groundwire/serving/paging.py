"""Pages of a listing: the newest first, `limit` at a time, and where the next one begins."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, TypeVar

from msgspec import Meta, Struct

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import NotFound
from groundwire.runtime.sessions import MAX_ID_CHARS, is_id

T = TypeVar("T")

MOST = 1000
_MOST_CURSOR = 2 * MAX_ID_CHARS + 1
Limit = Annotated[int, Meta(ge=1, le=MOST, description="How many at most.")]
Before = Annotated[str, Meta(description="Go on after this one: `next` of the page before.")]
SessionFilter = Annotated[str, Meta(description="Only those of this conversation.")]


class PageQuery(Struct, frozen=True, kw_only=True):
    limit: Limit = 50
    before: Before = ""


async def page(
    limit: int,
    fetch: Callable[[int], Awaitable[Sequence[T]]],
    show: Callable[[T], JsonObject],
    cursor: Callable[[T], str],
) -> JsonObject:
    """One more is fetched than is shown: if it is there, so is another page."""
    found = await fetch(limit + 1)
    shown = found[:limit]
    return {"items": [show(item) for item in shown], "next": cursor(shown[-1]) if len(found) > limit else None}


def page_of(item: JsonObject) -> JsonObject:
    """The shape of such a page."""
    properties: JsonObject = {"items": {"type": "array", "items": item}, "next": {"type": ["string", "null"]}}
    return {
        "type": "object",
        "properties": properties,
        "required": ["items", "next"],
        "additionalProperties": False,
    }


def wanted_id(value: str, what: str) -> str:
    """An id as it may be stored; NotFound where nothing can have it, which a database need not be asked."""
    if not is_id(value):
        raise NotFound(f"there is no {what} {value[:40]!r}")
    return value


def cursor_of(before: str) -> str:
    """Where to go on. A call is named together with its session, so a cursor may be longer than an id."""
    if len(before) > _MOST_CURSOR or not before.isprintable():
        raise NotFound(f"there is no row {before[:40]!r} to go on from")
    return before
