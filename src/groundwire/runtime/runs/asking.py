"""Asking the model once: whole or in pieces, with one `Reply` in the end, or the provider's failure."""

from collections.abc import AsyncIterator

from groundwire.contracts.errors import ProviderError
from groundwire.contracts.events import Event, TextDelta
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.ports import Provider
from groundwire.contracts.replies import Reply, ReplyEnded, ReplyFailed
from groundwire.contracts.replies import TextDelta as ReplyText
from groundwire.contracts.requests import ModelRequest, SendOptions


class Asked:
    """One request; afterwards exactly one of `reply` and `failure` is set."""

    __slots__ = ("began", "failure", "fingerprint", "reply")

    def __init__(self) -> None:
        self.fingerprint = ""
        self.began = 0.0
        self.reply: Reply | None = None
        self.failure: Failure | None = None

    async def ask(
        self, provider: Provider, request: ModelRequest, options: SendOptions, step: int
    ) -> AsyncIterator[Event]:
        """Gives the words as they come if the request is for a stream."""
        try:
            if not request.stream:
                self.reply = await provider.complete(request, options)
                return
            async for part in provider.stream(request, options):
                if type(part) is ReplyText:
                    yield TextDelta(text=part.text, step=step)
                elif type(part) is ReplyEnded:
                    self.reply = part.reply
                elif type(part) is ReplyFailed:
                    self.failure = part.failure
        except ProviderError as error:
            self.failure = error.failure
        if self.reply is None and self.failure is None:
            self.failure = Failure(kind=FailureKind.BAD_RESPONSE, message="The model's stream ended without an answer.")
