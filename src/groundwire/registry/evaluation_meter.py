"""Counts the evaluations of recursive schemas, whose number cannot be bounded beforehand.

How often a recursive definition is applied depends on the value, and can double with every level of it. So each
application is charged with the most that it can cost, before it begins, and when the value's allowance is used up no
further one begins. Below the recursive references everything is bounded by `schema_bounds`.
"""

import threading
from collections.abc import Callable
from typing import Any, TypeAlias

from groundwire.registry.schema_reach import EvaluationRate

_Sizes: TypeAlias = tuple[int, int, int, int]
_LEVELS = 4

KEYWORD = "groundwire:charge"
GRANTED_NODES = 10_000
"""Nodes that every value is granted besides its own, so that small values may use large unions."""
_CALL = 80
"""Evaluations that charging itself counts as: it runs in Python."""


class EvaluationMeter:
    """Counts for one validation at a time in each thread. `rates` are those of the charges, by number."""

    def __init__(self, rates: list[EvaluationRate], limit: int) -> None:
        self._rates = rates
        self._limit = limit
        self._current = threading.local()

    def begin(self, value: Any) -> None:
        """Give this thread the allowance for a value."""
        current = self._current
        current.sizes = {}
        current.left = self._limit * (GRANTED_NODES + _measure(value, current.sizes)[-1])

    def run(self, is_valid: Callable[[Any], bool], value: Any) -> bool:
        """Whether the value is valid; False if its allowance was used up before that was known."""
        self.begin(value)
        return is_valid(value) and bool(self._current.left >= 0)

    def charge(self, rate: EvaluationRate, value: Any) -> bool:
        """Charge one application; False if nothing is left for it."""
        current = self._current
        cost = _CALL + rate.here
        if isinstance(value, str):
            cost += rate.here * len(value)  # a pattern reads every character
        elif rate.depth and (sizes := current.sizes.get(id(value))) is not None:
            cost += rate.below * sizes[min(rate.depth, _LEVELS) - 1]
        current.left -= cost
        return bool(current.left >= 0)

    def keyword(self) -> type:
        """Return the class of a custom keyword that charges, and is invalid if nothing is left."""
        meter = self

        class ChargeKeyword:
            def __init__(self, _schema: Any, number: int, _path: Any) -> None:
                self._rate = meter._rates[number]

            def validate(self, value: Any) -> None:
                if not meter.charge(self._rate, value):
                    raise _USED_UP

        return ChargeKeyword


_USED_UP = ValueError("the value takes more evaluations than it is allowed")


def _measure(value: Any, sizes: dict[int, _Sizes]) -> _Sizes:
    """Nodes and characters within 1, 2, 3 and all levels below a value.

    Those of each object and array in it are put into `sizes`, by identity.
    """
    if isinstance(value, str):
        length = 1 + len(value)
        return length, length, length, length
    if isinstance(value, dict):
        one = 1 + len(value) + sum(map(len, value))
        parts: Any = value.values()
    elif isinstance(value, list):
        one, parts = 1, value
    else:
        return 1, 1, 1, 1
    two = three = whole = one
    for part in parts:
        if isinstance(part, (dict, list)):
            first, second, _, all_ = _measure(part, sizes)
            one += 1
        else:
            first = second = all_ = 1 + len(part) if isinstance(part, str) else 1
            one += first
        two += first
        three += second
        whole += all_
    found = sizes[id(value)] = (one, two, three, whole)
    return found
