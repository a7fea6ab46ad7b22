"""Where requests to other servers may go: to public addresses only, unless the configuration says otherwise.

Looked up once for each request, and the request goes to the address that was checked: a name cannot mean another
address a moment later.
"""

import asyncio
import ipaddress
import socket

import httpx2

from groundwire.contracts.errors import ConfigError


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Sends requests to the public addresses of their hosts, and refuses all others."""

    def __init__(self, inner: httpx2.AsyncBaseTransport | None = None) -> None:
        self._inner = inner or httpx2.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        host = request.url.host
        address = await public_address(host, request.url.port or (443 if request.url.scheme == "https" else 80))
        request.headers.setdefault("Host", request.url.netloc.decode())
        request.extensions = {**request.extensions, "sni_hostname": host}
        request.url = request.url.copy_with(host=address)
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


async def public_address(host: str, port: int) -> str:
    """The first address of a host, if all of them are public."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ConfigError(f"The host {host} is not known: {error.strerror or error}") from None
    addresses = [str(entry[4][0]).partition("%")[0] for entry in found]
    private = next((address for address in addresses if not _is_public(address)), None)
    if private is not None:
        raise ConfigError(f"{host} is the private address {private}", hint="allowPrivate = true permits it")
    return addresses[0]


def _is_public(address: str) -> bool:
    read = ipaddress.ip_address(address)
    mapped = getattr(read, "ipv4_mapped", None) or getattr(read, "sixtofour", None)
    return (mapped or read).is_global and not (mapped or read).is_multicast
