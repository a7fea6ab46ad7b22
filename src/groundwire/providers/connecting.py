"""From an address to a connection: servers, proxies, certificates, and what the request looks like on the wire."""

import asyncio
import base64
import errno
import re
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from typing import TypeAlias
from urllib.parse import SplitResult, quote, unquote, urlsplit
from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]

from msgspec import Struct

from groundwire.contracts.errors import ConfigError
from groundwire.contracts.failures import FailureKind
from groundwire.providers.connections import Connection
from groundwire.providers.transport import HttpRequest, TransportError

_PORTS = {"http": 80, "https": 443}
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+: ?[^\x00\r\n]*")
_PRINTABLE = re.compile(r"[!-~]*")
_TUNNEL_BYTES = 65_536


class Server(Struct, frozen=True):
    """Who is at the other end of a connection. `proxy` is the one that the connection leads through."""

    host: str
    port: int
    is_secure: bool
    proxy: "Proxy | None" = None

    @property
    def place(self) -> str:
        return f"{self.host}:{self.port}"


class Proxy(Struct, frozen=True):
    host: str
    port: int
    credentials: str = ""


Locator: TypeAlias = Callable[[Server], Awaitable[Sequence[str]]]
"""Finds the addresses of a server that may be connected to; a TransportError where none may."""


class Connector:
    """With `locate` connections are made to the very addresses that it gives, and through no proxy, which would look
    the name up once more."""

    def __init__(self, *, proxy: str, ca_file: str, seconds: float, locate: Locator | None = None) -> None:
        self._locate = locate
        self._proxy = proxy
        self._ca_file = ca_file
        self._seconds = seconds
        self._context: ssl.SSLContext | None = None
        self._begun = lru_cache(maxsize=256)(self._begin)

    def prepare(self, request: HttpRequest) -> tuple[Server, bytes]:
        """Whom to connect to, and what to send there."""
        server, head = self._begun(request.method, request.url, *request.headers.items())
        return server, b"%bcontent-length: %d\r\n\r\n%b" % (head, len(request.body), request.body)

    async def connect(self, server: Server, total: float) -> Connection:
        """A new connection, made within the limit for that and within the request's own; 0 is no limit."""
        limits = [limit for limit in (self._seconds, total) if limit]
        try:
            async with asyncio.timeout(min(limits, default=None)):
                return await self._open(server)
        except TimeoutError:
            message = f"No connection to {server.place} was made in time."
            raise TransportError(FailureKind.TIMEOUT, message) from None
        except OSError as error:  # of which TLS's are some
            raise TransportError(FailureKind.OVERLOADED, _told(error, server)) from None

    async def _open(self, server: Server) -> Connection:
        loop = asyncio.get_running_loop()
        context = self._secure_context() if server.is_secure else None
        proxy = server.proxy
        if self._locate is not None:
            return await _open_any(await self._locate(server), server, context)
        if proxy is None or context is None:
            host, port = (server.host, server.port) if proxy is None else (proxy.host, proxy.port)
            name = server.host if context is not None else None
            _, connection = await loop.create_connection(Connection, host, port, ssl=context, server_hostname=name)
            return connection
        transport, tunnel = await loop.create_connection(_Tunnel, proxy.host, proxy.port)
        try:
            await tunnel.ask(transport, server.place, proxy)
            connection = Connection()
            secured = await loop.start_tls(transport, connection, context, server_hostname=server.host)
        except BaseException:
            transport.abort()
            raise
        if secured is None:
            raise ConnectionResetError
        connection.connection_made(secured)
        return connection

    def _begin(self, method: str, url: str, *headers: tuple[str, str]) -> tuple[Server, bytes]:
        """The server, and all of the request's head that is the same for every body."""
        parts = _split(url)
        host, is_secure = parts.hostname or "", parts.scheme == "https"
        port = parts.port or _PORTS[parts.scheme]
        server = Server(host, port, is_secure, self._proxy_for(parts))
        shown = f"[{host}]" if ":" in host else host
        if port != _PORTS[parts.scheme]:
            shown += f":{port}"
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        path = quote(path, safe="%/?:@!$&'()*+,;=~-._[]")
        lines = [f"host: {shown}", "accept-encoding: identity"]
        if parts.username is not None:
            lines.append(f"authorization: {_basic(parts)}")
        if server.proxy is not None and not is_secure:
            path = f"http://{shown}{path}"
            if server.proxy.credentials:
                lines.append(f"proxy-authorization: {server.proxy.credentials}")
        lines += [f"{name}: {value}" for name, value in headers]
        if not all(map(_HEADER.fullmatch, lines)):
            raise _bad_address()
        try:
            return server, "\r\n".join((f"{method} {path} HTTP/1.1", *lines, "")).encode("latin-1")
        except UnicodeEncodeError:
            raise _bad_address() from None

    def _proxy_for(self, parts: SplitResult) -> Proxy | None:
        """The one that was set; or else the environment's, as every program has it."""
        if self._locate is not None:
            return None
        address = self._proxy
        if not address:
            known = getproxies_environment()
            if parts.hostname and proxy_bypass_environment(parts.hostname, known):
                return None
            address = known.get(parts.scheme) or known.get("all", "")
        return _read_proxy(address) if address else None

    def _secure_context(self) -> ssl.SSLContext:
        if self._context is None:
            import certifi

            context = ssl.create_default_context()
            context.load_verify_locations(certifi.where())
            if self._ca_file:
                _add_certificates(context, self._ca_file)
            self._context = context
        return self._context


async def _open_any(addresses: Sequence[str], server: Server, context: ssl.SSLContext | None) -> Connection:
    """A connection to the first address that takes one. Certificates are for the server's name all the same."""
    loop = asyncio.get_running_loop()
    name = server.host if context is not None else None
    failed: OSError = socket.gaierror(socket.EAI_NONAME, "no address")
    for address in addresses:
        try:
            _, connection = await loop.create_connection(
                Connection, address, server.port, ssl=context, server_hostname=name
            )
        except OSError as error:
            failed = error
        else:
            return connection
    raise failed


class _Tunnel(asyncio.Protocol):
    """A proxy that is asked to lead on to a server."""

    def __init__(self) -> None:
        self._answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._received = b""

    async def ask(self, transport: asyncio.Transport, place: str, proxy: Proxy) -> None:
        credentials = f"proxy-authorization: {proxy.credentials}\r\n" if proxy.credentials else ""
        transport.write(f"CONNECT {place} HTTP/1.1\r\nhost: {place}\r\n{credentials}\r\n".encode("latin-1"))
        answer = await self._answer
        if not re.match(rb"HTTP/1\.[01] 2\d\d\b", answer):
            raise ConnectionRefusedError(errno.ECONNREFUSED, "The proxy refuses.")

    def data_received(self, data: bytes) -> None:
        self._received += data
        if not self._answer.done() and (b"\r\n\r\n" in self._received or len(self._received) > _TUNNEL_BYTES):
            self._answer.set_result(self._received)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._answer.done():
            self._answer.set_exception(exc or ConnectionResetError())


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        is_known = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise _bad_address() from None
    if not is_known or not _PRINTABLE.fullmatch(parts.netloc):
        raise _bad_address()
    return parts


def _read_proxy(address: str) -> Proxy:
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        if parts.scheme == "http" and parts.hostname:
            return Proxy(parts.hostname, parts.port or 80, _basic(parts) if parts.username is not None else "")
    except ValueError:
        pass
    raise ConfigError("The address of the proxy is not valid.", hint="It has the form http://host:port.")


def _basic(parts: SplitResult) -> str:
    words = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return f"Basic {base64.b64encode(words.encode()).decode()}"


def _add_certificates(context: ssl.SSLContext, path: str) -> None:
    try:
        context.load_verify_locations(path)
    except ssl.SSLError:
        raise ConfigError(f"The CA file {path} holds no certificate.") from None
    except OSError as error:
        raise ConfigError(f"The CA file {path} cannot be read: {error.strerror}") from None


def _told(error: OSError, server: Server) -> str:
    """Of an address only host and port are told."""
    if server.proxy is not None:
        return f"No connection to {server.place} could be made through the proxy."
    if isinstance(error, socket.gaierror):
        return f"The host {server.host} is not known."
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"The certificate of {server.place} is not trusted."
    if error.errno == errno.ECONNREFUSED or "refused" in str(error):
        return f"{server.place} refuses connections."
    return f"No connection to {server.place} could be made."


def _bad_address() -> TransportError:
    return TransportError(FailureKind.INVALID_REQUEST, "The address or a header is not valid.")
