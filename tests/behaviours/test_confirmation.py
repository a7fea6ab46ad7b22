"""A person must agree: to exactly this call, in this session, once, and in time."""

import asyncio

import pytest

from groundwire import ErrorType, GroundwireError, Overrides, PolicyRule, Settings, tool
from groundwire.contracts.projections import model_view
from groundwire.runtime.ledger import LedgerTimes
from groundwire.store import MemoryStore
from groundwire.testing import assert_failed, assert_ok


def booking(**options):
    runs = []

    @tool(category="action", confirm=True, **options)
    def book(place: str, people: int = 2) -> dict:
        """Book a table."""
        runs.append((place, people))
        return {"booked": place}

    return book, runs


async def ask(runtime, place="Nonna", session="s", **options):
    return await runtime.call("book", {"place": place}, session=session, caller="model", **options)


def waiting_id(result):
    assert_failed(result, ErrorType.CONFIRMATION_REQUIRED)
    return result.meta.confirmation.id


@pytest.mark.requirement("B-115", "B-199", "B-200", "B-201", "B-090", "B-195")
async def test_nothing_runs_before_somebody_agreed_and_then_it_runs_once(make, clock, audit_of):
    book, runs = booking()
    runtime = make(book, clock=clock)
    held = await ask(runtime)
    error = assert_failed(held, ErrorType.CONFIRMATION_REQUIRED)
    assert (error.retryable, error.partial_side_effects) == (False, False)
    assert held.meta.confirmation.expires_at == "2023-11-14T22:18:20.000Z"
    assert runs == []

    await runtime.approve(held.meta.confirmation.id, by="ada", note="fine")
    passed = await ask(runtime)
    assert assert_ok(passed) == {"booked": "Nonna"}
    assert runs == [("Nonna", 2)]

    again = waiting_id(await ask(runtime))
    assert again != held.meta.confirmation.id
    assert runs == [("Nonna", 2)]

    executed = [entry for entry in await audit_of(runtime) if entry.decision == "executed"]
    assert [entry.approver for entry in executed] == ["ada"]
    (approval,) = await audit_of(runtime, kind="approval")
    assert (approval.actor, approval.decision, approval.reason) == ("ada", "approved", "fine")
    assert approval.input_hash == executed[0].input_hash


async def test_the_model_learns_what_is_asked_but_not_the_id(make):
    book, _ = booking()
    held = await ask(make(book))
    shown = str(model_view(held))
    assert "Nonna" in shown
    assert held.meta.confirmation.id not in shown


async def test_asking_again_while_the_question_is_open_is_the_same_question(make):
    book, _ = booking()
    runtime = make(book)
    assert len({waiting_id(await ask(runtime)) for _ in range(3)}) == 1
    assert len(await runtime.approvals()) == 1


@pytest.mark.parametrize(
    "other",
    [{"session": "another"}, {"place": "Luigi"}, {"tenant": "acme"}],
    ids=["session", "arguments", "tenant"],
)
async def test_an_approval_is_bound_to_session_arguments_and_tenant(make, other):
    book, runs = booking()
    runtime = make(book)
    await runtime.approve(waiting_id(await ask(runtime)), by="ada")
    assert_failed(await ask(runtime, **other), ErrorType.CONFIRMATION_REQUIRED)
    assert runs == []
    assert_ok(await ask(runtime))


async def test_without_session_and_user_an_approval_is_bound_to_the_run(make):
    book, runs = booking()
    runtime = make(book)
    asked = waiting_id(await ask(runtime, session=None, run_id="run_a"))
    await runtime.approve(asked, by="ada")
    for other in ({"run_id": "run_b"}, {}):
        assert waiting_id(await ask(runtime, session=None, **other)) != asked
    assert runs == []
    assert_ok(await ask(runtime, session=None, run_id="run_a"))


async def test_a_call_without_session_user_and_run_passes_on_the_agreement_to_it(make):
    book, _ = booking()
    runtime = make(book)
    await runtime.approve(waiting_id(await ask(runtime, session=None)), by="ada")
    assert_ok(await ask(runtime, session=None))


async def test_a_user_keeps_an_approval_from_run_to_run(make):
    book, _ = booking()
    runtime = make(book)
    await runtime.approve(waiting_id(await ask(runtime, session=None, user="eve", run_id="run_a")), by="ada")
    assert_failed(await ask(runtime, session=None, user="mallory", run_id="run_b"), ErrorType.CONFIRMATION_REQUIRED)
    assert_ok(await ask(runtime, session=None, user="eve", run_id="run_b"))


async def test_agreement_to_changed_arguments_is_none_to_the_original_ones(make):
    book, runs = booking()
    runtime = make(book)
    asked = waiting_id(await ask(runtime))
    await runtime.approve(asked, by="ada", arguments={"place": "Luigi"})
    assert waiting_id(await ask(runtime)) != asked
    assert runs == []
    assert_ok(await ask(runtime, place="Luigi"))
    assert runs == [("Luigi", 2)]


async def test_an_approval_is_bound_to_the_tool(make):
    book, _ = booking()
    other, runs = booking(name="cancel")
    runtime = make(book, other)
    await runtime.approve(waiting_id(await ask(runtime)), by="ada")
    held = await runtime.call("cancel", {"place": "Nonna"}, session="s", caller="model")
    assert_failed(held, ErrorType.CONFIRMATION_REQUIRED)
    assert runs == []


async def test_equal_arguments_in_another_spelling_are_the_same_call(make):
    book, runs = booking()
    runtime = make(book)
    await runtime.approve(waiting_id(await ask(runtime)), by="ada")
    assert_ok(await runtime.call("book", ' { "place":"Nonn\\u0061" } ', session="s", caller="model"))
    assert len(runs) == 1


async def test_knowing_the_id_approves_nothing(make):
    book, runs = booking()
    runtime = make(book)
    known = waiting_id(await ask(runtime))
    for options in (
        {"call_id": known},
        {"idempotency_key": known},
        {"request_id": known},
        {"supplied": {"confirmation": known}},
    ):
        assert_failed(await ask(runtime, **options), ErrorType.CONFIRMATION_REQUIRED)
    assert runs == []


@pytest.mark.parametrize(("after", "runs_"), [(299.999, True), (300.0, False), (301.0, False)])
async def test_an_approval_counts_until_the_question_runs_out(make, clock, after, runs_):
    book, runs = booking()
    runtime = make(book, clock=clock)
    await runtime.approve(waiting_id(await ask(runtime)), by="ada")
    clock.advance(after)
    assert (await ask(runtime)).ok is runs_
    assert bool(runs) is runs_


@pytest.mark.parametrize(("after", "in_time"), [(299.999, True), (300.0, False)])
async def test_a_question_can_be_decided_until_it_runs_out(make, clock, after, in_time):
    book, _ = booking()
    runtime = make(book, clock=clock)
    asked = waiting_id(await ask(runtime))
    clock.advance(after)
    assert len(await runtime.approvals()) == int(in_time)
    if in_time:
        await runtime.approve(asked, by="ada")
    else:
        with pytest.raises(GroundwireError) as raised:
            await runtime.approve(asked, by="ada")
        assert raised.value.code == "already_decided"
        assert waiting_id(await ask(runtime)) != asked


async def test_how_long_a_question_stays_open_is_a_setting(make, clock):
    book, _ = booking()
    runtime = make(book, clock=clock, settings=Settings(ledger=LedgerTimes(confirmation_seconds=10)))
    asked = waiting_id(await ask(runtime))
    clock.advance(10)
    assert waiting_id(await ask(runtime)) != asked


async def test_a_denied_call_is_refused_until_the_question_runs_out_and_may_then_be_asked_again(make, clock):
    book, runs = booking()
    runtime = make(book, clock=clock)
    await runtime.deny(waiting_id(await ask(runtime)), by="ada", note="too dear")
    for _ in range(2):
        refused = await ask(runtime)
        error = assert_failed(refused, ErrorType.CONFIRMATION_REQUIRED, detail="DENIED")
        assert "too dear" in error.message
    clock.advance(300)
    assert_failed(await ask(runtime), ErrorType.CONFIRMATION_REQUIRED)
    assert len(await runtime.approvals()) == 1
    assert runs == []


async def test_a_question_is_decided_once(make):
    book, _ = booking()
    runtime = make(book)
    asked = waiting_id(await ask(runtime))
    await runtime.deny(asked, by="ada")
    for decide in (runtime.approve, runtime.deny):
        with pytest.raises(GroundwireError):
            await decide(asked, by="bob")
    with pytest.raises(GroundwireError):
        await runtime.approve("cnf_that_never_was", by="bob")


async def test_another_tenant_cannot_decide(make):
    book, _ = booking()
    runtime = make(book)
    asked = waiting_id(await ask(runtime))
    with pytest.raises(GroundwireError):
        await runtime.approve(asked, by="mallory", tenant="acme")
    assert len(await runtime.approvals()) == 1


async def test_a_decision_is_recorded_under_its_own_tenant(make, audit_of):
    book, _ = booking()
    runtime = make(book)
    await runtime.approve(waiting_id(await ask(runtime, tenant="acme")), by="ada", tenant="acme")
    assert [entry.actor for entry in await audit_of(runtime, kind="approval", tenant="acme")] == ["ada"]
    assert await audit_of(runtime, kind="approval") == []


async def test_within_one_run_a_settled_effect_needs_no_second_agreement(make):
    book, runs = booking()
    runtime = make(book)
    async with runtime.turn(session="s") as turn:
        held = await runtime.call("book", {"place": "Nonna"}, turn=turn, caller="model")
        await runtime.approve(waiting_id(held), by="ada")
        for replayed in (False, True):
            result = await runtime.call("book", {"place": "Nonna"}, turn=turn, caller="model")
            assert_ok(result)
            assert result.meta.replayed is replayed
    assert len(runs) == 1


async def test_two_calls_at_once_cannot_spend_one_approval_twice(make):
    started, gate = [], asyncio.Event()

    @tool(category="action", confirm=True, scope="call")
    async def book(place: str) -> str:
        """Book."""
        started.append(place)
        await gate.wait()
        return place

    runtime = make(book)
    await runtime.approve(waiting_id(await ask(runtime)), by="ada")
    calls = [asyncio.ensure_future(ask(runtime)) for _ in range(2)]
    await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
    gate.set()
    results = await asyncio.gather(*calls)
    assert sorted(result.ok for result in results) == [False, True]
    assert len(started) == 1


class MeetingStore(MemoryStore):
    """Two calls find the approval before either of them can spend it."""

    meeting = None

    async def find_confirmation(self, *binding, now):
        found = await super().find_confirmation(*binding, now=now)
        if self.meeting is not None and found is not None:
            await self.meeting.wait()
        return found


async def test_a_call_whose_approval_another_has_spent_requests_one_of_its_own(make):
    runs, store = [], MeetingStore()

    @tool(category="action", confirm=True, scope="call")
    async def book(place: str) -> str:
        """Book."""
        runs.append(place)
        return place

    runtime = make(book, store=store)
    spent = waiting_id(await ask(runtime))
    await runtime.approve(spent, by="ada")
    store.meeting = asyncio.Barrier(2)
    results = await asyncio.gather(ask(runtime), ask(runtime))
    store.meeting = None
    [refused] = [result for result in results if not result.ok]
    [pending] = await runtime.approvals()
    assert waiting_id(refused) == pending.confirmation_id != spent
    assert len(runs) == 1
    await runtime.approve(pending.confirmation_id, by="ada")
    assert_ok(await ask(runtime))
    assert len(runs) == 2


async def test_an_approval_survives_a_restart(make, clock):
    book, runs = booking()
    store = MemoryStore()
    asked = waiting_id(await ask(make(book, clock=clock, store=store)))
    await make(book, clock=clock, store=store).approve(asked, by="ada")
    assert_ok(await ask(make(book, clock=clock, store=store)))
    assert len(runs) == 1


async def test_a_rule_can_ask_for_agreement_to_a_tool_that_does_not(make):
    @tool(category="retrieval")
    def look(place: str) -> str:
        """Look."""
        return place

    rule = PolicyRule(tools=("look",), limits=Overrides(confirm=True))
    runtime = make(look, settings=Settings(policies=(rule,)))
    held = await runtime.call("look", {"place": "x"}, session="s")
    await runtime.approve(waiting_id(held), by="ada")
    assert assert_ok(await runtime.call("look", {"place": "x"}, session="s")) == "x"


async def test_the_question_is_announced_as_an_event(make):
    book, _ = booking()
    events = []
    held = await ask(make(book), on_event=events.append)
    (requested,) = [event for event in events if event.event == "approval.requested"]
    assert requested.confirmation_id == held.meta.confirmation.id
    assert requested.call_id == held.meta.call_id
