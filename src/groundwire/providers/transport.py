"""HTTP to providers as a seam, so that the client can be exchanged; `sockets` is the one in use.

Knows bytes and timeouts; nothing of models, dialects or retries. Every way in which a connection can fail comes out as
a TransportError with the kind of failure.
"""

from collections.abc import Mapping
from typing import Annotated, Protocol, TypeAlias

from msgspec import Meta, Struct, field

from groundwire.contracts.failures import FailureKind

Seconds: TypeAlias = Annotated[float, Meta(ge=0, le=86_400)]


class HttpRequest(Struct, frozen=True, kw_only=True):
    url: str
    method: str = "POST"
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    timeout: float = 0.0
    """Seconds for everything, body included; 0 for as long as the pieces keep coming."""


class Timeouts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Seconds; 0 switches a limit off. `read` is the silence that is borne between two pieces of a body."""

    total: Seconds = 120.0
    connect: Seconds = 10.0
    read: Seconds | None = None


LATE = "The answer did not come in time."
BROKEN = "The connection broke before the answer was complete."


class TransportError(Exception):
    """The request did not get an answer, or not all of it."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class HttpResponse(Protocol):
    status: int

    @property
    def headers(self) -> Mapping[str, str]: ...

    async def read(self) -> bytes: ...

    async def piece(self) -> bytes:
        """What has come of the body since, as soon as there is anything; empty at its end."""
        ...

    async def close(self) -> None: ...


class Transport(Protocol):
    async def send(self, request: HttpRequest) -> HttpResponse:
        """The status and the headers are there; the body is still to be read."""
        ...

    async def close(self) -> None: ...
