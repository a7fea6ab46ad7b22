"""One spelling for the many widths of a chat, code point by code point, so that places still count in the message.

It knows nothing of what the words mean.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_KEPT = {ord("，"): ord("，"), ord("；"): ord("；"), ord("！"): ord("！"), ord("？"): ord("？")}
_FORMS = _WIDE | _KEPT | {0x3000: 0x20, 0xFFE5: 0xA5, ord(";"): ord("；"), ord("!"): ord("！"), ord("?"): ord("？")}

_THOUSANDS = re.compile(r"(?<![0-9.,])[1-9][0-9]{0,2}(?:,[0-9]{3}){1,3}(?![0-9])")
_CLAUSE = re.compile(r"[^，。；！？\n…]+")

GAP = "\ufffc"
"""Stands for what has been read already: no pattern matches it, and no clause ends there."""
BREAK = "\n"
"""Stands for what is not words: a clause ends there."""


@dataclass(frozen=True)
class Clause:
    """A stretch without punctuation, and its place in the message."""

    text: str
    start: int
    end: int
    asks: bool = False


def fold(text: str, counters: str = "") -> str:
    """ASCII digits and letters, Chinese punctuation, and `1'000` for a thousand; as long as the message.

    A comma after one of `counters` and a price parts two offers: 100个22,500个20.
    """
    folded = text.translate(_FORMS)

    def mark(match: re.Match[str]) -> str:
        before = folded[match.start() - 1] if match.start() else ""
        return match[0] if before and before in counters else match[0].replace(",", "'")

    return _THOUSANDS.sub(mark, folded).replace(",", "，")


def clauses(folded: str) -> tuple[Clause, ...]:
    found = []
    for match in _CLAUSE.finditer(folded):
        words = match[0].strip()
        if words:
            start = match.start() + match[0].index(words[0])
            asks = folded[match.end() : match.end() + 1] == "？" or words.endswith(("吗", "么"))
            found.append(Clause(words, start, start + len(words), asks))
    return tuple(found)


def blank(folded: str, spans: Iterable[tuple[int, int]], filler: str = GAP) -> str:
    characters = list(folded)
    for start, end in spans:
        characters[start:end] = filler * (end - start)
    return "".join(characters)
