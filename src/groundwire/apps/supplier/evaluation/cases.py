"""The cases: what suppliers write, what a model once made of it, and how each ends. Data, read from `cases.json`."""

from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec
from msgspec import Struct

from groundwire.apps.supplier.contracts import (
    Goal,
    JsonObject,
    Severity,
    SignalType,
    SourcingRequest,
    Status,
    goals_of,
)

RECORDED = "recorded"
"""The model that is the recording."""


class Wanted(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What the buyer asks for, without the name of a conversation."""

    item: str
    qty: int
    want: str = ""
    target_price: float | None = None


class RecordedCapture(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A call that the model made in a turn. Where `grounded` is false no supplier message bears it out, on purpose."""

    turn: int
    name: str
    args: JsonObject
    grounded: bool = True


class RecordedSignal(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A call of the summary agent and the signal that it means. `grounded` is None where nobody said anything."""

    name: str
    args: JsonObject
    signal_type: SignalType
    severity: Severity
    grounded: bool | None = True


class Case(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """`clock` is when the supplier's last line arrives. Turn 1 is the bot's opening, and turn k + 1 answers line k.

    `replies` begin with turn 2; one is empty where no model is asked.
    """

    id: str
    status: Status
    clock: str
    request: Wanted
    lines: tuple[str, ...]
    captures: tuple[RecordedCapture, ...]
    signals: tuple[RecordedSignal, ...]
    replies: tuple[str, ...]
    summary: str
    nudges: tuple[str, ...] = ()
    origin: Literal["benchmark", "project"] = "benchmark"
    """Whether the benchmark that was handed over has it, or it was added here."""

    @property
    def number(self) -> int:
        return int(self.id.split("-")[1])

    def request_for(self, session_id: str) -> SourcingRequest:
        return SourcingRequest(
            session_id=session_id,
            supplier_id=f"supplier-{self.number:02}",
            item=self.request.item,
            qty=self.request.qty,
            want=self.request.want,
            target_price=self.request.target_price,
        )

    @property
    def goals(self) -> tuple[Goal, ...]:
        """The usual ones, and those that the recording is about."""
        usual = [goal.goal_id for goal in goals_of(self.request_for(""))]
        named = [str(row.args["goalId"]) for row in self.captures if "goalId" in row.args]
        return tuple(Goal(goal_id=name) for name in dict.fromkeys((*usual, *named)))


@cache
def read_cases() -> tuple[Case, ...]:
    data = files(__package__).joinpath("cases.json").read_bytes()
    return msgspec.json.decode(data, type=tuple[Case, ...])


@cache
def cases_by_id() -> dict[str, Case]:
    return {case.id: case for case in read_cases()}


@cache
def original_ten() -> frozenset[str]:
    """The cases that have had figures from the beginning: the benchmark's, without the three that were added to it."""
    return frozenset(case.id for case in read_cases() if case.origin == "benchmark" and case.number <= 11)
