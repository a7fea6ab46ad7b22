"""The stream of generateContent, decoded. Every frame is a whole response with the next pieces; there is no last frame.

A finish reason makes an end of body a good end; without one the reply was cut. Counters are totals, so the last ones
count.
"""

from collections.abc import Mapping
from typing import Any

from groundwire.codecs.gemini.candidates import CandidateStream
from groundwire.codecs.gemini.casing import camel_keys
from groundwire.codecs.gemini.failures import failure_in
from groundwire.codecs.gemini.finishes import blocked_finish, read_usage
from groundwire.codecs.gemini.framing import FrameReader
from groundwire.codecs.gemini.profile import DIALECT
from groundwire.codecs.gemini.response_reading import TOP, answerless, is_own, kept_candidates
from groundwire.codecs.gemini.usual import read_usual_event
from groundwire.codecs.wire.building import ReplyBuilder
from groundwire.codecs.wire.failures import body_text
from groundwire.codecs.wire.json import read_value
from groundwire.codecs.wire.private import keep, unknown_values
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import WireError
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.messages import Item
from groundwire.contracts.replies import Alternative, Finish, FinishReason, Reply, ReplyPart, ReplyStarted

_MAX_OTHERS = 4
"""Events of another shape than the usual, after which no more of them are tried whether they have it."""

_INCOMPLETE = Finish(reason=FinishReason.INCOMPLETE)


class StreamDecoder:
    """Feed bytes as they come, with or without server-sent events; the reply is whole only after `finish`."""

    def __init__(self, *, names: Mapping[str, str] | None = None) -> None:
        self._names = names or {}
        self._frames = FrameReader()
        self._builder = ReplyBuilder(DIALECT)
        self._candidates: dict[int, CandidateStream] = {}
        self._is_begun = False
        self._is_over = False
        self._others = 0
        self._reply_id = ""
        self._model = ""
        self._usage: Any = None
        self._extras: JsonObject = {}

    def feed(self, data: bytes) -> list[ReplyPart]:
        if self._is_over:
            return []
        try:
            frames = self._frames.feed(data)
        except ValueError as error:
            self._fail_badly(str(error), b"")
            return self._builder.take()
        for frame in frames:
            try:
                self._take_frame(frame)
            except WireError as error:
                self._fail_badly(error.message, frame)
        return self._builder.take()

    def finish(self) -> list[ReplyPart]:
        """The body has ended. A frame that was not closed counts if it can be read; else the stream was cut there."""
        if self._is_over:
            return []
        for frame in self._frames.finish():
            try:
                self._take_frame(frame)
            except WireError:
                break
        if not self._is_over:
            self._end()
        return self._builder.take()

    def _take_frame(self, frame: bytes) -> None:
        if self._is_over or (self._is_begun and self._take_words(frame)):
            return
        if not frame or frame.isspace() or frame == b"[DONE]":
            return
        value = read_value(frame, what="event", keep_halves=True)
        for chunk in value if isinstance(value, list) else [value]:
            if not isinstance(chunk, dict):
                raise WireError("An event of the stream is no object.")
            self._take_chunk(chunk)

    def _take_words(self, frame: bytes) -> bool:
        """Whether the event was nothing but more words of the one candidate, as nearly all are; then they are taken."""
        candidate = self._candidates.get(0)
        if candidate is None or self._others >= _MAX_OTHERS:
            return False
        event = read_usual_event(frame)
        if event is None:
            self._others += 1
            return False
        if event.usageMetadata is not None:
            self._usage = event.usageMetadata
        self._reply_id = self._reply_id or event.responseId
        for part in event.candidates[0].content.parts:
            candidate.take_words(part.text)
        return True

    def _take_chunk(self, chunk: JsonObject) -> None:
        if self._is_over:
            return
        if not chunk.keys() <= TOP:
            if (failure := failure_in(chunk)) is not None:
                self._fail(failure)
                return
            chunk = camel_keys(chunk)
        if not self._is_begun and not is_own(chunk):
            return
        if not chunk.keys() <= TOP:
            self._extras.update(unknown_values(chunk, TOP))
        usage = chunk.get("usageMetadata")
        if usage is not None:
            self._usage = usage
        if not self._is_begun:
            self._begin(chunk)
        elif not self._reply_id:
            self._reply_id = _text(chunk.get("responseId"))
        candidates = chunk.get("candidates")
        for place, candidate in enumerate(candidates if isinstance(candidates, list) else ()):
            if isinstance(candidate, dict):
                index = candidate.get("index", place)
                self._candidate(index if type(index) is int else place).take(candidate, self._reply_id)

    def _begin(self, chunk: JsonObject) -> None:
        self._is_begun = True
        self._reply_id = _text(chunk.get("responseId"))
        self._model = _text(chunk.get("modelVersion"))
        started = ReplyStarted(reply_id=self._reply_id, model=self._model, usage=read_usage(self._usage))
        self._builder.begin(started)

    def _candidate(self, index: int) -> CandidateStream:
        known = self._candidates.get(index)
        if known is None:
            # Only the first candidate's pieces are told as they come; the others are alternatives to it.
            builder = ReplyBuilder(DIALECT) if self._candidates else self._builder
            known = self._candidates[index] = CandidateStream(len(self._candidates), self._names, builder)
        return known

    def _end(self) -> None:
        if not self._is_begun:
            if self._frames.is_foreign:
                self._fail_badly("The body is no stream of Gemini.", self._frames.head)
                return
            self._begin({})
            self._end_with([((), _INCOMPLETE)])
            return
        if not self._candidates:
            self._end_with([((), answerless(self._extras))])
            return
        blocked = blocked_finish(self._extras.get("promptFeedback"))
        ended = [candidate.end(blocked) for candidate in self._candidates.values()]
        self._extras.update(kept_candidates([candidate.members for candidate in self._candidates.values()]))
        self._end_with(ended)

    def _end_with(self, answers: list[tuple[tuple[Item, ...], Finish]]) -> None:
        self._is_over = True
        (items, finish), *others = answers
        self._builder.end(
            Reply(
                reply_id=self._reply_id,
                model=self._model,
                items=items,
                finish=finish,
                usage=read_usage(self._usage),
                alternatives=tuple(Alternative(items=items, finish=finish) for items, finish in others),
                extras=keep(DIALECT, self._extras),
            )
        )

    def _fail_badly(self, message: str, frame: bytes) -> None:
        self._fail(Failure(kind=FailureKind.BAD_RESPONSE, message=message, status=502, body=body_text(frame)))

    def _fail(self, failure: Failure) -> None:
        self._is_over = True
        self._builder.fail(failure)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
