"""`/v1/gemini`: Gemini's own contents and tools, without translation, in conversations that the gateway keeps.

The body names the model and may say the contents as a string; the answer is a generateContent body, or a stream of them.
"""

from groundwire.codecs.wire.json import read_object
from groundwire.codecs.wire.reading import expected, optional_bool, required_text
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import WireError
from groundwire.contracts.keys import Caller
from groundwire.gateway.asking import PathWish
from groundwire.gateway.conversing import ConversationDoor, Wish, conversation_of
from groundwire.gateway.services import Services
from groundwire.providers.waiting import Stopwatch
from groundwire.serving.exchanges import Exchange

_OWN = frozenset({"model", "input", "conversation", "stream"})


class GeminiSessionDoor(ConversationDoor):
    def __init__(self, services: Services) -> None:
        super().__init__("gemini", services)

    async def _pass_on(
        self, exchange: Exchange, caller: Caller, body: bytes, asked: PathWish, watch: Stopwatch
    ) -> bool:
        """Never: this body is the gateway's own."""
        return False

    def _wish(self, body: bytes, asked: PathWish) -> Wish:
        source = read_object(body)
        conversation = conversation_of(source.get("conversation"))
        wire: JsonObject = {name: value for name, value in source.items() if name not in _OWN}
        if "contents" not in wire:
            wire["contents"] = _contents(source)
        stream = optional_bool(source, "stream") or False
        request = self._codec.decode_request(wire, model=required_text(source, "model"), stream=stream)
        return Wish(
            request=request,
            shown=request,
            conversation=conversation,
            is_kept=bool(conversation),
            clears_tools=source.get("tools") == [],
        )


def _contents(source: JsonObject) -> list[JsonValue]:
    given = source.get("input")
    if isinstance(given, str):
        return [{"role": "user", "parts": [{"text": given}]}]
    if isinstance(given, list):
        return given
    if given is None:
        raise WireError("is missing", path="input")
    raise expected("input", "a string or an array of contents", given)
