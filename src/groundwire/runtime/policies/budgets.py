"""Budgets: how much of something a turn, a session, a request or a key may use."""

from collections.abc import Mapping

from groundwire.contracts.canonical import JsonValue, canonical_json, digest_bytes
from groundwire.contracts.decisions import ALLOW, Allow, Deny
from groundwire.contracts.errors import ErrorType
from groundwire.contracts.tools import Budget

TURN = "turn"
SHOWN_BYTES = 200
"""A longer value is counted under its digest: databases limit what they can index."""
_WORDS = {"calls": "tool calls", "tokens": "tokens of tool output", "money": "in money", "ms": "ms of tool time"}


def within_budget(budget: Budget, used: float) -> Allow | Deny:
    """A budget counted in calls asks for room for one more; any other asks that it is not yet used up."""
    has_room = used + 1 <= budget.max if budget.unit == "calls" else used < budget.max
    return ALLOW if has_room else over_budget(budget)


def over_budget(budget: Budget) -> Deny:
    amount = int(budget.max) if budget.max == int(budget.max) else budget.max
    kind = f"{budget.category.value} calls" if budget.category else _WORDS[budget.unit]
    per = budget.by if budget.by in ("turn", "session", "request") else f"value of {budget.by}"
    return Deny(
        type=ErrorType.BUDGET_EXCEEDED,
        message=f"The limit of {amount} {kind} per {per} is reached. Answer with what you have.",
        operator=f"budget {budget.name!r}: max {amount} {budget.unit} per {budget.by}",
    )


def stored_scope(budget: Budget, *, session_id: str, request_id: str, arguments: Mapping[str, JsonValue]) -> str:
    """The name under which a budget that outlives the turn is counted."""
    if budget.by == "session":
        return f"session:{session_id}"
    if budget.by == "request":
        return f"request:{request_id}"
    value = canonical_json(arguments.get(budget.by))
    return f"{budget.by}:{value.decode() if len(value) <= SHOWN_BYTES else digest_bytes(value)}"
