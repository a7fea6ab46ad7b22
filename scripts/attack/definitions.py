"""The definition of an attack, and its outcome."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Status = Literal["held", "not held", "error"]


@dataclass(frozen=True, kw_only=True)
class AttackContext:
    """What one attack is given."""

    groundwire: str
    """The executable under test."""
    folder: Path
    """Empty, and removed afterwards."""
    random: random.Random
    is_sample: bool = False
    """Whether it should be smaller where size costs time."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How an attack ended. `error` means that it could not be prepared, which proves nothing."""

    status: Status
    happened: str


@dataclass(frozen=True, kw_only=True)
class Attack:
    name: str
    aim: str
    """What the attacker tries, in one sentence."""
    run: Callable[[AttackContext], Outcome]
    seconds: float
    """Time limit. An attack that takes longer did not hold."""
    usual_seconds: float
    """Time that it takes when it holds, for choosing a sample."""


class SetupError(Exception):
    """The attack could not be prepared, so that its result would mean nothing."""


def conclude(faults: Sequence[str], held: str) -> Outcome:
    """Not held if there is a fault; the first few are named."""
    if not faults:
        return Outcome(status="held", happened=held)
    more = f"; and {len(faults) - 3} more" if len(faults) > 3 else ""
    return Outcome(status="not held", happened="; ".join(faults[:3]) + more)
