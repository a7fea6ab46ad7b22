"""Who is let in, as whom, and how often."""

import asyncio
import contextlib
import logging
import re

import msgspec
import pytest

from groundwire.contracts.errors import (
    AccessError,
    BudgetExhausted,
    ConfigError,
    KeyExpired,
    KeyMissing,
    KeyRevoked,
    KeyUnknown,
    NotAllowed,
    RateLimited,
)
from groundwire.contracts.keys import KeyLimit
from groundwire.providers.secrets import Secret
from groundwire.serving.keys import (
    KeyRing,
    digest_of,
    find_credential,
    is_loopback,
    master_key_from,
    new_secret,
    shown_part,
)
from groundwire.serving.origins import LOOPBACK
from groundwire.store import MemoryStore, open_url
from groundwire.store.postgres import PostgresStore
from groundwire.testing import FakeClock
from tests.conformance.builders import api_key

SECRET = "gw_the-secret-of-a-key"


def key_for(secret=SECRET, **terms):
    return api_key(digest=digest_of(secret), **terms)


def bearer(secret=SECRET):
    return {"authorization": f"Bearer {secret}"}.get


def nothing(name):
    return None


class CountingStore(MemoryStore):
    """Says how often a key was looked for."""

    looked = 0

    async def find_key(self, digest):
        self.looked += 1
        return await super().find_key(digest)


# Who comes in


@pytest.mark.parametrize(
    ("headers", "query", "found"),
    [
        ({"authorization": "Bearer one"}, "", "one"),
        ({"authorization": "bearer   one  "}, "", "one"),
        ({"x-api-key": "two"}, "", "two"),
        ({"x-goog-api-key": " three "}, "", "three"),
        ({}, "key=four", "four"),
        ({}, "alt=sse&key=fo%20ur&key=five", "fo ur"),
        ({"authorization": "Bearer one", "x-api-key": "two", "x-goog-api-key": "three"}, "key=four", "one"),
        ({"x-api-key": "two", "x-goog-api-key": "three"}, "key=four", "two"),
        ({"x-goog-api-key": "three"}, "key=four", "three"),
        ({"authorization": "Basic one", "x-api-key": "two"}, "", "two"),
        ({"authorization": "Bearer ", "x-api-key": ""}, "key=four", "four"),
        ({"authorization": "one"}, "monkey=four&key=", ""),
        ({}, "", ""),
    ],
)
def test_the_first_credential_that_is_there_counts(headers, query, found):
    assert find_credential(headers.get, query) == found


@pytest.mark.parametrize("name", ["authorization", "x-api-key", "x-goog-api-key", "?key="])
async def test_a_stored_key_is_let_in_as_its_tenant_however_it_is_sent(store, name):
    await store.create_key(key_for(models=("openai/*",), default_tools=("kb.search",)))
    ring = KeyRing(store, FakeClock())
    value = f"Bearer {SECRET}" if name == "authorization" else SECRET
    query = f"alt=sse&key={SECRET}" if name == "?key=" else ""
    caller = await ring.authenticate({name: value}.get, query)
    assert (caller.tenant, caller.key_id, caller.default_tools) == ("acme", "key_1", ("kb.search",))
    assert (caller.may_use_model("openai/x"), caller.may_use_model("sim/x")) == (True, False)
    assert caller.scopes == {"models", "tools"}


async def test_a_request_without_a_key_or_with_a_wrong_one_is_refused_once_there_is_a_key(store):
    await store.create_key(key_for())
    ring = KeyRing(store, FakeClock(), is_loopback=True)
    with pytest.raises(KeyMissing):
        await ring.authenticate(nothing)
    for wrong in (SECRET[:-1], SECRET + "x", SECRET.upper(), "x" * 100_000, "\udce9", "é"):
        with pytest.raises(KeyUnknown):
            await ring.authenticate(bearer(wrong))


async def test_a_key_is_good_until_the_moment_it_expires(store):
    clock = FakeClock()
    await store.create_key(key_for(expires_at=clock.now() + 10))
    ring = KeyRing(store, clock)
    clock.advance(9.75)
    assert (await ring.authenticate(bearer())).key_id == "key_1"
    clock.advance(0.25)
    with pytest.raises(KeyExpired):
        await ring.authenticate(bearer())


async def test_a_key_that_was_revoked_is_refused_at_the_next_request(store):
    await store.create_key(key_for())
    ring = KeyRing(store, FakeClock())
    await ring.authenticate(bearer())
    await store.revoke_key("acme", "key_1", now=5.0)
    with pytest.raises(KeyRevoked):
        await ring.authenticate(bearer())


async def test_a_key_that_was_revoked_elsewhere_is_refused_here(shared, shared_url):
    elsewhere = open_url(shared_url)
    await shared.create_key(key_for())
    ring = KeyRing(shared, FakeClock())
    await ring.authenticate(bearer())
    before = await shared.keys_version()
    await elsewhere.revoke_key("acme", "key_1", now=5.0)
    await hear_of_it(shared, before)
    with pytest.raises(KeyRevoked):
        await ring.authenticate(bearer())
    await elsewhere.shut()


async def hear_of_it(store, version):
    """A file shows a change at once; a server has told of it, but this loop has yet to hear."""
    if isinstance(store, PostgresStore):
        async with asyncio.timeout(10):
            while await store.keys_version() == version:  # noqa: ASYNC110 - it hears by going on
                await asyncio.sleep(0)


async def test_a_key_made_elsewhere_closes_an_open_server_and_is_let_in(shared, shared_url):
    elsewhere = open_url(shared_url)
    ring = KeyRing(shared, FakeClock(), is_loopback=True)
    assert (await ring.authenticate(nothing)).tenant == "default"
    await elsewhere.create_key(key_for())
    await hear_of_it(shared, 0)
    with pytest.raises(KeyMissing):
        await ring.authenticate(nothing)
    assert (await ring.authenticate(bearer())).tenant == "acme"
    await elsewhere.shut()


async def test_a_known_key_is_looked_for_again_only_when_keys_have_changed():
    store = CountingStore()
    await store.create_key(key_for())
    ring = KeyRing(store, FakeClock())
    for _ in range(5):
        await ring.authenticate(bearer())
    assert store.looked == 1
    await store.create_key(api_key("2"))
    for _ in range(5):
        await ring.authenticate(bearer())
    assert store.looked == 2


async def test_what_is_unknown_is_not_remembered():
    store = CountingStore()
    await store.create_key(key_for())
    ring = KeyRing(store, FakeClock())
    for _ in range(2):
        with pytest.raises(KeyUnknown):
            await ring.authenticate(bearer("wrong"))
    assert store.looked == 2


async def test_a_key_that_is_revoked_while_it_is_looked_for_is_not_remembered_as_good():
    class SlowStore(MemoryStore):
        has_read, may_answer = asyncio.Event(), asyncio.Event()

        async def find_key(self, digest):
            found = await super().find_key(digest)
            self.has_read.set()
            await self.may_answer.wait()
            return found

    store = SlowStore()
    await store.create_key(key_for())
    ring = KeyRing(store, FakeClock())
    slow = asyncio.create_task(ring.authenticate(bearer()))
    await store.has_read.wait()
    await store.revoke_key("acme", "key_1", now=5.0)
    with pytest.raises(KeyMissing):  # somebody else, after whom the ring knows of the change
        await ring.authenticate(nothing)
    store.may_answer.set()
    assert (await slow).key_id == "key_1"
    with pytest.raises(KeyRevoked):
        await ring.authenticate(bearer())


# Open servers and the master key


async def test_a_loopback_server_without_any_key_is_open_whatever_is_sent(store):
    ring = KeyRing(store, FakeClock(), is_loopback=True)
    for header in (nothing, bearer("sk-whatever"), {"x-api-key": "x"}.get):
        caller = await ring.authenticate(header, "key=x")
        assert (caller.tenant, caller.key_id) == ("default", "")
        assert caller.has_scope("admin")
        assert caller.may_use_model("any")
        assert caller.may_use_tool("any")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8741", "[::1]:8741", "LOCALHOST:1"])
@pytest.mark.parametrize("origin", [None, "http://{}", "http://localhost:3000"])
async def test_an_open_server_answers_programs_and_its_own_and_allowed_pages(store, host, origin):
    ring = KeyRing(store, FakeClock(), is_loopback=True, origins=("http://LOCALHOST:3000",))
    origin = origin and origin.format(host)
    assert (await ring.authenticate({"host": host, "origin": origin}.get)).has_scope("admin")


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "127.0.0.1:8741", "origin": "https://evil.example"},
        {"host": "127.0.0.1:8741", "origin": "null"},
        {"host": "127.0.0.1:8741", "origin": "http://127.0.0.1:3000"},
        {"host": "127.0.0.1:8741", "origin": "http://localhost:8741"},
        {"host": "127.0.0.1:8741", "origin": "http://localhost.evil.example"},
        {"host": "127.0.0.1:8741", "origin": ""},
        {"host": "evil.example:8741"},
        {"host": "evil.example:8741", "origin": "http://evil.example:8741"},
        {"host": "127.0.0.1.evil.example"},
    ],
)
async def test_an_open_server_is_closed_to_pages_of_other_sites_until_they_have_a_key(store, headers):
    ring = KeyRing(store, FakeClock(), is_loopback=True)
    with pytest.raises(NotAllowed) as refused:
        await ring.authenticate(headers.get)
    assert refused.value.subject == "page"
    await store.create_key(key_for())
    assert (await ring.authenticate({**headers, "x-api-key": SECRET}.get)).key_id == "key_1"


async def test_any_other_server_without_any_key_is_closed(store):
    ring = KeyRing(store, FakeClock())
    with pytest.raises(KeyMissing):
        await ring.authenticate(nothing)
    with pytest.raises(KeyUnknown):
        await ring.authenticate(bearer("sk-whatever"))


async def test_revoking_the_last_key_does_not_open_the_server_again(store):
    await store.create_key(key_for())
    await store.revoke_key("acme", "key_1", now=5.0)
    with pytest.raises(KeyMissing):
        await KeyRing(store, FakeClock(), is_loopback=True).authenticate(nothing)


async def test_the_master_key_is_an_admin_of_the_default_tenant_and_closes_the_server(store):
    ring = KeyRing(store, FakeClock(), master_key=Secret("main"), is_loopback=True)
    caller = await ring.authenticate(bearer("main"))
    assert (caller.tenant, caller.key_id, caller.limits) == ("default", "master", ())
    assert caller.has_scope("admin")
    with pytest.raises(KeyMissing):
        await ring.authenticate(nothing)
    with pytest.raises(KeyUnknown):
        await ring.authenticate(bearer("mainx"))


async def test_the_master_key_is_let_in_beside_others(store):
    await store.create_key(key_for())
    ring = KeyRing(store, FakeClock(), master_key=Secret("main"))
    assert (await ring.authenticate(bearer("main"))).key_id == "master"
    assert (await ring.authenticate(bearer())).key_id == "key_1"


@pytest.mark.parametrize(("value", "found"), [("main", Secret("main")), (" main ", Secret("main")), ("", None)])
def test_the_master_key_comes_from_the_environment(value, found):
    assert master_key_from({"GROUNDWIRE_MASTER_KEY": value}) == found
    assert master_key_from({}) is None


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("127.8.9.10", True),
        ("localhost", True),
        ("LOCALHOST", True),
        ("::1", True),
        ("[::1]", True),
        ("::ffff:127.0.0.1", True),
        ("0.0.0.0", False),
        ("::", False),
        ("::ffff:10.0.0.1", False),
        ("10.0.0.1", False),
        ("128.0.0.1", False),
        ("example.org", False),
        ("localhost.example.org", False),
        ("", False),
    ],
)
def test_a_loopback_address_is_recognised(host, local):
    assert is_loopback(host) is local


async def test_a_server_for_other_machines_does_not_start_before_there_is_a_key(store):
    ring = KeyRing(store, FakeClock())
    await ring.check_bind("127.0.0.1")
    with pytest.raises(ConfigError) as refused:
        await ring.check_bind("0.0.0.0")
    assert "0.0.0.0" in refused.value.message
    assert "groundwire keys create" in refused.value.hint
    await KeyRing(store, FakeClock(), master_key=Secret("main")).check_bind("0.0.0.0")
    await store.create_key(key_for())
    await ring.check_bind("0.0.0.0")


# Limits


async def test_requests_beyond_the_limit_wait_for_the_next_window(store):
    clock = FakeClock(3_600.0)
    await store.create_key(key_for(limits=(KeyLimit("requests", 2, "minute"),)))
    ring = KeyRing(store, clock)
    caller = await ring.authenticate(bearer())
    await ring.admit(caller)
    await ring.admit(caller)
    clock.advance(50.0)
    with pytest.raises(RateLimited) as refused:
        await ring.admit(caller)
    assert (refused.value.code, refused.value.retryable, refused.value.retry_after) == ("rate_limited", True, 10.0)
    assert "2 requests per minute" in refused.value.message
    clock.advance(10.0)
    await ring.admit(caller)


@pytest.mark.parametrize(
    ("limit", "cost", "error"),
    [
        (KeyLimit("tokens", 100, "hour"), {"tokens": 100}, RateLimited),
        (KeyLimit("money", 0.5, "hour"), {"money": 0.5}, BudgetExhausted),
    ],
)
async def test_what_an_answer_took_stops_the_next_request(store, limit, cost, error):
    clock = FakeClock(3_600.0)
    await store.create_key(key_for(limits=(limit,)))
    ring = KeyRing(store, clock)
    caller = await ring.authenticate(bearer())
    await ring.admit(caller)
    await ring.charge(caller, **cost)
    with pytest.raises(error) as refused:
        await ring.admit(caller)
    assert refused.value.retry_after == 3_600.0
    clock.advance(3_600.0)
    await ring.admit(caller)


@pytest.mark.parametrize(("unit", "error"), [("tokens", RateLimited), ("money", BudgetExhausted)])
async def test_what_is_expected_of_answers_on_their_way_stops_other_requests_until_they_are_there(store, unit, error):
    clock = FakeClock(3_600.0)
    await store.create_key(key_for(limits=(KeyLimit("requests", 2, "hour"), KeyLimit(unit, 100, "hour"))))
    ring, elsewhere = KeyRing(store, clock), KeyRing(store, clock)
    caller = await ring.authenticate(bearer())
    expected = {"tokens": 0, "money": 0.0, unit: 150}
    await ring.admit(caller)
    held = await ring.hold(caller, **expected)
    for other, wait in ((ring, 1.0), (elsewhere, 3_600.0)):
        for refusing in (other.admit(caller), other.hold(caller, **expected)):
            with pytest.raises(error) as refused:
                await refusing
            assert refused.value.retry_after == wait
    await ring.charge(caller, held, **{unit: 99})
    await ring.admit(caller)
    held = await ring.hold(caller, **expected)
    await ring.charge(caller, held, **{unit: 1})
    with pytest.raises(error) as refused:
        await ring.hold(caller, **expected)
    assert refused.value.retry_after == 3_600.0


async def test_what_was_expected_is_not_taken_back_from_a_window_that_never_held_it(store):
    clock = FakeClock(3_600.0)
    await store.create_key(key := key_for(limits=(KeyLimit("tokens", 100, "minute"), KeyLimit("tokens", 500, "hour"))))
    ring = KeyRing(store, clock)
    caller = await ring.authenticate(bearer())
    early = await ring.hold(caller, tokens=90, money=0.0)
    clock.advance(60.0)
    late = await ring.hold(caller, tokens=50, money=0.0)
    await ring.charge(caller, early, tokens=30)
    assert await store.key_usage(key, now=clock.now()) == [80, 80]
    await ring.charge(caller, late)
    assert await store.key_usage(key, now=clock.now()) == [30, 30]


async def test_who_leaves_while_it_is_counted_what_is_expected_leaves_nothing_behind():
    began, may_end = asyncio.Event(), asyncio.Event()

    class SlowStore(MemoryStore):
        async def spend(self, spend):
            began.set()
            await may_end.wait()
            return await super().spend(spend)

    store = SlowStore()
    await store.create_key(key := key_for(limits=(KeyLimit("tokens", 100, "hour"),)))
    ring = KeyRing(store, FakeClock())
    holding = asyncio.create_task(ring.hold(await ring.authenticate(bearer()), tokens=90, money=0.0))
    await began.wait()
    holding.cancel()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await holding
    assert await store.key_usage(key, now=0.0) == [0]


async def test_a_key_without_limits_costs_the_store_nothing():
    class SealedStore(MemoryStore):
        async def spend(self, spend):
            raise AssertionError(spend)

    store = SealedStore()
    await store.create_key(key_for())
    await store.create_key(
        api_key("2", digest=digest_of("gw_two"), limits=(KeyLimit("requests", 1, "day"),)),
    )
    ring = KeyRing(store, FakeClock())
    unlimited, counted = await ring.authenticate(bearer()), await ring.authenticate(bearer("gw_two"))
    await ring.admit(unlimited)
    await ring.charge(unlimited, tokens=5, money=1.0)
    await ring.charge(counted, tokens=5, money=1.0)


# Secrets


def test_a_new_secret_is_long_random_and_safe_in_a_url():
    secrets = {new_secret().reveal() for _ in range(100)}
    assert len(secrets) == 100
    assert all(re.fullmatch(r"gw_[A-Za-z0-9_-]{43}", secret) for secret in secrets)


def test_what_is_shown_of_a_secret_is_its_beginning():
    assert shown_part("gw_12345678rest") == "gw_12345678"


async def test_no_refusal_and_no_log_repeats_a_credential(caplog):
    caplog.set_level(logging.DEBUG)
    clock = FakeClock()
    store = MemoryStore()
    await store.create_key(key_for())
    await store.create_key(api_key("late", digest=digest_of("gw_late-secret"), expires_at=1.0))
    ring = KeyRing(store, clock, master_key=Secret("main-secret"))
    await store.revoke_key("acme", "key_1", now=5.0)
    for secret in (SECRET, "gw_late-secret", "gw_wrong-secret"):
        with pytest.raises(AccessError) as refused:
            await ring.authenticate(bearer(secret), f"key={secret}")
        assert secret not in f"{refused.value!r} {refused.value} {refused.value.hint}"
    assert "secret" not in caplog.text
    assert b"the-secret" not in msgspec.json.encode(await store.list_keys("acme"))


@pytest.mark.parametrize(
    ("host", "origin", "is_refused"),
    [
        ("127.0.0.1:8741", None, False),
        ("localhost", None, False),
        ("[::1]:8741", None, False),
        ("LOCALHOST:1", "http://localhost:1", False),
        ("LOCALHOST:1", "http://localhost:3000", True),
        ("gw.test:8741", None, False),
        ("evil.example", None, True),
        ("localhost.evil.example", None, True),
        ("127.0.0.1.evil.example:8741", None, True),
        ("", None, True),
        ("127.0.0.1:8741", "https://evil.example", True),
        ("127.0.0.1:8741", "null", True),
    ],
)
async def test_an_open_server_is_for_this_machine_and_its_pages(store, host, origin, is_refused):
    ring = KeyRing(store, FakeClock(), is_loopback=True, hosts={*LOOPBACK, "gw.test"})
    header = {"host": host, "origin": origin}.get
    for ask in (ring.authenticate, ring.check_open):
        with pytest.raises(NotAllowed) if is_refused else contextlib.nullcontext():
            await ask(header)


async def test_with_a_key_it_goes_by_the_key_and_by_no_name(store):
    ring = KeyRing(store, FakeClock(), master_key=Secret("main"), is_loopback=True)
    elsewhere = {"host": "evil.example", "origin": "https://evil.example", "x-api-key": "main"}.get
    assert (await ring.authenticate(elsewhere)).key_id == "master"
    await ring.check_open(elsewhere)
