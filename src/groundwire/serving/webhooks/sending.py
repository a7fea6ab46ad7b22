"""One attempt to deliver a webhook over HTTP: signed, to an address that was checked, within a bound of time and size.

Whatever happens comes out as an AttemptResult. Knows no schedule and keeps nothing.
"""

from collections.abc import Iterable

from msgspec import Struct

from groundwire import __version__
from groundwire.contracts.errors import ConfigError
from groundwire.contracts.failures import FailureKind
from groundwire.contracts.ports import Clock
from groundwire.providers.sockets import SocketTransport
from groundwire.providers.transport import HttpRequest, HttpResponse, Timeouts, TransportError
from groundwire.runtime.clock import SystemClock
from groundwire.serving.webhooks.addresses import AddressRefused, PublicAddresses
from groundwire.serving.webhooks.attempts import AttemptOutcome, AttemptResult, judge_answer
from groundwire.serving.webhooks.signing import WebhookKey, sign_webhook

TIMEOUT = 20.0
"""Seconds for the answer; the connection has up to ten of its own."""
MAX_TIMEOUT = 30.0
MAX_ANSWER = 64 * 1024
"""Bytes that are read of an answer; a longer one is left, and its status counts all the same."""

_CONNECT_SECONDS = 10.0
_SHOWN_CHARS = 500
_ERRORS = {
    FailureKind.TIMEOUT: "timeout",
    FailureKind.OVERLOADED: "unreachable",
    FailureKind.INVALID_REQUEST: "address_invalid",
}


class WebhookDelivery(Struct, frozen=True, kw_only=True):
    """What is sent, and where to. `webhook_id` is the receiver's key against doing things twice: the same in each attempt."""

    url: str
    keys: tuple[WebhookKey, ...]
    webhook_id: str
    body: bytes


class WebhookSender:
    """`allow` are networks that webhooks may go to although they are not public, such as `127.0.0.0/8`."""

    def __init__(
        self,
        *,
        allow: Iterable[str] = (),
        timeout: float = TIMEOUT,
        ca_file: str = "",
        clock: Clock | None = None,
        addresses: PublicAddresses | None = None,
    ) -> None:
        if not 0 < timeout <= MAX_TIMEOUT:
            raise ConfigError(f"A webhook's receiver has at most {MAX_TIMEOUT:g} seconds to answer, not {timeout:g}.")
        self._timeout = timeout
        self._clock = clock or SystemClock()
        self._transport = SocketTransport(
            Timeouts(total=timeout, connect=min(timeout, _CONNECT_SECONDS)),
            ca_file=ca_file,
            locate=addresses or PublicAddresses(allow),
        )

    async def attempt(self, delivery: WebhookDelivery) -> AttemptResult:
        """Send it once."""
        now = self._clock.now()
        headers = {
            "content-type": "application/json",
            "user-agent": f"groundwire/{__version__}",
            **sign_webhook(delivery.keys, delivery.webhook_id, int(now), delivery.body),
        }
        request = HttpRequest(url=delivery.url, headers=headers, body=delivery.body, timeout=self._timeout)
        try:
            response = await self._transport.send(request)
        except TransportError as error:
            return _failed(error)
        answer = await _beginning(response)
        return judge_answer(response.status, response.headers.get("retry-after"), answer, now=self._clock.now())

    async def close(self) -> None:
        await self._transport.close()


async def _beginning(response: HttpResponse) -> str:
    """What a person may want to see of an answer. It is read up to a bound, so that the connection can be used again."""
    heard = b""
    try:
        while len(heard) <= MAX_ANSWER and (piece := await response.piece()):
            heard += piece
    except TransportError:
        pass  # the status has come, and that is what counts
    finally:
        await response.close()
    return heard[: 4 * _SHOWN_CHARS].decode("utf-8", "replace")[:_SHOWN_CHARS]


def _failed(error: TransportError) -> AttemptResult:
    code = "address_refused" if isinstance(error, AddressRefused) else _ERRORS.get(error.kind, "connection_broken")
    return AttemptResult(outcome=AttemptOutcome.FAILED, error=code, message=error.message)
