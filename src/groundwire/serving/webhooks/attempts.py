"""What became of one attempt to deliver a webhook, and how long to wait before the next one.

Pure: chance and time are arguments. Who keeps the attempts, and tries again, is others' affair.
"""

from enum import StrEnum

from msgspec import Struct

from groundwire.providers.retries import seconds_until

_MINUTE, _HOUR = 60.0, 3600.0

WEBHOOK_DELAYS = (5.0, 5 * _MINUTE, 30 * _MINUTE, 2 * _HOUR, 5 * _HOUR, 10 * _HOUR, 14 * _HOUR, 20 * _HOUR, 24 * _HOUR)
"""Seconds to wait after the first failure, the second, and so on."""
SHORTEST_SLOW = _MINUTE
"""Who is overwhelmed is left alone at least so long."""
LONGEST_WAIT = 24 * _HOUR
"""More than this nobody can ask for."""
_JITTER = 0.1


class AttemptOutcome(StrEnum):
    """`gone`: the receiver wants no more of them at this address."""

    DELIVERED = "delivered"
    GONE = "gone"
    SLOW_DOWN = "slow_down"
    FAILED = "failed"


class AttemptResult(Struct, frozen=True, kw_only=True):
    """`status` is 0 where there was no answer. `error` is a stable code, empty for what was delivered.

    `retry_after` is in seconds, as the receiver asked; `answer` the beginning of what it said.
    """

    outcome: AttemptOutcome
    status: int = 0
    error: str = ""
    message: str = ""
    retry_after: float | None = None
    answer: str = ""

    @property
    def is_delivered(self) -> bool:
        return self.outcome is AttemptOutcome.DELIVERED


def judge_answer(status: int, retry_after: str | None, answer: str, *, now: float) -> AttemptResult:
    """2xx is success, and nothing else is."""
    wait = read_retry_after(retry_after, now)
    if 200 <= status < 300:
        return AttemptResult(outcome=AttemptOutcome.DELIVERED, status=status, answer=answer)
    outcome, error, message = _judge(status)
    return AttemptResult(outcome=outcome, status=status, error=error, message=message, retry_after=wait, answer=answer)


def _judge(status: int) -> tuple[AttemptOutcome, str, str]:
    if status == 410:
        return AttemptOutcome.GONE, "endpoint_gone", "The receiver wants no more webhooks here (410)."
    if status in (429, 502, 504):
        return AttemptOutcome.SLOW_DOWN, "receiver_busy", f"The receiver cannot keep up ({status})."
    if 300 <= status < 400:
        return AttemptOutcome.FAILED, "redirected", f"The receiver points elsewhere ({status}), which is not followed."
    return AttemptOutcome.FAILED, "receiver_failed", f"The receiver answered with {status}."


def read_retry_after(text: str | None, now: float) -> float | None:
    """Seconds, from a number or a date; nothing where it is neither, and never more than a day."""
    if not text:
        return None
    text = text.strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:9]), LONGEST_WAIT)
    seconds = seconds_until(text, now)
    return None if seconds is None else min(seconds, LONGEST_WAIT)


def wait_after(result: AttemptResult, attempt: int, chance: float) -> float | None:
    """Seconds until the next attempt; None where there is none. `attempt` is the number of the one that failed.

    A receiver that asks for more time than the schedule has gets it. `chance` lies between 0 and 1: waits are up to a
    tenth longer by it, so that what failed together does not come back together.
    """
    if result.outcome in (AttemptOutcome.DELIVERED, AttemptOutcome.GONE) or attempt > len(WEBHOOK_DELAYS):
        return None
    wait = WEBHOOK_DELAYS[attempt - 1]
    if result.outcome is AttemptOutcome.SLOW_DOWN:
        wait = max(wait, SHORTEST_SLOW)
    return max(wait, result.retry_after or 0.0) * (1 + _JITTER * chance)
