"""Confirmation: whether a person has agreed to exactly this call."""

from groundwire.contracts.decisions import ALLOW, Allow, Confirm, Deny
from groundwire.contracts.errors import ErrorDetail, ErrorType
from groundwire.contracts.records import Confirmation, ConfirmationStatus

QUESTION_CHARS = 2_000


def is_agreed(name: str, raw_arguments: str, answer: Confirmation | None) -> Allow | Deny | Confirm:
    if answer is None or answer.status is ConfirmationStatus.PENDING:
        return Confirm(question=ask(name, raw_arguments) if answer is None else answer.question)
    if answer.status is ConfirmationStatus.DENIED:
        why = f" They said: {answer.note}" if answer.note else ""
        return Deny(
            type=ErrorType.CONFIRMATION_REQUIRED,
            detail=ErrorDetail.DENIED,
            message=f"A person decided against {name} with these arguments.{why} Do not call it again unchanged.",
            operator=f"denied by {answer.decided_by}",
        )
    return ALLOW


def ask(name: str, raw_arguments: str) -> str:
    shown = raw_arguments if len(raw_arguments) <= QUESTION_CHARS else raw_arguments[:QUESTION_CHARS] + "…"
    return f"Run {name} with {shown}?"


def waiting(name: str, question: str) -> Deny:
    return Deny(
        type=ErrorType.CONFIRMATION_REQUIRED,
        message=(
            f"{name} needs a person's agreement first; they are asked: {question} "
            "Nothing was done. Say that you are waiting for it, and call again with the same arguments once they agree."
        ),
    )
