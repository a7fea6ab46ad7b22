"""What a server may be told about itself in `groundwire.toml`."""

from typing import Annotated

from msgspec import Meta, Struct

from groundwire.contracts.errors import ConfigError

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8741


class ServerSettings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """`[server]`. Sizes are bytes, times are seconds.

    `resultTimeout` is how long a model may take for a turn that brings tool results; `maxInFlight` how many requests one
    process works on at a time before it answers 503.
    """

    host: str = DEFAULT_HOST
    port: Annotated[int, Meta(ge=0, le=65_535)] = DEFAULT_PORT
    workers: Annotated[int, Meta(ge=1, le=256)] = 1
    max_body: Annotated[int, Meta(ge=1024, le=1_073_741_824)] = 64 * 1024 * 1024
    max_in_flight: Annotated[int, Meta(ge=1, le=1_000_000)] = 1000
    result_timeout: Annotated[float, Meta(gt=0, le=86_400)] = 300.0
    shutdown_seconds: Annotated[int, Meta(ge=1, le=3600)] = 30

    def __post_init__(self) -> None:
        if not self.host:
            raise ConfigError("server.host is empty.")
