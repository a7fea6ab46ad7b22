"""What comes in many pieces and becomes one value: each piece is added where the value grows, never by copying it.

Knows no dialect. The values belong to whoever gathers: lists and objects are changed in place.
"""

from groundwire.contracts.canonical import JsonObject


def gather(members: JsonObject, more: JsonObject) -> None:
    """Lists grow, also inside objects; of anything else the last counts."""
    for name, value in more.items():
        before = members.get(name)
        if isinstance(before, list) and isinstance(value, list):
            before.extend(value)
        elif isinstance(before, dict) and isinstance(value, dict):
            gather(before, value)
        else:
            members[name] = value


class GrowingTexts:
    """Members of an object whose texts go on from piece to piece."""

    __slots__ = ("_pieces",)

    def __init__(self) -> None:
        self._pieces: dict[str, list[str]] = {}

    def add(self, members: JsonObject, name: str, text: str) -> None:
        """More of the text of a member; what the member holds already is its beginning."""
        pieces = self._pieces.get(name)
        if pieces is None:
            before = members.get(name)
            pieces = self._pieces[name] = [before] if isinstance(before, str) else []
        pieces.append(text)

    def replace(self, members: JsonObject, name: str, value: object) -> None:
        """Another value in place of all that came before."""
        self._pieces.pop(name, None)
        members[name] = value  # type: ignore[assignment]

    def settle(self, members: JsonObject) -> None:
        """Write the whole texts into the members."""
        for name, pieces in self._pieces.items():
            members[name] = "".join(pieces)
        self._pieces = {}
