"""One choice of a streamed response: its deltas become the items that the whole response would have had."""

from collections.abc import Mapping
from typing import Any

from groundwire.codecs.openai_chat.call_streams import CallCollector
from groundwire.codecs.openai_chat.detail_streams import DetailCollector
from groundwire.codecs.openai_chat.parts import read_part
from groundwire.codecs.openai_chat.profile import DIALECT
from groundwire.codecs.openai_chat.responses import read_finish
from groundwire.codecs.openai_chat.thinking import ThinkingSplitter
from groundwire.codecs.openai_chat.turn_reading import (
    REASONING_FIELDS,
    attach,
    listed_calls,
    read_citations,
    read_thinking_part,
    text_of_details,
)
from groundwire.codecs.wire.building import ReplyBuilder, withdraw_calls
from groundwire.codecs.wire.gathering import GrowingTexts, gather
from groundwire.codecs.wire.private import keep, unknown_values
from groundwire.codecs.wire.results import object_arguments
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import WireError
from groundwire.contracts.messages import Item, Message, TextPart
from groundwire.contracts.replies import Alternative, Finish, FinishReason

_CHOICE = frozenset({"index", "delta", "message", "finish_reason"})
_DELTA = frozenset({
    "role", "content", "tool_calls", "function_call", "refusal", "reasoning_content", "reasoning", "reasoning_details",
    "channel",
})  # fmt: skip
_ONLY_IN_REPLIES = frozenset({"annotations"})


class ChoiceDecoder:
    """Feed the choices of the chunks, then finish."""

    def __init__(self, place: int, names: Mapping[str, str], *, splits_thinking: bool) -> None:
        self.builder = ReplyBuilder(DIALECT)
        self.calls = CallCollector(self.builder, names, f"choices[{place}].message")
        self._splits_thinking = splits_thinking
        self._splitter: ThinkingSplitter | None = None
        self._is_plain = not splits_thinking
        self._message: int | None = None
        self._reasoning: int | None = None
        self._reasoning_hints: JsonObject = {}
        self._reasoning_texts = GrowingTexts()
        self._details: DetailCollector | None = None
        self._is_tagged = False
        self._rest: JsonObject = {}
        self._hints: JsonObject = {}
        self._raw: str | None = None
        self.is_finished = False

    def feed(self, choice: JsonObject) -> None:
        delta = choice.get("delta")
        if type(delta) is not dict:
            delta = choice.get("message")
        if type(delta) is dict:
            content = delta.get("content")
            if type(content) is str and len(delta) == 1:
                if content:
                    self._text(content)
            elif delta:
                self._delta(delta, content)
        reason = choice.get("finish_reason")
        if reason is not None:
            self._raw = reason if isinstance(reason, str) else None
            self.is_finished = True
        if not choice.keys() <= _CHOICE:
            gather(self._hints, unknown_values(choice, _CHOICE))

    def _delta(self, delta: JsonObject, content: Any) -> None:
        for field in REASONING_FIELDS:
            value = delta.get(field)
            if type(value) is str and value:
                self._reason(field, value)
        details = delta.get("reasoning_details")
        if isinstance(details, list) and details:
            self._detail(details, is_told=any(delta.get(field) for field in REASONING_FIELDS))
        if type(content) is str:
            if content:
                self._text(content)
        elif isinstance(content, list):
            for part in content:
                self._part(part)
        refusal = delta.get("refusal")
        if type(refusal) is str and refusal:
            self._flush_text()
            self.builder.refuse(self._open_message(), refusal)
        entries = delta.get("tool_calls")
        if entries:
            self._call(entries)
        legacy = delta.get("function_call")
        if isinstance(legacy, dict):
            if legacy.get("name"):
                self._close_spoken()
            self.calls.feed_legacy(legacy)
        if not delta.keys() <= _DELTA:
            gather(self._rest, unknown_values(delta, _DELTA))

    def _call(self, entries: Any) -> None:
        if self._message is not None or self._reasoning is not None:
            self._close_spoken()
        try:
            listed = listed_calls(entries)
        except WireError:
            return
        for entry in listed:
            if type(entry) is dict:
                self.calls.feed(entry)

    def _text(self, text: str) -> None:
        if self._is_plain:
            self._say(text)
            return
        if self._splitter is None:
            self._splitter = ThinkingSplitter(after_reasoning=self._reasoning is not None)
        elif self._splitter.passes(text):
            self._say(text)
            return
        for kind, piece in self._splitter.feed(text):
            self._sorted(kind, piece)
        self._is_plain = self._splitter.is_settled

    def _sorted(self, kind: str, piece: str) -> None:
        if kind == "text":
            self._say(piece)
        elif kind == "thought":
            self.builder.text(self._open_tagged(), piece)
        else:  # all text so far was reasoning
            place = self._message
            if place is None:
                place = self.builder.open("reasoning")
            self.builder.become(place, "reasoning")
            self._message, self._reasoning, self._is_tagged = None, place, True

    def _open_tagged(self) -> int:
        if self._reasoning is None or not self._is_tagged:
            self._close_reasoning()
            self._reasoning = self.builder.open("reasoning")
            self._is_tagged = True
        return self._reasoning

    def _flush_text(self) -> None:
        """Nothing more of the text can come that would change its meaning."""
        if self._splitter is not None and not self._is_plain:
            for kind, piece in self._splitter.finish():
                self._sorted(kind, piece)
            self._is_plain = True

    def _say(self, text: str) -> None:
        place = self._message
        if place is None:
            place = self._open_message()
        self.builder.text(place, text)

    def _open_message(self) -> int:
        if self._message is None:
            self._close_reasoning()
            self._message = self.builder.open("message")
        return self._message

    def _reason(self, field: str, text: str) -> None:
        place = self._open_reasoning()
        hints = self._reasoning_hints
        first = hints.setdefault("_field", field)
        if first == field:
            self.builder.text(place, text)
        else:
            self._reasoning_texts.add(hints, field, text)

    def _detail(self, details: list[Any], *, is_told: bool) -> None:
        place = self._open_reasoning()
        if self._details is None:
            self._details = DetailCollector()
        self._details.feed(details)
        if not is_told:
            self.builder.text(place, text_of_details(details))

    def _open_reasoning(self) -> int:
        if self._reasoning is None or self._is_tagged:
            self._close_spoken()
            self._reasoning = self.builder.open("reasoning")
        return self._reasoning

    def _part(self, value: Any) -> None:
        """A part of content that came as a list; thoughts among them are reasoning."""
        if isinstance(value, dict) and value.get("type") == "thinking":
            place = self._open_reasoning()
            self._reasoning_hints["_field"] = "thinking"
            self.builder.text(place, read_thinking_part(value).text)
            return
        try:
            part = read_part(value, "content", from_user=False)
        except WireError:
            return
        if isinstance(part, TextPart) and not part.private:
            self._text(part.text)
        else:
            self._flush_text()
            self.builder.part(self._open_message(), part)

    def _close_reasoning(self) -> None:
        if self._reasoning is not None:
            hints = self._reasoning_hints
            self._reasoning_texts.settle(hints)
            if self._details is not None:
                hints["reasoning_details"] = self._details.whole()
                self._details = None
            if self._is_tagged and self._splitter is not None:
                hints = {"_think": [self._splitter.before, self._splitter.after]}
            if hints:
                self.builder.keep(self._reasoning, {DIALECT: hints})
            self.builder.close(self._reasoning)
            self._reasoning, self._reasoning_hints, self._is_tagged = None, {}, False

    def _close_spoken(self) -> None:
        """Something else begins: what was said or thought before it is whole."""
        self._flush_text()
        self._close_reasoning()
        if self._message is not None and not self._rest:
            self.builder.close(self._message)
            self._message = None

    def finish(self, *, is_cut: bool) -> Alternative:
        """The whole choice. `is_cut`: the stream broke off before this choice had ended."""
        self._flush_text()
        self._close_reasoning()
        rest = dict(self._rest)
        reply_only = {name: rest.pop(name) for name in _ONLY_IN_REPLIES & rest.keys()}
        if self._message is not None:
            annotations = reply_only.pop("annotations", None)
            if annotations:
                self.builder.end_text(self._message, TextPart(text="", citations=read_citations(annotations)))
            if rest or reply_only:
                hints: JsonObject = {**rest, **({"_reply": reply_only} if reply_only else {})}
                self.builder.keep(self._message, {DIALECT: hints})
            rest, reply_only = {}, {}
        self.calls.finish()
        finish = self._finish(is_cut=is_cut)
        self._close_calls(finish.reason)
        self.builder.close_all()
        items: list[Item] = list(self.builder.items())
        if not items:
            items.append(Message(role="assistant", parts=()))
        if rest or reply_only:
            attach(items, rest, reply_only)
        return Alternative(items=withdraw_calls(items, finish.reason), finish=finish)

    def _finish(self, *, is_cut: bool) -> Finish:
        if is_cut:
            return Finish(reason=FinishReason.INCOMPLETE, private=keep(DIALECT, self._hints))
        has_calls = bool(self.calls.places)
        return read_finish(self._raw, has_calls=has_calls, hints=self._hints)

    def _close_calls(self, reason: FinishReason) -> None:
        places = self.calls.places
        nameless = frozenset(self.calls.incomplete_places())
        is_withdrawn = reason in (
            FinishReason.INCOMPLETE,
            FinishReason.MALFORMED_CALL,
            FinishReason.FAILED,
            FinishReason.CANCELLED,
        )
        is_long = reason in (FinishReason.LENGTH, FinishReason.CONTEXT_FULL)
        is_unsaid = not self.is_finished  # [DONE] without a reason: only whole arguments say that a call was whole
        for place in places:
            is_half = (
                is_long
                and (self.builder.last("call") == place or object_arguments(self.calls.text_of(place) or "{}") is None)
            ) or (is_unsaid and object_arguments(self.calls.text_of(place)) is None)
            self.builder.close(place, complete=not (is_withdrawn or is_half or place in nameless))
