"""What the tables of the memory store have in common: a bound, and pages."""

from collections.abc import Callable, Hashable, Iterable
from itertools import islice
from typing import TypeVar

from groundwire.store.rules import gone

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def bound(table: dict[K, V], max_rows: int) -> None:
    """Let the oldest rows of a table go when it has more than `max_rows`."""
    if len(table) > max_rows:
        # A tenth at once: finding a dictionary's first key passes by all keys deleted before it.
        for key in list(islice(table, max_rows // 10)):
            del table[key]


def page(
    rows: Iterable[V],
    names: Callable[[V], tuple[str, ...]],
    before: str,
    limit: int,
    wanted: Callable[[V], bool] = lambda _: True,
) -> list[V]:
    """The next rows after the one called `before`, which need not itself be wanted any more."""
    found: list[V] = []
    seen = not before
    for row in rows:
        if len(found) >= limit:
            break
        if not seen:
            seen = before in names(row)
        elif wanted(row):
            found.append(row)
    if not seen:
        raise gone(before)
    return found
