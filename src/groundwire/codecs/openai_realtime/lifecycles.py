"""The events around an answer of a Realtime server, in their order: response, item, content, and back out again.

Knows nothing of frames; it is told what is spoken, written, called or heard. Event and item ids count up.
"""

from groundwire.contracts.canonical import JsonObject, JsonValue


class _Message:
    """The message that is being spoken or written."""

    __slots__ = ("index", "is_spoken", "item_id", "texts")

    def __init__(self, item_id: str, index: int, *, is_spoken: bool) -> None:
        self.item_id = item_id
        self.index = index
        self.is_spoken = is_spoken
        self.texts: list[str] = []


class Lifecycle:
    """Begins what has to be begun and ends what has to be ended; the events wait in `take`."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._counts: dict[str, int] = {}
        self._events: list[JsonObject] = []
        self._response_id = ""
        self._output: list[JsonValue] = []
        self._message: _Message | None = None
        self._last_item: str | None = None
        self._heard_item = ""
        self._heard: list[str] = []

    @property
    def is_open(self) -> bool:
        return bool(self._response_id)

    def take(self) -> list[JsonObject]:
        events, self._events = self._events, []
        return events

    def event(self, kind: str, **members: JsonValue) -> None:
        self._events.append({"type": kind, "event_id": self._next("event"), **members})

    def begin(self) -> None:
        """A response begins, unless one is under way."""
        if not self._response_id:
            self._response_id = self._next("resp")
            self._output = []
            self.event("response.created", response=self._response("in_progress", None, None))

    def speak(self, audio: str) -> None:
        message = self._open(is_spoken=True)
        self.event("response.output_audio.delta", **self._where(message), delta=audio)

    def caption(self, text: str) -> None:
        """More words of what is spoken."""
        message = self._open(is_spoken=True)
        message.texts.append(text)
        self.event("response.output_audio_transcript.delta", **self._where(message), delta=text)

    def write(self, text: str) -> None:
        message = self._open(is_spoken=False)
        message.texts.append(text)
        self.event("response.output_text.delta", **self._where(message), delta=text)

    def call(self, call_id: str, name: str, arguments: str) -> None:
        self.begin()
        self._close("completed")
        item: JsonObject = {"id": self._next("item"), "object": "realtime.item", "type": "function_call"}
        item |= {"status": "in_progress", "call_id": call_id, "name": name, "arguments": ""}
        index = len(self._output)
        self._add(item, index)
        where: JsonObject = {
            "response_id": self._response_id,
            "item_id": item["id"],
            "output_index": index,
            "call_id": call_id,
        }
        self.event("response.function_call_arguments.delta", **where, delta=arguments)
        self.event("response.function_call_arguments.done", **where, name=name, arguments=arguments)
        self._finish({**item, "status": "completed", "arguments": arguments}, index)

    def cancel(self, usage: JsonObject | None) -> None:
        """The user spoke into the response that is under way."""
        if self._response_id:
            self.end("cancelled", {"type": "cancelled", "reason": "turn_detected"}, usage)

    def end(self, status: str, details: JsonValue, usage: JsonObject | None) -> None:
        if self._response_id:
            self._close("completed" if status == "completed" else "incomplete")
            self.event("response.done", response=self._response(status, details, usage))
            self._response_id = ""

    def hear(self, *, started_ms: int | None = None, stopped_ms: int | None = None) -> None:
        if started_ms is not None:
            self._heard_item = self._next("item")
            self.event("input_audio_buffer.speech_started", audio_start_ms=started_ms, item_id=self._heard_item)
        elif stopped_ms is not None:
            self.event("input_audio_buffer.speech_stopped", audio_end_ms=stopped_ms, item_id=self._user_item())

    def understand(self, text: str, *, finished: bool) -> None:
        """More words of the user; at their end all of them again."""
        kind = "conversation.item.input_audio_transcription"
        if text:
            self._heard.append(text)
            self.event(f"{kind}.delta", item_id=self._user_item(), content_index=0, delta=text)
        if finished and self._heard:
            usage: JsonObject = {"type": "duration", "seconds": 0}
            transcript = "".join(self._heard)
            item = self._user_item()
            self.event(f"{kind}.completed", item_id=item, content_index=0, transcript=transcript, usage=usage)
            self._heard, self._heard_item = [], ""

    def _user_item(self) -> str:
        self._heard_item = self._heard_item or self._next("item")
        return self._heard_item

    def _next(self, kind: str) -> str:
        self._counts[kind] = self._counts.get(kind, 0) + 1
        return f"{kind}_{self._prefix}{self._counts[kind]}"

    def _response(self, status: str, details: JsonValue, usage: JsonObject | None) -> JsonObject:
        return {
            "object": "realtime.response",
            "id": self._response_id,
            "status": status,
            "status_details": details,
            "output": list(self._output),
            "usage": usage,
        }

    def _where(self, message: _Message) -> JsonObject:
        return {
            "response_id": self._response_id,
            "item_id": message.item_id,
            "output_index": message.index,
            "content_index": 0,
        }

    def _open(self, *, is_spoken: bool) -> _Message:
        self.begin()
        if self._message is not None and self._message.is_spoken == is_spoken:
            return self._message
        self._close("completed")
        message = self._message = _Message(self._next("item"), len(self._output), is_spoken=is_spoken)
        self._add(_message_item(message, "in_progress", []), message.index)
        part: JsonObject = {"type": "audio", "transcript": ""} if is_spoken else {"type": "text", "text": ""}
        self.event("response.content_part.added", **self._where(message), part=part)
        return message

    def _close(self, status: str) -> None:
        message, self._message = self._message, None
        if message is None:
            return
        text, where = "".join(message.texts), self._where(message)
        content: JsonObject
        if message.is_spoken:
            self.event("response.output_audio.done", **where)
            self.event("response.output_audio_transcript.done", **where, transcript=text)
            part: JsonObject = {"type": "audio", "transcript": text}
            content = {"type": "output_audio", "transcript": text}
        else:
            self.event("response.output_text.done", **where, text=text)
            part = {"type": "text", "text": text}
            content = {"type": "output_text", "text": text}
        self.event("response.content_part.done", **where, part=part)
        self._finish(_message_item(message, status, [content]), message.index)

    def _add(self, item: JsonObject, index: int) -> None:
        self.event("response.output_item.added", response_id=self._response_id, output_index=index, item=item)
        self.event("conversation.item.added", previous_item_id=self._last_item, item=item)

    def _finish(self, item: JsonObject, index: int) -> None:
        self._output.append(item)
        self.event("conversation.item.done", previous_item_id=self._last_item, item=item)
        self.event("response.output_item.done", response_id=self._response_id, output_index=index, item=item)
        self._last_item = str(item["id"])


def _message_item(message: _Message, status: str, content: list[JsonValue]) -> JsonObject:
    return {
        "id": message.item_id,
        "object": "realtime.item",
        "type": "message",
        "status": status,
        "role": "assistant",
        "content": content,
    }
