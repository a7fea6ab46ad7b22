"""Gemini Live for a scripted model: one session on one websocket, in plain JSON.

The history is kept as generateContent would be sent it, so that the script reads its place from it as always. Speech is
played, not understood: bytes of audio that happen to be UTF-8 text are taken for what was said.
"""

import asyncio
import base64
import contextlib
from collections.abc import Iterator
from typing import Any

from groundwire.codecs import gemini
from groundwire.codecs.wire.json import dump, dump_text, read_object, read_value
from groundwire.codecs.wire.results import object_arguments
from groundwire.contracts.errors import WireError
from groundwire.contracts.messages import Message, ReasoningItem
from groundwire.contracts.ports import Clock
from groundwire.contracts.replies import Reply
from groundwire.providers.composing import to_reply
from groundwire.providers.scripted import ScriptedModel
from groundwire.providers.scripts import Answer
from groundwire.simulator.http import Request, Upgrade
from groundwire.simulator.live_rules import LiveRefused, check_message, check_responses, check_setup
from groundwire.simulator.refusals import objects, text_of
from groundwire.simulator.rules_gemini import members
from groundwire.simulator.signatures import seal, unseal
from groundwire.simulator.websocket import WebSocket

_SAMPLE = b"\x00\x01\x00\xff" * 120
"""Ten milliseconds of a faint tone, at 24 kHz and 16 bits: what each letter sounds like."""
_MIME = "audio/pcm;rate=24000"
_CANCELLED = {"error": "The call was cancelled."}


def serve_live(request: Request, model: ScriptedModel, *, clock: Clock, piece: int, pause: float) -> Upgrade:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        socket = WebSocket(reader, writer)
        if await socket.accept(request):
            await LiveSession(socket, model, clock=clock, piece=piece, pause=pause).run()

    return serve


class LiveSession:
    """Reads what the client sends while an answer may be under way, because the client may interrupt it."""

    def __init__(self, socket: WebSocket, model: ScriptedModel, *, clock: Clock, piece: int, pause: float) -> None:
        self._socket = socket
        self._model = model
        self._clock = clock
        self._piece = max(1, piece)
        self._pause = pause
        self._setup: dict[str, Any] = {}
        self._contents: list[Any] = []
        self._pending: dict[str, str] = {}
        self._responses: dict[str, Any] = {}
        self._is_silent = True
        self._issued: set[str] = set()
        self._heard = b""
        self._said = ""
        self._answering: asyncio.Task[None] | None = None
        self._leaving: asyncio.Task[None] | None = None

    async def run(self) -> None:
        try:
            await self._begin()
            while (data := await self._socket.receive()) is not None:
                await self._take(_read(data))
        except LiveRefused as refused:
            await self._socket.close(refused.code, refused.reason)
            while await self._socket.receive() is not None:  # what was already on its way
                pass
        finally:
            for task in (self._answering, self._leaving):
                await _stop(task)

    async def _begin(self) -> None:
        data = await self._socket.receive()
        if data is None:
            return
        self._setup = check_setup(_read(data))
        resumption = self._setup.get("sessionResumption")
        handle = text_of(members(resumption).get("handle"))
        if handle:
            kept = unseal(handle, self._model_name)
            if kept is None:
                raise LiveRefused("The session resumption handle is not valid.")
            contents = read_value(kept)
            self._contents = contents if isinstance(contents, list) else []
        await self._send({"setupComplete": {}})

    @property
    def _model_name(self) -> str:
        return text_of(self._setup.get("model")).rsplit("/", 1)[-1]

    async def _take(self, message: dict[str, Any]) -> None:
        kind, content = check_message(message)
        if kind == "clientContent":
            await self._interrupt()
            self._contents.extend(objects(content.get("turns")))
            if content.get("turnComplete", False):
                self._answer()
        elif kind == "realtimeInput":
            await self._hear(content)
        elif kind == "toolResponse":
            await self._respond(content)
        elif kind == "contextUpdate":
            self._setup.update({key: content[key] for key in ("systemInstruction", "tools") if key in content})

    # What the user says

    async def _hear(self, content: dict[str, Any]) -> None:
        detection = members(members(self._setup.get("realtimeInputConfig")).get("automaticActivityDetection"))
        is_manual = detection.get("disabled") is True
        if ("activityStart" in content or "activityEnd" in content) and not is_manual:
            raise LiveRefused("Explicit activity signals need automatic activity detection to be disabled.")
        if "activityStart" in content:
            await self._interrupt()
        for chunk in (content.get("audio"), *objects(content.get("mediaChunks"))):
            with contextlib.suppress(ValueError):
                self._heard += base64.b64decode(text_of(members(chunk).get("data")))
        if text_of(content.get("text")):
            await self._hear_text(content["text"])
        if ("activityEnd" in content or content.get("audioStreamEnd") is True) and self._heard:
            heard, self._heard = _words(self._heard), b""
            if "inputAudioTranscription" in self._setup:
                await self._send({"serverContent": {"inputTranscription": {"text": heard}}})
            await self._hear_text(heard)

    async def _hear_text(self, text: str) -> None:
        await self._interrupt()
        self._contents.append({"role": "user", "parts": [{"text": text}]})
        self._answer()

    async def _interrupt(self) -> None:
        """Whatever is under way ends here: speech is cut off, calls that wait for their results are withdrawn."""
        is_speaking = self._answering is not None and not self._answering.done()
        await _stop(self._answering)
        if self._pending:
            await self._send({"toolCallCancellation": {"ids": list(self._pending)}})
            self._responses.update(
                {call_id: _response(call_id, name, _CANCELLED) for call_id, name in self._pending.items()}
            )
            self._close_calls()
        elif is_speaking:
            self._contents.append({"role": "model", "parts": [{"text": self._said}]})
        else:
            return
        await self._send({"serverContent": {"interrupted": True}})
        await self._send({"serverContent": {"turnComplete": True}})

    async def _respond(self, content: dict[str, Any]) -> None:
        responses = check_responses(content, self._issued)
        for response in responses:
            call_id = text_of(response.get("id"))
            if call_id not in self._pending or response.get("willContinue") is True:
                continue  # cancelled in the meantime, or not the last word
            self._is_silent = self._is_silent and response.get("scheduling") == "SILENT"
            name = self._pending.pop(call_id)
            self._responses[call_id] = _response(call_id, name, response.get("response") or {})
        if not self._pending and self._responses:
            is_silent = self._is_silent
            self._close_calls()
            if not is_silent:
                self._answer()

    def _close_calls(self) -> None:
        """All calls of the last step have a result now: in the order of the calls, as a content of their own."""
        last = self._contents[-1]["parts"]
        order = [part["functionCall"]["id"] for part in last if "functionCall" in part]
        parts = [self._responses[call_id] for call_id in order]
        self._contents.append({"role": "user", "parts": parts})
        self._pending, self._responses, self._is_silent = {}, {}, True

    # What the model says

    def _answer(self) -> None:
        self._said = ""
        self._answering = asyncio.ensure_future(self._speak())

    async def _speak(self) -> None:
        body = {"contents": self._contents, "tools": self._setup.get("tools") or []}
        if self._setup.get("systemInstruction"):
            body["systemInstruction"] = self._setup["systemInstruction"]
        try:
            request = gemini.decode_request(body, model=self._model_name)
            answer = self._model.answer(request)
        except WireError as error:
            await self._socket.close(1007, str(error))
            return
        except Exception as error:  # noqa: BLE001 - a script's own code may raise anything; the client gets to see it
            await self._socket.close(1011, f"The simulator failed: {type(error).__name__}: {error}")
            return
        if answer.failure is not None:
            await self._socket.close(1011, answer.failure.message)
            return
        if answer.go_away is not None:
            await self._send({"goAway": {"timeLeft": f"{answer.go_away:g}s"}})
            self._leaving = asyncio.ensure_future(self._leave(answer.go_away))
        await self._say(answer, to_reply(answer, request))

    async def _leave(self, seconds: float) -> None:
        await self._clock.sleep(seconds)
        await self._socket.close(1000, "The connection's time is over.")

    async def _say(self, answer: Answer, reply: Reply) -> None:
        for item in reply.items:
            if isinstance(item, ReasoningItem):
                await self._send({"serverContent": {"modelTurn": {"parts": [{"text": item.text, "thought": True}]}}})
            elif isinstance(item, Message):
                await self._say_text(item.text or answer.refusal)
        calls = self._calls(answer, reply)
        parts: list[Any] = [{"text": self._said}] if self._said or not calls else []
        self._contents.append({"role": "model", "parts": [*parts, *({"functionCall": call} for call in calls)]})
        if calls:
            self._pending = {call["id"]: call["name"] for call in calls}
            self._issued.update(self._pending)
            await self._send({"toolCall": {"functionCalls": calls}})
            await self._update()
            return
        await self._send({"serverContent": {"generationComplete": True}})
        await self._send({"serverContent": {"turnComplete": True}, "usageMetadata": _usage(reply)})
        await self._update()

    def _calls(self, answer: Answer, reply: Reply) -> list[dict[str, Any]]:
        calls: list[dict[str, Any]] = []
        for ask, item in zip(answer.calls, reply.calls, strict=True):
            arguments = item.call.arguments if item.call.arguments is not None else object_arguments(item.call.raw)
            made_id = f"function-call-{len(self._issued) + len(calls) + 1}"
            calls.append({"id": ask.call_id or made_id, "name": ask.name, "args": arguments or {}})
        return calls

    async def _say_text(self, text: str) -> None:
        generation = members(self._setup.get("generationConfig"))
        modalities = generation.get("responseModalities")
        is_text = isinstance(modalities, list) and "TEXT" in modalities
        for place, piece in enumerate(_pieces(text, self._piece)):
            if place and self._pause:
                await self._clock.sleep(self._pause)
            self._said += piece
            if is_text:
                await self._send({"serverContent": {"modelTurn": {"parts": [{"text": piece}]}}})
                continue
            if "outputAudioTranscription" in self._setup:
                await self._send({"serverContent": {"outputTranscription": {"text": piece}}})
            sound = {"mimeType": _MIME, "data": base64.b64encode(_SAMPLE * len(piece)).decode()}
            await self._send({"serverContent": {"modelTurn": {"parts": [{"inlineData": sound}]}}})

    async def _update(self) -> None:
        """A handle for going on elsewhere, which holds the whole history; none while calls are open."""
        if "sessionResumption" not in self._setup:
            return
        if self._pending:
            await self._send({"sessionResumptionUpdate": {"resumable": False}})
            return
        handle = seal(self._model_name, dump_text(self._contents))
        await self._send({"sessionResumptionUpdate": {"newHandle": handle, "resumable": True}})

    async def _send(self, message: dict[str, Any]) -> None:
        await self._socket.send(dump(message))


def _read(data: bytes) -> dict[str, Any]:
    try:
        return read_object(data)
    except WireError as error:
        raise LiveRefused(f"Invalid JSON payload received. {error.message}") from None


def _response(call_id: str, name: str, response: dict[str, Any]) -> dict[str, Any]:
    return {"functionResponse": {"id": call_id, "name": name, "response": response}}


def _words(audio: bytes) -> str:
    try:
        text = audio.decode()
    except UnicodeDecodeError:
        text = ""
    return text if text.isprintable() and text else f"(audio, {len(audio)} bytes)"


def _pieces(text: str, size: int) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]


def _usage(reply: Reply) -> dict[str, Any]:
    usage = reply.usage
    if usage is None:
        return {}
    counted = {"promptTokenCount": usage.input, "responseTokenCount": usage.output, "totalTokenCount": usage.total}
    return dict(counted)


async def _stop(task: asyncio.Task[None] | None) -> None:
    if task is not None and not task.done():
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
