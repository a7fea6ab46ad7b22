import pytest

from groundwire.contracts.decisions import Allow, Answer, Deny
from groundwire.contracts.errors import ErrorDetail, ErrorType
from groundwire.contracts.tools import Gate
from groundwire.runtime.policies.gates import through_gates
from groundwire.testing import StaticFlags


@pytest.mark.parametrize(
    ("gates", "on", "outcome"),
    [
        ((), (), Allow),
        ((Gate(flag="A"),), ("A",), Allow),
        ((Gate(flag="A"),), (), Deny),
        ((Gate(flag="A"), Gate(flag="B")), ("A",), Deny),
        ((Gate(flag="A", answer=None),), (), Answer),
        ((Gate(flag="A", answer=[]), Gate(flag="B")), (), Answer),
        ((Gate(flag="B"), Gate(flag="A", answer=[])), (), Deny),
        ((Gate(flag="A"), Gate(flag="B")), ("A", "B"), Allow),
    ],
)
def test_the_first_closed_gate_decides(gates, on, outcome):
    decision = through_gates("t", gates, StaticFlags(*on))
    assert isinstance(decision, outcome)
    if isinstance(decision, Deny):
        assert (decision.type, decision.detail) == (ErrorType.PERMANENT, ErrorDetail.DISABLED)
