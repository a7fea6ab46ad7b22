"""Finding out which models may be trusted with which tools: scenarios, trials, graders, statistics, reports.

Trials go through the public Agent, and are judged by what it gives back. Never reaches into a run to make one pass.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundwire.evals.contestants import Contestant, Conversed
    from groundwire.evals.graders.evidence import Evidence
    from groundwire.evals.records import CallTrace, Finding, Total, TrialRecord
    from groundwire.evals.scenarios import FunctionCheck, RubricCheck, Scenario, Suite

# Looked up on first use, so that whoever needs one part does not load them all.
_HOMES = {
    "CallTrace": "groundwire.evals.records",
    "Contestant": "groundwire.evals.contestants",
    "Conversed": "groundwire.evals.contestants",
    "Evidence": "groundwire.evals.graders.evidence",
    "Finding": "groundwire.evals.records",
    "FunctionCheck": "groundwire.evals.scenarios",
    "RubricCheck": "groundwire.evals.scenarios",
    "Scenario": "groundwire.evals.scenarios",
    "Suite": "groundwire.evals.scenarios",
    "Total": "groundwire.evals.records",
    "TrialRecord": "groundwire.evals.records",
}

__all__ = [
    "CallTrace",
    "Contestant",
    "Conversed",
    "Evidence",
    "Finding",
    "FunctionCheck",
    "RubricCheck",
    "Scenario",
    "Suite",
    "Total",
    "TrialRecord",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'groundwire.evals' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
