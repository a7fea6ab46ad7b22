"""Addresses that commands listen on: whether that is possible, and what to say where it is not."""

import errno
import os
import socket

from groundwire.contracts.errors import ConfigError


def check_free(host: str, port: int) -> None:
    """ConfigError where the address cannot be listened on."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise unheard(error, host, port) from None


def unheard(error: OSError, host: str, port: int) -> ConfigError:
    """What to tell somebody whose address the system refuses."""
    if isinstance(error, socket.gaierror):
        return ConfigError(f"The host {host!r} is not known.", hint="--host 127.0.0.1 listens on this machine only")
    if error.errno == errno.EADDRNOTAVAIL:
        return ConfigError(f"{host} is no address of this machine.", hint="--host 0.0.0.0 listens on all that it has")
    if error.errno == errno.EADDRINUSE:
        return ConfigError(f"Port {port} of {host} is in use.", hint="choose another with --port; 0 takes a free one")
    reason = os.strerror(error.errno) if error.errno else str(error)
    return ConfigError(f"Port {port} of {host} cannot be listened on: {reason}.", hint="choose another with --port")
