"""Planning the steps of runs: a plan is made when what is on offer has changed, and kept for the next run like it."""

from collections.abc import Callable
from typing import TypeAlias

from groundwire.contracts.runs import Plan, Planned, encode_entry
from groundwire.runtime.runs.options import RunOptions
from groundwire.runtime.runs.plans import digest_of, make_plan
from groundwire.runtime.runs.state import RunState
from groundwire.runtime.surface import Surface
from groundwire.runtime.turns import Turn

PlanStep: TypeAlias = Callable[[RunState, Turn], Plan]
"""The plan of the next request, recorded in the state if it is a new one."""


class _Made:
    """A plan, and what it follows from where the turn itself has changed nothing about its tools."""

    __slots__ = ("encoded", "has_called", "options", "planned", "surface", "without_tools")

    def __init__(
        self, options: RunOptions, surface: Surface, planned: Planned, *, without_tools: bool, has_called: bool
    ) -> None:
        self.options = options
        self.surface = surface
        self.planned = planned
        self.encoded = encode_entry(planned)
        self.without_tools = without_tools
        self.has_called = has_called


class Planner:
    def __init__(self) -> None:
        self._last: _Made | None = None

    def plan_step(self, state: RunState, turn: Turn) -> Plan:
        without_tools = state.without_tools or turn.must_answer
        has_called = state.calls > 0 and state.options.settings.tool_choice != "auto"
        key = (without_tools, len(turn.masked), len(turn.extra), has_called)
        if state.plan is None or state.plan_key != key:
            made = self._made(state.options, turn, without_tools=without_tools, has_called=has_called)
            if made.planned.digest != state.plan_digest:
                state.record(made.planned, made.encoded)
            state.plan_key = key
        assert state.plan is not None  # noqa: S101 - set by the line above, or earlier
        return state.plan

    def _made(self, options: RunOptions, turn: Turn, *, without_tools: bool, has_called: bool) -> _Made:
        last, is_usual = self._last, not turn.masked and not turn.extra
        if (
            last is not None
            and is_usual
            and last.options is options
            and last.surface is turn.surface
            and last.without_tools == without_tools
            and last.has_called == has_called
        ):
            return last
        plan = make_plan(options, () if without_tools else turn.offered(), has_called=has_called)
        planned = Planned(plan=plan, digest=digest_of(plan))
        made = _Made(options, turn.surface, planned, without_tools=without_tools, has_called=has_called)
        if is_usual:
            self._last = made
        return made
