"""A reply in pieces as OpenAI streams it: chunks with deltas, then the finish, the usage if asked for, and `[DONE]`.

What was written cannot be taken back: an upstream that begins anew, or fails, ends the stream with an error frame.
"""

from groundwire.codecs.openai_chat.failures import encode_error
from groundwire.codecs.openai_chat.options import wants_usage
from groundwire.codecs.openai_chat.profile import DIALECT
from groundwire.codecs.openai_chat.responses import (
    reply_writer,
    write_choice,
    write_finish,
    write_usage,
)
from groundwire.codecs.openai_chat.tools import is_legacy
from groundwire.codecs.openai_chat.turn_writing import input_text
from groundwire.codecs.wire.building import would_run_cut
from groundwire.codecs.wire.failures import STATUS_OF
from groundwire.codecs.wire.freeform import freeform_names
from groundwire.codecs.wire.json import dump
from groundwire.codecs.wire.private import NOTHING, note_extras, own_members, visible
from groundwire.codecs.wire.sse import write_event
from groundwire.codecs.wire.warnings import Losses, WireWarning
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import NotExpressible
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.messages import CallItem, Item, Message, ReasoningItem, RefusalPart, TextPart
from groundwire.contracts.replies import (
    CallDelta,
    Finish,
    FinishReason,
    ItemEnded,
    ReasoningDelta,
    RefusalDelta,
    Reply,
    ReplyCallStarted,
    ReplyEnded,
    ReplyFailed,
    ReplyPart,
    ReplyStarted,
    ReplyTextDelta,
)
from groundwire.contracts.requests import ModelRequest

_DONE = b"data: [DONE]\n\n"
_OPEN_DELTA = b'"choices":[{"index":0,"delta":'
_CUT = frozenset({FinishReason.INCOMPLETE, FinishReason.FAILED, FinishReason.MALFORMED_CALL, FinishReason.CANCELLED})
_KIND_OF_END = {FinishReason.MALFORMED_CALL: FailureKind.MALFORMED_CALL, FinishReason.CANCELLED: FailureKind.CANCELLED}


class _Call:
    __slots__ = ("is_custom", "is_written", "number")

    def __init__(self, number: int, *, is_custom: bool) -> None:
        self.number = number
        self.is_custom = is_custom
        self.is_written = False


class StreamEncoder:
    """Feed the parts of one reply, send the bytes. `request` is what the client asked.

    `created` is the time for a reply that does not say when it was made.
    """

    def __init__(self, *, request: ModelRequest | None = None, created: int | None = None) -> None:
        self._created = created
        self._request = request
        self._losses = Losses()
        tools = () if request is None else request.tools
        self._freeform = freeform_names(tools)
        self._is_legacy = is_legacy(tools)
        self._has_usage = wants_usage(request)
        self._header: JsonObject = {}
        self._before = b""
        self._after = b""
        self._has_begun = False
        self._is_over = False
        self._calls: dict[int, _Call] = {}
        self._spoken: set[int] = set()
        self._wrote: set[str] = set()

    @property
    def warnings(self) -> tuple[WireWarning, ...]:
        return self._losses.taken()

    def feed(self, part: ReplyPart) -> bytes:
        if self._is_over:
            return b""
        kind = type(part)
        if kind is ReplyTextDelta:
            self._spoken.add(part.index)  # type: ignore[union-attr]
            return self._delta(b'{"content":%b}' % dump(part.text))  # type: ignore[union-attr]
        match part:
            case ReplyStarted():
                return self._begin(part)
            case CallDelta():
                return self._arguments(part)
            case ReasoningDelta():
                self._spoken.add(part.index)
                return self._delta(b'{"reasoning_content":%b}' % dump(part.text))
            case ReplyCallStarted():
                return self._start_call(part)
            case RefusalDelta():
                self._spoken.add(part.index)
                return self._delta(b'{"refusal":%b}' % dump(part.text))
            case ItemEnded():
                return self._end_item(part.index, part.item)
            case ReplyEnded():
                return self._end(part.reply)
            case ReplyFailed():
                return self._fail(part.failure)
            case ReplyTextDelta():
                return b""

    def finish(self) -> bytes:
        """The parts have stopped. Without an end among them, the client is told so."""
        if self._is_over:
            return b""
        message = "The stream broke off."
        return self._fail(Failure(kind=FailureKind.BAD_RESPONSE, message=message, status=502))

    def _begin(self, started: ReplyStarted) -> bytes:
        if self._has_begun:
            message = "The upstream began anew after a part of its answer had been sent."
            return self._fail(Failure(kind=FailureKind.BAD_RESPONSE, message=message, status=502))
        return self._open(started.reply_id, started.model, started.created)

    def _open(self, reply_id: str, model: str, created: int | None) -> bytes:
        self._has_begun = True
        self._header = {
            "id": reply_id,
            "object": "chat.completion.chunk",
            "created": (self._created if created is None else created) or 0,
            "model": model,
        }
        self._before = b"data: " + dump(self._header)[:-1] + b"," + _OPEN_DELTA
        usage = b',"usage":null' if self._has_usage and self._request is not None else b""
        self._after = b',"logprobs":null,"finish_reason":null}]' + usage + b"}\n\n"
        return self._delta(b'{"role":"assistant","content":""}')

    def _delta(self, delta: bytes) -> bytes:
        if not self._has_begun:
            return self._open("", "", None) + self._delta(delta)
        return self._before + delta + self._after

    def _start_call(self, part: ReplyCallStarted) -> bytes:
        call = _Call(len(self._calls), is_custom=part.name in self._freeform)
        self._calls[part.index] = call
        if self._is_legacy:
            if call.number:
                self._losses.add("call_dropped", f"items[{part.index}]", f"{part.name!r} is a second call.")
                return b""
            return self._delta(dump({"function_call": {"name": part.name, "arguments": ""}}))
        entry: JsonObject = {"index": call.number, "id": part.call_id}
        if call.is_custom:
            entry.update({"type": "custom", "custom": {"name": part.name, "input": ""}})
        else:
            entry.update({"type": "function", "function": {"name": part.name, "arguments": ""}})
        return self._delta(dump({"tool_calls": [entry]}))

    def _arguments(self, part: CallDelta) -> bytes:
        call = self._calls.get(part.index)
        if call is None or call.is_custom:
            return b""  # the plain text of a custom call can be read only from its whole arguments
        call.is_written = True
        return self._call_text(call, part.text)

    def _call_text(self, call: _Call, text: str) -> bytes:
        if not self._is_legacy:
            return self._delta(b'{"tool_calls":[{"index":%d,"function":{"arguments":%b}}]}' % (call.number, dump(text)))
        return b"" if call.number else self._delta(b'{"function_call":{"arguments":%b}}' % dump(text))

    def _end_item(self, index: int, item: Item) -> bytes:
        if isinstance(item, CallItem):
            return self._end_call(index, item)
        if index in self._spoken:
            return b""
        written = b""
        if isinstance(item, ReasoningItem) and item.text:
            written = self._delta(b'{"reasoning_content":%b}' % dump(item.text))
        elif isinstance(item, Message):
            for part in item.parts:
                if isinstance(part, TextPart) and part.text:
                    written += self._delta(b'{"content":%b}' % dump(part.text))
                elif isinstance(part, RefusalPart) and part.text:
                    written += self._delta(b'{"refusal":%b}' % dump(part.text))
        return written

    def _end_call(self, index: int, item: CallItem) -> bytes:
        call = self._calls.get(index)
        written = b""
        if call is None:
            written = self._start_call(ReplyCallStarted(index=index, call_id=item.call.call_id, name=item.call.name))
            call = self._calls[index]
        if call.is_custom:
            entry: JsonObject = {"index": call.number, "custom": {"input": input_text(item.call.raw)}}
            written += self._delta(dump({"tool_calls": [entry]}))
        elif not call.is_written:
            call.is_written = True
            written += self._call_text(call, item.call.raw)
        extra = visible(own_members(item.private, DIALECT))
        signature = item.private.get("gemini", NOTHING).get("thoughtSignature")
        if isinstance(signature, str) and "extra_content" not in extra:
            extra["extra_content"] = {"google": {"thought_signature": signature}}
        if extra and not self._is_legacy:
            # OpenAI's own SDK breaks on a fragment of a function without `function`.
            inner: JsonObject = {"custom": {"input": ""}} if call.is_custom else {"function": {"arguments": ""}}
            written += self._delta(dump({"tool_calls": [{"index": call.number, **inner, **extra}]}))
        return written

    def _end(self, reply: Reply) -> bytes:
        self._is_over = True
        written = b"" if self._has_begun else self._open(reply.reply_id, reply.model, reply.created)
        if reply.finish.reason in _CUT:
            return written + self._error(_failure_of(reply.finish))
        if any(would_run_cut(item, reply.finish.reason) for item in reply.items):
            return written + self._error(_failure_of(Finish(reason=FinishReason.MALFORMED_CALL)))
        # The whole message is written once more, unsent, because it finds everything that has no place in it.
        message: JsonObject = {}
        writer = reply_writer(self._request, self._losses)
        for number, item in enumerate(reply.items):
            writer.add(message, item, f"items[{number}]")
        note_extras(reply.extras, DIALECT, self._losses)
        delta: JsonObject = {name: message[name] for name in ("annotations", "audio") if message.get(name)}
        finish = write_finish(reply.finish, message, self._losses)
        choice: JsonObject = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        choices = [{**choice, **visible(own_members(reply.finish.private, DIALECT))}]
        written += self._others(reply)
        extras = visible(own_members(reply.extras, DIALECT))
        extras.pop("object", None)
        written += write_event(dump({**self._header, **extras, "choices": choices}))  # type: ignore[dict-item]
        if self._has_usage and reply.usage is not None:
            written += write_event(dump({**self._header, "choices": [], "usage": write_usage(reply.usage)}))
        return written + _DONE

    def _others(self, reply: Reply) -> bytes:
        """Further answers, which come whole."""
        written = b""
        writer = reply_writer(self._request, self._losses)
        for number, answer in enumerate(reply.alternatives, start=1):
            try:
                choice = write_choice(answer, number, writer, self._losses)
            except NotExpressible as error:
                self._losses.add("finish_approximated", f"alternatives[{number - 1}]", error.message)
                continue
            delta = choice.pop("message")
            calls = delta.get("tool_calls") if isinstance(delta, dict) else None
            for place, call in enumerate(calls if isinstance(calls, list) else ()):
                if isinstance(call, dict):
                    call["index"] = place
            written += write_event(dump({**self._header, "choices": [{**choice, "delta": delta}]}))
        return written

    def _fail(self, failure: Failure) -> bytes:
        self._is_over = True
        return self._error(failure)

    def _error(self, failure: Failure) -> bytes:
        status, body = encode_error(failure)
        error = body["error"]
        if isinstance(error, dict):
            error["status_code"] = status
        return write_event(dump(body)) + _DONE


def _failure_of(finish: Finish) -> Failure:
    """How a reply that did not come to its end is told to a client that knows no such reason."""
    kind = _KIND_OF_END.get(finish.reason, FailureKind.BAD_RESPONSE)
    message = f"The reply ended with {finish.reason}: {finish.detail or finish.raw or 'cut off'}."
    return Failure(kind=kind, message=message, status=STATUS_OF[kind], detail=finish.detail)
