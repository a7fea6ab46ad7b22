import pytest

from groundwire.contracts.decisions import Allow, Deny
from groundwire.contracts.errors import ErrorType
from groundwire.runtime.policies.sizes import output_too_large, within_argument_size


@pytest.mark.requirement("C-139")
@pytest.mark.parametrize(("size", "allowed"), [(0, True), (199_999, True), (200_000, True), (200_001, False)])
def test_arguments_are_measured_against_the_limit_inclusively(size, allowed):
    decision = within_argument_size("t", size, 200_000)
    assert isinstance(decision, Allow if allowed else Deny)
    if isinstance(decision, Deny):
        assert decision.type is ErrorType.ARGUMENTS_TOO_LARGE
        assert "200001" in decision.message


def test_a_large_output_is_told_with_both_numbers():
    assert "300000" in output_too_large("t", 300_000, 200_000)
    assert "200000" in output_too_large("t", 300_000, 200_000)
