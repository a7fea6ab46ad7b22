"""Sources that an answer names: Gemini lists them beside the text, canonical texts carry them.

The lists themselves stay in the reply's extras; here they are only read, and only for answers with one text.
"""

from bisect import bisect_right
from itertools import accumulate
from typing import Any

from groundwire.codecs.gemini.casing import dict_of
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.messages import Citation, Item, Message, TextPart

CITED = frozenset({"citationMetadata", "groundingMetadata"})
"""The members of a candidate that name sources."""


def cited(items: list[Item], candidate: JsonObject) -> list[Item]:
    """The items with their citations, where it is clear which text is meant."""
    places = [place for place, item in enumerate(items) if isinstance(item, Message)]
    if len(places) != 1:
        return items
    message = items[places[0]]
    if not isinstance(message, Message):
        return items
    texts = [part for part in message.parts if isinstance(part, TextPart) and part.text]
    if len(texts) != 1:
        return items
    found = citations_of(texts[0].text, candidate)
    if not found:
        return items
    parts = tuple(
        TextPart(text=part.text, citations=found, private=part.private)
        if isinstance(part, TextPart) and part is texts[0]
        else part
        for part in message.parts
    )
    whole = Message(role=message.role, parts=parts, split=message.split, private=message.private)
    return [whole if place == places[0] else item for place, item in enumerate(items)]


def citations_of(text: str, candidate: JsonObject) -> tuple[Citation, ...]:
    """What a candidate says about the sources of its one text."""
    grounding = dict_of(candidate.get("groundingMetadata"))
    return (*_quoted(candidate.get("citationMetadata")), *_grounded(grounding, text))


def _quoted(metadata: Any) -> list[Citation]:
    wire = dict_of(metadata)
    sources = wire.get("citations", wire.get("citationSources"))
    found: list[Citation] = []
    for source in sources if isinstance(sources, list) else []:
        entry = dict_of(source)
        url, title = _text(entry.get("uri")), _text(entry.get("title"))
        if url or title:
            start, end = _whole(entry.get("startIndex")), _whole(entry.get("endIndex"))
            found.append(Citation(url=url, title=title, start=start, end=end))
    return found


def _grounded(grounding: JsonObject, text: str) -> list[Citation]:
    chunks, supports = grounding.get("groundingChunks"), grounding.get("groundingSupports")
    if not isinstance(chunks, list) or not isinstance(supports, list):
        return []
    found: list[Citation] = []
    characters = _Offsets(text)
    for support in supports:
        entry = dict_of(support)
        segment = dict_of(entry.get("segment"))
        start, end = characters.of(segment.get("startIndex", 0)), characters.of(segment.get("endIndex"))
        indices = entry.get("groundingChunkIndices")
        for index in indices if isinstance(indices, list) else []:
            if not isinstance(index, int) or not 0 <= index < len(chunks):
                continue
            chunk = dict_of(chunks[index])
            web = dict_of(chunk.get("web") or chunk.get("retrievedContext") or chunk.get("maps"))
            if url := _text(web.get("uri")):
                quote = _text(segment.get("text"))
                found.append(Citation(url=url, title=_text(web.get("title")), quote=quote, start=start, end=end))
    return found


class _Offsets:
    """Segments count UTF-8 bytes; the text is measured once for all of them."""

    __slots__ = ("_ends", "_length")

    def __init__(self, text: str) -> None:
        self._length = len(text)
        self._ends = [] if text.isascii() else list(accumulate(len(char.encode()) for char in text))

    def of(self, offset: Any) -> int | None:
        """The whole characters before this byte."""
        if not isinstance(offset, int) or isinstance(offset, bool) or offset < 0:
            return None
        return bisect_right(self._ends, offset) if self._ends else min(offset, self._length)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
