"""Frames as the events of an OpenAI Realtime server.

Frames that came from such a server are written as they came. For frames of another API the encoder makes the whole
lifecycle of responses and items, with ids that count up; a caller that serves several sessions gives each a prefix.
"""

from collections.abc import Iterable

from groundwire.codecs.openai_realtime.failures import write_error
from groundwire.codecs.openai_realtime.lifecycles import Lifecycle
from groundwire.codecs.openai_realtime.naming import DIALECT, NAME_RULE, PCM, RATES
from groundwire.codecs.openai_realtime.usages import status_of, write_usage
from groundwire.codecs.wire.live import note_left_out
from groundwire.codecs.wire.live_encoding import LiveEncoder
from groundwire.codecs.wire.media import encode_base64
from groundwire.codecs.wire.private import own_members, visible
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import NotExpressible
from groundwire.contracts.frames import (
    AudioFormat,
    AudioOutput,
    GenerationCompleted,
    GoingAway,
    Interrupted,
    LiveFailed,
    NativeFrame,
    ResponseStarted,
    ResumptionUpdated,
    ServerFrame,
    SessionReady,
    SpeechStarted,
    SpeechStopped,
    TextOutput,
    ToolCalls,
    ToolCallsCancelled,
    Transcript,
    TurnEnded,
    UsageReported,
)
from groundwire.contracts.replies import Finish, FinishReason, Usage

_GOOD_ENDS = (FinishReason.END, FinishReason.TOOL_CALLS, FinishReason.CANCELLED)


def encode_server(frames: Iterable[ServerFrame], *, losses: Losses | None = None) -> list[JsonObject]:
    return ServerEncoder(losses=losses).feed(*frames)


class ServerEncoder(LiveEncoder):
    """Writes the events of one session. `audio` is the output format that was agreed with its client."""

    def __init__(self, *, prefix: str = "", audio: AudioFormat = PCM, losses: Losses | None = None) -> None:
        super().__init__(DIALECT, NAME_RULE, losses)
        self._audio = audio
        self._life = Lifecycle(prefix)
        self._usage: Usage | None = None
        self._is_over = False

    def feed(self, *frames: ServerFrame) -> list[JsonObject]:
        events: list[JsonObject] = []
        for frame in frames:
            if isinstance(frame, NativeFrame):
                events.extend(self._write_native(frame))
            elif DIALECT in frame.private:
                events.extend(self._write_own(frame))
            else:
                note_left_out(frame.private, DIALECT, frame.kind, self._losses)
                self._write(frame)
                events.extend(self._life.take())
        return events

    def _write_own(self, frame: ServerFrame) -> list[JsonObject]:
        """An event of this API, with what may have been changed in its frame."""
        if own_members(frame.private, DIALECT).get("_told"):
            return []
        event = visible(own_members(frame.private, DIALECT))
        if isinstance(frame, AudioOutput):
            event["delta"] = encode_base64(frame.data)
        elif isinstance(frame, TextOutput) or (isinstance(frame, Transcript) and not frame.finished):
            event["delta"] = frame.text
        elif isinstance(frame, TurnEnded) and frame.usage is not None:
            response = event.get("response")
            rest = response if isinstance(response, dict) else {}
            event["response"] = {**rest, "usage": write_usage(frame.usage, self._losses)}
        return [event]

    def _write(self, frame: ServerFrame) -> None:
        match frame:
            case AudioOutput():
                self._check_audio(frame)
                self._is_over = False
                self._life.speak(encode_base64(frame.data))
            case TextOutput(thought=True):
                self._losses.add("reasoning_dropped", frame.kind, "A Realtime response does not tell thoughts.")
            case TextOutput():
                self._is_over = False
                self._life.write(frame.text)
            case Transcript():
                self._write_words(frame)
            case ToolCalls():
                self._write_calls(frame)
            case TurnEnded():
                self._write_end(frame)
            case Interrupted():
                self._life.cancel(self._take_usage(None))
                self._is_over = True
            case UsageReported():
                self._usage = frame.usage
            case ResponseStarted():
                self._life.begin()
            case GenerationCompleted():  # the end of the response says it
                pass
            case _:
                self._write_notice(frame)

    def _write_notice(self, frame: ServerFrame) -> None:
        match frame:
            case SessionReady():
                session: JsonObject = {"type": "realtime", "object": "realtime.session"}
                session |= {name: value for name, value in (("id", frame.session_id), ("model", frame.model)) if value}
                self._life.event("session.updated" if frame.configured else "session.created", session=session)
            case SpeechStarted():
                self._life.hear(started_ms=frame.offset_ms or 0)
            case SpeechStopped():
                self._life.hear(stopped_ms=frame.offset_ms or 0)
            case LiveFailed():
                self._life.event("error", error=write_error(frame.failure))
            case ToolCallsCancelled():
                self._losses.add("frame_dropped", frame.kind, "Realtime cannot withdraw calls.")
            case GoingAway() | ResumptionUpdated():
                self._losses.add(
                    "frame_dropped", frame.kind, "Realtime sessions are neither announced to end nor resumed."
                )
            case _:
                self._losses.add("frame_dropped", frame.kind, "Realtime has no such event.")

    def _check_audio(self, frame: AudioOutput) -> None:
        agreed = self._audio.media_type, self._audio.rate or RATES.get(self._audio.media_type)
        given = frame.media_type, frame.rate or RATES.get(frame.media_type)
        if given != agreed:
            raise NotExpressible(
                f"The client expects {agreed[0]} of {agreed[1]} Hz, not {given[0]} of {given[1]} Hz.",
                path=frame.kind,
                hint="Resample the audio before it is encoded.",
            )

    def _write_words(self, frame: Transcript) -> None:
        if frame.speaker == "user":
            self._life.understand(frame.text, finished=frame.finished)
        elif frame.text:
            self._is_over = False
            self._life.caption(frame.text)

    def _write_calls(self, frame: ToolCalls) -> None:
        """A response that calls tools ends with its calls; the answer to their results is another one."""
        for place, item in enumerate(frame.calls):
            here = f"calls[{place}]"
            if not item.complete:
                self._losses.add("frame_dropped", here, "A call that was cut is not passed on: it must not run.")
                continue
            note_left_out(item.private, DIALECT, here, self._losses)
            self._life.call(item.call.call_id, self._table.wire(item.call.name, here), item.call.raw)
        self._life.end("completed", None, self._take_usage(None))
        self._is_over = True

    def _write_end(self, frame: TurnEnded) -> None:
        """After calls or an interruption the response is over already, and the end of the turn adds nothing."""
        self._life.understand("", finished=True)
        if self._is_over and not self._life.is_open and frame.finish.reason in _GOOD_ENDS:
            if frame.usage is not None:
                self._losses.add("usage_dropped", frame.kind, "The response that it belongs to has ended before.")
            return
        self._is_over = False
        self._life.begin()
        status, details = status_of(_named(frame.finish))
        self._life.end(status, details, self._take_usage(frame.usage))

    def _take_usage(self, usage: Usage | None) -> JsonObject | None:
        found = usage or self._usage
        self._usage = None
        return None if found is None else write_usage(found, self._losses)


def _named(finish: Finish) -> Finish:
    """Without another API's words, which mean nothing here."""
    return Finish(reason=finish.reason, raw=finish.raw)
