"""Confirmation: whether a person has approved exactly this call, and the sentence that they read before deciding.

The sentence is built here from the tool's template and the arguments as they were parsed. A model contributes nothing to
it but values of arguments, which are marked as such.
"""

import re

from groundwire.contracts.canonical import JsonObject, JsonValue, dump_json
from groundwire.contracts.decisions import ALLOW, Allow, Confirm, Deny
from groundwire.contracts.errors import ErrorDetail, ErrorType
from groundwire.contracts.records import Confirmation, ConfirmationStatus
from groundwire.contracts.texts import remove_invisible
from groundwire.contracts.tools import ToolSpec
from groundwire.registry.approval_texts import parse_approval_text

QUESTION_CHARS = 2_000
MAX_LISTED = 50
"""How many arguments are listed, declared ones first: a model may invent any number of others."""
_LEAST_ROOM = 40
"""Characters that each value may have at least, however many there are."""
_NAME_CHARS = 60
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@:/+#-]{0,63}")
"""Text that needs no quotes: it cannot be read as part of the sentence around it."""


def is_agreed(spec: ToolSpec, arguments: JsonObject, answer: Confirmation | None) -> Allow | Deny | Confirm:
    if answer is None or answer.status is ConfirmationStatus.PENDING:
        return Confirm(question=describe_call(spec, arguments) if answer is None else answer.question)
    if answer.status is ConfirmationStatus.DENIED:
        why = f' They said: "{answer.note}".' if answer.note else ""
        return Deny(
            type=ErrorType.CONFIRMATION_REQUIRED,
            detail=ErrorDetail.DENIED,
            message=f"A person decided against {spec.wire_name} with these arguments.{why} Do not call it again unchanged.",
            operator=f"denied by {answer.decided_by}",
        )
    return ALLOW


def describe_call(spec: ToolSpec, arguments: JsonObject) -> str:
    """Return the sentence for an approval: from the tool's `approvalText`, else from names and values.

    Every declared argument shows, however long another is, also those that a template leaves out.
    """
    pairs = _template(spec)
    if pairs:
        return _fill_in(pairs, spec, arguments)
    whole = remove_invisible(dump_json(arguments).decode())
    if len(whole) <= QUESTION_CHARS:
        return f"Run {spec.wire_name} with {whole}?"
    return f"Run {spec.wire_name} with {_list_arguments(spec, arguments, QUESTION_CHARS)}?"


def _template(spec: ToolSpec) -> tuple[tuple[str, str], ...]:
    try:
        return parse_approval_text(spec.approval_text)
    except ValueError:  # checked when the tool is built; an artifact may have been edited since
        return ()


def _fill_in(pairs: tuple[tuple[str, str], ...], spec: ToolSpec, arguments: JsonObject) -> str:
    named = {name for _, name in pairs if name}
    room = max(QUESTION_CHARS // 2 // max(len(named), 1), _LEAST_ROOM)
    sentence = "".join(f"{literal}{_value(arguments, name, room)}" for literal, name in pairs)
    others = {
        name: value for name, value in arguments.items() if name not in named and name not in spec.policy.supplied
    }
    if not others:
        return sentence
    return f"{sentence} (with {_list_arguments(spec, others, QUESTION_CHARS // 2)})"


def _value(arguments: JsonObject, name: str, room: int) -> str:
    if not name:
        return ""
    if name not in arguments:
        return "(not given)"
    value = arguments[name]
    if isinstance(value, str) and _WORD.fullmatch(value):
        return value
    return _show(value, room)


def _list_arguments(spec: ToolSpec, arguments: JsonObject, room: int) -> str:
    declared = spec.parameters.get("properties")
    known = declared if isinstance(declared, dict) else {}
    names = sorted(arguments, key=lambda name: (name not in known, name))
    each = max(room // max(len(names), 1), _LEAST_ROOM)
    parts = [f"{_name(name)} = {_show(arguments[name], each)}" for name in names[:MAX_LISTED]]
    if len(names) > MAX_LISTED:
        parts.append(f"and {len(names) - MAX_LISTED} more")
    return "; ".join(parts)


def _name(name: str) -> str:
    return name if _WORD.fullmatch(name) else _show(name, _NAME_CHARS)


def _show(value: JsonValue, room: int) -> str:
    text = remove_invisible(dump_json(value).decode())
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
