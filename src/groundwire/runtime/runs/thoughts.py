"""Reasoning that leaked into an answer, between `<think>` and `</think>` at its beginning: no words for the user.

Whatever the dialect, it becomes reasoning before the answer reaches the conversation. An answer that only speaks about
such tags stays whole.
"""

from msgspec.structs import replace

from groundwire.contracts.messages import Item, Message, ReasoningItem, TextPart
from groundwire.contracts.replies import Reply

OPENING = "<think>"
CLOSING = "</think>"


def without_leaks(reply: Reply) -> Reply:
    if OPENING not in reply.text:
        return reply
    items: list[Item] = []
    for item in reply.items:
        items += _split(item) if isinstance(item, Message) else [item]
    return replace(reply, items=tuple(items))


def _split(message: Message) -> list[Item]:
    first = message.parts[0] if message.parts else None
    if not isinstance(first, TextPart) or not first.text.lstrip().startswith(OPENING):
        return [message]
    told, thoughts = first.text.lstrip(), []
    while told.startswith(OPENING):
        thought, _, rest = told.removeprefix(OPENING).partition(CLOSING)
        thoughts.append(thought.strip())
        told = rest.lstrip()
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
        self._held += text
        while True:
            begun = self._held.lstrip()
            if self._awaits == OPENING and not begun.startswith(OPENING):
                return "" if OPENING.startswith(begun) else self.finish()
            _, closed, rest = self._held.partition(CLOSING)
            if not closed:
                self._awaits = CLOSING
                self._held = self._held[1 - len(CLOSING) :]  # the tag may come in two pieces; the thought is done with
                return ""
            self._held, self._awaits, self._is_leak = rest, OPENING, True

    def finish(self) -> str:
        """What was held back although no tag came of it."""
        held = self._held if self._awaits == OPENING else ""
        self._held = self._awaits = ""
        return held.lstrip() if self._is_leak else held
