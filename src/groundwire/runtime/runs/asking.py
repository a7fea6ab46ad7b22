"""Asking the model once: whole or in pieces, with one `Reply` in the end, or the provider's failure."""

from groundwire.contracts.errors import ProviderError
from groundwire.contracts.events import TextDelta
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.ports import Provider
from groundwire.contracts.replies import Reply, ReplyEnded, ReplyFailed
from groundwire.contracts.replies import TextDelta as ReplyText
from groundwire.contracts.requests import ModelRequest, SendOptions
from groundwire.runtime.turns import Turn


async def ask(
    provider: Provider, request: ModelRequest, options: SendOptions, turn: Turn, step: int
) -> Reply | Failure:
    """If the request is for a stream, the turn's follower hears the words as they come."""
    try:
        if not request.stream:
            return await provider.complete(request, options)
        async for part in provider.stream(request, options):
            if type(part) is ReplyText:
                turn.emit(TextDelta(text=part.text, step=step))
            elif type(part) is ReplyEnded:
                return part.reply
            elif type(part) is ReplyFailed:
                return part.failure
    except ProviderError as error:
        return error.failure
    return Failure(kind=FailureKind.BAD_RESPONSE, message="The model's stream ended without an answer.")
