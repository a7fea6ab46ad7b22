"""The transport on pyreqwest: one pool of connections, opened with the first request.

Imported only by those who call out: the library costs 20 ms, and most commands never need it.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from pyreqwest import exceptions
from pyreqwest.client import Client, ClientBuilder
from pyreqwest.proxy import ProxyBuilder
from pyreqwest.response import Response

from groundwire.contracts.errors import ConfigError
from groundwire.contracts.failures import FailureKind
from groundwire.providers.transport import BROKEN, LATE, HttpRequest, HttpResponse, Timeouts, TransportError


class ReqwestTransport:
    def __init__(self, timeouts: Timeouts | None = None, *, proxy: str = "", ca_file: str = "") -> None:
        self._timeouts = timeouts or Timeouts()
        self._proxy = proxy
        self._ca_file = ca_file
        self._clients: dict[float, Client] = {}

    async def send(self, request: HttpRequest) -> HttpResponse:
        client = self._client_for(request)
        stack = AsyncExitStack()
        try:
            builder = client.request(request.method, request.url).headers(request.headers).body_bytes(request.body)
            if request.timeout:
                builder = builder.timeout(timedelta(seconds=request.timeout))
            if not request.is_streamed:
                return _WholeResponse(await builder.build().send())
            # Without a limit of 1 the library waits for a buffer full of bytes before it gives any of them.
            streamed = builder.streamed_read_buffer_limit(1).build_streamed()
            response = await stack.enter_async_context(streamed)
        except exceptions.PyreqwestError as error:
            await stack.aclose()
            raise self._unsent(error, request.url) from None
        except ValueError:  # what the library says of an address that is none
            raise _bad_address() from None
        return _Response(response, stack)

    async def close(self) -> None:
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.close()

    def _unsent(self, error: exceptions.PyreqwestError, url: str) -> TransportError:
        """The failure of a request that got no answer. Of its address only host and port are told."""
        causes = " ".join(cause["message"] for cause in _causes_of(error))
        if "(Connect)" not in causes:  # the library's connection errors also cover those of connections that were made
            return _translated(error)
        parts = urlsplit(url)
        where = f"{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}"
        if isinstance(error, exceptions.RequestTimeoutError):
            return TransportError(FailureKind.TIMEOUT, f"No connection to {where} was made in time.")
        if self._proxy:
            message = f"No connection to {where} could be made through the proxy."
        elif "dns error" in causes:
            message = f"The host {parts.hostname} is not known."
        elif "refused" in causes:
            message = f"{where} refuses connections."
        elif "certificate" in causes:
            message = f"The certificate of {where} is not trusted."
        else:
            message = f"No connection to {where} could be made."
        return TransportError(FailureKind.OVERLOADED, message)

    def _client_for(self, request: HttpRequest) -> Client:
        """Whoever gives a request more time than usual means its silence too; the library knows silence per client."""
        times = self._timeouts
        read = times.total if times.read is None else times.read
        if times.read is None and request.timeout > times.total:
            read = 0.0
        if read not in self._clients:
            self._clients[read] = self._build(read)
        return self._clients[read]

    def _build(self, read: float) -> Client:
        times = self._timeouts
        builder = ClientBuilder().follow_redirects(False).error_for_status(False)
        if times.connect:
            builder = builder.connect_timeout(timedelta(seconds=times.connect))
        if read:
            builder = builder.read_timeout(timedelta(seconds=read))
        if self._proxy:
            builder = builder.proxy(_read_proxy(self._proxy))
        if self._ca_file:
            builder = builder.add_root_certificate_pem(_read_certificate(self._ca_file))
        return builder.build()


class _WholeResponse:
    """One whose body has come with it."""

    def __init__(self, response: Response) -> None:
        self.status: int = response.status
        self.headers: Mapping[str, str] = response.headers
        self._response = response

    async def read(self) -> bytes:
        try:
            return bytes(await self._response.bytes())
        except exceptions.PyreqwestError as error:
            raise _translated(error) from None

    async def chunks(self) -> AsyncIterator[bytes]:
        yield await self.read()

    async def close(self) -> None:
        pass


class _Response:
    def __init__(self, response: Response, stack: AsyncExitStack) -> None:
        self.status: int = response.status
        self.headers: Mapping[str, str] = {key.lower(): value for key, value in response.headers.items()}
        self._reader = response.body_reader
        self._stack = stack

    async def read(self) -> bytes:
        try:
            return bytes(await self._reader.bytes())
        except exceptions.PyreqwestError as error:
            raise _translated(error) from None
        finally:
            await self.close()

    async def chunks(self) -> AsyncIterator[bytes]:
        try:
            while (chunk := await self._reader.read_chunk()) is not None:
                yield bytes(chunk)
        except exceptions.PyreqwestError as error:
            raise _translated(error) from None
        finally:
            await self.close()

    async def close(self) -> None:
        await self._stack.aclose()


def _read_proxy(address: str) -> ProxyBuilder:
    try:
        return ProxyBuilder.all(address)
    except ValueError:
        raise ConfigError("The address of the proxy is not valid.") from None


def _read_certificate(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(f"The CA file {path} cannot be read: {error.strerror}") from None


def _translated(error: exceptions.PyreqwestError) -> TransportError:
    if isinstance(error, exceptions.RequestTimeoutError):
        return TransportError(FailureKind.TIMEOUT, LATE)
    if isinstance(error, exceptions.BuilderError):
        return _bad_address()
    return TransportError(FailureKind.BAD_RESPONSE, BROKEN)


def _causes_of(error: exceptions.PyreqwestError) -> list[exceptions.Cause]:
    if not isinstance(error, exceptions.DetailedPyreqwestError) or error.details is None:
        return []
    return error.details["causes"] or []


def _bad_address() -> TransportError:
    return TransportError(FailureKind.INVALID_REQUEST, "The address or a header is not valid.")
