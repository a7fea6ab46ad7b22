"""Calls that need a person's agreement, inside a run: it pauses and is taken up again, or the model is told."""

import msgspec
import pytest

from groundwire import Agent, ErrorDetail, Outcome, Runtime, Settings, open_models, tool
from groundwire.assembly import ProviderSettings
from groundwire.contracts.errors import NotFound
from groundwire.registry import Registry
from groundwire.runtime.runtime import EDIT_CHARS
from groundwire.testing import Answer, Ask, FakeClock, ScriptedModel, ScriptedProvider, simulator

BOOK = Answer(calls=(Ask("book", {"place": "Nonna"}),))


class Booking:
    """A tool that needs agreement, and what it really did."""

    def __init__(self) -> None:
        self.booked: list[str] = []

        @tool(category="action", confirm=True)
        async def book(place: str) -> dict[str, str]:
            """Book a table."""
            self.booked.append(place)
            return {"booked": place}

        @tool(category="action")
        async def note(text: str) -> dict[str, str]:
            """Write a note."""
            self.booked.append(f"note {text}")
            return {"noted": text}

        @tool(category="retrieval")
        async def look(place: str) -> dict[str, str]:
            """Look."""
            self.booked.append(f"look {place}")
            return {"seen": place}

        self.registry = Registry([book, note, look])

    def agent(self, *answers, clock=None, **options):
        runtime = Runtime(self.registry, "memory://", clock=clock)
        models = ScriptedProvider(ScriptedModel(*answers), clock=runtime.clock)
        return Agent("sim/any", runtime=runtime, models=models, **options)


async def test_a_run_pauses_and_goes_on_when_somebody_agrees():
    booking = Booking()
    agent = booking.agent(BOOK, "It is booked.")
    paused = await agent.run("A table at Nonna's.", session="s")
    assert (paused.outcome, booking.booked, len(paused.approvals)) == (Outcome.AWAITING_APPROVAL, [], 1)
    assert [event.event for event in paused.events] == [
        "run.started",
        "call.started",
        "approval.requested",
        "run.ended",
    ]
    (question,) = await agent.runtime.approvals()
    assert (question.confirmation_id, question.arguments) == (paused.approvals[0], {"place": "Nonna"})
    await agent.runtime.approve(question.confirmation_id, by="ann")
    done = await agent.resume(paused.run_id)
    assert (done.outcome, done.text, booking.booked) == (Outcome.COMPLETED, "It is booked.", ["Nonna"])
    assert [item.kind for item in done.items] == ["message", "call", "result", "message"]


async def test_a_run_that_nobody_decided_about_is_still_paused():
    booking = Booking()
    agent = booking.agent(BOOK, "It is booked.")
    paused = await agent.run("A table at Nonna's.")
    again = await agent.resume(paused.run_id)
    assert (again.outcome, again.approvals) == (Outcome.AWAITING_APPROVAL, paused.approvals)
    assert booking.booked == []


async def test_a_refusal_is_told_to_the_model():
    booking = Booking()
    agent = booking.agent(BOOK, "Then not.")
    paused = await agent.run("A table at Nonna's.")
    await agent.runtime.deny(paused.approvals[0], by="ann", note="too dear")
    done = await agent.resume(paused.run_id)
    assert (done.outcome, done.text, booking.booked) == (Outcome.COMPLETED, "Then not.", [])
    (call,) = done.calls
    assert call.result.error.detail == ErrorDetail.DENIED
    assert "too dear" in call.result.error.message


@pytest.mark.parametrize(("seconds", "detail", "booked"), [(299.0, None, ["Nonna"]), (300.0, ErrorDetail.EXPIRED, [])])
async def test_an_agreement_holds_for_five_minutes(seconds, detail, booked):
    booking, clock = Booking(), FakeClock()
    agent = booking.agent(BOOK, "Well.", clock=clock)
    paused = await agent.run("A table at Nonna's.")
    await agent.runtime.approve(paused.approvals[0], by="ann")
    clock.advance(seconds)
    done = await agent.resume(paused.run_id)
    (call,) = done.calls
    assert (done.outcome, booking.booked) == (Outcome.COMPLETED, booked)
    assert (call.result.error and call.result.error.detail) == detail


async def test_a_person_may_change_the_arguments_before_agreeing():
    booking = Booking()
    agent = booking.agent(BOOK, "Booked elsewhere.")
    paused = await agent.run("A table at Nonna's.")
    agreed = await agent.runtime.approve(paused.approvals[0], by="ann", arguments={"place": "Luigi"})
    assert (agreed.edited, agreed.arguments) == (True, {"place": "Luigi"})
    done = await agent.resume(paused.run_id)
    (call,) = done.calls
    assert (booking.booked, call.result.data) == (["Luigi"], {"booked": "Luigi"})
    assert '{"place":"Luigi"}' in call.result.warnings[0]
    (asked,) = [item for item in done.items if item.kind == "call"]
    assert asked.call.raw == '{"place":"Nonna"}'  # what the model asked for stays what it asked for


@pytest.mark.parametrize("typed", [{"amount": 2}, {"amount": 2, "request_id": "R1"}, {"amount": 2, "request_id": "R2"}])
async def test_who_changes_arguments_leaves_those_that_are_filled_in_as_they_are(typed):
    paid = []

    @tool(category="action", confirm=True, supplied=["request_id", "timestamp"])
    async def pay(amount: int, request_id: str, timestamp: str) -> None:
        """Pay."""
        paid.append((amount, request_id))

    models = ScriptedProvider(ScriptedModel(Answer(calls=(Ask("pay", {"amount": 1}),)), "Paid."), clock=FakeClock())
    agent = Agent("sim/any", tools=[pay], models=models)
    paused = await agent.run("Pay.", request_id="R1")
    agreed = await agent.runtime.approve(paused.approvals[0], by="ann", arguments=typed)
    assert (agreed.edited, agreed.arguments) == (True, {"amount": 2, "request_id": "R1"})
    done = await agent.resume(paused.run_id)
    assert (done.outcome, paid) == (Outcome.COMPLETED, [(2, "R1")])
    assert done.calls[0].result.warnings == ('The arguments were changed by the person who agreed, to {"amount":2}.',)


@pytest.mark.parametrize(("chars", "is_whole"), [(EDIT_CHARS, True), (EDIT_CHARS + 1, False)])
async def test_of_long_changed_arguments_the_model_is_told_the_beginning(chars, is_whole):
    booking = Booking()
    agent = booking.agent(BOOK, "Booked elsewhere.")
    paused = await agent.run("A table at Nonna's.")
    place = "x" * (chars - len('{"place":""}'))
    await agent.runtime.approve(paused.approvals[0], by="ann", arguments={"place": place})
    (call,) = (await agent.resume(paused.run_id)).calls
    (warning,) = call.result.warnings
    assert warning.endswith('x"}.' if is_whole else "x….")
    assert len(warning) == len("The arguments were changed by the person who agreed, to .") + EDIT_CHARS
    assert booking.booked == [place]


async def test_a_question_that_is_asked_anew_is_about_the_changed_arguments():
    booking = Booking()
    agent = booking.agent(BOOK, "Booked elsewhere.")
    paused = await agent.run("A table at Nonna's.", session="s")
    await agent.runtime.approve(paused.approvals[0], by="ann", arguments={"place": "Luigi"})
    assert (await agent.runtime.call("book", {"place": "Luigi"}, session="s")).ok  # uses the agreement up
    asked_anew = await agent.resume(paused.run_id)
    (question,) = await agent.runtime.approvals()
    assert (asked_anew.approvals, question.arguments) == ((question.confirmation_id,), {"place": "Luigi"})
    await agent.runtime.approve(question.confirmation_id, by="ann")
    done = await agent.resume(paused.run_id)
    assert (done.outcome, booking.booked) == (Outcome.COMPLETED, ["Luigi", "Luigi"])


async def test_changed_arguments_must_be_valid_too():
    booking = Booking()
    agent = booking.agent(BOOK, "Well.")
    paused = await agent.run("A table at Nonna's.")
    await agent.runtime.approve(paused.approvals[0], by="ann", arguments={"place": 7})
    done = await agent.resume(paused.run_id)
    assert booking.booked == []
    assert done.calls[0].result.error.type == "VALIDATION"


async def test_what_stands_before_in_the_same_answer_is_done_once_and_what_stands_behind_waits():
    booking = Booking()
    calls = (Ask("look", {"place": "Roma"}), Ask("note", {"text": "a"}), *BOOK.calls, Ask("note", {"text": "b"}))
    agent = booking.agent(Answer(calls=calls), "All done.")
    paused = await agent.run("Go.")
    assert sorted(booking.booked) == ["look Roma", "note a"]
    await agent.runtime.approve(paused.approvals[0], by="ann")
    done = await agent.resume(paused.run_id)
    assert sorted(booking.booked) == ["Nonna", "look Roma", "note a", "note b"]
    results = [item for item in done.items if item.kind == "result"]
    assert [item.name for item in results] == ["look", "note", "book", "note"]
    assert not any(item.failed for item in results)


@pytest.mark.parametrize(
    ("approvals", "answers"), [("pause", (BOOK, BOOK)), ("answer", (BOOK, "Waiting.", BOOK, "Waiting."))]
)
async def test_two_runs_without_session_and_user_ask_two_questions(approvals, answers):
    booking = Booking()
    agent = booking.agent(*answers, approvals=approvals)
    await agent.run("A table at Nonna's.")
    (question,) = await agent.runtime.approvals()
    await agent.runtime.approve(question.confirmation_id, by="ann")
    await agent.run("A table for me too.")
    (other,) = await agent.runtime.approvals()
    assert other.confirmation_id != question.confirmation_id
    assert booking.booked == []


async def test_an_agreement_is_good_for_one_call():
    booking = Booking()
    agent = booking.agent(BOOK, BOOK, "Twice.")
    paused = await agent.run("A table at Nonna's, twice.")
    await agent.runtime.approve(paused.approvals[0], by="ann")
    done = await agent.resume(paused.run_id)
    assert (done.outcome, booking.booked) == (Outcome.COMPLETED, ["Nonna"])  # the same effect in one run happens once


async def test_with_answers_the_model_is_told_and_the_run_ends():
    booking = Booking()
    agent = booking.agent(BOOK, "I am waiting for somebody to agree.", approvals="answer")
    done = await agent.run("A table at Nonna's.", session="s")
    assert (done.outcome, done.text) == (Outcome.COMPLETED, "I am waiting for somebody to agree.")
    assert done.calls[0].result.error.type == "CONFIRMATION_REQUIRED"
    await agent.runtime.approve(done.calls[0].result.meta.confirmation.id, by="ann")
    models = ScriptedProvider(ScriptedModel(BOOK, "Now it is booked."), clock=agent.runtime.clock)
    again = Agent("sim/any", runtime=agent.runtime, models=models, approvals="answer")
    done = await again.run("They agreed.", session="s", history=())
    assert (done.text, booking.booked) == ("Now it is booked.", ["Nonna"])


async def test_an_approval_id_in_the_hands_of_the_model_agrees_to_nothing():
    booking = Booking()
    agent = booking.agent(BOOK, "It is booked.")
    paused = await agent.run("A table at Nonna's.")
    with pytest.raises(NotFound):
        await agent.runtime.approve(f"{paused.approvals[0]}x", by="ann")
    assert (await agent.resume(paused.run_id)).outcome is Outcome.AWAITING_APPROVAL


async def test_resuming_a_run_that_has_ended_gives_its_result_again():
    agent = Booking().agent("Nothing to do.")
    done = await agent.run("Hello.")
    again = await agent.resume(done.run_id)
    assert (again.outcome, again.text, again.items, again.events) == (done.outcome, done.text, done.items, ())
    with pytest.raises(NotFound):
        await agent.resume("run_unknown")


@pytest.mark.parametrize("dialect", ["gemini", "anthropic", "openai-responses", "openai-chat"])
async def test_a_paused_call_goes_back_to_its_provider_with_its_signature(dialect):
    """The simulator refuses a call that comes back without the signature that it was given with."""
    booking = Booking()
    thoughtful = msgspec.structs.replace(BOOK, reasoning="Nonna is good.")
    async with simulator(thoughtful, "It is booked.") as running:
        url = {"gemini": running.gemini_url, "anthropic": running.anthropic_url}.get(dialect, running.openai_url)
        settings = Settings(providers={"there": ProviderSettings(dialect=dialect, base_url=url)})
        models = open_models(settings, environ={})
        runtime = Runtime(booking.registry, "memory://")
        agent = Agent("there/gemini-3-pro", runtime=runtime, models=models, reasoning={"effort": "low"})
        paused = await agent.run("A table at Nonna's.")
        assert paused.outcome is Outcome.AWAITING_APPROVAL, paused.failure
        await runtime.approve(paused.approvals[0], by="ann")
        done = await agent.resume(paused.run_id)
        await models.close()
    assert (done.outcome, done.text, booking.booked) == (Outcome.COMPLETED, "It is booked.", ["Nonna"])
