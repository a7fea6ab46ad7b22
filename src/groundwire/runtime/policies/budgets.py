"""Budgets: how much of something a turn, a session, a request or a key may use."""

from collections.abc import Mapping

from groundwire.contracts.canonical import JsonValue, canonical_json, digest_bytes
from groundwire.contracts.decisions import ALLOW, Allow, Deny
from groundwire.contracts.errors import ErrorType
from groundwire.contracts.texts import count_of, plain
from groundwire.contracts.tools import Budget

TURN = "turn"
SHOWN_BYTES = 200
"""A longer value is counted under its digest: databases limit what they can index."""


def within_budget(budget: Budget, used: float, tool: str) -> Allow | Deny:
    """A budget counted in calls asks for room for one more; any other asks that it is not yet used up."""
    has_room = used + 1 <= budget.max if budget.unit == "calls" else used < budget.max
    return ALLOW if has_room else over_budget(budget, tool)


def over_budget(budget: Budget, tool: str) -> Deny:
    """Names the tool that was called and the limit, never the budget: others may share it, and its name be theirs."""
    limit = _limit(budget)
    per = budget.by if budget.by in ("turn", "session", "request") else f"value of {budget.by}"
    return Deny(
        type=ErrorType.BUDGET_EXCEEDED,
        message=f"{tool} was not run: the limit of {limit} per {per} is reached. Answer with what you have.",
        operator=f"budget {budget.name!r}: at most {limit} per {budget.by}",
    )


def _limit(budget: Budget) -> str:
    of = budget.category.value if budget.category else "tool"
    match budget.unit:
        case "calls":
            return count_of(budget.max, f"{of} call")
        case "tokens":
            return f"{count_of(budget.max, 'token')} of {of} output"
        case "money":
            return f"{count_of(budget.max, 'unit')} of money"
        case "ms":
            return f"{plain(budget.max)} ms of {of} time"


def stored_scope(budget: Budget, *, session_id: str, request_id: str, arguments: Mapping[str, JsonValue]) -> str:
    """The name under which a budget that outlives the turn is counted."""
    if budget.by == "session":
        return f"session:{session_id}"
    if budget.by == "request":
        return f"request:{request_id}"
    value = canonical_json(arguments.get(budget.by))
    return f"{budget.by}:{value.decode() if len(value) <= SHOWN_BYTES else digest_bytes(value)}"
