"""Frames: what the two sides of a live session (speech in, speech out) say to each other, in no provider's dialect.

A frame knows neither a socket nor a clock, and no audio beyond its bytes and what they are called. One message on the
wire may be several frames; what only its own API knows about a frame stands in `private`, as for items.
"""

from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct, field

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.failures import Failure
from groundwire.contracts.messages import CallItem, Item, Private, ResultItem, TextPart
from groundwire.contracts.replies import Finish, Usage
from groundwire.contracts.requests import DeclaredTool, Sampling, ToolChoice

LiveDialect: TypeAlias = Literal["gemini-live", "openai-realtime"]
LIVE_DIALECTS: tuple[LiveDialect, ...] = ("gemini-live", "openai-realtime")


class AudioFormat(Struct, frozen=True, kw_only=True):
    """What audio bytes are. `rate` is None where the wire does not say it."""

    media_type: str = "audio/pcm"
    rate: int | None = None
    private: Private = field(default_factory=dict)


class TurnDetection(Struct, frozen=True, kw_only=True):
    """Who decides that the user speaks: the server (`automatic`), or the client with activity frames.

    `interrupts`: speech of the user stops the model. `responds`: the end of it makes the model answer.
    """

    automatic: bool = True
    interrupts: bool | None = None
    responds: bool | None = None
    prefix_padding_ms: int | None = None
    silence_ms: int | None = None
    private: Private = field(default_factory=dict)


class Transcription(Struct, frozen=True, kw_only=True):
    """Speech is also wanted as text."""

    model: str | None = None
    language: str | None = None
    private: Private = field(default_factory=dict)


class Resumption(Struct, frozen=True, kw_only=True):
    """The session may be resumed later; with a handle, this one resumes an earlier one."""

    handle: str | None = None
    private: Private = field(default_factory=dict)


_DEFAULT_SAMPLING = Sampling()


class SessionSetup(Struct, frozen=True, kw_only=True, tag_field="kind", tag="session.setup"):
    """How the session is to be: its first frame, or later what changes. None and empty mean: not said."""

    kind: ClassVar[Literal["session.setup"]] = "session.setup"
    model: str = ""
    instructions: tuple[TextPart, ...] = ()
    tools: tuple[DeclaredTool, ...] = ()
    tool_choice: ToolChoice | None = None
    parallel_calls: bool | None = None
    modalities: tuple[str, ...] = ()
    voice: str | None = None
    input_format: AudioFormat | None = None
    output_format: AudioFormat | None = None
    turn_detection: TurnDetection | None = None
    input_transcription: Transcription | None = None
    output_transcription: Transcription | None = None
    resumption: Resumption | None = None
    sampling: Sampling = _DEFAULT_SAMPLING
    max_output_tokens: int | None = None
    extras: Private = field(default_factory=dict)


class UserContent(Struct, frozen=True, kw_only=True, tag_field="kind", tag="user.content"):
    """Entries for the conversation, of any speaker. `turn_complete`: the model is to answer now."""

    kind: ClassVar[Literal["user.content"]] = "user.content"
    items: tuple[Item, ...]
    turn_complete: bool = False
    private: Private = field(default_factory=dict)


class AudioInput(Struct, frozen=True, kw_only=True, tag_field="kind", tag="audio.input"):
    kind: ClassVar[Literal["audio.input"]] = "audio.input"
    data: bytes
    media_type: str = "audio/pcm"
    rate: int | None = None
    private: Private = field(default_factory=dict)


class VideoInput(Struct, frozen=True, kw_only=True, tag_field="kind", tag="video.input"):
    """One picture of what the user's camera sees."""

    kind: ClassVar[Literal["video.input"]] = "video.input"
    data: bytes
    media_type: str
    private: Private = field(default_factory=dict)


class TextInput(Struct, frozen=True, kw_only=True, tag_field="kind", tag="text.input"):
    """Text beside the audio, which the model takes up as it takes up speech."""

    kind: ClassVar[Literal["text.input"]] = "text.input"
    text: str
    private: Private = field(default_factory=dict)


class ActivityStarted(Struct, frozen=True, kw_only=True, tag_field="kind", tag="activity.started"):
    """The client says that the user begins to speak."""

    kind: ClassVar[Literal["activity.started"]] = "activity.started"
    private: Private = field(default_factory=dict)


class ActivityEnded(Struct, frozen=True, kw_only=True, tag_field="kind", tag="activity.ended"):
    """The client says that the user has spoken."""

    kind: ClassVar[Literal["activity.ended"]] = "activity.ended"
    private: Private = field(default_factory=dict)


class AudioStreamEnded(Struct, frozen=True, kw_only=True, tag_field="kind", tag="audio_stream.ended"):
    """The microphone was closed."""

    kind: ClassVar[Literal["audio_stream.ended"]] = "audio_stream.ended"
    private: Private = field(default_factory=dict)


class ToolResponses(Struct, frozen=True, kw_only=True, tag_field="kind", tag="tool.responses"):
    """Answers to calls. `scheduling` says when a model that kept talking takes them up; `silent`: only to know them.

    `respond`: the model is expected to go on because of these results. False where the client asks for that with a
    frame of its own. `will_continue`: more results of the same calls follow.
    """

    kind: ClassVar[Literal["tool.responses"]] = "tool.responses"
    results: tuple[ResultItem, ...]
    scheduling: Literal["interrupt", "when_idle", "silent"] | None = None
    will_continue: bool = False
    respond: bool = True
    private: Private = field(default_factory=dict)


class ResponseRequested(Struct, frozen=True, kw_only=True, tag_field="kind", tag="response.requested"):
    """The client wants the model to speak now."""

    kind: ClassVar[Literal["response.requested"]] = "response.requested"
    instructions: str | None = None
    private: Private = field(default_factory=dict)


class ResponseCancelled(Struct, frozen=True, kw_only=True, tag_field="kind", tag="response.cancelled"):
    """The client wants the model to be quiet now."""

    kind: ClassVar[Literal["response.cancelled"]] = "response.cancelled"
    response_id: str | None = None
    private: Private = field(default_factory=dict)


class ItemTruncated(Struct, frozen=True, kw_only=True, tag_field="kind", tag="item.truncated"):
    """The user heard only so much of an answer."""

    kind: ClassVar[Literal["item.truncated"]] = "item.truncated"
    item_id: str
    content_index: int = 0
    audio_end_ms: int = 0
    private: Private = field(default_factory=dict)


class SessionReady(Struct, frozen=True, kw_only=True, tag_field="kind", tag="session.ready"):
    """The server is there; `configured`: it has taken the client's setup."""

    kind: ClassVar[Literal["session.ready"]] = "session.ready"
    session_id: str = ""
    model: str = ""
    configured: bool = True
    private: Private = field(default_factory=dict)


class ResponseStarted(Struct, frozen=True, kw_only=True, tag_field="kind", tag="response.started"):
    """The model begins to answer, where the server says so."""

    kind: ClassVar[Literal["response.started"]] = "response.started"
    response_id: str = ""
    private: Private = field(default_factory=dict)


class AudioOutput(Struct, frozen=True, kw_only=True, tag_field="kind", tag="audio.output"):
    kind: ClassVar[Literal["audio.output"]] = "audio.output"
    data: bytes
    media_type: str = "audio/pcm"
    rate: int | None = None
    private: Private = field(default_factory=dict)


class TextOutput(Struct, frozen=True, kw_only=True, tag_field="kind", tag="text.output"):
    """Written text of the model, or (`thought`) what it tells of its thinking."""

    kind: ClassVar[Literal["text.output"]] = "text.output"
    text: str
    thought: bool = False
    private: Private = field(default_factory=dict)


class Transcript(Struct, frozen=True, kw_only=True, tag_field="kind", tag="transcript"):
    """More of what was said aloud, as text. Comes beside the audio, in no fixed order with it."""

    kind: ClassVar[Literal["transcript"]] = "transcript"
    speaker: Literal["user", "assistant"]
    text: str = ""
    finished: bool = False
    private: Private = field(default_factory=dict)


class ToolCalls(Struct, frozen=True, kw_only=True, tag_field="kind", tag="tool.calls"):
    """The model asks for tools. As everywhere, a call that is not complete must not run."""

    kind: ClassVar[Literal["tool.calls"]] = "tool.calls"
    calls: tuple[CallItem, ...]
    private: Private = field(default_factory=dict)


class ToolCallsCancelled(Struct, frozen=True, kw_only=True, tag_field="kind", tag="tool.calls_cancelled"):
    """These calls should not have run: stop them, and do not answer them."""

    kind: ClassVar[Literal["tool.calls_cancelled"]] = "tool.calls_cancelled"
    call_ids: tuple[str, ...]
    private: Private = field(default_factory=dict)


class Interrupted(Struct, frozen=True, kw_only=True, tag_field="kind", tag="interrupted"):
    """The user spoke into the answer: stop playing and forget what is queued. The end of the turn still comes."""

    kind: ClassVar[Literal["interrupted"]] = "interrupted"
    private: Private = field(default_factory=dict)


class GenerationCompleted(Struct, frozen=True, kw_only=True, tag_field="kind", tag="generation.completed"):
    """The model has made all of its answer; it may still be playing."""

    kind: ClassVar[Literal["generation.completed"]] = "generation.completed"
    private: Private = field(default_factory=dict)


class TurnEnded(Struct, frozen=True, kw_only=True, tag_field="kind", tag="turn.ended"):
    """The model waits for the other side. An answer to tool results may still be to come as a turn of its own."""

    kind: ClassVar[Literal["turn.ended"]] = "turn.ended"
    finish: Finish
    usage: Usage | None = None
    private: Private = field(default_factory=dict)


class UsageReported(Struct, frozen=True, kw_only=True, tag_field="kind", tag="usage.reported"):
    kind: ClassVar[Literal["usage.reported"]] = "usage.reported"
    usage: Usage
    private: Private = field(default_factory=dict)


class GoingAway(Struct, frozen=True, kw_only=True, tag_field="kind", tag="going.away"):
    """The connection will be closed by the server."""

    kind: ClassVar[Literal["going.away"]] = "going.away"
    seconds_left: float | None = None
    private: Private = field(default_factory=dict)


class ResumptionUpdated(Struct, frozen=True, kw_only=True, tag_field="kind", tag="resumption.updated"):
    """The newest handle; only a resumable one is worth keeping."""

    kind: ClassVar[Literal["resumption.updated"]] = "resumption.updated"
    handle: str = ""
    resumable: bool = False
    private: Private = field(default_factory=dict)


class SpeechStarted(Struct, frozen=True, kw_only=True, tag_field="kind", tag="speech.started"):
    """The server hears the user. `offset_ms` counts from the beginning of the audio."""

    kind: ClassVar[Literal["speech.started"]] = "speech.started"
    offset_ms: int | None = None
    private: Private = field(default_factory=dict)


class SpeechStopped(Struct, frozen=True, kw_only=True, tag_field="kind", tag="speech.stopped"):
    kind: ClassVar[Literal["speech.stopped"]] = "speech.stopped"
    offset_ms: int | None = None
    private: Private = field(default_factory=dict)


class LiveFailed(Struct, frozen=True, kw_only=True, tag_field="kind", tag="live.failed"):
    """Something went wrong; the session goes on unless the connection is closed."""

    kind: ClassVar[Literal["live.failed"]] = "live.failed"
    failure: Failure
    private: Private = field(default_factory=dict)


class NativeFrame(Struct, frozen=True, kw_only=True, tag_field="kind", tag="native_frame"):
    """A message, or a piece of one, that only its own API knows: to be passed on as it is, or left alone."""

    kind: ClassVar[Literal["native_frame"]] = "native_frame"
    origin: str
    value: JsonObject
    private: Private = field(default_factory=dict)


ClientFrame: TypeAlias = (
    SessionSetup
    | UserContent
    | AudioInput
    | VideoInput
    | TextInput
    | ActivityStarted
    | ActivityEnded
    | AudioStreamEnded
    | ToolResponses
    | ResponseRequested
    | ResponseCancelled
    | ItemTruncated
    | NativeFrame
)

ServerFrame: TypeAlias = (
    SessionReady
    | ResponseStarted
    | AudioOutput
    | TextOutput
    | Transcript
    | ToolCalls
    | ToolCallsCancelled
    | Interrupted
    | GenerationCompleted
    | TurnEnded
    | UsageReported
    | GoingAway
    | ResumptionUpdated
    | SpeechStarted
    | SpeechStopped
    | LiveFailed
    | NativeFrame
)

Frame: TypeAlias = ClientFrame | ServerFrame
