"""Loop rules of a turn: the same call again and again, and a tool that keeps finding nothing."""

from groundwire.contracts.canonical import JsonValue
from groundwire.contracts.decisions import ALLOW, Allow, Deny
from groundwire.contracts.errors import ErrorDetail, ErrorType
from groundwire.contracts.texts import count_of

KEPT_TURNS = 5
"""How many turns' loop history a session keeps."""


def is_not_repeating(name: str, earlier_calls: int, limit: int) -> Allow | Deny:
    """Refuses the call that would be number `limit` with equal tool and arguments."""
    if earlier_calls < limit - 1:
        return ALLOW
    return Deny(
        type=ErrorType.LOOP_DETECTED,
        detail=ErrorDetail.REPEATED_CALL,
        message=(
            f"Loop detected: this would be call {limit} of {name} with the same arguments in this turn. "
            "Change the arguments, use another tool, or answer with what you know."
        ),
    )


def is_not_fruitless(name: str, empty_results: int, limit: int) -> Allow | Deny:
    """Refuses a tool that has come back empty `limit` times."""
    if empty_results < limit:
        return ALLOW
    return Deny(
        type=ErrorType.LOOP_DETECTED,
        detail=ErrorDetail.EMPTY_RESULTS,
        message=(
            f"{name} found nothing {count_of(empty_results, 'time')} in this turn; the data may not exist. "
            "Try another tool, or tell the user what could not be found."
        ),
    )


def is_empty(data: JsonValue, empty_field: str | None) -> bool:
    """No data, an empty list or object, blank text; or that in the field which the tool names."""
    if empty_field is not None and isinstance(data, dict):
        data = data.get(empty_field)
    if isinstance(data, str):
        return not data.strip()
    return data is None or data in ([], {})


def repeat_reminder(name: str) -> str:
    return f"{name} gave this same result for these same arguments before. Another identical call will be refused."


def empty_reminder(name: str, count: int) -> str:
    return (
        f"{name} found nothing, now {count_of(count, 'time')} in this turn. The data may not exist, and its next call in this "
        "turn will be refused: try another tool or other words, or say that nothing was found."
    )


def enough_refusals(count: int, limit: int) -> Allow | Deny:
    if count < limit:
        return ALLOW
    return Deny(
        type=ErrorType.BUDGET_EXCEEDED,
        detail=ErrorDetail.REFUSALS_IN_A_ROW,
        message=f"{count_of(limit, 'tool call')} in a row {'was' if limit == 1 else 'were'} refused. Answer now without tools.",
    )
