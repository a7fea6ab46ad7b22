"""Leases of runs, in every store alike: who holds a run, when it is due, and what wakes it."""

import asyncio

from msgspec.structs import replace

from groundwire.contracts.records import ConfirmationStatus
from groundwire.contracts.runs import Outcome, RunStatus
from tests.conformance.builders import confirmation, run, run_entries


async def held(store, **fields):
    """A run with one entry, held by worker_1 until 100."""
    created = run(**{"owner": "worker_1", "due_at": 100.0, **fields})
    await store.create_run(created, run_entries(1, b"{}"))
    return replace(created, entries=1)


async def paused(store, *approvals, run_id="run_1", now=10.0):
    """A run that waits for these approvals."""
    head = await held(store, run_id=run_id)
    ended = replace(head, outcome=Outcome.AWAITING_APPROVAL.value, updated_at=now)
    assert await store.append_run(ended, run_entries(2, b"{}"), waiting=approvals)
    return await store.load_run("acme", run_id)


async def due(store, now):
    return [found.run_id for found in await store.due_runs(now=now)]


async def decide(store, name, *, now, status=ConfirmationStatus.APPROVED):
    return await store.decide_confirmation("acme", name, status, by="ann", note="", now=now)


async def test_a_lease_comes_back_as_it_was_stored(store):
    head = await held(store)
    assert await store.load_run("acme", "run_1") == head
    wanted = replace(head, owner="worker_2", due_at=200.5, resumes=3, cancel_requested=True)
    assert await store.swap_lease(head, wanted)
    assert await store.load_run("acme", "run_1") == wanted


async def test_of_those_who_claim_a_run_at_once_one_gets_it(store):
    head = await held(store)
    claims = await asyncio.gather(
        *(store.swap_lease(head, replace(head, owner=f"worker_{number}", due_at=300.0)) for number in range(2, 7))
    )
    assert sum(claims) == 1
    assert (await store.load_run("acme", "run_1")).owner == f"worker_{2 + claims.index(True)}"


async def test_a_lease_that_changed_in_any_field_is_not_swapped(store):
    head = await held(store)
    for seen in (
        replace(head, owner="worker_9"),
        replace(head, due_at=99.0),
        replace(head, resumes=1),
        replace(head, cancel_requested=True),
        replace(head, run_id="run_2"),
        replace(head, tenant="other"),
    ):
        assert not await store.swap_lease(seen, replace(seen, owner="worker_2"))
    assert await store.load_run("acme", "run_1") == head


async def test_only_the_owner_of_a_run_appends_to_it(store):
    head = await held(store)
    taken = replace(head, owner="worker_2", due_at=300.0)
    assert await store.swap_lease(head, taken)
    assert not await store.append_run(head, run_entries(2, b"late"))
    assert await store.append_run(taken, run_entries(2, b"mine"))
    assert [entry.body for entry in await store.run_entries("acme", "run_1")] == [b"{}", b"mine"]


async def test_an_append_keeps_the_lease_and_shows_that_the_run_got_further(store):
    head = await held(store)
    assert await store.swap_lease(head, replace(head, resumes=2))
    assert await store.append_run(head, run_entries(2, b"{}"))
    found = await store.load_run("acme", "run_1")
    assert (found.owner, found.due_at, found.resumes) == ("worker_1", 100.0, 0)


async def test_a_run_that_ends_has_no_owner_and_is_never_due(store):
    head = await held(store)
    assert await store.swap_lease(head, replace(head, cancel_requested=True))
    assert await store.append_run(replace(head, outcome="completed"), run_entries(2, b"{}"))
    found = await store.load_run("acme", "run_1")
    assert (found.owner, found.due_at, found.cancel_requested) == ("", 0.0, False)
    assert await due(store, 1e12) == []


async def test_a_run_is_due_when_its_lease_expires_and_not_before(store):
    await held(store)
    await held(store, run_id="run_0", due_at=50.0, tenant="other")
    assert await due(store, 49.9) == []
    assert await due(store, 50.0) == ["run_0"]
    assert await due(store, 100.0) == ["run_0", "run_1"]
    assert [found.run_id for found in await store.due_runs(now=100.0, limit=1)] == ["run_0"]


async def test_a_paused_run_is_due_when_the_first_of_its_approvals_expires(store):
    await store.create_confirmation(confirmation("one", confirmation_id="one", expires_at=60.0))
    await store.create_confirmation(confirmation("two", confirmation_id="two", expires_at=50.0, input_digest="cd" * 32))
    found = await paused(store, "one", "two")
    assert (found.status(20.0), found.due_at) == (RunStatus.WAITING, 50.0)
    assert await due(store, 49.9) == []
    assert await due(store, 50.0) == ["run_1"]


async def test_a_decision_makes_every_run_due_that_waits_for_it(store):
    await store.create_confirmation(confirmation("one", confirmation_id="one", expires_at=60.0))
    await paused(store, "one")
    await paused(store, "one", run_id="run_2")
    await paused(store, run_id="run_3")
    assert await decide(store, "one", now=20.0)
    assert await due(store, 20.0) == ["run_1", "run_2"]


async def test_a_denial_makes_a_run_due_too(store):
    await store.create_confirmation(confirmation("one", confirmation_id="one", expires_at=60.0))
    await paused(store, "one")
    assert await decide(store, "one", now=20.0, status=ConfirmationStatus.DENIED)
    assert await due(store, 20.0) == ["run_1"]


async def test_a_decision_that_came_before_the_pause_is_not_lost(store):
    await store.create_confirmation(confirmation("one", confirmation_id="one", expires_at=60.0))
    assert await decide(store, "one", now=9.0)
    found = await paused(store, "one", now=10.0)
    assert found.due_at == 10.0


async def test_a_decision_does_not_touch_a_run_that_somebody_holds(store):
    await store.create_confirmation(confirmation("one", confirmation_id="one", expires_at=60.0))
    found = await paused(store, "one")
    claimed = replace(found, owner="worker_2", due_at=300.0)
    assert await store.swap_lease(found, claimed)
    assert await decide(store, "one", now=20.0)
    assert await store.load_run("acme", "run_1") == claimed


async def test_decisions_and_pauses_at_the_same_moment_never_miss_each_other(store):
    for number in range(20):
        name = f"one_{number}"
        await store.create_confirmation(
            confirmation(name, confirmation_id=name, expires_at=60.0, input_digest=f"{number:064}")
        )
        await asyncio.gather(paused(store, name, run_id=f"run_{number}"), decide(store, name, now=20.0))
    assert len(await due(store, 20.0)) == 20


async def test_the_owners_are_found_whose_runs_should_be_cancelled(store):
    head = await held(store)
    other = await held(store, run_id="run_2", owner="worker_2")
    await held(store, run_id="run_3", owner="worker_3")
    assert await store.runs_to_cancel(["worker_1", "worker_2"]) == []
    for found in (head, other):
        assert await store.swap_lease(found, replace(found, cancel_requested=True))
    assert await store.runs_to_cancel(["worker_1", "worker_3"]) == ["worker_1"]
    assert sorted(await store.runs_to_cancel(["worker_1", "worker_2"])) == ["worker_1", "worker_2"]


async def test_the_status_of_a_run_follows_from_its_owner_its_outcome_and_the_time():
    assert run(owner="w", due_at=100.0).status(99.9) is RunStatus.RUNNING
    assert run(owner="w", due_at=100.0).status(100.0) is RunStatus.INTERRUPTED
    assert run().status(1.0) is RunStatus.INTERRUPTED
    assert run(outcome="awaiting_approval", due_at=100.0).status(1.0) is RunStatus.WAITING
    assert run(outcome="awaiting_approval", owner="w", due_at=100.0).status(1.0) is RunStatus.RUNNING
    assert run(outcome="completed").status(1.0) is RunStatus.ENDED
    assert run(outcome="provider_error").status(1.0) is RunStatus.ENDED
