"""What a client of OpenAI Realtime says, as frames."""

from groundwire.codecs.openai_realtime.conversations import read_item
from groundwire.codecs.openai_realtime.naming import DIALECT, PCM
from groundwire.codecs.openai_realtime.setups import read_setup
from groundwire.codecs.wire.json import read_object
from groundwire.codecs.wire.live import read_bytes
from groundwire.codecs.wire.private import unknown_members
from groundwire.codecs.wire.reading import as_object, optional_int, optional_object, optional_text, required_text
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import WireError
from groundwire.contracts.frames import (
    ActivityEnded,
    AudioInput,
    ClientFrame,
    ItemTruncated,
    NativeFrame,
    ResponseCancelled,
    ResponseRequested,
    ToolResponses,
    UserContent,
)
from groundwire.contracts.messages import ResultItem

_TRUNCATED = frozenset({"item_id", "content_index", "audio_end_ms"})


def decode_client(message: bytes | str | JsonObject) -> tuple[ClientFrame, ...]:
    """One event by itself. Within a session, a decoder also knows the format of the audio that was agreed."""
    return ClientDecoder().feed(message)


class ClientDecoder:
    """Reads the events of one client. What is no JSON object, or has a member of a wrong type, is a WireError."""

    def __init__(self) -> None:
        self._format = PCM

    def feed(self, message: bytes | str | JsonObject) -> tuple[ClientFrame, ...]:
        event = read_object(message, what="event")
        return (self._read(event, required_text(event, "type")),)

    def _read(self, event: JsonObject, kind: str) -> ClientFrame:
        match kind:
            case "session.update":
                return self._read_setup(event)
            case "input_audio_buffer.append":
                return self._read_audio(event)
            case "input_audio_buffer.commit":
                return ActivityEnded(private={DIALECT: event})
            case "conversation.item.create":
                return _read_creation(event)
            case "conversation.item.truncate":
                return ItemTruncated(
                    item_id=required_text(event, "item_id"),
                    content_index=optional_int(event, "content_index") or 0,
                    audio_end_ms=optional_int(event, "audio_end_ms") or 0,
                    private={DIALECT: unknown_members(event, _TRUNCATED)},
                )
            case "response.create":
                return _read_request(event)
            case "response.cancel":
                response_id = optional_text(event, "response_id")
                rest = unknown_members(event, frozenset({"response_id"}))
                return ResponseCancelled(response_id=response_id, private={DIALECT: rest})
        return NativeFrame(origin=DIALECT, value=event)

    def _read_setup(self, event: JsonObject) -> ClientFrame:
        session = as_object(event.get("session"), "session")
        if session.get("type", "realtime") != "realtime":
            return NativeFrame(origin=DIALECT, value=event)
        setup = read_setup(session, "session")
        if setup.input_format is not None:
            self._format = setup.input_format
        setup.extras[DIALECT]["_event"] = unknown_members(event, frozenset({"session"}))
        return setup

    def _read_audio(self, event: JsonObject) -> ClientFrame:
        data = read_bytes(event.get("audio"))
        if data is None:
            return NativeFrame(origin=DIALECT, value=event)
        return AudioInput(
            data=data,
            media_type=self._format.media_type,
            rate=self._format.rate,
            private={DIALECT: unknown_members(event, frozenset({"audio"}))},
        )


def _read_creation(event: JsonObject) -> ClientFrame:
    """A result answers a call but asks for nothing: the client does that with an event of its own."""
    source = as_object(event.get("item"), "item")
    item = read_item(source, "item")
    if item is None:
        return NativeFrame(origin=DIALECT, value=event)
    private = {DIALECT: unknown_members(event, frozenset({"item"}))}
    if isinstance(item, ResultItem):
        if not isinstance(source.get("output"), str):
            raise WireError("expected a string", path="item.output")
        return ToolResponses(results=(item,), respond=False, private=private)
    return UserContent(items=(item,), private=private)


def _read_request(event: JsonObject) -> ResponseRequested:
    options = optional_object(event, "response")
    instructions = None if options is None else optional_text(options, "instructions", "response")
    private = dict(event)
    if options is not None and instructions is not None:
        private["response"] = unknown_members(options, frozenset({"instructions"}))
    return ResponseRequested(instructions=instructions, private={DIALECT: private})
