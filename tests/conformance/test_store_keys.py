"""Keys and their limits, the same on every store."""

import asyncio

import pytest

from groundwire.contracts.errors import NotFound, StoreError
from groundwire.contracts.keys import KeyLimit, OverLimit
from groundwire.store import open_url
from tests.conformance.builders import answer_of, api_key, entry, request_of

DAY = 86_400.0
MARCH, APRIL = 1_772_323_200.0, 1_775_001_600.0
"""When March and April of 2026 begin, in UTC."""
FULL = api_key(
    "full",
    name="the “whole” of it",
    scopes=("admin",),
    models=("openai/*", "cheap"),
    tools=("kb.*",),
    default_tools=("kb.search",),
    limits=(KeyLimit("requests", 60, "minute"), KeyLimit("money", 0.5, 90)),
    expires_at=99.5,
)


async def allowed(store, key, now):
    return await store.spend(request_of(key, now)) is None


async def test_a_key_is_found_by_its_digest_as_it_was_stored(store):
    await store.create_key(FULL)
    assert await store.find_key("digest_full") == FULL
    assert await store.find_key("digest_none") is None
    assert await store.find_key("") is None


async def test_the_audit_entry_of_a_key_is_written_with_it_or_not_at_all(store):
    await store.create_key(FULL, entry=entry("made"))
    with pytest.raises(StoreError):
        await store.create_key(FULL, entry=entry("made_again"))
    assert await store.revoke_key(FULL.tenant, FULL.key_id, now=1.0, entry=entry("revoked"))
    assert not await store.revoke_key(FULL.tenant, FULL.key_id, now=2.0, entry=entry("revoked_again"))
    assert [record.entry.id async for record in store.audit_records()] == ["aud_made", "aud_revoked"]


async def test_a_second_key_of_the_same_id_or_digest_is_refused_and_changes_nothing(store):
    await store.create_key(FULL)
    for second in (api_key("full", digest="other"), api_key("2", digest="digest_full")):
        with pytest.raises(StoreError):
            await store.create_key(second)
    assert await store.list_keys("acme") == [FULL]
    assert await store.find_key("other") is None


async def test_keys_are_listed_newest_first_page_by_page_and_per_tenant(store):
    keys = [api_key(str(number)) for number in range(3)]
    for key in (*keys, api_key("theirs", tenant="other")):
        await store.create_key(key)
    assert await store.list_keys("acme", limit=2) == [keys[2], keys[1]]
    assert await store.list_keys("acme", before="key_1") == [keys[0]]
    with pytest.raises(NotFound):
        await store.list_keys("acme", before="key_theirs")


async def test_a_key_is_revoked_once_by_its_own_tenant_and_stays_listed(store):
    await store.create_key(api_key())
    assert not await store.revoke_key("other", "key_1", now=5.0)
    assert not await store.revoke_key("acme", "key_2", now=5.0)
    assert await store.revoke_key("acme", "key_1", now=5.0)
    assert not await store.revoke_key("acme", "key_1", now=6.0)
    assert await store.list_keys("acme") == [api_key(revoked_at=5.0)]
    assert await store.find_key("digest_1") == api_key(revoked_at=5.0)


async def test_the_version_is_zero_until_there_is_a_key_and_moves_with_each_change(store):
    assert await store.keys_version() == 0
    await store.create_key(api_key(limits=(KeyLimit("requests", 5, "day"),)))
    created = await store.keys_version()
    await store.spend(request_of(api_key(limits=(KeyLimit("requests", 5, "day"),)), 1.0))
    assert await store.keys_version() == created
    await store.revoke_key("acme", "key_1", now=5.0)
    revoked = await store.keys_version()
    await store.create_key(api_key("2"))
    assert 0 < created < revoked < await store.keys_version()


async def test_requests_are_allowed_up_to_the_limit_and_again_in_the_next_window(store):
    key = api_key(limits=(KeyLimit("requests", 3, "minute"),))
    await store.create_key(key)
    assert [await allowed(store, key, 60.0 + second) for second in range(5)] == [True, True, True, False, False]
    assert await store.spend(request_of(key, 119.9)) == OverLimit(limit=key.limits[0], free_at=120.0)
    assert await store.key_usage(key, now=119.9) == [3]
    assert await store.key_usage(key, now=120.0) == [0]
    assert await allowed(store, key, 120.0)


@pytest.mark.parametrize(
    ("window", "start", "end"),
    [
        (1, 10.0, 11.0),
        (90, 180.0, 270.0),
        ("minute", 60.0, 120.0),
        ("hour", 3_600.0, 7_200.0),
        ("day", DAY, 2 * DAY),
        ("month", MARCH, APRIL),
        ("month", 1_796_083_200.0, 1_798_761_600.0),
    ],
)
async def test_a_window_begins_and_ends_where_it_says(store, window, start, end):
    key = api_key(limits=(KeyLimit("requests", 1, window),))
    await store.create_key(key)
    assert await allowed(store, key, start)
    assert await store.spend(request_of(key, end - 0.001)) == OverLimit(limit=key.limits[0], free_at=end)
    assert await allowed(store, key, end)


async def test_nothing_is_counted_when_one_of_several_limits_refuses(store):
    key = api_key(limits=(KeyLimit("requests", 5, "day"), KeyLimit("requests", 1, "minute")))
    await store.create_key(key)
    assert [await allowed(store, key, 1.0) for _ in range(4)] == [True, False, False, False]
    assert await store.key_usage(key, now=1.0) == [1, 1]


async def test_the_limit_that_has_room_last_is_the_one_that_is_named(store):
    limits = (KeyLimit("requests", 1, "minute"), KeyLimit("requests", 1, "day"), KeyLimit("requests", 1, "hour"))
    key = api_key(limits=limits)
    await store.create_key(key)
    assert await allowed(store, key, 1.0)
    assert await store.spend(request_of(key, 1.0)) == OverLimit(limit=limits[1], free_at=DAY)


@pytest.mark.parametrize(
    ("unit", "below", "rest"), [("tokens", {"tokens": 999}, {"tokens": 1}), ("money", {"money": 999.9}, {"money": 0.1})]
)
async def test_what_answers_took_stops_the_next_request_once_the_limit_is_reached(store, unit, below, rest):
    key = api_key(limits=(KeyLimit(unit, 1000, "day"),))
    await store.create_key(key)
    assert await allowed(store, key, 1.0)
    await store.spend(answer_of(key, 2.0, **below))
    assert await allowed(store, key, 3.0)
    await store.spend(answer_of(key, 4.0, **rest))
    assert await store.spend(request_of(key, 5.0)) == OverLimit(limit=key.limits[0], free_at=DAY)
    assert await allowed(store, key, DAY)


async def test_what_an_answer_took_is_counted_beyond_the_limit_and_on_no_other_unit(store):
    key = api_key(limits=(KeyLimit("tokens", 10, "day"), KeyLimit("money", 1, "day"), KeyLimit("requests", 1, "day")))
    await store.create_key(key)
    assert await store.spend(answer_of(key, 1.0, tokens=25, money=0.25)) is None
    assert await store.key_usage(key, now=1.0) == [25, 0.25, 0]


async def test_ten_times_ten_cents_are_a_dollar(store):
    key = api_key(limits=(KeyLimit("money", 1, "day"),))
    await store.create_key(key)
    for _ in range(10):
        assert await allowed(store, key, 1.0)
        await store.spend(answer_of(key, 1.0, money=0.1))
    assert not await allowed(store, key, 1.0)


async def test_a_limit_of_nothing_allows_nothing(store):
    for unit in ("requests", "tokens", "money"):
        key = api_key(unit, limits=(KeyLimit(unit, 0, "day"),))
        await store.create_key(key)
        assert not await allowed(store, key, 1.0)


async def test_a_clock_that_is_behind_does_not_reopen_the_window_before(store):
    key = api_key(limits=(KeyLimit("requests", 1, "minute"),))
    await store.create_key(key)
    assert await allowed(store, key, 60.0)
    assert await store.spend(request_of(key, 59.9)) == OverLimit(limit=key.limits[0], free_at=120.0)


async def test_a_clock_that_was_years_ahead_does_not_close_the_key_for_years(store):
    key = api_key(limits=(KeyLimit("requests", 1, "minute"),))
    await store.create_key(key)
    assert await allowed(store, key, 1e9)
    assert await allowed(store, key, 60.0)


async def test_requests_at_once_are_allowed_exactly_up_to_the_limit(store):
    keys = [api_key(name, limits=(KeyLimit("requests", 70, "day"),)) for name in ("a", "b")]
    for key in keys:
        await store.create_key(key)
    outcomes = await asyncio.gather(*(allowed(store, keys[number % 2], 1.0) for number in range(200)))
    assert sum(outcomes) == 140
    assert [await store.key_usage(key, now=1.0) for key in keys] == [[70], [70]]


async def test_a_key_without_its_counts_is_not_used_without_limits(store):
    with pytest.raises(StoreError):
        await store.spend(request_of(api_key(limits=(KeyLimit("requests", 5, "day"),)), 1.0))


async def test_a_key_that_somebody_removes_by_hand_moves_the_version_on_too(shared):
    await shared.create_key(api_key())
    before = await shared.keys_version()
    await shared.database.execute("DELETE FROM api_keys")
    async with asyncio.timeout(10):
        while await shared.keys_version() == before:  # noqa: ASYNC110 - a server tells of it when the loop next listens
            await asyncio.sleep(0)
    assert await shared.keys_version() > before


async def test_two_connections_count_together_and_see_each_others_keys(shared, shared_url):
    other = open_url(shared_url)
    key = api_key(limits=(KeyLimit("requests", 70, "day"),))
    await shared.create_key(key)
    assert await other.find_key("digest_1") == key
    outcomes = await asyncio.gather(*(allowed(store, key, 1.0) for _ in range(50) for store in (shared, other)))
    assert sum(outcomes) == 70
    assert await other.key_usage(key, now=1.0) == [70]
    await other.shut()


async def test_a_charge_whose_caller_has_gone_is_counted_all_the_same(store):
    key = api_key(limits=(KeyLimit("tokens", 10, "day"),))
    await store.create_key(key)
    tasks = [asyncio.create_task(store.spend(answer_of(key, 1.0, tokens=1))) for _ in range(20)]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await store.spend(answer_of(key, 1.0))  # behind them in the queue
    assert await store.key_usage(key, now=1.0) == [20]
