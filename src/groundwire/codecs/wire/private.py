"""Private data: members that only one dialect understands, kept under its name and given back to it alone.

A value's `private` leads from a dialect to such members. Names that begin with an underscore are a codec's own notes on
the shape that something had on the wire: nobody outside may write them, they never reach the wire, and leaving them out
is no loss.
"""

from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.messages import Private

NOTHING: JsonObject = {}
"""Stands in for members that are not there; never written to."""


def unknown_members(source: JsonObject, known: frozenset[str]) -> JsonObject:
    """The members that the codec does not know, to be kept."""
    if source.keys() <= known:
        return {}
    return {name: value for name, value in source.items() if name not in known and name[:1] != "_"}


def unknown_values(source: JsonObject, known: frozenset[str]) -> JsonObject:
    """The same without nulls, for dialects in which they say no more than a missing member."""
    if source.keys() <= known:
        return {}
    return {
        name: value for name, value in source.items() if name not in known and name[:1] != "_" and value is not None
    }


def keep(dialect: str, members: JsonObject) -> Private:
    return {dialect: members} if members else {}


def own_members(private: Private, dialect: str) -> JsonObject:
    """What the dialect kept, its notes included; not to be changed."""
    return private.get(dialect, NOTHING)


def visible(members: JsonObject) -> JsonObject:
    """The members that go to the wire, as a new object."""
    return {name: value for name, value in members.items() if name[:1] != "_"}


def give_back(written: JsonObject, members: JsonObject) -> JsonObject:
    """Put what was kept, except notes, back into the object that it was taken from."""
    for name, value in members.items():
        if name[:1] != "_":
            written[name] = value
    return written


def take_own(private: Private, dialect: str, path: str, losses: Losses) -> JsonObject:
    """What the dialect kept; what others kept is told as a loss."""
    note_foreign(private, dialect, path, losses)
    return own_members(private, dialect)


def note_foreign(
    private: Private,
    dialect: str,
    path: str,
    losses: Losses,
    *,
    carried: frozenset[str] = frozenset(),
    code: str = "private_dropped",
) -> None:
    """Tell what other dialects kept as a loss, except the members that are carried in another way."""
    for origin, members in private.items():
        if origin != dialect and not members.keys() <= carried:
            names = [name for name in members if name[:1] != "_" and name not in carried]
            if names:
                losses.add(code, path, f"Left out, as only {origin} knows it: {', '.join(names)}.")


def note_extras(extras: Private, dialect: str, losses: Losses) -> None:
    """Tell each member of a request or a reply that only another dialect knows as a loss."""
    for origin, members in extras.items():
        if origin != dialect:
            for name in members:
                if name[:1] != "_":
                    losses.add("extra_dropped", f"extras.{origin}.{name}", f"Only {origin} knows this member.")
