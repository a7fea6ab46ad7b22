"""The surface: what one registry offers in one mode under one profile, with every limit worked out once per tool.

A call then needs a single look-up, however many tools there are.
"""

from collections.abc import Iterator

from groundwire.contracts.tools import Budget, Category, Exposure, ToolSpec
from groundwire.registry import Registry, Tool
from groundwire.runtime.policies.access import CALLERS, Mask, is_callable_by, is_masked
from groundwire.runtime.policies.budgets import TURN
from groundwire.runtime.policies.limits import Limits, Overrides, Policies, Profile, mask_of, resolve_limits


class Entry:
    """One tool as the pipeline sees it."""

    __slots__ = (
        "allowed",
        "callers",
        "guards",
        "in_mode",
        "is_action",
        "is_blocking",
        "is_guarded",
        "limits",
        "spec",
        "stored_budgets",
        "tool",
        "turn_budgets",
    )

    def __init__(self, tool: Tool, *, mode: str, allowed: bool, limits: Limits) -> None:
        self.tool = tool
        self.spec: ToolSpec = tool.spec
        self.allowed = allowed
        self.callers = frozenset(caller for caller in CALLERS if allowed and is_callable_by(self.spec, caller))
        self.in_mode = mode in self.spec.modes
        self.limits = limits
        self.is_action = self.spec.category is Category.ACTION
        blocking = self.spec.policy.blocking
        self.is_blocking = self.is_action if blocking is None else blocking
        """Whether a handler that is no coroutine gets a thread."""
        self.turn_budgets: tuple[Budget, ...] = tuple(budget for budget in limits.budgets if budget.by == TURN)
        self.stored_budgets: tuple[Budget, ...] = tuple(budget for budget in limits.budgets if budget.by != TURN)
        guards = {
            "budget": limits.budgets,
            "gates": limits.gates,
            "ground": limits.grounding != "off" and self.spec.policy.ground,
            "confirm": limits.confirm,
        }
        self.is_guarded = any(guards.values())
        # Only a guard can refuse between look-up and reserve; without one the reservation itself finds the key.
        kept = [name for name, applies in guards.items() if applies]
        self.guards: tuple[str, ...] = ("look_up", *kept, "reserve") if kept else ("reserve",)


class Surface:
    """`narrowing` is a caller's own mask, on top of the profile's; `limits` are laid over the profile's."""

    def __init__(
        self,
        registry: Registry,
        *,
        mode: str,
        profile: str,
        policies: Policies,
        narrowing: Mask | None = None,
        limits: Overrides | None = None,
    ) -> None:
        self.registry = registry
        self.mode = mode
        self.profile = profile
        self._policies = policies
        masks = (mask_of(profile, policies), narrowing)
        self._masks = tuple(mask for mask in masks if mask is not None)
        self._limits = limits
        self.max_refusals = policies.profiles.get(profile, Profile()).max_refusals
        self.found: dict[str, Entry] = {}
        """The tools that were looked for before."""

    def find(self, name: str) -> Entry | None:
        entry = self.found.get(name)
        if entry is None:
            tool = self.registry.find(name)
            if tool is None:
                return None
            entry = self.found[name] = self.enter(tool)
        return entry

    def offered(self, *, keep_other_modes: bool = False) -> Iterator[Tool]:
        """The tools to declare to a model. `keep_other_modes` shows those of the other mode too; calls still fail."""
        for tool in self.registry:
            spec = tool.spec
            if spec.exposure is not Exposure.MODEL or self._is_masked(spec):
                continue
            if keep_other_modes or self.mode in spec.modes:
                yield tool

    def enter(self, tool: Tool) -> Entry:
        limits = resolve_limits(tool.spec, self.mode, self.profile, self._policies, self._limits)
        return Entry(tool, mode=self.mode, allowed=not self._is_masked(tool.spec), limits=limits)

    def _is_masked(self, spec: ToolSpec) -> bool:
        return any(is_masked(spec, mask) for mask in self._masks)
