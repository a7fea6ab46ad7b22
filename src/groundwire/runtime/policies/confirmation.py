"""Confirmation: whether a person has agreed to exactly this call."""

from groundwire.contracts.canonical import JsonObject, dump_json
from groundwire.contracts.decisions import ALLOW, Allow, Confirm, Deny
from groundwire.contracts.errors import ErrorDetail, ErrorType
from groundwire.contracts.records import Confirmation, ConfirmationStatus

QUESTION_CHARS = 2_000


def is_agreed(name: str, arguments: JsonObject, answer: Confirmation | None) -> Allow | Deny | Confirm:
    if answer is None or answer.status is ConfirmationStatus.PENDING:
        return Confirm(question=ask(name, arguments) if answer is None else answer.question)
    if answer.status is ConfirmationStatus.DENIED:
        why = f' They said: "{answer.note}".' if answer.note else ""
        return Deny(
            type=ErrorType.CONFIRMATION_REQUIRED,
            detail=ErrorDetail.DENIED,
            message=f"A person decided against {name} with these arguments.{why} Do not call it again unchanged.",
            operator=f"denied by {answer.decided_by}",
        )
    return ALLOW


def ask(name: str, arguments: JsonObject) -> str:
    """The question, from the arguments as they were read. Every one of them shows, however long another is."""
    whole = dump_json(arguments).decode()
    if len(whole) <= QUESTION_CHARS:
        return f"Run {name} with {whole}?"
    room = max(QUESTION_CHARS // max(len(arguments), 1), 40)
    parts = [f"{key} = {_clip(dump_json(value).decode(), room)}" for key, value in sorted(arguments.items())]
    return f"Run {name} with {'; '.join(parts)}?"


def _clip(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[:room]}… ({len(text)} characters)"


def expired(name: str) -> Deny:
    """Nobody answered, or the agreement was not used in time."""
    return Deny(
        type=ErrorType.CONFIRMATION_REQUIRED,
        detail=ErrorDetail.EXPIRED,
        message=f"Nobody agreed to {name} in time. Nothing was done. Say so, or call again to ask anew.",
    )


def unasked(name: str) -> Deny:
    """Nobody is there who could agree."""
    return Deny(
        type=ErrorType.CONFIRMATION_REQUIRED,
        message=f"{name} needs a person's agreement, and nobody can be asked now. Nothing was done. Go on without it.",
    )


def waiting(name: str, question: str) -> Deny:
    return Deny(
        type=ErrorType.CONFIRMATION_REQUIRED,
        message=(
            f"{name} needs a person's agreement first; they are asked: {question} "
            "Nothing was done. Say that you are waiting for it, and call again with the same arguments once they agree."
        ),
    )
