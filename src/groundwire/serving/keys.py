"""Who may come in: the credential of a request in, what it may do out.

Knows headers and keys, but no route and no dialect. Nothing that it keeps outlives the number by which the store says
that keys have changed, so a key that was revoked anywhere is refused here at once. Credentials are never logged, and
no error repeats them.
"""

import asyncio
import hmac
import ipaddress
import secrets
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import parse_qsl

from groundwire.contracts.errors import (
    BudgetExhausted,
    ConfigError,
    GroundwireError,
    KeyExpired,
    KeyMissing,
    KeyRevoked,
    KeyUnknown,
    NotAllowed,
    RateLimited,
    StoreUnavailable,
)
from groundwire.contracts.keys import ApiKey, Caller, Held, KeySpend, OverLimit, caller_of
from groundwire.contracts.ports import Clock, KeyStore
from groundwire.providers.secrets import Secret
from groundwire.serving.origins import LOOPBACK, origin_fault

DEFAULT_TENANT = "default"
KEY_PARAMETER = "key"
"""The query parameter that clients of Gemini send their key in; every endpoint takes it."""
SECRET_PREFIX = "gw_"  # noqa: S105 - what secrets begin with is none
_SHOWN_CHARS = len(SECRET_PREFIX) + 8

_SECRET_BYTES = 32
_KEYS_PER_PAGE = 500
_MOST_KNOWN = 10_000
_RETRY_SOON = 1.0
_MASTER = Caller(tenant=DEFAULT_TENANT, key_id="master", name="master", scopes=frozenset({"admin"}))
_ANYBODY = Caller(tenant=DEFAULT_TENANT, key_id="", scopes=frozenset({"admin"}))

Header = Callable[[str], str | None]
"""Finds a header by its name in lower case."""


class _Known(NamedTuple):
    key: ApiKey
    caller: Caller


class KeyRing:
    """Lets requests in, and counts them.

    A server on a loopback address is open to every program that can reach it, until there is a key or a master key. It is not
    open to pages in a browser on this machine, except its own and those of `origins`, and it must be addressed by one of
    the `hosts`.
    """

    def __init__(
        self,
        store: KeyStore,
        clock: Clock,
        *,
        master_key: Secret | None = None,
        is_loopback: bool = False,
        hosts: Collection[str] = LOOPBACK,
        origins: Collection[str] = (),
    ) -> None:
        self._store = store
        self._clock = clock
        self._master_digest = digest_of(master_key.reveal()) if master_key else ""
        self._is_loopback = is_loopback
        self._hosts = hosts
        self._origins = frozenset(origin.lower() for origin in origins)
        self._known: dict[str, _Known] = {}
        self._version = 0
        self._holds: Counter[str] = Counter()

    async def check_bind(self, host: str) -> None:
        """Refuse to serve other machines before there is a key."""
        if not (self._master_digest or is_loopback(host) or await self._store.keys_version()):
            raise ConfigError(
                f"Without a key, everybody who reaches {host} could use this server.",
                hint="Make one with `groundwire keys create`, set GROUNDWIRE_MASTER_KEY, or serve on 127.0.0.1.",
            )

    async def authenticate(self, header: Header, query: str = "") -> Caller:
        """Who sends a request with these headers and this query; an AccessError if it is not let in."""
        version = await self._store.keys_version()
        if version != self._version:
            self._known.clear()
            self._version = version
        if not version and not self._master_digest and self._is_loopback:
            self._check_origin(header)
            return _ANYBODY
        credential = find_credential(header, query)
        if not credential:
            raise KeyMissing("This server wants a key.", hint="Send it as `Authorization: Bearer`, or as `x-api-key`.")
        digest = digest_of(credential)
        if hmac.compare_digest(digest, self._master_digest):
            return _MASTER
        # Found by its digest: how long that takes says nothing about a secret that one does not have.
        known = self._known.get(digest) or await self._look_up(digest, version)
        if known is None:
            raise KeyUnknown("This server does not know the key that was sent.")
        if known.key.revoked_at is not None:
            raise KeyRevoked("This key was revoked.")
        if known.key.expires_at is not None and known.key.expires_at <= self._clock.now():
            raise KeyExpired("This key has expired.")
        return known.caller

    async def check_open(self, header: Header) -> None:
        """Raise NotAllowed for a request of a page of another origin, if the server is open to programs on this machine."""
        if await self.is_open():
            self._check_origin(header)

    async def is_open(self) -> bool:
        """Whether every program on this machine may use the server without a key.

        True while the store is unavailable: health endpoints answer then, too, under the stricter rule.
        """
        if not self._is_loopback or self._master_digest:
            return False
        try:
            return not await self._store.keys_version()
        except StoreUnavailable:
            return True

    def _check_origin(self, header: Header) -> None:
        host = header("host")  # which browsers always send
        if fault := origin_fault(host or "", header("origin"), None if host is None else self._hosts, self._origins):
            raise NotAllowed(
                fault,
                subject="page",
                hint="Without a key it is served to this machine only: as 127.0.0.1, localhost, or by a name in"
                " allowedHosts of [server], and to its own pages and those in allowedOrigins. With `groundwire keys create`,"
                " the key decides instead.",
            )

    async def _look_up(self, digest: str, version: int) -> _Known | None:
        key = await self._store.find_key(digest)
        if key is None:
            return None
        known = _Known(key, caller_of(key))
        if version == self._version:  # else it may be older than what the table is about
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[digest] = known
        return known

    async def find_caller(self, tenant: str, key_id: str) -> Caller | None:
        """Find what a key may do, by its id; None for the master key, no key, or one that does not exist.

        Lists the tenant's keys, so it is not for every request.
        """
        before = ""
        while key_id:
            keys = await self._store.list_keys(tenant, before=before, limit=_KEYS_PER_PAGE)
            for key in keys:
                if key.key_id == key_id:
                    return caller_of(key)
            if len(keys) < _KEYS_PER_PAGE:
                break
            before = keys[-1].key_id
        return None

    async def admit(self, caller: Caller) -> None:
        """Count a request before it is answered; RateLimited or BudgetExhausted if a limit of its key is reached."""
        if not caller.limits:
            return
        now = self._clock.now()
        await self._take(KeySpend(key_id=caller.key_id, limits=caller.limits, must_fit=True, requests=1, now=now))

    async def hold(self, caller: Caller, *, tokens: int, money: float) -> Held | None:
        """Count what an answer is expected to take, before it is asked for: or all that come meanwhile would find room.

        None where nobody counts that. Otherwise `charge` has to follow, whatever becomes of the answer.
        """
        if not _counts_answers(caller):
            return None
        held = Held(tokens=tokens, money=money, at=self._clock.now())
        spend = KeySpend(
            key_id=caller.key_id,
            limits=caller.limits,
            must_fit=True,
            is_expected=True,
            tokens=tokens,
            money=money,
            now=held.at,
        )
        taking = asyncio.ensure_future(self._take(spend))
        try:
            await asyncio.shield(taking)
        except asyncio.CancelledError:  # whoever asked has left, and nobody would take it back
            with suppress(GroundwireError):
                await taking
                await self._store.spend(
                    KeySpend(key_id=caller.key_id, limits=caller.limits, must_fit=False, held=held, now=held.at)
                )
            raise
        self._holds[caller.key_id] += 1
        return held

    async def charge(self, caller: Caller, held: Held | None = None, *, tokens: int = 0, money: float = 0.0) -> None:
        """Count what an answer took, instead of what was held. It may pass a limit; then the next request is refused."""
        if not _counts_answers(caller):
            return
        if held is not None:
            self._holds[caller.key_id] -= 1
            self._holds += Counter()  # which leaves out those that have none
        spend = KeySpend(
            key_id=caller.key_id,
            limits=caller.limits,
            must_fit=False,
            tokens=tokens,
            money=money,
            held=held,
            now=self._clock.now(),
        )
        await self._store.spend(spend)

    async def _take(self, spend: KeySpend) -> None:
        over = await self._store.spend(spend)
        if over is not None:
            is_held = over.limit.unit != "requests" and self._holds[spend.key_id] > 0
            raise _refusal(over, spend.now, is_held=is_held)


def find_credential(header: Header, query: str) -> str:
    """The first credential of a request, in the order in which clients of the four APIs send theirs; empty for none."""
    scheme, _, token = (header("authorization") or "").strip().partition(" ")
    if scheme.lower() == "bearer" and (token := token.strip()):
        return token
    for name in ("x-api-key", "x-goog-api-key"):
        if value := (header(name) or "").strip():
            return value
    if f"{KEY_PARAMETER}=" in query:
        return next((value for name, value in parse_qsl(query) if name == KEY_PARAMETER), "")
    return ""


def digest_of(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def new_secret() -> Secret:
    """What the holder of a key sends. Stored are only its digest and the part of it that is shown."""
    return Secret(SECRET_PREFIX + secrets.token_urlsafe(_SECRET_BYTES))


def shown_part(secret: str) -> str:
    return secret[:_SHOWN_CHARS]


def master_key_from(environ: Mapping[str, str]) -> Secret | None:
    return Secret(found) if (found := environ.get("GROUNDWIRE_MASTER_KEY", "").strip()) else None


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens there."""
    if host.lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def _counts_answers(caller: Caller) -> bool:
    return any(limit.unit != "requests" for limit in caller.limits)


def _refusal(over: OverLimit, now: float, *, is_held: bool) -> RateLimited | BudgetExhausted:
    """`is_held`: answers are on their way, and may leave room of what is held for them."""
    wait = _RETRY_SOON if is_held else max(over.free_at - now, 0.0)
    if over.limit.unit == "money":
        return BudgetExhausted(f"This key has spent its budget: {over.limit}.", retry_after=wait)
    return RateLimited(f"This key has reached its limit: {over.limit}.", retry_after=wait)
