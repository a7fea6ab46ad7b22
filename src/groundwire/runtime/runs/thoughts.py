"""Reasoning that leaked into an answer, between `<think>` and `</think>` at its beginning: no words for the user.

Whatever the dialect, it becomes reasoning before the answer reaches the conversation. An answer that only speaks about
such tags stays whole.
"""

import re

from msgspec.structs import replace

from groundwire.contracts.messages import Item, Message, ReasoningItem, TextPart
from groundwire.contracts.replies import Reply

OPENING = "<think>"
CLOSING = "</think>"
MAX_BLANKS = 1_000
"""So far into an answer a thought may begin; blanks are not held back for longer."""

_OPENS = re.compile(rf"\s{{0,{MAX_BLANKS}}}{OPENING}").match


def without_leaks(reply: Reply) -> Reply:
    for item in reply.items:
        if type(item) is Message and OPENING in item.text:
            break
    else:
        return reply
    items: list[Item] = []
    for item in reply.items:
        items += _split(item) if isinstance(item, Message) else [item]
    return replace(reply, items=tuple(items))


def _split(message: Message) -> list[Item]:
    first = message.parts[0] if message.parts else None
    if not isinstance(first, TextPart) or _OPENS(first.text) is None:
        return [message]
    text, place, thoughts = first.text, 0, []
    while (opened := _OPENS(text, place)) is not None:
        closed = text.find(CLOSING, opened.end())
        end = len(text) if closed < 0 else closed
        thoughts.append(text[opened.end() : end].strip())
        place = min(end + len(CLOSING), len(text))
    told = text[place:].lstrip()
    parts = (TextPart(text=told), *message.parts[1:]) if told else message.parts[1:]  # signatures are of the whole text
    spoken: list[Item] = [replace(message, parts=parts)] if parts else []
    return [ReasoningItem(text="\n".join(thoughts)), *spoken]


class LeakFilter:
    """The same for a text that comes in pieces: what of it may be passed on so far."""

    def __init__(self) -> None:
        self._held = ""
        self._awaits = OPENING
        """The tag that may come next; nothing once the answer itself has begun."""
        self._is_leak = False

    def feed(self, text: str) -> str:
        if not self._awaits:
            return text
        text, place = self._held + text, 0
        while True:
            if self._awaits == OPENING:
                opened = _OPENS(text, place)
                if opened is None:
                    self._held = text[place:]
                    begun = self._held[:MAX_BLANKS].lstrip()
                    may_open = OPENING.startswith(begun) and len(self._held) < MAX_BLANKS
                    return "" if may_open else self.finish()
                self._awaits, place = CLOSING, opened.end()
            closed = text.find(CLOSING, place)
            if closed < 0:
                # The tag may come in two pieces; the thought before it is done with.
                self._held = text[max(place, len(text) + 1 - len(CLOSING)) :]
                return ""
            self._awaits, self._is_leak, place = OPENING, True, closed + len(CLOSING)

    def finish(self) -> str:
        """What was held back although no tag came of it."""
        held = self._held if self._awaits == OPENING else ""
        self._held = self._awaits = ""
        return held.lstrip() if self._is_leak else held
