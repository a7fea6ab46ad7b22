"""The output guard: what a handler returned becomes JSON of a bearable size, or an honest error instead."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import msgspec
import orjson

from groundwire.contracts.canonical import dump_json, parse_json, refuse_non_finite
from groundwire.contracts.errors import ErrorDetail, ErrorType, InvalidJson
from groundwire.contracts.redaction import redact
from groundwire.contracts.results import ErrorInfo, ToolResult, decode_result, encode_result
from groundwire.runtime.invocation import Outcome
from groundwire.runtime.policies.sizes import output_too_large
from groundwire.runtime.surface import Entry
from groundwire.runtime.validation import TOO_LARGE_TO_TELL, find_errors, fits, may_be_odd

_OPTIONS = orjson.OPT_PASSTHROUGH_DATACLASS


WARNING_CHARS = 2_000
MAX_WARNINGS = 50
MAX_ERRORS = 50


def guard_output(entry: Entry, output: Outcome) -> Outcome:
    if output.errors:
        output.errors = tuple(_sound(error, entry.limits.max_output_bytes) for error in output.errors)
        return output
    value = output.value
    if isinstance(value, ToolResult):
        try:
            value = _unpack(value, output)
        except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
            return _replace(entry, output, ErrorType.INTERNAL, ErrorDetail.NOT_JSON, f"not an envelope: {error}")
        if output.errors:
            limit = entry.limits.max_output_bytes
            output.errors = tuple(_sound(error, limit) for error in output.errors[:MAX_ERRORS])
            if _size_beside(output) > limit:
                output.details = None
                output.warnings = (*output.warnings, "What the tool added about its failure was too large to keep.")
            return output
    try:
        output.body = encode_value(value)
        output.data = value if type(value) is str else parse_json(output.body)
    except InvalidJson as error:
        return _replace(entry, output, ErrorType.INTERNAL, ErrorDetail.NOT_JSON, error.message)
    limit = entry.limits.max_output_bytes
    beside = _size_beside(output) if output.details or output.intents else 0
    if len(output.body) + beside > limit:
        output.spills = entry.spec.policy.spill and beside <= limit
        if not output.spills:
            message = output_too_large(entry.spec.wire_name, len(output.body) + beside, limit)
            return _replace(entry, output, ErrorType.TOOL_OUTPUT_TOO_LARGE, None, message, shown=message)
    validator = entry.tool.result_validator
    if validator is not None and not fits(validator, output.data, odd_numbers=may_be_odd(output.body)):
        fault = next(find_errors(validator, output.data), None)
        message = fault.message if fault is not None else TOO_LARGE_TO_TELL
        return _replace(entry, output, ErrorType.INTERNAL, ErrorDetail.RESULT_SCHEMA, message)
    return output


def _size_beside(output: Outcome) -> int:
    """Bytes that a handler's envelope has besides its data: details and intents are kept and sent like it."""
    payloads = [intent.payload for intent in output.intents]
    return sum(len(dump_json(value)) for value in (output.details, *payloads) if value)


def encode_value(value: Any) -> bytes:
    """JSON of a plain value, dataclass, pydantic model or Struct. InvalidJson for anything else."""
    try:
        data = orjson.dumps(value, default=_to_plain, option=_OPTIONS)
    except (TypeError, RecursionError) as error:
        try:
            return dump_json(_all_plain(value))  # integers past 64 bits
        except Exception:  # noqa: BLE001 - a model's own serializer can raise anything
            raise InvalidJson(str(error)) from None
    if data.find(b"null") >= 0:
        refuse_non_finite(value)
    return data


def _to_plain(value: Any) -> Any:
    plain: Any
    if isinstance(value, msgspec.Struct):
        plain = msgspec.to_builtins(value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        plain = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    elif hasattr(value, "model_dump"):
        plain = value.model_dump(mode="json")
    elif isinstance(value, Mapping):
        plain = dict(value)
    else:
        raise TypeError(f"{type(value).__name__} is not JSON")
    refuse_non_finite(plain)
    return plain


def _all_plain(value: Any) -> Any:
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, dict):
        return {name: _all_plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_all_plain(item) for item in value]
    try:
        return orjson.loads(orjson.dumps(value, option=_OPTIONS))  # dates, ids, enumerations
    except TypeError:
        return _all_plain(_to_plain(value))


def _unpack(result: ToolResult, output: Outcome) -> Any:
    """Take a handler's envelope apart. What it holds was never checked, so it goes through its own JSON first."""
    checked = decode_result(encode_result(msgspec.structs.replace(result, data=None)))
    output.warnings = tuple(text[:WARNING_CHARS] for text in checked.warnings[:MAX_WARNINGS])
    if isinstance(checked.meta.details, dict):
        output.details = checked.meta.details
    if checked.ok:
        output.intents = checked.intents
        return result.data
    output.errors = checked.errors or (
        ErrorInfo(type=ErrorType.INTERNAL, message="The tool failed without saying why.", partial_side_effects=True),
    )
    output.happened = None if any(error.partial_side_effects for error in output.errors) else False
    return None


def _sound(error: ErrorInfo, limit: int) -> ErrorInfo:
    """The error with texts that can be stored, hold no credential, and are not longer than any output may be."""
    message = redact(str(error.message)).encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")
    detail = None if error.detail is None else str(error.detail).encode("utf-8", "replace").decode()
    if (message, detail) == (error.message, error.detail):
        return error
    return msgspec.structs.replace(error, message=message, detail=detail)


def _replace(
    entry: Entry, output: Outcome, type_: ErrorType, detail: ErrorDetail | None, operator: str, *, shown: str = ""
) -> Outcome:
    """The handler returned, so its effect happened: the replacement is final, not a reason to run it again."""
    message = shown or f"{entry.spec.wire_name} ran, but its answer cannot be used."
    output.errors = (ErrorInfo(type=type_, message=message, detail=detail, partial_side_effects=entry.is_action),)
    output.data, output.body, output.intents, output.warnings, output.details = None, b"null", (), (), None
    output.operator = operator
    return output
