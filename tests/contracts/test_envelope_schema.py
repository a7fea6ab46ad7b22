import copy

import msgspec
import pytest

from groundwire.contracts import schemas
from groundwire.contracts.errors import ErrorType
from groundwire.contracts.intents import Intent
from groundwire.contracts.results import (
    ENVELOPE_VERSION,
    ConfirmationNotice,
    ErrorInfo,
    Evidence,
    Meta,
    ToolResult,
    encode_result,
)
from groundwire.contracts.schemas import envelope_problems

FULL = ToolResult.failure(
    ErrorType.UNGROUNDED,
    "Not said.",
    detail="X",
    warnings=("slow",),
    intents=(Intent(type="MOVE", payload={"to": 1}),),
    meta=Meta(
        call_id="c1",
        duration_ms=1.5,
        registry_version="1.0.00000000",
        tool="t",
        session_id="s",
        parent_call_id="c0",
        confirmation=ConfirmationNotice(id="cnf", expires_at="2026-01-01T00:00:00.000Z"),
        evidence=(Evidence(argument="a", grounded=True, turn=1, start=0, end=2),),
        variant="b",
        spilled="ref",
        details={"k": 1},
    ),
)


def json_of(result: ToolResult):
    return msgspec.json.decode(encode_result(result))


def names_of(struct: type[msgspec.Struct]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(struct)}


@pytest.mark.requirement("B-004", "B-021", "B-106")
def test_success_and_failure_fit_the_published_schema():
    assert envelope_problems(json_of(ToolResult.success({"a": [1, None]}))) == []
    assert envelope_problems(json_of(ToolResult.failure(ErrorType.AUTH, "no"))) == []
    assert envelope_problems(json_of(FULL)) == []
    assert schemas.load("envelope-1.0.0")["$id"].endswith(ENVELOPE_VERSION)


@pytest.mark.parametrize(
    ("struct", "place"),
    [
        (ToolResult, ()),
        (ErrorInfo, ("$defs", "error")),
        (Intent, ("$defs", "intent")),
        (Meta, ("$defs", "meta")),
        (ConfirmationNotice, ("$defs", "confirmation")),
        (Evidence, ("$defs", "evidence")),
    ],
)
def test_schema_and_struct_have_the_same_fields(struct, place):
    schema = schemas.load("envelope-1.0.0")
    for name in place:
        schema = schema[name]

    assert set(schema["properties"]) == names_of(struct)

    always = {field.encode_name for field in msgspec.structs.fields(struct) if msgspec.UNSET is not field.default}
    assert set(schema["required"]) == always


@pytest.mark.requirement("X-03")
def test_the_schema_lists_exactly_the_error_types_of_the_enum():
    listed = schemas.load("envelope-1.0.0")["$defs"]["error"]["properties"]["type"]["enum"]
    assert listed == [member.value for member in ErrorType]
    assert len(listed) == 19


def changed(**changes):
    value = copy.deepcopy(json_of(FULL))
    for path, new in changes.items():
        *parents, last = path.split("__")
        place = value
        for parent in parents:
            place = place[int(parent) if parent.isdigit() else parent]
        if new is ...:
            del place[last]
        else:
            place[last] = new
    return value


@pytest.mark.requirement("B-021")
@pytest.mark.parametrize(
    ("value", "where"),
    [
        (changed(ok=...), "envelope"),
        (changed(data=...), "envelope"),
        (changed(extra=1), "envelope"),
        (changed(ok="yes"), "ok"),
        (changed(ok=True), "error"),
        (changed(error=None), "error"),
        (changed(errors=[]), "errors"),
        (changed(warnings=[1]), "warnings[0]"),
        (changed(errors__0__type="SOMETHING_ELSE"), "errors[0].type"),
        (changed(errors__0__extra=1), "errors[0]"),
        (changed(errors__0__retryable=...), "errors[0]"),
        (changed(intents__0__payload=[]), "intents[0].payload"),
        (changed(meta__envelopeVersion="2.0.0"), "meta.envelopeVersion"),
        (changed(meta__durationMs=-1), "meta.durationMs"),
        (changed(meta__callId=...), "meta"),
        (changed(error__message="another"), "error"),
    ],
)
def test_a_value_that_is_no_envelope_is_told_where(value, where):
    assert [problem for problem in envelope_problems(value) if problem.startswith(f"{where}:")]


def test_meta_may_hold_more():
    assert envelope_problems(changed(meta__tracePosition=5)) == []


def test_what_does_not_apply_is_absent_from_the_json():
    assert set(json_of(ToolResult.success())["meta"]) == {
        "envelopeVersion",
        "callId",
        "durationMs",
        "registryVersion",
        "replayed",
    }
