"""The final text, the outcome, and what it took."""

from groundwire.evals.graders.evidence import Evidence
from groundwire.evals.patterns import compile_pattern
from groundwire.evals.records import Finding
from groundwire.evals.scenarios import LimitsCheck, OutcomeCheck, TextCheck

_SHOWN = 120


def grade_text(check: TextCheck, evidence: Evidence) -> Finding:
    text = evidence.text.strip()
    shown = repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
    if not text and (check.equals or check.contains or check.matches):
        return _failed("text", "empty_text", "The final answer is empty.")
    if check.equals is not None and text != check.equals.strip():
        return _failed("text", "wrong_text", f"The final answer is {shown}, not {check.equals!r}.")
    for part in check.contains:
        if part not in text:
            return _failed("text", "wrong_text", f"The final answer {shown} does not say {part!r}.")
    for part in check.lacks:
        if part in text:
            return _failed("text", "wrong_text", f"The final answer says {part!r}.")
    if check.matches is not None and not compile_pattern(check.matches)(text):
        return _failed("text", "wrong_text", f"The final answer {shown} does not match {check.matches!r}.")
    return Finding(check="text", passed=True)


def grade_outcome(check: OutcomeCheck, evidence: Evidence) -> Finding:
    if evidence.outcome == check.equals:
        return Finding(check="outcome", passed=True)
    return _failed("outcome", evidence.outcome, f"The run ended with {evidence.outcome}, not {check.equals}.")


def grade_limits(check: LimitsCheck, evidence: Evidence) -> Finding:
    tokens = evidence.tokens.input + evidence.tokens.output
    measured: list[tuple[str, float | None, float | None]] = [
        ("latency_ms", evidence.latency_ms, check.latency_ms),
        ("cost", evidence.cost, check.cost),
        ("tokens", tokens, check.tokens),
        ("steps", evidence.steps, check.steps),
    ]
    for name, value, limit in measured:
        if limit is None:
            continue
        if value is None:
            return _failed("limits", f"unknown_{name}", f"Nobody knows the {name} of this trial.")
        if value > limit:
            return _failed("limits", f"over_{name}", f"{name} is {value:g}; {limit:g} is allowed.")
    return Finding(check="limits", passed=True)


def _failed(check: str, code: str, message: str) -> Finding:
    return Finding(check=check, passed=False, code=code, message=message)
