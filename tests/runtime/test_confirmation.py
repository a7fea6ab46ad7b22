import pytest

from groundwire.contracts.decisions import Allow, Confirm, Deny
from groundwire.contracts.errors import ErrorDetail, ErrorType
from groundwire.contracts.records import Confirmation, ConfirmationStatus
from groundwire.runtime.policies.confirmation import ask, is_agreed, waiting


def answer(status, **fields):
    return Confirmation(
        confirmation_id="cnf",
        tenant="default",
        session_id="s",
        tool="t",
        input_digest="d",
        question="Run it?",
        arguments={},
        status=status,
        **fields,
    )


@pytest.mark.requirement("B-115")
@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        (None, Confirm),
        (answer(ConfirmationStatus.PENDING), Confirm),
        (answer(ConfirmationStatus.DENIED, decided_by="ada", note="too dear"), Deny),
        (answer(ConfirmationStatus.APPROVED, decided_by="ada"), Allow),
    ],
)
def test_only_an_approval_lets_a_call_pass(found, outcome):
    decision = is_agreed("t", {"a": 1}, found)
    assert isinstance(decision, outcome)
    if isinstance(decision, Deny):
        assert (decision.type, decision.detail) == (ErrorType.CONFIRMATION_REQUIRED, ErrorDetail.DENIED)
        assert "too dear" in decision.message
    if isinstance(decision, Confirm):
        assert decision.question == ("Run it?" if found else 'Run t with {"a":1}?')


def test_a_question_shows_the_arguments_but_not_without_end():
    assert ask("t", {"a": 1}) == 'Run t with {"a":1}?'
    assert len(ask("t", {"a": "x" * 100_000})) < 2_100


def test_no_argument_can_hide_behind_a_long_one():
    question = ask("pay", {"note": "coffee" + " " * 10_000, "cents": 9_999_999})
    assert "cents = 9999999" in question
    assert "note = " in question


def test_waiting_is_a_refusal_that_a_person_can_lift():
    assert waiting("t", "Run it?").type is ErrorType.CONFIRMATION_REQUIRED
