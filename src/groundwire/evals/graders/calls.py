"""Were the right tools called, with the right arguments, in the right order?"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from groundwire.contracts.canonical import JsonValue
from groundwire.contracts.errors import ErrorDetail
from groundwire.evals.graders.evidence import Evidence
from groundwire.evals.records import CallTrace, Finding
from groundwire.evals.scenarios import CallsCheck, ExpectedCall
from groundwire.registry.validators import CompiledSchema, compile_schema


def grade_calls(check: CallsCheck, evidence: Evidence) -> Finding:
    return replace(_grade(check, evidence), tools=tuple(_tools_of(check)))


def _tools_of(check: CallsCheck) -> Iterator[str]:
    """The tools that a check is about: a name that should lead nowhere is none."""
    names = [call.name for call in check.calls if call.error != ErrorDetail.UNKNOWN_TOOL]
    yield from dict.fromkeys((*names, *(name for name in check.none if name != "*")))


def _grade(check: CallsCheck, evidence: Evidence) -> Finding:
    made = evidence.calls
    forbidden = [call.name for call in made if "*" in check.none or call.name in check.none]
    if forbidden:
        return _failed("forbidden_call", f"{forbidden[0]} was called.")
    if check.at_most is not None and len(made) > check.at_most:
        return _failed("too_many_calls", f"{len(made)} calls were made; {check.at_most} would have done.")
    if check.mode == "exact" and len(made) != len(check.calls):
        code = "missing_call" if len(made) < len(check.calls) else "extra_call"
        return _failed(code, f"{len(made)} calls were made instead of {len(check.calls)}.")
    missing = _missing(check, made)
    if missing is None:
        return Finding(check="calls", passed=True)
    near = [call for call in made if call.name == missing.name]
    if not near:
        return _failed("missing_call", f"{missing.name} was not called as expected.")
    return _failed("wrong_arguments", f"{missing.name} was called, but {_told(missing)}.")


def _missing(check: CallsCheck, made: Sequence[CallTrace]) -> ExpectedCall | None:
    """The first expected call that was not made; none, if all were."""
    if check.mode == "exact":
        return next((wanted for wanted, call in zip(check.calls, made, strict=True) if not _fits(wanted, call)), None)
    if check.mode == "subset":
        return _unmatched(check.calls, made)
    left = iter(made)
    return next((wanted for wanted in check.calls if not any(_fits(wanted, call) for call in left)), None)


def _unmatched(expected: Sequence[ExpectedCall], made: Sequence[CallTrace]) -> ExpectedCall | None:
    """The first that finds no call of its own, also if those before it make room by taking others."""
    fitting = [[number for number, call in enumerate(made) if _fits(wanted, call)] for wanted in expected]
    taken: dict[int, int] = {}

    def finds_one(wanted: int, tried: set[int]) -> bool:
        for number in fitting[wanted]:
            if number not in tried:
                tried.add(number)
                if number not in taken or finds_one(taken[number], tried):
                    taken[number] = wanted
                    return True
        return False

    return next((wanted for place, wanted in enumerate(expected) if not finds_one(place, set())), None)


def _fits(wanted: ExpectedCall, call: CallTrace) -> bool:
    if wanted.name != call.name or (wanted.ok is not None and wanted.ok != call.ok):
        return False
    if wanted.error and wanted.error != call.error:
        return False
    if wanted.arguments is not None and not is_within(wanted.arguments, call.arguments):
        return False
    return wanted.schema is None or compiled(wanted).is_valid(call.arguments)


def compiled(wanted: ExpectedCall) -> CompiledSchema:
    """A RegistryError where the schema is none, or leads out of itself."""
    return compile_schema(wanted.schema, reason="invalid_schema", of=f"the expected call of {wanted.name}")


def is_within(wanted: JsonValue, given: JsonValue) -> bool:
    """Whether all that is wanted is there: objects may have more members, lists and other values are equal."""
    if isinstance(wanted, dict):
        return isinstance(given, dict) and all(
            name in given and is_within(value, given[name]) for name, value in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(given, list) and len(wanted) == len(given) and all(map(is_within, wanted, given))
    return (type(wanted) is type(given) and wanted == given) or _is_same_number(wanted, given)


def _is_same_number(wanted: JsonValue, given: JsonValue) -> bool:
    kinds = {type(wanted), type(given)}
    return kinds == {int, float} and wanted == given


def _told(wanted: ExpectedCall) -> str:
    if wanted.error:
        return f"not with the error {wanted.error}"
    if wanted.ok is not None:
        return "it did not end as it should" if wanted.arguments is None else "not with these arguments and this end"
    return "not with the arguments that were expected"


def _failed(code: str, message: str) -> Finding:
    return Finding(check="calls", passed=False, code=code, message=message)
