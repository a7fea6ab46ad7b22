"""Failures in the words of the client: the provider could not be asked or reached, or said something that is no answer.

What a provider reports itself is read by its codec.
"""

from collections.abc import AsyncGenerator

from groundwire.contracts.errors import ConfigError, ProviderError, WireError
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.contracts.redaction import redact
from groundwire.contracts.replies import Reply, ReplyPart
from groundwire.contracts.requests import ModelRequest, SendOptions
from groundwire.providers.transport import TransportError

_MAX_BODY = 20_000
_NO_OPTIONS = SendOptions()


class UnusableProvider:
    """One that cannot be asked, and says why only when somebody does: others can still be used."""

    def __init__(self, error: ConfigError) -> None:
        self._error = error

    async def complete(self, request: ModelRequest, options: SendOptions = _NO_OPTIONS) -> Reply:
        raise self._error

    def stream(self, request: ModelRequest, options: SendOptions = _NO_OPTIONS) -> AsyncGenerator[ReplyPart]:
        raise self._error

    async def close(self) -> None:
        pass


def unreachable(error: TransportError, provider: str) -> ProviderError:
    failure = Failure(kind=error.kind, message=f"{provider}: {redact(error.message)}", status=0)
    return ProviderError(failure, hint=f"provider {provider}")


def unreadable(error: WireError, data: bytes) -> Failure:
    return Failure(
        kind=FailureKind.BAD_RESPONSE,
        message=f"The provider's answer cannot be read: {error.message}",
        status=502,
        body=data[:_MAX_BODY].decode("utf-8", "replace"),
    )
