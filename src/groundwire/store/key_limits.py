"""What a key's limits allow: windows of time and the sums in them. Every store counts by these rules; none is in here."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from groundwire.contracts.errors import StoreError
from groundwire.contracts.keys import ApiKey, KeyLimit, KeySpend, OverLimit, Window

_SECONDS = {"minute": 60, "hour": 3_600, "day": 86_400}
_MONTHS = 12
_DIGITS = 9
"""Sums are rounded to these, so that ten times 0.1 is 1."""


class Use(NamedTuple):
    """What was used of a limit in the window that began at `start`."""

    start: float
    used: float


UNUSED = Use(0.0, 0.0)


def window_at(window: Window, now: float) -> tuple[float, float]:
    """When the window of that moment began, and when the next one begins."""
    if window == "month":
        first = datetime.fromtimestamp(now, UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        years, month = divmod(first.month, _MONTHS)
        return first.timestamp(), first.replace(year=first.year + years, month=month + 1).timestamp()
    seconds = window if isinstance(window, int) else _SECONDS[window]
    start = now // seconds * seconds
    return start, start + seconds


def use_at(limit: KeyLimit, use: Use, now: float) -> Use:
    """What counts at that moment: what was used in its window, or nothing yet.

    A process whose clock is ahead may have begun the next window already. That one holds then for all, because going
    back would forget what it counted.
    """
    start, end = window_at(limit.window, now)
    return use if start <= use.start <= end else Use(start, 0.0)


def usage_at(key: ApiKey, uses: Sequence[Use], now: float) -> list[float]:
    return [use_at(limit, use, now).used for limit, use in _pairs(key.key_id, key.limits, uses)]


def take(spend: KeySpend, uses: Sequence[Use]) -> tuple[OverLimit | None, list[Use]]:
    """Whether the spend is refused, and what is used then."""
    current = [use_at(limit, use, spend.now) for limit, use in _pairs(spend.key_id, spend.limits, uses)]
    if spend.must_fit and (over := _find_over(spend, current)) is not None:
        return over, current
    return None, [
        Use(use.start, max(0.0, round(use.used + _amount(spend, limit) - _back(spend, limit, use), _DIGITS)))
        for limit, use in zip(spend.limits, current, strict=True)
    ]


def _find_over(spend: KeySpend, uses: Sequence[Use]) -> OverLimit | None:
    full = [
        OverLimit(limit=limit, free_at=window_at(limit.window, max(use.start, spend.now))[1])
        for limit, use in zip(spend.limits, uses, strict=True)
        if not (_is_counted_already(spend, limit) or _has_room(limit, use, _needed(spend, limit)))
    ]
    return max(full, key=lambda over: over.free_at, default=None)


def _is_counted_already(spend: KeySpend, limit: KeyLimit) -> bool:
    return spend.is_expected and limit.unit == "requests"


def _needed(spend: KeySpend, limit: KeyLimit) -> float:
    return 0.0 if spend.is_expected else _amount(spend, limit)


def _back(spend: KeySpend, limit: KeyLimit, use: Use) -> float:
    """What was held; nothing where another window has begun since, which knows nothing of it."""
    held = spend.held
    if held is None or window_at(limit.window, held.at)[0] != use.start:
        return 0.0
    return {"tokens": held.tokens, "money": held.money}.get(limit.unit, 0.0)


def _has_room(limit: KeyLimit, use: Use, amount: float) -> bool:
    """What costs nothing yet will cost something once it is answered, so it needs some room all the same."""
    return use.used + amount <= limit.max if amount else use.used < limit.max


def _pairs(key_id: str, limits: Sequence[KeyLimit], uses: Sequence[Use]) -> Iterable[tuple[KeyLimit, Use]]:
    """Counts are made with the key, so that there is always something to lock; without them no limit would hold."""
    if len(uses) != len(limits):
        raise StoreError(f"the counts of the key {key_id} are not there", hint="Revoke it, and make another one.")
    return zip(limits, uses, strict=True)


def _amount(spend: KeySpend, limit: KeyLimit) -> float:
    match limit.unit:
        case "requests":
            return spend.requests
        case "tokens":
            return spend.tokens
        case "money":
            return spend.money
