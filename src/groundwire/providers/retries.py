"""When and how long to wait before a request is sent again. Pure: chance and time are arguments."""

from random import Random
from typing import Annotated

from msgspec import Meta, Struct

from groundwire.contracts.failures import Failure


class RetryPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`attempts` counts the first one too. A provider that asks for more than `longest` seconds is not waited for."""

    attempts: Annotated[int, Meta(ge=1, le=20)] = 3
    first: Annotated[float, Meta(ge=0, le=3600)] = 0.5
    factor: Annotated[float, Meta(ge=1, le=100)] = 2.0
    longest: Annotated[float, Meta(ge=0, le=86_400)] = 60.0


def delay_before(attempt: int, failure: Failure, policy: RetryPolicy, random: Random) -> float | None:
    """Seconds to wait before attempt number `attempt` (2 is the first repetition); None: do not try again.

    What the provider asks for counts; else the wait doubles, with half of it left to chance, so that clients which
    failed together do not come back together.
    """
    if not failure.retryable or attempt > policy.attempts:
        return None
    if failure.retry_after is not None:
        return failure.retry_after if failure.retry_after <= policy.longest else None
    full: float = min(policy.first * policy.factor ** (attempt - 2), policy.longest)
    return full / 2 + random.random() * full / 2


def seconds_until(date: str, now: float) -> float | None:
    """For a Retry-After that is a date: how far it lies ahead."""
    try:
        from email.utils import parsedate_to_datetime  # hardly any server sends a date, and it takes long to load

        return max(0.0, parsedate_to_datetime(date).timestamp() - now)
    except (TypeError, ValueError, OverflowError):
        return None
