"""What a server may be told about itself in `groundwire.toml`."""

import re
from typing import Annotated

from msgspec import Meta, Struct

from groundwire.contracts.errors import ConfigError
from groundwire.contracts.keys import ApprovalMode

_ORIGIN = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://[^\s/?#@*]+")

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8741


class ServerSettings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """`[server]`. Sizes are bytes, times are seconds.

    `allowedHosts` are the names, besides localhost and 127.0.0.1, by which a server on a loopback address may be addressed.
    `allowedOrigins` are origins, such as `http://localhost:3000`, whose pages may use the server as its own pages do.
    A conversation that is kept has at most `maxTurns`, changes of its tools included.
    With `keepSteps`, what clients drop of a model's step that called tools is kept until the results come.
    Conversations, steps and relayed calls that nobody came back for are removed after `retentionDays`; 0 keeps them.
    A body that unpacks to more than a mebibyte may do so to at most `maxCompressionRatio` times its length.
    A connection that has had no complete request for `headerTimeout` is closed.
    `resultTimeout` is how long a model may take for a turn that brings tool results; `maxInFlight` how many requests one
    process works on at a time before it answers 503, and `bodyTimeout` how long the body of one may take to come. `relayPlaceholder` is what a relayed client reads in place of a
    call, and `relayWait` how long its next request is held for the results. When it is told to stop, it says for
    `drainSeconds` that it is not ready and still takes requests, then takes no more, and has `shutdownSeconds` to finish
    those that it has. A stream that says nothing for `keepAliveSeconds` gives a sign of life; 0 switches that off. `accessLog`: a line of JSON for each request on stdout.
    `approvals` is what a call of a server tool does that needs an approval: with `answer` it is refused, and the model
    says so; with `pause` its run pauses, and is resumed when the approval is decided.
    A worker that dies is restarted; at `maxWorkerDeaths` within `workerDeathWindow` the server ends. 0 never ends it.
    """

    host: str = DEFAULT_HOST
    port: Annotated[int, Meta(ge=0, le=65_535)] = DEFAULT_PORT
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    workers: Annotated[int, Meta(ge=1, le=256)] = 1
    max_body: Annotated[int, Meta(ge=1024, le=1_073_741_824)] = 64 * 1024 * 1024
    max_compression_ratio: Annotated[float, Meta(ge=1, le=1_000_000)] = 100.0
    header_timeout: Annotated[float, Meta(gt=0, le=3600)] = 30.0
    body_timeout: Annotated[float, Meta(gt=0, le=3600)] = 120.0
    max_in_flight: Annotated[int, Meta(ge=1, le=1_000_000)] = 1000
    result_timeout: Annotated[float, Meta(gt=0, le=86_400)] = 300.0
    relay_placeholder: Annotated[str, Meta(min_length=1, max_length=1000)] = "Tool call completed"
    relay_wait: Annotated[float, Meta(ge=0, le=3600)] = 30.0
    drain_seconds: Annotated[float, Meta(ge=0, le=3600)] = 0.0
    shutdown_seconds: Annotated[int, Meta(ge=1, le=3600)] = 30
    keep_alive_seconds: Annotated[float, Meta(ge=0, le=3600)] = 15.0
    max_turns: Annotated[int, Meta(ge=1, le=1_000_000)] = 10_000
    keep_steps: bool = True
    retention_days: Annotated[int, Meta(ge=0, le=36_500)] = 90
    access_log: bool = False
    approvals: ApprovalMode = "answer"
    max_worker_deaths: Annotated[int, Meta(ge=0, le=10_000)] = 20
    worker_death_window: Annotated[float, Meta(gt=0, le=86_400)] = 60.0

    def __post_init__(self) -> None:
        if not self.host:
            raise ConfigError("server.host is empty.")
        if self.relay_placeholder != self.relay_placeholder.strip():
            raise ConfigError("server.relayPlaceholder begins or ends with a space, which clients may drop.")
        for origin in self.allowed_origins:
            if not _ORIGIN.fullmatch(origin):
                raise ConfigError(
                    f"server.allowedOrigins: {origin!r} is not an origin.",
                    hint="Write scheme, host and port as a browser sends them, such as http://localhost:3000, without a path.",
                )
