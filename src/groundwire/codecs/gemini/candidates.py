"""One candidate of a stream: its chunks, put together as the items of a reply."""

from collections.abc import Mapping
from typing import Any

from groundwire.codecs.gemini.casing import camel_keys, dict_of
from groundwire.codecs.gemini.citations import citations_of
from groundwire.codecs.gemini.finishes import read_finish
from groundwire.codecs.gemini.partial_arguments import PartialArguments
from groundwire.codecs.gemini.parts import is_signed, read_model_part_leniently
from groundwire.codecs.gemini.profile import DIALECT
from groundwire.codecs.gemini.response_reading import CANDIDATE, odd_index, odd_shape
from groundwire.codecs.gemini.turns import id_prefix
from groundwire.codecs.wire.building import ReplyBuilder, withdraw_calls
from groundwire.codecs.wire.json import dump_text, without_halves
from groundwire.codecs.wire.names import original_name
from groundwire.codecs.wire.private import unknown_values
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.messages import CallItem, Item, MediaPart, ReasoningItem, TextPart
from groundwire.contracts.replies import Finish, FinishReason

_CALL_PART = frozenset({"functionCall"})
_WHOLE_ENDS = (FinishReason.END, FinishReason.TOOL_CALLS)


class CandidateStream:
    """What is open: at most one message or thought, and at most one call whose arguments come in pieces."""

    def __init__(self, place: int, names: Mapping[str, str], builder: ReplyBuilder) -> None:
        self.builder = builder
        self.members: JsonObject = {}
        self.raw_finish: str | None = None
        self._place = place
        self._names = names
        self._message: int | None = None
        self._thought: int | None = None
        self._call: int | None = None
        self._arguments = PartialArguments()
        self._made = 0
        self._prefix = ""
        self._finish_message: Any = None
        self._content: Any = None
        self._index: Any = None  # of the last chunk, which says how the candidate looks as a whole
        self._texts = 0

    def take(self, candidate: JsonObject, reply_id: str) -> None:
        """One chunk of this candidate."""
        if not candidate.keys() <= CANDIDATE:
            candidate = camel_keys(candidate)
            self._keep(unknown_values(candidate, CANDIDATE))
        self._index = candidate.get("index")
        content = candidate.get("content")
        if content is not None:
            self._content = content
            parts = content.get("parts") if isinstance(content, dict) else None
            for part in parts if isinstance(parts, list) else ():
                if not isinstance(part, dict):
                    continue
                text = part.get("text")
                if type(text) is str and len(part) == 1:
                    if text:
                        self._write_text(text)
                else:
                    self._take_part(camel_keys(without_halves(part)), candidate, reply_id)
        raw = candidate.get("finishReason")
        if isinstance(raw, str) and raw:
            self.raw_finish = raw
        if candidate.get("finishMessage") is not None:
            self._finish_message = candidate["finishMessage"]

    def take_words(self, text: str) -> None:
        """One text of a chunk that holds nothing else, in a content of the usual shape and with the index 0."""
        self._index = 0
        self._write_text(text)

    def _keep(self, members: JsonObject) -> None:
        cited = members.get("citationMetadata")
        before = dict_of(self.members.get("citationMetadata")).get("citations")
        self.members.update(members)
        if isinstance(before, list) and isinstance(cited, dict) and isinstance(cited.get("citations"), list):
            before.extend(cited["citations"])  # type: ignore[arg-type]
            self.members["citationMetadata"] = {**cited, "citations": before}

    def _write_text(self, text: str) -> None:
        if self._message is None:
            self._end_thought()
            self._message = self.builder.open("message")
            self._texts += 1
        self.builder.text(self._message, text)

    def _take_part(self, part: JsonObject, candidate: JsonObject, reply_id: str) -> None:
        if part.get("functionCall") is not None and self._take_piece_of_call(part, candidate, reply_id):
            return
        read = read_model_part_leniently(part, self._made_id(candidate, reply_id), self._names)
        if isinstance(read, (TextPart, MediaPart)):
            self._take_said(read)
        elif isinstance(read, ReasoningItem):
            self._take_thought(read)
        else:
            self._end_open()
            self._made += isinstance(read, CallItem)
            self.builder.add(read)

    def _take_said(self, part: TextPart | MediaPart) -> None:
        if isinstance(part, TextPart) and not part.private.get(DIALECT):
            if part.text:
                self._write_text(part.text)
            return
        if self._message is None:
            self._end_thought()
            self._message = self.builder.open("message")
        self._texts += isinstance(part, TextPart)
        self.builder.part(self._message, part)
        if isinstance(part, TextPart) and is_signed(part):
            self._end_open()

    def _take_thought(self, thought: ReasoningItem) -> None:
        """Thoughts are told in pieces; one with a signature or anything else of its own stands alone."""
        if thought.private.get(DIALECT):
            self._end_open()
            self.builder.add(thought)
        elif thought.text:
            if self._thought is None:
                self._end_open()
                self._thought = self.builder.open("reasoning")
                self.builder.keep(self._thought, thought.private)
            self.builder.text(self._thought, thought.text)

    def _take_piece_of_call(self, part: JsonObject, candidate: JsonObject, reply_id: str) -> bool:
        """Arguments by path: a name opens a call, pieces without a name belong to it, an empty piece ends it."""
        wire = dict_of(part["functionCall"])
        name = wire.get("name")
        if isinstance(name, str) and name:
            self._end_call()
            if wire.get("willContinue") is not True and wire.get("partialArgs") is None:
                return False
            self._end_open()
            call_id = wire.get("id")
            is_given = isinstance(call_id, str) and call_id != ""
            made = self._made_id(candidate, reply_id)
            self._made += 1
            self._call = self.builder.open(
                "call", call_id=str(call_id) if is_given else made, name=original_name(name, self._names)
            )
            members = unknown_values(part, _CALL_PART)
            if not is_given:
                members["_synthetic"] = True
            if members:
                self.builder.keep(self._call, {DIALECT: members})
            self._arguments = PartialArguments()
        elif self._call is None:
            return wire == {}  # the end of a call that has ended already
        arguments = wire.get("args")
        if isinstance(arguments, dict):
            self._arguments.merge(arguments)
        self._arguments.take(wire.get("partialArgs"))
        if not wire:
            self._end_call()
        return True

    def _made_id(self, candidate: JsonObject, reply_id: str) -> str:
        if not self._prefix:
            self._prefix = id_prefix(reply_id, self._place, candidate)
        return f"{self._prefix}_{self._made}"

    def _end_call(self, *, complete: bool = True) -> None:
        if self._call is not None:
            self.builder.text(self._call, dump_text(self._arguments.whole()))
            self.builder.close(self._call, complete=complete and self._arguments.is_sound)
            self._call = None

    def _end_thought(self) -> None:
        if self._thought is not None:
            self.builder.close(self._thought)
            self._thought = None

    def _end_open(self) -> None:
        self._end_thought()
        if self._message is not None:
            self.builder.close(self._message)
            self._message = None

    def end(self, blocked: Finish | None) -> tuple[tuple[Item, ...], Finish]:
        """The items and the reason. Without a reason the stream was cut, and none of its calls may run."""
        reason = read_finish(self.raw_finish, None, ()).reason if self.raw_finish else FinishReason.INCOMPLETE
        self._end_call(complete=reason in _WHOLE_ENDS)
        self._cite()
        self._end_open()
        items = self.builder.items()
        if not items:
            self.members.update(odd_shape(self._content, None) or {})
        self.members.update(odd_index(self._index, self._place))
        if self.raw_finish:
            finish = read_finish(self.raw_finish, self._finish_message, items)
            return withdraw_calls(items, finish.reason), finish
        return withdraw_calls(items, reason), blocked or Finish(reason=reason)

    def _cite(self) -> None:
        """Sources come last; they are the message's if there was only this one text."""
        if self._message is None or self._texts != 1:
            return
        citations = citations_of(self.builder.text_of(self._message), self.members)
        if citations:
            self.builder.end_text(self._message, TextPart(text="", citations=citations))
