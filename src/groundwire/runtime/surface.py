"""The surface: what one registry offers in one mode under one profile, with every limit worked out once per tool.

A call then needs a single look-up, however many tools there are.
"""

from collections.abc import Iterator

from groundwire.contracts.ports import Grant
from groundwire.contracts.tools import Budget, Category, Exposure, ToolSpec
from groundwire.contracts.trust import Trust, Trusted
from groundwire.registry import Registry, Tool
from groundwire.runtime.policies.access import CALLERS, Mask, is_callable_by, is_masked
from groundwire.runtime.policies.budgets import TURN
from groundwire.runtime.policies.limits import Limits, Overrides, Policies, Profile, mask_of, resolve_limits
from groundwire.runtime.policies.trust import is_kept_from


class Entry:
    """One tool as the pipeline sees it."""

    __slots__ = (
        "allowed",
        "asks_for_models",
        "callers",
        "guards",
        "in_mode",
        "is_action",
        "is_background",
        "is_blocking",
        "is_guarded",
        "is_keyed",
        "limits",
        "spec",
        "stored_budgets",
        "supplied",
        "tool",
        "tool_id",
        "trusted",
        "turn_budgets",
    )

    def __init__(self, tool: Tool, *, mode: str, allowed: bool, limits: Limits, trusted: Trusted | None = None) -> None:
        self.tool = tool
        self.spec: ToolSpec = tool.spec
        self.tool_id = self.spec.tool_id
        self.supplied = self.spec.policy.supplied
        self.allowed = allowed
        self.trusted = trusted
        """How far the run's model is trusted with it; None where nobody judges that."""
        self.asks_for_models = trusted is not None and trusted.trust is Trust.ASK
        kept_from = {"model"} if trusted is not None and is_kept_from(trusted, self.spec) else set()
        callers = {caller for caller in CALLERS if allowed and is_callable_by(self.spec, caller)}
        self.callers = frozenset(callers - kept_from)
        self.in_mode = mode in self.spec.modes
        """Who may call it here, unless the turn itself has something against it."""
        self.limits = limits
        self.is_action = self.spec.category is Category.ACTION
        self.is_background = self.spec.policy.background
        self.is_keyed = self.is_action or self.is_background
        """Whether each of its calls has a key in the ledger."""
        blocking = self.spec.policy.blocking
        self.is_blocking = self.is_action if blocking is None else blocking
        """Whether a handler that is no coroutine gets a thread."""
        self.turn_budgets: tuple[Budget, ...] = tuple(budget for budget in limits.budgets if budget.by == TURN)
        self.stored_budgets: tuple[Budget, ...] = tuple(budget for budget in limits.budgets if budget.by != TURN)
        guards = {
            "budget": limits.budgets,
            "gates": limits.gates,
            "ground": limits.grounding != "off" and self.spec.policy.ground,
            "confirm": limits.confirm or self.asks_for_models,
        }
        self.is_guarded = any(guards.values())
        # Only a guard can refuse between look-up and reserve; without one the reservation itself finds the key.
        kept = [name for name, applies in guards.items() if applies]
        self.guards: tuple[str, ...] = ("look_up", *kept, "reserve") if kept else ("reserve",)

    def must_confirm(self, caller: str) -> bool:
        """Whether a person must agree to this caller's calls. What a tool calls of its own accord, no model chose."""
        return self.limits.confirm or (self.asks_for_models and caller == "model")


class Surface:
    """`narrowing` is a caller's own mask, on top of the profile's; `limits` are laid over the profile's.

    `grant` says how far the model is trusted with the registry's tools, where that is known and judged.
    """

    def __init__(
        self,
        registry: Registry,
        *,
        mode: str,
        profile: str,
        policies: Policies,
        narrowing: Mask | None = None,
        limits: Overrides | None = None,
        grant: Grant | None = None,
    ) -> None:
        self.registry = registry
        self.mode = mode
        self.profile = profile
        self._policies = policies
        masks = (mask_of(profile, policies), narrowing)
        self._masks = tuple(mask for mask in masks if mask is not None)
        self._limits = limits
        self._grant = grant
        self.max_refusals = policies.profiles.get(profile, Profile()).max_refusals
        self.found: dict[str, Entry] = {}
        """The tools that were looked for before."""

    def find(self, name: str) -> Entry | None:
        entry = self.found.get(name)
        if entry is None:
            tool = self.registry.find(name)
            if tool is None:
                return None
            entry = self.found[name] = self._enter(tool, self.trusted(tool.spec))
        return entry

    def trusted(self, spec: ToolSpec) -> Trusted | None:
        return None if self._grant is None else self._grant.judge(spec)

    def offered(self, *, keep_other_modes: bool = False) -> Iterator[Tool]:
        """The tools to declare to a model. `keep_other_modes` shows those of the other mode too; calls still fail."""
        for tool in self.registry:
            spec = tool.spec
            if spec.exposure is not Exposure.MODEL or self._is_masked(spec):
                continue
            if not keep_other_modes and self.mode not in spec.modes:
                continue
            trusted = self.trusted(spec)
            if trusted is None or not is_kept_from(trusted, spec):
                yield tool

    def enter(self, tool: Tool) -> Entry:
        """A tool of the runtime's own, which needs nobody's trust."""
        return self._enter(tool, None)

    def _enter(self, tool: Tool, trusted: Trusted | None) -> Entry:
        limits = resolve_limits(tool.spec, self.mode, self.profile, self._policies, self._limits)
        allowed = not self._is_masked(tool.spec)
        return Entry(tool, mode=self.mode, allowed=allowed, limits=limits, trusted=trusted)

    def _is_masked(self, spec: ToolSpec) -> bool:
        return any(is_masked(spec, mask) for mask in self._masks)
