"""Where webhooks may go: to public addresses, and to those that somebody has named.

An address that others choose must not lead into the network that we stand in. It is looked up once, judged, and then
connected to as it was judged, so that a name cannot mean another machine a moment later.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias
from urllib.parse import urlsplit

from groundwire.contracts.errors import ConfigError
from groundwire.contracts.failures import FailureKind
from groundwire.providers.connecting import Server
from groundwire.providers.transport import TransportError

Address: TypeAlias = IPv4Address | IPv6Address
Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host, as the system knows them."""

_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_CLOUD_SERVICES = (IPv4Network("168.63.129.16/32"), IPv4Network("192.0.0.0/24"))
"""Not private by every standard, and yet answered by the cloud that a machine stands in."""


class AddressRefused(TransportError):
    """The address is not one that webhooks may go to."""

    def __init__(self, message: str) -> None:
        super().__init__(FailureKind.PERMISSION, message)


def check_webhook_target(url: str, allow: Iterable[str] = ()) -> None:
    """A ConfigError for what can be no webhook's address, whatever names mean today, or for networks that are none."""
    addresses = PublicAddresses(allow)
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address or not url.isascii() or not url.isprintable() or " " in url:
        raise ConfigError(f"Webhooks cannot be sent to {url[:200]!r}.", hint="Write https://host/path.")
    host = parts.hostname or ""
    try:
        addresses.judge(host, _known_addresses(host), is_secure=parts.scheme == "https")
    except AddressRefused as refused:
        hint = "If it is meant, allow its network, such as 127.0.0.0/8 (--allow-network where there is a command line)."
        raise ConfigError(f"Webhooks cannot be sent to {url[:200]!r}: {refused}", hint=hint) from None


class PublicAddresses:
    """Finds a server's addresses, and refuses it where a single one of them is not public.

    `allow` are networks that are allowed all the same, such as `127.0.0.0/8`; only they may be reached without TLS.
    """

    def __init__(self, allow: Iterable[str] = (), *, resolve: Resolver | None = None) -> None:
        self._allowed = [_network(text) for text in allow]
        self._resolve = resolve or resolve_host

    async def __call__(self, server: Server) -> Sequence[str]:
        try:
            found = await self._resolve(server.host, server.port)
        except UnicodeError:  # a name that no resolver can be asked for
            raise AddressRefused("The name of the host is not valid.") from None
        return self.judge(server.host, found, is_secure=server.is_secure)

    def judge(self, host: str, found: Sequence[str], *, is_secure: bool) -> Sequence[str]:
        """The addresses that were found for a host, as they are connected to; refused where they may not be."""
        judged = [_read(text) for text in found]
        if not all(self._is_allowed(address) or is_public(address) for address in judged):
            raise AddressRefused(f"{host} is at an address that is not public.")
        if not is_secure and not (self._allowed and all(map(self._is_allowed, judged))):
            raise AddressRefused(f"{host} is in no allowed network, and so it is only reached by https.")
        return [str(address) for address in judged]

    def _is_allowed(self, address: Address) -> bool:
        return any(address.version == network.version and address in network for network in self._allowed)


def is_public(address: Address) -> bool:
    """Whether an address means a machine of the public internet, and one machine only."""
    if isinstance(address, IPv4Address):
        is_special = address.is_multicast or any(address in network for network in _CLOUD_SERVICES)
        return address.is_global and not is_special
    inner = address.sixtofour
    if inner is None and address in _NAT64:
        inner = IPv4Address(int(address) & 0xFFFF_FFFF)
    if inner is not None:
        return is_public(inner)
    return address in _GLOBAL_UNICAST and address.is_global


async def resolve_host(host: str, port: int) -> Sequence[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(place[4][0]) for place in found))


def _known_addresses(host: str) -> Sequence[str]:
    """What can be said of a host without asking anybody: nothing of most names."""
    if host == "localhost":
        return ["127.0.0.1"]
    try:
        return [str(ip_address(host))]
    except ValueError:
        return []


def _read(text: str) -> Address:
    try:
        address = ip_address(text)
    except ValueError:
        raise AddressRefused("The address of the host cannot be read.") from None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text)
    except ValueError:
        raise ConfigError(f"{text[:60]!r} is no network.", hint="Write 127.0.0.0/8 or fd00::/8.") from None
