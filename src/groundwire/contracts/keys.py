"""Keys to a server: what one may do, how often, and until when. A key's secret is not in here, only its digest.

Knows neither headers nor windows of time: who reads a request and who counts are elsewhere.
"""

from math import inf
from typing import Literal, TypeAlias

from msgspec import Struct

from groundwire.contracts.errors import ConfigError, NotAllowed
from groundwire.contracts.texts import NAME_CHARS, matches_glob, plain

Scope: TypeAlias = Literal["models", "tools", "view", "decide", "api", "admin"]
SCOPES: dict[Scope, str] = {
    "models": "ask models",
    "tools": "have the server's own tools run",
    "view": "read what is recorded",
    "decide": "decide what waits for a person: approvals, unknown effects, jobs, sessions",
    "api": "view and decide, and use the endpoints of applications",
    "admin": "all of these, and whatever else concerns the server itself",
}
_CONTAINED: dict[Scope, Scope] = {"view": "api", "decide": "api"}
"""Scopes that a wider one contains."""
LOCAL = "local"
"""The name of every caller of a server without keys."""
ApprovalMode: TypeAlias = Literal["answer", "pause"]
"""What a call of a server tool does that needs an approval: it is refused with a text for the model, or its run pauses."""
Unit: TypeAlias = Literal["requests", "tokens", "money"]
Window: TypeAlias = Literal["minute", "hour", "day", "month"] | int
"""Windows follow the calendar in UTC. A number is their length in seconds, counted from the epoch."""

EVERYTHING = ("*",)


class KeyLimit(Struct, frozen=True):
    """At most so much in each window. Money is in dollars, as the catalogue's prices are."""

    unit: Unit
    max: float
    window: Window

    def __post_init__(self) -> None:
        if not 0 <= self.max < inf:
            raise ConfigError(f"a limit is a number from 0 on, not {self.max}")
        if isinstance(self.window, int) and self.window < 1:
            raise ConfigError(f"a window has at least one second, not {self.window}")

    def __str__(self) -> str:
        window = f"{self.window} seconds" if isinstance(self.window, int) else self.window
        return f"{plain(self.max)} {'dollars' if self.unit == 'money' else self.unit} per {window}"


class ApiKey(Struct, frozen=True, kw_only=True):
    """A key as it is stored. Nothing about it ever changes, except that it is revoked.

    `digest` is the SHA-256 of the secret in hex, `prefix` its first characters, which lists show. Models and tools are
    globs; `default_tools` are offered to the model where a request names none. `approvals` is empty where the key leaves
    the mode to the server's settings.
    """

    key_id: str
    tenant: str
    name: str
    digest: str
    prefix: str
    scopes: tuple[Scope, ...]
    models: tuple[str, ...] = EVERYTHING
    tools: tuple[str, ...] = EVERYTHING
    default_tools: tuple[str, ...] = ()
    limits: tuple[KeyLimit, ...] = ()
    created_at: float = 0.0
    expires_at: float | None = None
    revoked_at: float | None = None
    approvals: ApprovalMode | Literal[""] = ""


class Caller(Struct, frozen=True, kw_only=True):
    """Who sends a request, and what it may do.

    A model or tool is allowed if any of the names that it goes by is: an alias as it was asked for, `provider/model`,
    a tool's id, its wire name.
    """

    tenant: str
    key_id: str
    """Empty on a server without keys. Two keys of one name are different keys: compare ids, show names."""
    name: str = LOCAL
    """The name under which decisions are recorded."""
    scopes: frozenset[Scope]
    models: tuple[str, ...] = EVERYTHING
    tools: tuple[str, ...] = EVERYTHING
    default_tools: tuple[str, ...] = ()
    limits: tuple[KeyLimit, ...] = ()
    approvals: ApprovalMode | Literal[""] = ""

    @property
    def owner_id(self) -> str:
        """The owner of calls that this caller makes: the id of the key, or `local` on a server without keys."""
        return self.key_id or LOCAL

    def has_scope(self, scope: Scope) -> bool:
        return scope in self.scopes or "admin" in self.scopes or _CONTAINED.get(scope) in self.scopes

    def may_use_model(self, *names: str) -> bool:
        return self.has_scope("models") and _is_among(names, self.models)

    def may_use_tool(self, *names: str) -> bool:
        return self.has_scope("tools") and _is_among(names, self.tools)

    def check_scope(self, scope: Scope) -> None:
        if not self.has_scope(scope):
            raise NotAllowed(
                f"This key does not have the scope {scope}.", subject="scope", hint=f"It takes that to {SCOPES[scope]}."
            )

    def check_model(self, *names: str) -> None:
        """Raise NotAllowed unless the caller may ask the model. The first name is the one that was asked for."""
        self.check_scope("models")
        if not _is_among(names, self.models):
            raise NotAllowed(f"This key may not ask the model {names[0][:NAME_CHARS]}.", subject="model")

    def check_tool(self, *names: str) -> None:
        self.check_scope("tools")
        if not _is_among(names, self.tools):
            raise NotAllowed(f"This key may not use the tool {names[0][:NAME_CHARS]}.", subject="tool")


def caller_of(key: ApiKey) -> Caller:
    return Caller(
        tenant=key.tenant,
        key_id=key.key_id,
        name=key.name or key.key_id,
        scopes=frozenset(key.scopes),
        models=key.models,
        tools=key.tools,
        default_tools=key.default_tools,
        limits=key.limits,
        approvals=key.approvals,
    )


class Held(Struct, frozen=True, kw_only=True):
    """What was counted for an answer before it was there, and when: what it is expected to take."""

    tokens: int
    money: float
    at: float


class KeySpend(Struct, frozen=True, kw_only=True):
    """What a request takes from its key's limits.

    With `must_fit` all of them must have room for it, also those from which it takes nothing yet; else nothing is
    counted. Without, it has happened and is counted whatever the limits say. `is_expected`: tokens and money are a guess,
    for which any room is enough. `held` is taken back where its window has not ended.
    """

    key_id: str
    limits: tuple[KeyLimit, ...]
    must_fit: bool
    requests: int = 0
    tokens: int = 0
    money: float = 0.0
    is_expected: bool = False
    held: Held | None = None
    now: float


class OverLimit(Struct, frozen=True, kw_only=True):
    """Why a spend was refused: of the limits without room the one that has room last, and when that is."""

    limit: KeyLimit
    free_at: float


def _is_among(names: tuple[str, ...], globs: tuple[str, ...]) -> bool:
    return globs == EVERYTHING or any(matches_glob(name, glob) for name in names for glob in globs)
