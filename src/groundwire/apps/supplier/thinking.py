"""Reasoning that leaked into a reply. A supplier must never read it, wherever in the text it stands."""

import re

_TAG = re.compile(r"<\s{0,8}(/?)\s{0,8}(?:think|thinking|reasoning)\s{0,8}>", re.IGNORECASE)


def strip_thinking(text: str) -> str:
    """The text without anything between thinking tags. What a tag opened and nothing closed is thought to the end.

    What stands before a closing tag that nothing opened was thought too: some models leave out the first one.
    """
    kept: list[str] = []
    depth, place = 0, 0
    for tag in _TAG.finditer(text):
        if depth == 0:
            kept.append(text[place : tag.start()])
        if tag[1]:
            if depth == 0:
                kept.clear()
            depth = max(depth - 1, 0)
        else:
            depth += 1
        place = tag.end()
    if depth == 0:
        kept.append(text[place:])
    return "".join(kept).strip()
