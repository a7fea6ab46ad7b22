"""Failures in the words of the client: the provider could not be reached, or said something that is no answer.

What a provider reports itself is read by its codec.
"""

from groundwire.contracts.errors import ProviderError, WireError
from groundwire.contracts.failures import Failure, FailureKind
from groundwire.providers.transport import TransportError

_MAX_BODY = 20_000


def unreachable(error: TransportError, provider: str) -> ProviderError:
    failure = Failure(kind=error.kind, message=f"{provider}: {error.message}", status=0)
    return ProviderError(failure, hint=f"provider {provider}")


def unreadable(error: WireError, data: bytes) -> Failure:
    return Failure(
        kind=FailureKind.BAD_RESPONSE,
        message=f"The provider's answer cannot be read: {error.message}",
        status=502,
        body=data[:_MAX_BODY].decode("utf-8", "replace"),
    )
