"""Sessions, calls, counts, blobs and questions: what goes in comes out, in every store alike."""

import asyncio
from collections import Counter

import pytest

from groundwire.contracts.errors import NotFound
from groundwire.contracts.records import Agreement, Charge, Closing, ConfirmationStatus, SessionTotals, ToolSample
from groundwire.contracts.results import Evidence
from tests.conformance.builders import call, closing, confirmation, entry, session


async def test_a_session_comes_back_as_it_was_stored(store):
    given = session(
        state={"big": 12345678901234567890, "nested": [1, 2.5, None, {"ключ": "值"}]},
        loop_history=({"turn": 1}, {"turn": 2}),
        created_at=1.5,
        ended_at=9.0,
        status="ended",
        mode="voice",
        turns=2,
        calls=5,
        peak_tokens=900,
    )
    assert await store.create_session(given) == given
    assert await store.load_session("acme", "ses_1") == given
    assert await store.load_session("other", "ses_1") is None


async def test_who_creates_a_session_second_gets_the_first(store):
    given = [session(mode=f"mode {number}") for number in range(10)]
    created = await asyncio.gather(*map(store.create_session, given))
    assert len({found.mode for found in created}) == 1
    assert await store.load_session("acme", "ses_1") == created[0]


async def test_of_two_who_save_the_same_version_one_is_told(store):
    first = await store.create_session(session())
    saved = await asyncio.gather(*(store.save_session(first) for _ in range(5)))
    assert Counter(saved) == {True: 1, False: 4}
    assert (await store.load_session("acme", "ses_1")).version == first.version + 1
    assert not await store.save_session(session("ses_unknown"))


async def test_sessions_are_listed_newest_first_in_pages(store):
    for number in range(5):
        await store.create_session(session(f"ses_{number}"))
    await store.create_session(session("elsewhere", tenant="other"))
    first = await store.list_sessions("acme", limit=2)
    rest = await store.list_sessions("acme", before=first[-1].session_id)
    assert [found.session_id for found in (*first, *rest)] == ["ses_4", "ses_3", "ses_2", "ses_1", "ses_0"]
    with pytest.raises(NotFound):
        await store.list_sessions("acme", before="elsewhere")


async def test_totals_follow_every_change_of_a_session(store):
    assert await store.session_totals("acme") == SessionTotals()
    first = await store.create_session(session("ses_1", turns=1, calls=2, peak_tokens=100, loop_history=({"turn": 1},)))
    await store.create_session(session("ses_2", peak_tokens=50))
    await store.create_session(session("ses_3", tenant="other", turns=9))
    await store.save_session(
        session(
            "ses_1",
            status="ended",
            turns=3,
            calls=7,
            peak_tokens=80,
            loop_history=({"turn": 2}, {"turn": 3}),
            version=first.version,
        )
    )
    await store.save_session(session("ses_2", turns=100, version=77))
    totals = await store.session_totals("acme")
    assert (totals.total, totals.active, totals.turns, totals.turns_tracked, totals.calls) == (2, 1, 3, 2, 7)


async def test_an_artifact_is_kept_under_its_version(store):
    await store.save_artifact("v1", b"\x00one")
    await store.save_artifact("v1", b"\x00one")
    assert await store.load_artifact("v1") == b"\x00one"
    assert await store.load_artifact("v2") is None


async def test_a_call_comes_back_as_it_was_closed(store):
    given = call(
        raw='{"text":"零 \\u0000 🙂"}',
        result=bytes(range(256)),
        ok=False,
        executed=False,
        error_type="TIMEOUT",
        effect_id="eff_1",
        parent_call_id="call_0",
        variant="b",
    )
    await store.close(Closing(call=given, entry=entry()))
    assert await store.find_call("acme", "ses_1", "call_1") == given
    assert await store.find_call("acme", "ses_2", "call_1") is None


async def test_a_deferred_call_is_found_before_it_is_durable(store):
    store.enqueue(closing("early"))
    assert await store.find_call("acme", "ses_1", "call_early") == call("early")
    assert [found.call_id for found in await store.list_calls("acme")] == ["call_early"]


async def test_the_first_of_two_calls_with_one_id_stays(store):
    store.enqueue(closing("1", raw="first"))
    await store.close(closing("1", raw="second"))
    await store.close(closing("1", raw="third"))
    assert (await store.find_call("acme", "ses_1", "call_1")).raw == "first"
    assert len(await store.list_calls("acme")) == 1
    assert len(await store.list_audit("acme")) == 3


async def test_calls_are_listed_newest_first_by_session_and_turn(store):
    for number in range(6):
        store.enqueue(closing(str(number), session_id=f"ses_{number % 2}", turn=number // 2))
    await store.flush()
    assert [found.call_id for found in await store.list_calls("acme", limit=2)] == ["call_5", "call_4"]
    of_session = await store.list_calls("acme", session_id="ses_0")
    assert [found.call_id for found in of_session] == ["call_4", "call_2", "call_0"]
    assert [found.call_id for found in await store.list_calls("acme", session_id="ses_0", turn=1)] == ["call_2"]
    assert [found.call_id for found in await store.list_calls("acme", turn=1)] == ["call_3", "call_2"]
    below = await store.list_calls("acme", session_id="ses_0", before="call_4", limit=1)
    assert [found.call_id for found in below] == ["call_2"]


async def test_the_calls_of_a_run_are_listed_without_those_around_them(store):
    for number in range(9):
        store.enqueue(
            closing(str(number), session_id=f"ses_{number % 2}", turn=number // 4, run_id=f"run_{number % 3}")
        )
    await store.flush()
    assert [found.call_id for found in await store.list_calls("acme", run_id="run_0")] == ["call_6", "call_3", "call_0"]
    of_session = {"session_id": "ses_0", "run_id": "run_0"}
    assert [found.call_id for found in await store.list_calls("acme", **of_session)] == ["call_6", "call_0"]
    assert [found.call_id for found in await store.list_calls("acme", **of_session, turn=1)] == ["call_6"]
    below = await store.list_calls("acme", **of_session, before="call_6", limit=1)
    assert [found.call_id for found in below] == ["call_0"]
    assert await store.list_calls("acme", run_id="run_3") == []


async def test_pages_over_sessions_tell_equal_call_ids_apart(store):
    for name in ("ses_1", "ses_2", "ses/3"):
        store.enqueue(closing("1", session_id=name))
    await store.flush()
    below = await store.list_calls("acme", before="ses_2/call_1")
    assert [found.session_id for found in below] == ["ses_1"]
    assert [found.session_id for found in await store.list_calls("acme", before="ses/3/call_1")] == ["ses_2", "ses_1"]
    assert [found.session_id for found in await store.list_calls("acme", before="call_1")] == ["ses_2", "ses_1"]
    with pytest.raises(NotFound):
        await store.list_calls("acme", before="call_gone")


async def test_tools_and_samples_come_from_what_really_ran(store):
    for number in range(4):
        store.enqueue(closing(f"a{number}", tool="search", chars=number, tokens=number, duration_ms=float(number)))
    store.enqueue(closing("refused", tool="search", executed=False, chars=99))
    store.enqueue(closing("b", tool="book"))
    store.enqueue(closing("c", tool="elsewhere", tenant="other"))
    await store.flush()
    assert await store.tools_called("acme") == ["book", "search"]
    assert await store.tool_samples("acme", "search", limit=2) == [
        ToolSample(chars=3, tokens=3, duration_ms=3.0),
        ToolSample(chars=2, tokens=2, duration_ms=2.0),
    ]
    assert len(await store.tool_samples("acme", "search")) == 4


async def test_counts_add_up_in_their_scopes(store):
    await asyncio.gather(*(store.add("acme", [Charge(name="calls", scope="a", amount=0.5)]) for _ in range(10)))
    charges = (Charge(name="calls", scope="a"), Charge(name="calls", scope="b"), Charge(name="calls", scope="b"))
    store.enqueue(closing(charges=charges))
    await store.close(closing("2", charges=(Charge(name="calls", scope="a", amount=2.0, max=1.0),)))
    assert await store.read_counters("acme", [("calls", "b"), ("calls", "none"), ("calls", "a")]) == [2.0, 0.0, 8.0]
    assert await store.list_counters("acme", "calls") == {"a": 8.0, "b": 2.0}
    assert await store.list_counters("other", "calls") == {}
    assert await store.read_counters("acme", []) == []
    many = [("calls", str(number)) for number in range(60)] + [("calls", "a")]
    assert (await store.read_counters("acme", many))[-1] == 8.0


async def test_a_blob_belongs_to_its_session(store):
    await store.save_blob("acme", "ses_1", "ref", b"one", now=1.0)
    await store.save_blob("acme", "ses_1", "ref", b"\x00two", now=2.0)
    assert await store.load_blob("acme", "ses_1", "ref") == b"\x00two"
    assert await store.load_blob("acme", "ses_2", "ref") is None


async def test_a_question_comes_back_as_it_was_asked(store):
    given = confirmation(
        arguments=[1, {"a": None}],
        edited=True,
        supplied=("request_id", "workspace"),
        run_id="run_1",
        key_id="key_1",
        category="action",
        argument_schema={"type": "object", "properties": {"ß": {"const": 12345678901234567890}}},
        evidence=(Evidence(argument="sku", grounded=True, turn=1, start=0, end=3),),
    )
    assert await store.create_confirmation(given) == given
    stored = await store.get_confirmation("acme", "con_1")
    assert stored == given
    assert stored.edited is True
    assert await store.get_confirmation("other", "con_1") is None
    found = await store.find_confirmation("acme", "session::ses_1", "create_order", given.input_digest, now=300.9)
    assert found == given


async def test_an_approval_that_nobody_edited_says_false_and_not_zero(store):
    await store.create_confirmation(confirmation())
    [listed] = await store.list_confirmations("acme")
    assert listed.edited is False
    assert (await store.get_confirmation("acme", "con_1")).edited is False


async def test_approvals_of_different_bindings_are_different_approvals(store):
    bindings = ["session:key_1:s", "session:key_2:s", "key:key_1", "key:key_2"]
    for number, binding in enumerate(bindings):
        await store.create_confirmation(confirmation(str(number), binding=binding, session_id="s"))
    found = [
        await store.find_confirmation("acme", binding, "create_order", confirmation().input_digest, now=2.0)
        for binding in bindings
    ]
    assert [one.confirmation_id for one in found] == ["con_0", "con_1", "con_2", "con_3"]


@pytest.mark.parametrize("status", [None, ConfirmationStatus.APPROVED, ConfirmationStatus.DENIED])
async def test_an_open_question_is_not_asked_twice(store, status):
    await store.create_confirmation(confirmation())
    if status:
        assert await store.decide_confirmation("acme", "con_1", status, by="ann", note="", now=2.0)
    asked = await store.create_confirmation(confirmation("2", created_at=10.0))
    assert asked.confirmation_id == "con_1"
    assert await store.get_confirmation("acme", "con_2") is None


async def test_many_who_ask_at_once_ask_one_question(store):
    asked = await asyncio.gather(*(store.create_confirmation(confirmation(str(number))) for number in range(30)))
    assert len({found.confirmation_id for found in asked}) == 1
    assert len(await store.list_confirmations("acme")) == 1


async def test_an_expired_question_is_asked_anew(store):
    given = await store.create_confirmation(confirmation())
    again = await store.create_confirmation(confirmation("2", created_at=301.0, expires_at=600.0))
    assert again.confirmation_id == "con_2"
    binding = ("acme", "session::ses_1", "create_order", given.input_digest)
    assert (await store.find_confirmation(*binding, now=400.0)).confirmation_id == "con_2"
    assert await store.find_confirmation(*binding, now=600.0) is None


async def test_a_question_is_decided_once_and_in_time(store):
    await store.create_confirmation(confirmation())
    decide = store.decide_confirmation
    assert not await decide("other", "con_1", ConfirmationStatus.APPROVED, by="eve", note="", now=2.0)
    assert not await decide("acme", "con_1", ConfirmationStatus.APPROVED, by="ann", note="", now=301.0)
    votes = [ConfirmationStatus.APPROVED, ConfirmationStatus.DENIED] * 10
    decided = await asyncio.gather(*(decide("acme", "con_1", vote, by="ann", note="fine", now=5.0) for vote in votes))
    assert Counter(decided) == {True: 1, False: 19}
    stored = await store.get_confirmation("acme", "con_1")
    assert (stored.decided_by, stored.note, stored.decided_at) == ("ann", "fine", 5.0)
    assert stored.status is votes[decided.index(True)]


async def test_who_agrees_to_other_arguments_agrees_to_these_alone(store):
    asked = await store.create_confirmation(confirmation())
    changed = Agreement(arguments={"sku": "A-1", "count": 1}, input_digest="d" * 64, question="Order one?")
    approved = ConfirmationStatus.APPROVED
    assert await store.decide_confirmation("acme", "con_1", approved, by="ann", note="", now=2.0, instead=changed)
    binding = ("acme", "session::ses_1", "create_order")
    assert await store.find_confirmation(*binding, asked.input_digest, now=3.0) is None
    found = await store.find_confirmation(*binding, changed.input_digest, now=3.0)
    assert (found.confirmation_id, found.status, found.edited) == ("con_1", approved, True)
    assert found.question == "Order one?"
    assert (found.arguments, found.input_digest) == (changed.arguments, changed.input_digest)
    assert (await store.create_confirmation(confirmation("2", created_at=3.0))).confirmation_id == "con_2"


async def test_an_agreement_to_other_arguments_takes_the_place_of_the_question_about_them(store):
    changed = Agreement(arguments={"count": 1}, input_digest="d" * 64, question="Order one?")
    await store.create_confirmation(confirmation())
    await store.create_confirmation(confirmation("2", input_digest=changed.input_digest))
    approved = ConfirmationStatus.APPROVED
    assert await store.decide_confirmation("acme", "con_1", approved, by="ann", note="", now=2.0, instead=changed)
    found = await store.find_confirmation("acme", "session::ses_1", "create_order", changed.input_digest, now=3.0)
    assert found.confirmation_id == "con_1"


async def test_questions_are_listed_newest_first_by_status(store):
    for number in range(4):
        await store.create_confirmation(confirmation(str(number), binding=f"session::ses_{number}"))
    await store.decide_confirmation("acme", "con_2", ConfirmationStatus.DENIED, by="ann", note="", now=2.0)
    assert [found.confirmation_id for found in await store.list_confirmations("acme")] == [
        "con_3",
        "con_2",
        "con_1",
        "con_0",
    ]
    pending = await store.list_confirmations("acme", status=ConfirmationStatus.PENDING, before="con_3", limit=5)
    assert [found.confirmation_id for found in pending] == ["con_1", "con_0"]
