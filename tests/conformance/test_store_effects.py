"""The effect ledger: a key is reserved once, ends once, and never vanishes while its outcome is unknown."""

import asyncio
from collections import Counter

import msgspec
import pytest

from groundwire.contracts.errors import NotFound
from groundwire.contracts.records import (
    Charge,
    ConfirmationStatus,
    EffectStatus,
    NotApproved,
    OverBudget,
    Reservation,
    Reserved,
    Taken,
)
from tests.conformance.builders import closing, confirmation, effect, ending, entry, reservation, verify


def kinds(outcomes):
    return Counter(type(outcome) for outcome in outcomes)


async def settle(store, key, **fields):
    held = effect(key, **fields)
    assert await store.close(closing(key, transition=ending(held)))
    return held


async def test_a_free_key_is_reserved_as_given(store):
    assert await store.reserve(reservation()) == Reserved()
    assert await store.find_effect("acme", "create_order", "key_1", now=2.0) == effect()
    assert await store.get_effect("acme", "eff_key_1") == effect()


async def test_a_reserved_key_is_taken(store):
    await store.reserve(reservation())
    assert await store.reserve(reservation(name="other")) == Taken(effect=effect())


@pytest.mark.requirement("D-045")
async def test_a_settled_key_gives_its_stored_result(store):
    await store.reserve(reservation())
    await settle(store, "key_1")
    outcome = await store.reserve(reservation(name="other", takeover=True, now=5000.0))
    assert isinstance(outcome, Taken)
    assert (outcome.effect.status, outcome.effect.result) == (EffectStatus.SETTLED, b'{"ok":true}')


async def test_an_attempt_that_asks_again_has_what_it_holds_and_pays_once(store):
    wanted = reservation(charges=(Charge(name="spend", scope="day", max=1.0),))
    assert await store.reserve(wanted) == Reserved()
    assert await store.reserve(wanted) == Reserved()
    assert await store.read_counters("acme", [("spend", "day")]) == [1.0]
    await settle(store, "key_1")
    assert isinstance(await store.reserve(wanted), Taken)


async def test_keys_of_tenants_and_tools_are_their_own(store):
    await store.reserve(reservation())
    assert await store.reserve(reservation(name="2", tool="cancel_order")) == Reserved()
    assert await store.reserve(reservation(name="3", tenant="other")) == Reserved()
    assert await store.get_effect("other", "eff_key_1") is None


async def test_a_thousand_at_once_reserve_one_key_exactly_once(store):
    outcomes = await asyncio.gather(*(store.reserve(reservation(name=str(number))) for number in range(1000)))
    assert kinds(outcomes) == {Reserved: 1, Taken: 999}
    winner = outcomes.index(Reserved())
    assert {outcome.effect.attempt for outcome in outcomes if isinstance(outcome, Taken)} == {f"att_{winner}"}


async def test_many_keys_at_once_are_all_reserved_and_settled(store):
    keys = [f"key_{number}" for number in range(200)]

    async def act(key):
        assert await store.reserve(reservation(key)) == Reserved()
        await settle(store, key)

    await asyncio.gather(*map(act, keys))
    assert len(await store.list_effects("acme", status=EffectStatus.SETTLED, limit=500)) == 200
    report = await verify(store)
    assert (report.ok, report.records) == (True, 200)


async def test_a_released_key_may_be_reserved_again(store):
    await store.reserve(reservation())
    assert await store.close(closing(transition=ending(effect(), None)))
    assert await store.find_effect("acme", "create_order", "key_1", now=2.0) is None
    assert await store.reserve(reservation(name="again")) == Reserved()


async def test_an_unknown_key_stays_unknown_until_taken_over(store):
    await store.reserve(reservation())
    assert await store.close(closing(transition=ending(effect(), EffectStatus.UNKNOWN, note="timed out")))
    outcome = await store.reserve(reservation(name="2"))
    assert isinstance(outcome, Taken)
    assert (outcome.effect.status, outcome.effect.note) == (EffectStatus.UNKNOWN, "timed out")
    assert await store.reserve(reservation(name="2", takeover=True)) == Reserved()
    assert await store.find_effect("acme", "create_order", "key_1", now=2.0) == effect(name="2")
    assert await store.get_effect("acme", "eff_key_1") is None


async def test_a_lease_holds_until_its_last_moment_and_not_longer(store):
    await store.reserve(reservation(lease_until=10.0))
    held = await store.find_effect("acme", "create_order", "key_1", now=9.999)
    assert held.status is EffectStatus.RESERVED
    lapsed = await store.find_effect("acme", "create_order", "key_1", now=10.0)
    assert lapsed.status is EffectStatus.UNKNOWN
    assert (await store.get_effect("acme", "eff_key_1")).status is EffectStatus.UNKNOWN


async def test_reserving_a_key_whose_lease_ran_out_makes_it_unknown(store):
    await store.reserve(reservation(lease_until=10.0))
    outcome = await store.reserve(reservation(name="2", now=10.0))
    assert outcome == Taken(effect=effect(lease_until=10.0, status=EffectStatus.UNKNOWN))
    assert (await store.get_effect("acme", "eff_key_1")).status is EffectStatus.UNKNOWN


async def test_a_lapsed_reservation_is_taken_over_in_one_step(store):
    await store.reserve(reservation(lease_until=10.0))
    assert await store.reserve(reservation(name="2", takeover=True, now=10.0, lease_until=50.0)) == Reserved()


async def test_a_reservation_in_flight_is_never_taken_over(store):
    await store.reserve(reservation())
    assert isinstance(await store.reserve(reservation(name="2", takeover=True)), Taken)


async def test_of_many_who_take_over_one_wins(store):
    await store.reserve(reservation(lease_until=10.0))
    attempts = [reservation(name=str(number), takeover=True, now=20.0) for number in range(100)]
    assert kinds(await asyncio.gather(*map(store.reserve, attempts))) == {Reserved: 1, Taken: 99}


async def test_the_slow_owner_of_a_lapsed_reservation_may_still_settle_it(store):
    await store.reserve(reservation(lease_until=10.0))
    await store.find_effect("acme", "create_order", "key_1", now=20.0)
    assert await store.close(closing(transition=ending(effect(), now=21.0)))
    settled = await store.find_effect("acme", "create_order", "key_1", now=22.0)
    assert settled.status is EffectStatus.SETTLED


async def test_an_owner_who_was_taken_over_ends_nothing_but_its_call_is_recorded(store):
    await store.reserve(reservation(lease_until=10.0))
    await store.reserve(reservation(name="2", takeover=True, now=10.0))
    assert not await store.close(closing(transition=ending(effect(), now=11.0)))
    assert not await store.close(closing("late", transition=ending(effect(), None, now=11.0)))
    held = await store.find_effect("acme", "create_order", "key_1", now=12.0)
    assert (held.status, held.attempt) == (EffectStatus.RESERVED, "att_2")
    assert await store.find_call("acme", "ses_1", "call_1") is not None
    assert (await verify(store)).records == 2


async def test_a_settled_effect_is_not_ended_again(store):
    await store.reserve(reservation())
    await settle(store, "key_1")
    assert not await store.close(closing("again", transition=ending(effect(), None)))
    assert (await store.get_effect("acme", "eff_key_1")).status is EffectStatus.SETTLED


async def test_leases_are_renewed_for_one_owner_while_they_last(store):
    await store.reserve(reservation("mine", lease_until=10.0))
    await store.reserve(reservation("lapsed", lease_until=5.0))
    await store.reserve(reservation("theirs", lease_until=10.0, owner="worker_2"))
    await store.reserve(reservation("done", lease_until=10.0))
    await settle(store, "done")
    keys = [("acme", effect().tool, name) for name in ("mine", "lapsed", "theirs", "done", "never_reserved")]
    assert await store.renew_leases("worker_1", keys, now=5.0, lease_until=35.0) == 1
    assert (await store.get_effect("acme", "eff_mine")).lease_until == 35.0
    assert (await store.get_effect("acme", "eff_theirs")).lease_until == 10.0
    assert (await store.get_effect("acme", "eff_lapsed")).lease_until == 5.0


async def test_a_person_settles_an_unknown_effect_and_the_chain_says_who(store):
    await store.reserve(reservation())
    await store.close(closing(transition=ending(effect(), EffectStatus.UNKNOWN)))
    decision = msgspec.structs.replace(
        closing("decision"), call=None, transition=ending(effect(), attempt="whoever", now=9.0, note="seen at the shop")
    )
    assert await store.decide_effect("acme", "eff_key_1", decision, by="ann")
    decided = await store.get_effect("acme", "eff_key_1")
    assert (decided.status, decided.decided_by, decided.note) == (EffectStatus.SETTLED, "ann", "seen at the shop")
    assert not await store.decide_effect("acme", "eff_key_1", decision, by="bob")
    assert [record.entry.id for record in await store.list_audit("acme")] == ["aud_decision", "aud_1"]


async def test_a_decision_stands_against_the_owner_who_comes_late(store):
    await store.reserve(reservation(lease_until=10.0))
    kept_unknown = ending(effect(), EffectStatus.UNKNOWN, now=10.0, note="asked the shop")
    decision = msgspec.structs.replace(closing("decision"), transition=kept_unknown)
    assert await store.decide_effect("acme", "eff_key_1", decision, by="ann")
    assert not await store.close(closing(transition=ending(effect(), now=11.0)))
    assert (await store.get_effect("acme", "eff_key_1")).note == "asked the shop"


async def test_a_decision_may_release_the_key(store):
    await store.reserve(reservation(lease_until=10.0))
    decision = msgspec.structs.replace(closing("decision"), transition=ending(effect(), None, now=10.0))
    assert not await store.decide_effect("other", "eff_key_1", decision, by="ann")
    assert await store.decide_effect("acme", "eff_key_1", decision, by="ann")
    assert await store.get_effect("acme", "eff_key_1") is None


async def test_nobody_decides_about_a_reservation_in_flight(store):
    await store.reserve(reservation())
    decision = msgspec.structs.replace(closing("decision"), transition=ending(effect(), now=99.0))
    assert not await store.decide_effect("acme", "eff_key_1", decision, by="ann")
    assert await store.list_audit("acme") == []


async def test_of_many_decisions_one_holds_and_one_is_recorded(store):
    await store.reserve(reservation(lease_until=10.0))

    async def decide(number):
        decision = msgspec.structs.replace(closing(str(number)), call=None, transition=ending(effect(), now=10.0))
        return await store.decide_effect("acme", "eff_key_1", decision, by=str(number))

    assert Counter(await asyncio.gather(*map(decide, range(20)))) == {True: 1, False: 19}
    assert (await verify(store)).records == 1


async def test_effects_are_listed_newest_first_in_stable_pages(store):
    for number in range(7):
        await store.reserve(reservation(str(number)))
    await settle(store, "5")
    first = await store.list_effects("acme", limit=3)
    await store.reserve(reservation("new"))
    second = await store.list_effects("acme", before=first[-1].effect_id, limit=3)
    rest = await store.list_effects("acme", before=second[-1].effect_id, limit=3)
    assert [found.key for found in (*first, *second, *rest)] == ["6", "5", "4", "3", "2", "1", "0"]
    reserved = await store.list_effects("acme", status=EffectStatus.RESERVED, before="eff_5", limit=2)
    assert [found.key for found in reserved] == ["4", "3"]
    assert await store.list_effects("other") == []


async def test_a_page_after_a_row_that_is_gone_is_refused(store):
    with pytest.raises(NotFound):
        await store.list_effects("acme", before="eff_gone")


async def test_lists_show_lapsed_reservations_as_unknown_when_they_know_the_time(store):
    await store.reserve(reservation("old", lease_until=10.0))
    await store.reserve(reservation("young", lease_until=30.0))
    unknown = await store.list_effects("acme", status=EffectStatus.UNKNOWN, now=20.0)
    assert [found.key for found in unknown] == ["old"]


async def test_only_settled_effects_are_forgotten(store):
    for key in ("settled", "unknown", "reserved", "recent"):
        await store.reserve(reservation(key))
    await settle(store, "settled")
    await store.close(closing("unknown", transition=ending(effect("unknown"), EffectStatus.UNKNOWN)))
    await store.close(closing("recent", transition=ending(effect("recent"), now=50.0)))
    assert await store.forget_effects(settled_before=10.0) == 1
    assert {found.key for found in await store.list_effects("acme")} == {"unknown", "reserved", "recent"}


def charge(amount=1.0, most=None, scope="day"):
    return Charge(name="spend", scope=scope, amount=amount, max=most)


async def test_charges_fit_exactly_to_the_limit(store):
    assert await store.reserve(reservation("1", charges=(charge(60.0, 100.0),))) == Reserved()
    over = await store.reserve(reservation("2", charges=(charge(41.0, 100.0),)))
    assert over == OverBudget(name="spend", used=60.0, max=100.0)
    assert await store.find_effect("acme", "create_order", "2", now=1.0) is None
    assert await store.reserve(reservation("3", charges=(charge(40.0, 100.0),))) == Reserved()
    assert await store.read_counters("acme", [("spend", "day")]) == [100.0]


async def test_a_charge_over_the_limit_by_itself_is_refused(store):
    over = await store.reserve(Reservation(tenant="acme", charges=(charge(2.0, 1.0),), now=1.0))
    assert over == OverBudget(name="spend", used=0.0, max=1.0)


async def test_a_hundred_at_once_stop_exactly_at_the_limit(store):
    wanted = [reservation(str(number), charges=(charge(1.0, 37.0),)) for number in range(100)]
    outcomes = await asyncio.gather(*map(store.reserve, wanted))
    assert kinds(outcomes) == {Reserved: 37, OverBudget: 63}
    assert await store.read_counters("acme", [("spend", "day")]) == [37.0]
    assert len(await store.list_effects("acme", limit=200)) == 37


async def test_a_refused_charge_gives_back_the_key_the_approval_and_the_other_charges(store):
    await store.create_confirmation(confirmation())
    await store.decide_confirmation("acme", "con_1", ConfirmationStatus.APPROVED, by="ann", note="", now=2.0)
    both = (charge(1.0, 10.0), charge(5.0, 4.0, scope="hour"))
    outcome = await store.reserve(reservation(charges=both, confirmation_id="con_1"))
    assert isinstance(outcome, OverBudget)
    assert (await store.get_confirmation("acme", "con_1")).status is ConfirmationStatus.APPROVED
    assert await store.read_counters("acme", [("spend", "day"), ("spend", "hour")]) == [0.0, 0.0]
    assert await store.find_effect("acme", "create_order", "key_1", now=1.0) is None


async def test_a_taken_key_charges_and_spends_nothing(store):
    await store.create_confirmation(confirmation())
    await store.decide_confirmation("acme", "con_1", ConfirmationStatus.APPROVED, by="ann", note="", now=2.0)
    await store.reserve(reservation())
    assert isinstance(await store.reserve(reservation(name="2", charges=(charge(),), confirmation_id="con_1")), Taken)
    assert await store.read_counters("acme", [("spend", "day")]) == [0.0]
    assert (await store.get_confirmation("acme", "con_1")).status is ConfirmationStatus.APPROVED


async def test_an_approval_is_spent_once_by_fifty_at_once(store):
    await store.create_confirmation(confirmation())
    await store.decide_confirmation("acme", "con_1", ConfirmationStatus.APPROVED, by="ann", note="", now=2.0)
    wanted = [reservation(str(number), confirmation_id="con_1", now=3.0) for number in range(50)]
    assert kinds(await asyncio.gather(*map(store.reserve, wanted))) == {Reserved: 1, NotApproved: 49}
    assert (await store.get_confirmation("acme", "con_1")).status is ConfirmationStatus.SPENT
    assert len(await store.list_effects("acme")) == 1


@pytest.mark.parametrize(
    ("status", "now"), [(None, 2.0), (ConfirmationStatus.DENIED, 2.0), (ConfirmationStatus.APPROVED, 301.0)]
)
async def test_what_is_not_approved_now_reserves_nothing(store, status, now):
    await store.create_confirmation(confirmation())
    if status is not None:
        await store.decide_confirmation("acme", "con_1", status, by="ann", note="", now=2.0)
    assert await store.reserve(reservation(confirmation_id="con_1", now=now, lease_until=999.0)) == NotApproved()
    assert await store.list_effects("acme") == []


async def test_another_tenants_approval_is_worth_nothing(store):
    await store.create_confirmation(confirmation(tenant="other"))
    await store.decide_confirmation("other", "con_1", ConfirmationStatus.APPROVED, by="ann", note="", now=2.0)
    assert await store.reserve(reservation(confirmation_id="con_1")) == NotApproved()


async def test_reservations_of_all_kinds_share_a_batch(store):
    await store.create_confirmation(confirmation())
    await store.decide_confirmation("acme", "con_1", ConfirmationStatus.APPROVED, by="ann", note="", now=2.0)
    outcomes = await asyncio.gather(
        store.reserve(reservation("plain")),
        store.reserve(reservation("charged", charges=(charge(1.0, 1.0),))),
        store.reserve(reservation("too much", charges=(charge(1.0, 1.0),))),
        store.reserve(reservation("approved", confirmation_id="con_1")),
        store.reserve(reservation("not approved", confirmation_id="con_1")),
        store.reserve(reservation("plain", name="again")),
        store.close(closing(charges=(charge(3.0, scope="hour"),))),
    )
    assert [type(outcome) for outcome in outcomes] == [
        Reserved,
        Reserved,
        OverBudget,
        Reserved,
        NotApproved,
        Taken,
        bool,
    ]
    assert await store.read_counters("acme", [("spend", "day"), ("spend", "hour")]) == [1.0, 3.0]
    assert entry("1").id == (await store.list_audit("acme"))[0].entry.id
