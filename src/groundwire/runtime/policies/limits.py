"""Which limits hold for one tool, in one mode, under one profile.

Later ones win: the mode's defaults, the profile, the caller's wish for its own run, the tool's own policy, then the
operator's rules in their order.
"""

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta, Struct, field

from groundwire.contracts.tools import (
    Budget,
    Category,
    Gate,
    GroundingMode,
    Milliseconds,
    Mode,
    ToolPolicy,
    ToolSpec,
)
from groundwire.runtime.policies.access import Mask, matches_any

MAX_BYTES = 200_000

Count: TypeAlias = Annotated[int, Meta(ge=1)]
Size: TypeAlias = Annotated[int, Meta(ge=0)]


class Overrides(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Limits that a profile or a rule sets; what is None is left as it was."""

    soft_ms: Milliseconds | None = None
    hard_ms: Milliseconds | None = None
    max_args_bytes: Size | None = None
    max_output_bytes: Size | None = None
    confirm: bool | None = None
    grounding: GroundingMode | None = None
    repeat_limit: Count | None = None
    empty_limit: Count | None = None
    budget: tuple[Budget, ...] = ()
    gates: tuple[str | Gate, ...] = ()


class Profile(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A named set of masks and limits that a conversation runs under."""

    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    limits: Overrides = field(default_factory=Overrides)
    max_refusals: Count = 5


class PolicyRule(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The operator's word for the tools (globs), modes and profiles that it names; an empty list means all."""

    tools: tuple[str, ...] = ("*",)
    modes: tuple[Mode, ...] = ()
    profiles: tuple[str, ...] = ()
    limits: Overrides = field(default_factory=Overrides)


class Policies(Struct, frozen=True, kw_only=True):
    """All of an installation's policy configuration."""

    profiles: dict[str, Profile] = field(default_factory=dict)
    rules: tuple[PolicyRule, ...] = ()


class Limits(Struct, frozen=True, kw_only=True):
    """What holds in the end."""

    soft_ms: int | None
    hard_ms: int
    max_args_bytes: int = MAX_BYTES
    max_output_bytes: int = MAX_BYTES
    confirm: bool = False
    grounding: GroundingMode = "strict"
    repeat_limit: int = 3
    empty_limit: int = 2
    budgets: tuple[Budget, ...] = ()
    gates: tuple[Gate, ...] = ()


MODE_SOFT_MS = {"voice": 800, "text": 2_000}
MODE_HARD_MS = {"voice": 5_000, "text": 15_000}
BACKGROUND_HARD_MS = 3_600_000
"""Nobody waits for a background tool, but no call lasts for ever."""
VOICE_TARGET_MS = 1_000
MODE_BUDGETS: dict[str, tuple[Budget, ...]] = {
    "voice": (Budget(name="retrieval", max=2, category=Category.RETRIEVAL), Budget(name="calls", max=3)),
    "text": (),
}

ASSISTANT_PROFILE = Profile(
    limits=Overrides(
        budget=(Budget(name="retrieval", max=5, category=Category.RETRIEVAL), Budget(name="calls", max=10)),
    ),
)


def resolve_limits(
    spec: ToolSpec, mode: str, profile_name: str, policies: Policies, caller: Overrides | None = None
) -> Limits:
    profile = policies.profiles.get(profile_name, Profile())
    soft = MODE_SOFT_MS[mode] if spec.category is Category.RETRIEVAL else None
    if soft is None and mode == "voice":
        soft = VOICE_TARGET_MS
    values: dict[str, Any] = {"soft_ms": soft, "hard_ms": MODE_HARD_MS[mode], "confirm": spec.requires_confirmation}
    if spec.policy.background:
        values |= {"soft_ms": None, "hard_ms": BACKGROUND_HARD_MS}
    budgets = {(budget.name, budget.by): budget for budget in MODE_BUDGETS[mode]}
    gates: list[str | Gate] = []
    tool_limits = _limits_of(spec.policy)
    rules = [rule.limits for rule in policies.rules if _applies(rule, spec, mode, profile_name)]
    for source in (profile.limits, *((caller,) if caller is not None else ()), tool_limits, *rules):
        _lay_over(values, source)
        for budget in source.budget:
            known = budgets.get((budget.name, budget.by))
            if known is not None and source is tool_limits:  # a tool may tighten what holds for all, never loosen it
                known = msgspec.structs.replace(known, max=min(known.max, budget.max))
            else:
                known = budget
            budgets[budget.name, budget.by] = known
        gates.extend(source.gates)
    return Limits(
        **values,
        budgets=tuple(budget for budget in budgets.values() if budget.category in (None, spec.category)),
        gates=tuple(Gate(flag=gate) if isinstance(gate, str) else gate for gate in gates),
    )


def idle_patterns(policies: Policies, specs: Sequence[ToolSpec]) -> list[str]:
    """Names in rules that no tool has; a misspelt one would leave a tool without its rule, in silence."""
    patterns = [pattern for rule in policies.rules for pattern in rule.tools] if specs else []
    return [pattern for pattern in patterns if not any(matches_any(spec, (pattern,)) for spec in specs)]


def mask_of(profile_name: str, policies: Policies) -> Mask:
    profile = policies.profiles.get(profile_name, Profile())
    return Mask(allow=profile.allow, deny=profile.deny)


def _limits_of(policy: ToolPolicy) -> Overrides:
    return Overrides(soft_ms=policy.soft_ms, hard_ms=policy.hard_ms, budget=policy.budget, gates=policy.gates)


def _lay_over(values: dict[str, Any], source: Overrides) -> None:
    given = msgspec.structs.asdict(source).items()
    values.update((name, value) for name, value in given if value is not None and name not in ("budget", "gates"))


def _applies(rule: PolicyRule, spec: ToolSpec, mode: str, profile_name: str) -> bool:
    return (
        matches_any(spec, rule.tools)
        and (not rule.modes or mode in rule.modes)
        and (not rule.profiles or profile_name in rule.profiles)
    )
