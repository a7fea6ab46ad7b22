import pytest

from groundwire.contracts.decisions import ALLOW, Deny
from groundwire.contracts.errors import ErrorType
from groundwire.contracts.tools import Exposure, ToolSpec
from groundwire.runtime.policies.access import (
    Mask,
    is_callable_by,
    is_masked,
    matches_name,
    no_such_tool,
    parse_names,
    within_mode,
)

SEARCH = ToolSpec(tool_id="marketplace.search", wire_name="marketplace__search")


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (None, None),
        ("", ()),
        (" , ,", ()),
        ("state_get", ("state_get",)),
        ("state_get, state_patch", ("state_get", "state_patch")),
        (["a", " b "], ("a", "b")),
        ((), ()),
        ("marketplace.*,kb_*", ("marketplace.*", "kb_*")),
    ],
)
def test_names_come_as_a_list_or_a_comma_string(given, names):
    assert parse_names(given) == names


@pytest.mark.requirement("C-149", "C-150", "C-154")
@pytest.mark.parametrize(
    ("allow", "deny", "masked"),
    [
        (None, (), False),
        ((), (), True),
        (("marketplace.search",), (), False),
        (("marketplace__search",), (), False),
        (("marketplace.*",), (), False),
        (("marketplace",), (), True),
        (("other",), (), True),
        (("all",), (), False),
        (None, ("marketplace.search",), True),
        (None, ("marketplace__*",), True),
        (None, ("other",), False),
        (None, ("all",), True),
        (("marketplace.search",), ("marketplace.search",), True),
        (("MARKETPLACE.SEARCH",), (), True),
    ],
)
def test_a_mask_matches_ids_and_wire_names_and_deny_wins(allow, deny, masked):
    assert is_masked(SEARCH, Mask(allow=allow, deny=deny)) is masked


@pytest.mark.parametrize(
    ("exposure", "caller", "callable_"),
    [
        (Exposure.MODEL, "model", True),
        (Exposure.MODEL, "api", True),
        (Exposure.MODEL, "tool", True),
        (Exposure.INTERNAL, "model", False),
        (Exposure.INTERNAL, "api", True),
        (Exposure.INTERNAL, "tool", True),
    ],
)
def test_only_models_are_kept_from_internal_tools(exposure, caller, callable_):
    spec = ToolSpec(tool_id="t", wire_name="t", exposure=exposure)
    assert is_callable_by(spec, caller) is callable_


@pytest.mark.requirement("B-113", "X-05")
@pytest.mark.parametrize(
    ("modes", "mode", "allowed"),
    [
        (("text", "voice"), "text", True),
        (("text", "voice"), "voice", True),
        (("text",), "text", True),
        (("text",), "voice", False),
        (("voice",), "text", False),
    ],
)
def test_a_tool_is_refused_outside_its_modes(modes, mode, allowed):
    decision = within_mode(ToolSpec(tool_id="t", wire_name="t", modes=modes), mode)
    assert (decision is ALLOW) is allowed
    if isinstance(decision, Deny):
        assert decision.type is ErrorType.MODE_RESTRICTED
        assert decision.retryable is False


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("pay[1]", "pay[1]", True),
        ("pay[1]", "pay1", False),
        ("pay[*", "pay[1]", True),
        ("[!p]ay", "bay", False),
        ("pay]", "pay]", True),
        ("pa?", "pay", True),
        ("pa?", "pa", False),
        ("pa*", "pa", True),
        ("all", "anything", True),
    ],
)
def test_only_stars_and_question_marks_stand_for_other_characters(pattern, name, matches):
    assert matches_name(name, name, pattern) is matches


def test_the_answer_about_a_tool_that_is_not_there_depends_on_the_name_alone():
    assert no_such_tool("x") == no_such_tool("x")
    assert no_such_tool("x").type is ErrorType.NOT_FOUND
    assert len(no_such_tool("x" * 10_000).message) < 300
