import pytest

from groundwire.contracts import errors
from groundwire.contracts.errors import ErrorDetail, ErrorType, GroundwireError, ToolError


def tree(root):
    return [root, *(found for child in root.__subclasses__() for found in tree(child))]


@pytest.mark.requirement("B-020", "X-03")
def test_the_error_types_are_the_nineteen_of_the_contract():
    assert {member.value for member in ErrorType} == {
        *("VALIDATION", "NOT_FOUND", "INTERNAL", "MODE_RESTRICTED", "BUDGET_EXCEEDED", "CONFIRMATION_REQUIRED"),
        *("SESSION_INACTIVE", "TRANSIENT", "PERMANENT", "CONFLICT", "AUTH", "RATE_LIMIT", "LOOP_DETECTED"),
        *("ARGUMENTS_TOO_LARGE", "TOOL_OUTPUT_TOO_LARGE", "UNGROUNDED", "OUTCOME_UNKNOWN", "TIMEOUT", "CANCELLED"),
    }


def test_names_and_values_of_types_and_details_are_equal():
    assert all(member.name == member.value for enum in (ErrorType, ErrorDetail) for member in enum)


def test_every_raised_error_has_its_own_stable_code_and_stands_in_the_drawn_tree():
    classes = tree(GroundwireError)
    codes = [found.code for found in classes]
    assert len(set(codes)) == len(codes)
    assert all(code == code.lower() for code in codes)
    own = [found for found in classes if found.__module__ == errors.__name__]
    assert [found.__name__ for found in own if found.__name__ not in errors.__doc__] == []


def test_a_raised_error_has_a_message_and_a_hint():
    error = errors.ConfigError("no such profile", hint="profiles: a, b")
    assert (error.message, error.hint) == ("no such profile", "profiles: a, b")
    assert str(error) == "no such profile (profiles: a, b)"
    assert str(errors.ConfigError("no such profile")) == "no such profile"


@pytest.mark.parametrize("type_", [ErrorType.AUTH, "AUTH"])
def test_a_tool_error_takes_the_type_or_its_name(type_):
    error = ToolError(type_, "expired")
    assert error.type is ErrorType.AUTH
    assert (error.retryable, error.partial_side_effects, error.detail) == (False, False, None)


def test_a_tool_error_of_no_known_type_is_a_programming_mistake():
    with pytest.raises(ValueError, match="NONSENSE"):
        ToolError("NONSENSE", "?")
