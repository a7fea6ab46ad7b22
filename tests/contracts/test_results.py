import msgspec
import pytest

from groundwire.contracts.errors import RETRYABLE_BY_DEFAULT, ErrorType
from groundwire.contracts.results import ErrorInfo, ToolResult, decode_result, encode_result

FIRST = ErrorInfo(type=ErrorType.AUTH, message="first")
SECOND = ErrorInfo(type=ErrorType.CONFLICT, message="second")


@pytest.mark.requirement("B-108")
def test_a_success_has_data_intents_and_meta():
    value = msgspec.json.decode(encode_result(ToolResult.success({"a": 1})))
    assert value["ok"] is True
    assert value["data"] == {"a": 1}
    assert value["intents"] == []
    assert value["meta"]["envelopeVersion"] == "1.0.0"
    assert value["error"] is None
    assert value["errors"] == []


@pytest.mark.requirement("B-109")
def test_a_failure_has_an_error_with_type_message_and_retryable():
    value = msgspec.json.decode(encode_result(ToolResult.failure(ErrorType.TRANSIENT, "later")))
    assert value["ok"] is False
    assert value["error"] == {
        "type": "TRANSIENT",
        "message": "later",
        "retryable": True,
        "partialSideEffects": False,
        "detail": None,
    }
    assert value["meta"]["envelopeVersion"] == "1.0.0"


def test_error_is_the_first_of_errors_whichever_is_given():
    assert ToolResult(ok=False, errors=(FIRST, SECOND)).error is FIRST
    assert ToolResult(ok=False, error=FIRST).errors == (FIRST,)
    assert ToolResult(ok=True).error is None


def test_an_envelope_survives_its_json():
    result = ToolResult(ok=False, errors=(FIRST, SECOND), warnings=("w",))
    assert decode_result(encode_result(result)) == result


@pytest.mark.parametrize("type_", list(ErrorType))
def test_only_transient_and_rate_limit_are_retryable_by_default(type_):
    error = ToolResult.failure(type_, "no").error
    assert error.retryable is (type_ in RETRYABLE_BY_DEFAULT)
    assert error.retryable is (type_ in (ErrorType.TRANSIENT, ErrorType.RATE_LIMIT))
    assert error.partial_side_effects is False


def test_a_failure_may_say_otherwise():
    error = ToolResult.failure(ErrorType.AUTH, "no", retryable=True, partial_side_effects=True, detail="EXPIRED").error
    assert (error.retryable, error.partial_side_effects, error.detail) == (True, True, "EXPIRED")


def test_an_envelope_cannot_be_changed():
    with pytest.raises(AttributeError):
        ToolResult.success().ok = False
