"""A streamed response, read as it comes: never raises, and always ends with one end or one failure."""

from collections.abc import Mapping

from groundwire.codecs.openai_chat.choice_streams import ChoiceDecoder
from groundwire.codecs.openai_chat.failures import failure_in, read_error
from groundwire.codecs.openai_chat.profile import DIALECT
from groundwire.codecs.openai_chat.responses import decode_response, read_usage
from groundwire.codecs.wire.building import parts_of
from groundwire.codecs.wire.json import kind_of, read_value
from groundwire.codecs.wire.private import keep
from groundwire.codecs.wire.sse import Event, SseReader
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import WireError
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.messages import Message
from groundwire.contracts.replies import (
    Alternative,
    Finish,
    FinishReason,
    Reply,
    ReplyEnded,
    ReplyFailed,
    ReplyPart,
    ReplyStarted,
)

_KNOWN = frozenset({"id", "object", "created", "model", "choices", "usage", "obfuscation"})
_MAX_CHOICES = 128


class StreamDecoder:
    """Feed bytes as they come, get what they say. Choices past the first come only with the end."""

    def __init__(self, *, names: Mapping[str, str] | None = None, split_thinking: bool = True) -> None:
        self._names = names or {}
        self._split_thinking = split_thinking
        self._reader = SseReader()
        self._first_pieces: list[bytes] | None = []
        self._whole: list[bytes] | None = None
        self._choice = ChoiceDecoder(0, self._names, splits_thinking=split_thinking)
        self._others: dict[int, ChoiceDecoder] = {}
        self._has_choice = False
        self._started: ReplyStarted | None = None
        self._usage: JsonValue = None
        self._extras: JsonObject = {}
        self._members = 0
        self._out: list[ReplyPart] = []
        self._is_over = False

    def feed(self, data: bytes) -> list[ReplyPart]:
        if self._is_over:
            return []
        if self._first_pieces is not None:
            data = self._look_at_first(data, self._first_pieces)
        if self._whole is not None:
            self._whole.append(data)
        elif data:
            try:
                events = self._reader.feed(data)
            except ValueError as error:
                self._fail(_bad(str(error)))
                events = []
            for event in events:
                self._read(event)
        return self._news()

    def finish(self) -> list[ReplyPart]:
        """The body has ended."""
        if self._whole is not None and not self._is_over:
            self._end_whole(b"".join(self._whole))
        for event in self._reader.finish():
            self._read(event)
        if not self._is_over:
            self._end(is_done=False)
        return self._news()

    def _news(self) -> list[ReplyPart]:
        out, self._out = self._out, []
        return out

    def _look_at_first(self, data: bytes, earlier: list[bytes]) -> bytes:
        """Servers also answer with a plain body, or with a page, where a stream was asked for."""
        earlier.append(data)
        sign = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
        if not sign:
            return b""
        self._first_pieces = None
        if sign in b"{[<":
            self._whole = []
        return b"".join(earlier)

    def _end_whole(self, body: bytes) -> None:
        failure = failure_in(body)
        try:
            if failure is None:
                reply = decode_response(body, names=self._names, split_thinking=self._split_thinking)
                self._out += parts_of(reply)
                self._is_over = True
        except WireError as error:
            failure = _bad(error.message)
        if failure is not None:
            self._fail(failure)

    def _read(self, event: Event) -> None:
        if self._is_over:
            return
        data = event.data
        if data[:1] != b"{":
            data = data.strip()
            if data == b"[DONE]":
                self._end(is_done=True)
                return
            if not data:
                return
        try:
            chunk = read_value(data, what="event", keep_halves=True)
        except WireError as error:
            self._fail(_bad(error.message))
            return
        if type(chunk) is not dict:
            self._fail(_bad(f"An event must be a JSON object, not {kind_of(chunk)}."))
            return
        if event.event == "error" or (chunk.get("error")):
            self._fail(read_error(chunk))
        else:
            self._read_chunk(chunk)

    def _read_chunk(self, chunk: JsonObject) -> None:
        choices = chunk.get("choices")
        if type(choices) is list and choices:
            if self._started is None:
                self._start(chunk)
            for choice in choices:
                if type(choice) is dict:
                    self._decoder(choice.get("index")).feed(choice)
            if self._choice.builder.out:
                self._out += self._choice.builder.take()
        if chunk.get("usage") is not None:
            self._usage = chunk["usage"]
        # Most chunks have the same members, so only a change of their number, and the last ones, are worth a look.
        if len(chunk) != self._members or not choices or self._choice.is_finished:
            self._members = len(chunk)
            for name, value in chunk.items():
                if name not in _KNOWN and value is not None:
                    self._extras[name] = value

    def _decoder(self, index: JsonValue) -> ChoiceDecoder:
        if type(index) is not int or not 0 < index < _MAX_CHOICES:
            self._has_choice = True
            return self._choice
        if index not in self._others:
            decoder = ChoiceDecoder(index, self._names, splits_thinking=self._split_thinking)
            decoder.calls.seed = f"{self._started.reply_id if self._started else ''}#{index}"
            self._others[index] = decoder
        return self._others[index]

    def _start(self, chunk: JsonObject) -> None:
        reply_id, model, created = chunk.get("id"), chunk.get("model"), chunk.get("created")
        self._started = ReplyStarted(
            reply_id=reply_id if isinstance(reply_id, str) else "",
            model=model if isinstance(model, str) else "",
            created=int(created) if isinstance(created, (int, float)) and abs(created) < 2**53 else None,
        )
        self._choice.calls.seed = self._started.reply_id
        self._out.append(self._started)

    def _end(self, *, is_done: bool) -> None:
        self._is_over = True
        if self._started is None:
            self._start({})
        started = self._started or ReplyStarted()
        if self._has_choice:
            answer = self._choice.finish(is_cut=not (is_done or self._choice.is_finished))
        else:
            empty = Message(role="assistant", parts=())
            answer = Alternative(items=(empty,), finish=Finish(reason=FinishReason.INCOMPLETE))
        self._out += self._choice.builder.take()
        others = [
            decoder.finish(is_cut=not (is_done or decoder.is_finished)) for _, decoder in sorted(self._others.items())
        ]
        reply = Reply(
            reply_id=started.reply_id,
            model=started.model,
            created=started.created,
            items=answer.items,
            finish=answer.finish,
            usage=read_usage(self._last_usage()),
            alternatives=tuple(others),
            extras=keep(DIALECT, self._extras),
        )
        self._out.append(ReplyEnded(reply=reply))

    def _last_usage(self) -> JsonValue:
        if self._usage is None:
            groq = self._extras.get("x_groq")
            return groq.get("usage") if isinstance(groq, dict) else None
        return self._usage

    def _fail(self, failure: Failure) -> None:
        self._is_over = True
        self._out.append(ReplyFailed(failure=failure))


def _bad(message: str) -> Failure:
    return Failure(kind=FailureKind.BAD_RESPONSE, message=message, status=502)
