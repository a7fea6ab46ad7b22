"""Reasoning that a server left in the text, between `<think>` and `</think>`.

Only where it begins the text, or where a lone `</think>` at the edge of a line shows that all before it was reasoning:
an answer that merely speaks about such tags stays whole. The exact spelling is kept, for the dialect to write it again.
"""

from typing import Literal, TypeAlias

from groundwire.codecs.openai_chat.profile import DIALECT
from groundwire.contracts.messages import Item, Message, ReasoningItem, TextPart

OPENING = "<think>"
CLOSING = "</think>"

Piece: TypeAlias = tuple[Literal["thought", "text", "turned"], str]
"""More reasoning, more text, or: all text so far was reasoning, whose end is spelled so."""


class ThinkingSplitter:
    """Feed the text in pieces, get it sorted. The result does not depend on how the text was cut."""

    __slots__ = ("_after_reasoning", "_held", "_last", "_spaces", "_state", "after", "before")

    def __init__(self, *, after_reasoning: bool = False) -> None:
        self._state: Literal["start", "thought", "gap", "text", "rest"] = "start"
        self._held = ""
        self._spaces: list[str] = []
        self._last = "\n"
        self._after_reasoning = after_reasoning
        self.before = ""
        self.after = ""

    @property
    def is_settled(self) -> bool:
        """Nothing that follows can be anything but text."""
        return self._state == "rest" and not self._held

    def passes(self, text: str) -> bool:
        """Whether this is plain text as a whole, as most is; then it need not be fed."""
        if self._state == "text" and not self._held and "<" not in text:
            self._last = text[-1:] or self._last
            return True
        return False

    def feed(self, text: str) -> list[Piece]:
        if text.isspace() and self._held[-1:].isspace():
            self._spaces.append(text)  # as undecided as the space before it, and not worth a look until more comes
            return []
        self._hold(text)
        return self._sort(ended=False)

    def finish(self) -> list[Piece]:
        self._hold("")
        return self._sort(ended=True)

    def _hold(self, text: str) -> None:
        self._held = "".join([self._held, *self._spaces, text])
        self._spaces = []

    def _sort(self, *, ended: bool) -> list[Piece]:
        pieces: list[Piece] = []
        state = None
        while state != self._state:
            state = self._state
            if state == "start":
                self._begin(pieces, ended=ended)
            elif state == "thought":
                self._think(pieces, ended=ended)
            elif state == "gap":
                self._skip_gap(ended=ended)
            elif state == "text":
                self._look_for_lone_end(pieces, ended=ended)
            elif self._held:
                pieces.append(("text", self._held))
                self._held = ""
        return [piece for piece in pieces if piece[1] or piece[0] != "text"]

    def _begin(self, pieces: list[Piece], *, ended: bool) -> None:
        inner = self._held.lstrip()
        tag = CLOSING if self._after_reasoning and inner.startswith("</") else OPENING
        if inner.startswith(tag):
            behind = inner[len(tag) :]
            if tag == CLOSING:
                pieces.append(("thought", ""))
                self.after, self._held, self._state = self._held[: len(self._held) - len(behind)], behind, "gap"
                return
            thought = behind.lstrip()
            if not thought and not ended:
                return
            pieces.append(("thought", ""))
            self.before = self._held[: len(self._held) - len(thought)]
            self._held, self._state = thought, "thought"
        elif ended or not tag.startswith(inner):
            self._state = "rest" if self._after_reasoning else "text"

    def _think(self, pieces: list[Piece], *, ended: bool) -> None:
        thought, tag, behind = self._held.partition(CLOSING)
        if tag:
            told = thought.rstrip()
            pieces.append(("thought", told))
            self.after = thought[len(told) :] + tag
            self._held, self._state = behind, "gap"
            return
        told = thought if ended else _without_half_tag(thought, CLOSING).rstrip()
        pieces.append(("thought", told))
        self._held = thought[len(told) :]

    def _skip_gap(self, *, ended: bool) -> None:
        text = self._held.lstrip()
        if text or ended:
            self.after += self._held[: len(self._held) - len(text)]
            self._held, self._state = text, "rest"

    def _look_for_lone_end(self, pieces: list[Piece], *, ended: bool) -> None:
        place = self._held.find("<")
        while place >= 0:
            rest = self._held[place : place + len(CLOSING) + 1]
            if rest.startswith(OPENING):
                self._state = "rest"
                return
            if rest.startswith(CLOSING):
                if len(rest) == len(CLOSING) and not ended:
                    break
                if rest[len(CLOSING) :][:1] in ("", "\n", "\r") or (self._last + self._held)[place] == "\n":
                    pieces.append(("text", self._held[:place]))
                    pieces.append(("turned", CLOSING))
                    self.after, self._held, self._state = CLOSING, self._held[place + len(CLOSING) :], "gap"
                    return
                self._state = "rest"
                return
            if not ended and (OPENING.startswith(rest) or CLOSING.startswith(rest)):
                break
            place = self._held.find("<", place + 1)
        told = self._held if place < 0 else self._held[:place]
        pieces.append(("text", told))
        self._last = told[-1:] or self._last
        self._held = self._held[len(told) :]


def _without_half_tag(text: str, tag: str) -> str:
    for length in range(min(len(tag) - 1, len(text)), 0, -1):
        if tag.startswith(text[-length:]):
            return text[:-length]
    return text


def split_thinking(content: str, *, after_reasoning: bool) -> list[Item]:
    """The items of a whole text."""
    if "think>" not in content:
        return [Message(role="assistant", parts=(TextPart(text=content),))]
    splitter = ThinkingSplitter(after_reasoning=after_reasoning)
    thoughts: list[str] = []
    texts: list[str] = []
    is_reasoning = False
    for kind, piece in [*splitter.feed(content), *splitter.finish()]:
        if kind == "turned":
            thoughts, texts, is_reasoning = texts, [], True
        else:
            (thoughts if kind == "thought" else texts).append(piece)
    items: list[Item] = []
    if is_reasoning or splitter.before or splitter.after:
        items.append(thought_item("".join(thoughts), splitter))
    if texts:
        items.append(Message(role="assistant", parts=(TextPart(text="".join(texts)),)))
    return items


def thought_item(text: str, splitter: ThinkingSplitter) -> ReasoningItem:
    return ReasoningItem(text=text, private={DIALECT: {"_think": [splitter.before, splitter.after]}})
