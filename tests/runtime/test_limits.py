import msgspec
import pytest

from groundwire.contracts.tools import Budget, Category, Gate, ToolPolicy, ToolSpec
from groundwire.runtime.policies.access import Mask
from groundwire.runtime.policies.limits import (
    ASSISTANT_PROFILE,
    Limits,
    Overrides,
    Policies,
    PolicyRule,
    Profile,
    mask_of,
    resolve_limits,
)

NOTHING = Policies()


def spec(category=Category.RETRIEVAL, **policy):
    return ToolSpec(tool_id="kb.search", wire_name="kb__search", category=category, policy=ToolPolicy(**policy))


@pytest.mark.requirement("B-043", "B-055", "B-087", "B-190", "X-28", "C-138", "C-140")
@pytest.mark.parametrize(
    ("category", "mode", "soft", "hard"),
    [
        (Category.RETRIEVAL, "voice", 800, 5_000),
        (Category.RETRIEVAL, "text", 2_000, 15_000),
        (Category.ACTION, "voice", 1_000, 5_000),
        (Category.ACTION, "text", None, 15_000),
        (Category.UTILITY, "voice", 1_000, 5_000),
        (Category.UTILITY, "text", None, 15_000),
    ],
)
def test_defaults_depend_on_category_and_mode(category, mode, soft, hard):
    limits = resolve_limits(spec(category), mode, "", NOTHING)
    assert (limits.soft_ms, limits.hard_ms) == (soft, hard)
    assert (limits.max_args_bytes, limits.max_output_bytes) == (200_000, 200_000)
    assert (limits.repeat_limit, limits.empty_limit, limits.grounding) == (3, 2, "strict")


@pytest.mark.requirement("B-041", "B-042", "X-33")
@pytest.mark.parametrize(
    ("category", "mode", "budgets"),
    [
        (Category.RETRIEVAL, "voice", {"retrieval": 2, "calls": 3}),
        (Category.ACTION, "voice", {"calls": 3}),
        (Category.UTILITY, "voice", {"calls": 3}),
        (Category.RETRIEVAL, "text", {}),
        (Category.ACTION, "text", {}),
    ],
)
def test_only_voice_has_budgets_of_its_own(category, mode, budgets):
    limits = resolve_limits(spec(category), mode, "", NOTHING)
    assert {budget.name: budget.max for budget in limits.budgets} == budgets
    assert all(budget.by == "turn" for budget in limits.budgets)


@pytest.mark.requirement("B-054", "X-33")
def test_the_assistants_profile_allows_five_retrievals_and_ten_calls():
    policies = Policies(profiles={"assistant": ASSISTANT_PROFILE})
    limits = resolve_limits(spec(), "text", "assistant", policies)
    assert {budget.name: budget.max for budget in limits.budgets} == {"retrieval": 5, "calls": 10}


FIELDS = [
    ("soft_ms", 111),
    ("hard_ms", 222),
    ("max_args_bytes", 333),
    ("max_output_bytes", 444),
    ("confirm", True),
    ("grounding", "report"),
    ("repeat_limit", 7),
    ("empty_limit", 8),
]


def test_every_limit_can_be_overridden():
    assert {name for name, _ in FIELDS} | {"budget", "gates"} == set(Overrides.__struct_fields__)
    assert {name for name, _ in FIELDS} | {"budgets", "gates"} == set(Limits.__struct_fields__)


@pytest.mark.parametrize(("field", "value"), FIELDS)
def test_a_profile_overrides_the_mode_and_a_rule_overrides_both(field, value):
    by_profile = Policies(profiles={"p": Profile(limits=Overrides(**{field: value}))})
    assert getattr(resolve_limits(spec(), "text", "p", by_profile), field) == value
    by_rule = msgspec.structs.replace(
        by_profile,
        rules=(PolicyRule(limits=Overrides(**{field: {"grounding": "off", "confirm": False}.get(field, 9)})),),
    )
    assert getattr(resolve_limits(spec(), "text", "p", by_rule), field) in (9, "off", False)


def test_a_tools_own_times_lie_over_the_profile_and_under_the_rules():
    policies = Policies(
        profiles={"p": Profile(limits=Overrides(soft_ms=1, hard_ms=1))},
        rules=(PolicyRule(tools=("kb.*",), limits=Overrides(hard_ms=3)),),
    )
    limits = resolve_limits(spec(soft_ms=2, hard_ms=2), "text", "p", policies)
    assert (limits.soft_ms, limits.hard_ms) == (2, 3)


@pytest.mark.parametrize(
    ("rule", "applies"),
    [
        ({}, True),
        ({"tools": ("kb.*",)}, True),
        ({"tools": ("kb__search",)}, True),
        ({"tools": ("other",)}, False),
        ({"modes": ("text",)}, True),
        ({"modes": ("voice",)}, False),
        ({"profiles": ("p",)}, True),
        ({"profiles": ("q",)}, False),
        ({"tools": ("kb.*",), "modes": ("text",), "profiles": ("q", "p")}, True),
    ],
)
def test_a_rule_holds_for_the_tools_modes_and_profiles_that_it_names(rule, applies):
    policies = Policies(profiles={"p": Profile()}, rules=(PolicyRule(**rule, limits=Overrides(hard_ms=1)),))
    assert (resolve_limits(spec(), "text", "p", policies).hard_ms == 1) is applies


def test_a_budget_of_the_same_name_replaces_the_earlier_one_and_others_add_up():
    policies = Policies(rules=(PolicyRule(limits=Overrides(budget=(Budget(name="calls", max=1),))),))
    own = Budget(name="own", by="session", max=4)
    limits = resolve_limits(spec(budget=(own,)), "voice", "", policies)
    assert {budget.name: budget.max for budget in limits.budgets} == {"retrieval": 2, "calls": 1, "own": 4}


@pytest.mark.parametrize(
    ("of_budget", "of_tool", "counts"),
    [
        (None, Category.ACTION, True),
        (Category.ACTION, Category.ACTION, True),
        (Category.RETRIEVAL, Category.ACTION, False),
        (Category.UTILITY, Category.RETRIEVAL, False),
    ],
)
def test_a_budget_for_a_category_holds_for_its_tools_only(of_budget, of_tool, counts):
    budget = Budget(name="b", max=1, category=of_budget)
    policies = Policies(profiles={"p": Profile(limits=Overrides(budget=(budget,)))})
    limits = resolve_limits(spec(of_tool), "text", "p", policies)
    assert (budget in limits.budgets) is counts


def test_gates_of_all_sources_must_be_open_and_a_name_is_a_gate_that_refuses():
    answering = Gate(flag="B", answer=[])
    policies = Policies(rules=(PolicyRule(limits=Overrides(gates=(answering,))),))
    assert resolve_limits(spec(gates=("A",)), "text", "", policies).gates == (Gate(flag="A"), answering)


def test_confirmation_comes_from_the_tool_and_may_be_lifted_by_the_operator():
    asks = ToolSpec(tool_id="t", wire_name="t", requires_confirmation=True)
    lifted = Policies(rules=(PolicyRule(limits=Overrides(confirm=False)),))
    assert resolve_limits(asks, "text", "", NOTHING).confirm is True
    assert resolve_limits(asks, "text", "", lifted).confirm is False


def test_a_profile_is_a_mask_too():
    policies = Policies(profiles={"p": Profile(allow=("a",), deny=("b",))})
    assert mask_of("p", policies) == Mask(allow=("a",), deny=("b",))
    assert mask_of("", policies) == Mask()
