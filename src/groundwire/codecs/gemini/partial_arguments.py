"""Arguments that Vertex streams by JSON path (`streamFunctionCallArguments`): put together, never guessed."""

import re
from itertools import pairwise
from typing import Any

from groundwire.codecs.gemini.casing import dict_of
from groundwire.contracts.canonical import JsonObject

_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d{1,9})\]|\['([^']*)'\]|\[\"([^\"]*)\"\]")

MAX_STEPS = 64


class _Text:
    """A text that is being written, in the place of the text that it will be."""

    __slots__ = ("pieces",)

    def __init__(self, pieces: list[str]) -> None:
        self.pieces = pieces


class PartialArguments:
    """Collects one call's arguments. `is_sound` turns false for a path or a value that cannot be followed."""

    __slots__ = ("_root", "_texts", "is_sound")

    def __init__(self) -> None:
        self._root: JsonObject = {}
        self._texts: list[tuple[Any, str | int, _Text]] = []
        self.is_sound = True

    def take(self, pieces: Any) -> None:
        for piece in pieces if isinstance(pieces, list) else ():
            entry = dict_of(piece)
            steps = _steps(entry.get("jsonPath"))
            if not steps or not self._put(steps, entry):
                self.is_sound = False

    def merge(self, arguments: JsonObject) -> None:
        self._root.update(arguments)

    def whole(self) -> JsonObject:
        for place, step, text in self._texts:
            if _below(place, step) is text:
                _set(place, step, "".join(text.pieces))
        self._texts = []
        return self._root

    def _put(self, steps: list[str | int], entry: JsonObject) -> bool:
        place: Any = self._root
        for step, following in pairwise(steps):
            below = _below(place, step)
            if below is None:
                below = [] if isinstance(following, int) else {}
                if not _set(place, step, below):
                    return False
            place = below
        if "stringValue" in entry:
            return self._write(place, steps[-1], entry["stringValue"])
        for kind in ("numberValue", "boolValue"):
            if kind in entry:
                return _set(place, steps[-1], entry[kind])
        if "nullValue" in entry:
            return _set(place, steps[-1], None)
        return True  # a path alone only says that its text has ended

    def _write(self, place: Any, step: str | int, text: Any) -> bool:
        """More of a text, or its beginning."""
        if not isinstance(text, str):
            return False
        before = _below(place, step)
        if isinstance(before, _Text):
            before.pieces.append(text)
            return True
        begun = _Text([before, text] if isinstance(before, str) else [text])
        self._texts.append((place, step, begun))
        return _set(place, step, begun)


def _steps(path: Any) -> list[str | int]:
    if not isinstance(path, str) or not path.startswith("$"):
        return []
    steps: list[str | int] = []
    place = 1
    while place < len(path) and len(steps) < MAX_STEPS:
        found = _STEP.match(path, place)
        if found is None:
            return []
        name, index, single, double = found.groups()
        steps.append(int(index) if index is not None else name or single or double or "")
        place = found.end()
    return steps if place == len(path) else []


def _below(place: Any, step: str | int) -> Any:
    if isinstance(place, dict) and isinstance(step, str):
        return place.get(step)
    if isinstance(place, list) and isinstance(step, int) and step < len(place):
        return place[step]
    return None


def _set(place: Any, step: str | int, value: Any) -> bool:
    """Arrays grow one by one, so an index far beyond the end is a broken stream."""
    if isinstance(place, dict) and isinstance(step, str):
        place[step] = value
        return True
    if isinstance(place, list) and isinstance(step, int):
        if step < len(place):
            place[step] = value
        elif step == len(place):
            place.append(value)
        else:
            return False
        return True
    return False
