"""From checks to findings: each kind of check has its one function."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from groundwire.contracts.errors import ConfigError
from groundwire.evals.files import load_function
from groundwire.evals.graders.answers import grade_limits, grade_outcome, grade_text
from groundwire.evals.graders.calls import grade_calls
from groundwire.evals.graders.evidence import Evidence
from groundwire.evals.graders.quotes import grade_grounding
from groundwire.evals.graders.rubrics import Judges, grade_rubric
from groundwire.evals.graders.states import grade_state
from groundwire.evals.records import Finding, as_json
from groundwire.evals.scenarios import (
    CallsCheck,
    Check,
    FunctionCheck,
    GroundingCheck,
    LimitsCheck,
    OutcomeCheck,
    RubricCheck,
    StateCheck,
    TextCheck,
)

_GRADERS: dict[type, Callable[[Any, Evidence], Finding]] = {
    CallsCheck: grade_calls,
    StateCheck: grade_state,
    TextCheck: grade_text,
    OutcomeCheck: grade_outcome,
    LimitsCheck: grade_limits,
    GroundingCheck: grade_grounding,
}


async def grade(
    checks: Sequence[Check], evidence: Evidence, *, judges: Judges | None = None, seed: int = 0
) -> tuple[Finding, ...]:
    """All findings, also after one that failed: a report tells everything that was wrong."""
    found: list[Finding] = []
    for check in checks:
        if isinstance(check, RubricCheck):
            if judges is None:
                raise ConfigError("A rubric needs a judge.", hint="--judge MODEL")
            judge, name = judges(check.judge)
            found.append(await grade_rubric(check, evidence, judge, name, seed))
        elif isinstance(check, FunctionCheck):
            found.append(await _grade_by_function(check, evidence))
        else:
            found.append(_GRADERS[type(check)](check, evidence))
    return tuple(found)


async def _grade_by_function(check: FunctionCheck, evidence: Evidence) -> Finding:
    function = load_function(check.function) if isinstance(check.function, str) else check.function
    name = check.name or getattr(function, "__name__", "function")
    said = function(evidence)
    if inspect.isawaitable(said):
        said = await said
    match said:
        case Finding():
            as_json(said)  # it has to be written down
            return said
        case None | True | "":
            return Finding(check=name, passed=True)
        case False | str():
            return Finding(check=name, passed=False, code=name, message=said or "")
        case _:
            raise TypeError(f"the check {name} says {said!r:.80}, and not None, a text, true, false or a Finding")
