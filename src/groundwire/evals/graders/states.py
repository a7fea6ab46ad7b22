"""What was left behind."""

import msgspec

from groundwire.contracts.canonical import JsonValue
from groundwire.evals.graders.calls import is_within
from groundwire.evals.graders.evidence import Evidence
from groundwire.evals.pointers import PatchError, value_at
from groundwire.evals.records import Finding
from groundwire.evals.scenarios import StateCheck

_SHOWN = 160


def grade_state(check: StateCheck, evidence: Evidence) -> Finding:
    place = check.path or "the whole"
    try:
        value = value_at(evidence.state, check.path)
    except PatchError as error:
        if check.absent:
            return Finding(check="state", passed=True)
        return _failed("missing_state", error.message)
    if check.absent:
        return _failed("unwanted_state", f"There is something at {place}.")
    if check.equals is not msgspec.UNSET and not _is_same(value, check.equals):
        return _failed("wrong_state", f"At {place} there is {_shown(value)}, not {_shown(check.equals)}.")
    return Finding(check="state", passed=True)


def _is_same(value: JsonValue, wanted: JsonValue) -> bool:
    """As JSON has it: 1 is 1.0, and neither is true."""
    return is_within(wanted, value) and is_within(value, wanted)


def _shown(value: object) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _failed(code: str, message: str) -> Finding:
    return Finding(check="state", passed=False, code=code, message=message)
