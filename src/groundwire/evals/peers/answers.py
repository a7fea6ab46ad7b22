"""Are these the calls that a function suite takes for right? Each argument has alternatives, and "" is leaving it out.

Words are compared without case, spaces and the punctuation that people differ in; numbers by their value. Calls may come
in any order.
"""

import re
from typing import Any

from msgspec import Struct

from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.evals.graders.evidence import Evidence
from groundwire.evals.records import CallTrace, Finding

_IGNORED = re.compile(r"[ ,./\-_*^]")
LEFT_OUT = ""


class PossibleAnswer(Struct, frozen=True, kw_only=True):
    """A call, and for each of its arguments what is right."""

    name: str
    arguments: dict[str, list[JsonValue]]


class PossibleAnswers(Struct, frozen=True, kw_only=True):
    """A check that wants exactly these calls."""

    answers: tuple[PossibleAnswer, ...]

    def __call__(self, evidence: Evidence) -> Finding:
        made, wanted = evidence.calls, self.answers
        if len(made) != len(wanted):
            code = "missing_call" if len(made) < len(wanted) else "extra_call"
            return _failed(code, f"{len(made)} calls were made instead of {len(wanted)}.")
        left = list(made)
        for answer in wanted:
            found = next((call for call in left if not what_is_wrong(call, answer)), None)
            if found is None:
                return _nearest(left, answer)
            left.remove(found)
        return Finding(check="calls", passed=True)


class AnyCall(Struct, frozen=True, kw_only=True):
    """A check that wants any call at all."""

    def __call__(self, evidence: Evidence) -> Finding:
        if evidence.calls:
            return Finding(check="calls", passed=True)
        return _failed("missing_call", "No call was made, and one of the functions would have done.")


def what_is_wrong(call: CallTrace, answer: PossibleAnswer) -> str:
    """Empty where the call is right."""
    if call.name != answer.name:
        return f"{call.name} was called instead of {answer.name}."
    if not isinstance(call.arguments, dict):
        return f"The arguments of {call.name} are no object."
    return _wrong_members(call.arguments, answer.arguments)


def first_choice(arguments: dict[str, list[JsonValue]]) -> JsonObject:
    """Arguments that are right: the first alternative of each, and nothing of what may be left out."""
    chosen: JsonObject = {}
    for name, alternatives in arguments.items():
        if alternatives and LEFT_OUT not in alternatives:
            chosen[name] = _chosen(alternatives[0])
    return chosen


def _chosen(value: Any) -> JsonValue:
    if isinstance(value, dict) and all(isinstance(inner, list) for inner in value.values()):
        return first_choice(value)
    return [_chosen(inner) for inner in value] if isinstance(value, list) else value


def _wrong_members(given: JsonObject, wanted: dict[str, Any]) -> str:
    for name, value in given.items():
        alternatives = wanted.get(name)
        if not isinstance(alternatives, list):
            return f"{name} should not be there."
        if not any(_is_same(value, one) for one in alternatives):
            return f"{name} is {value!r:.80}, and should be one of {alternatives!r:.200}."
    missing = [name for name, alternatives in wanted.items() if name not in given and not _may_lack(alternatives)]
    return f"{missing[0]} is missing." if missing else ""


def _may_lack(alternatives: Any) -> bool:
    return isinstance(alternatives, list) and LEFT_OUT in alternatives


def _is_same(given: Any, wanted: Any) -> bool:
    if isinstance(wanted, str) and isinstance(given, str):
        return _plain(given) == _plain(wanted)
    if isinstance(wanted, dict):
        return given == wanted or (isinstance(given, dict) and not _wrong_members(given, wanted))
    if isinstance(wanted, list):
        return isinstance(given, list) and len(given) == len(wanted) and all(map(_is_same, given, wanted))
    return isinstance(given, bool) == isinstance(wanted, bool) and bool(given == wanted)


def _plain(text: str) -> str:
    return _IGNORED.sub("", text).lower().replace("'", '"')


def _nearest(left: list[CallTrace], answer: PossibleAnswer) -> Finding:
    named = [call for call in left if call.name == answer.name]
    if named:
        return _failed("wrong_arguments", f"{answer.name}: {what_is_wrong(named[0], answer)}")
    return _failed("missing_call", f"{answer.name} was not called.")


def _failed(code: str, message: str) -> Finding:
    return Finding(check="calls", passed=False, code=code, message=message)
