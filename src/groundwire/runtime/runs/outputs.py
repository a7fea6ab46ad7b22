"""Answers of a given form: whether a text is JSON that its schema and type allow, and in words what is wrong with it."""

from itertools import islice
from typing import Any

import msgspec

from groundwire.contracts.canonical import JsonValue, parse_json
from groundwire.contracts.errors import InvalidJson
from groundwire.contracts.replies import Reply
from groundwire.contracts.requests import OutputFormat
from groundwire.contracts.schema_limits import DEFAULT_SCHEMA_LIMITS, SchemaLimits
from groundwire.registry.validators import compile_schema
from groundwire.runtime.validation import clip, find_errors, fits, may_be_odd, path_of

MAX_FAULTS = 5
MAX_FAULT_CHARS = 300


def read_output(
    text: str, form: OutputFormat, kind: Any = None, *, limits: SchemaLimits = DEFAULT_SCHEMA_LIMITS
) -> tuple[Any, str]:
    """The value that the text is, of that kind if one is given, and what is wrong with it; "" when nothing is."""
    try:
        value = parse_json(without_fence(text))
    except InvalidJson as error:
        return None, f"it is not JSON ({error})"
    fault = _misfit(value, form, limits, odd_numbers=may_be_odd(text))
    if fault:
        return None, fault
    try:
        return _convert(value, kind), ""
    except (msgspec.ValidationError, ValueError) as error:  # a type may ask for more than its schema can say
        return None, clip(str(error), MAX_FAULTS * MAX_FAULT_CHARS)


def _misfit(value: JsonValue, form: OutputFormat, limits: SchemaLimits, *, odd_numbers: bool) -> str:
    if form.schema is None:
        return ""
    validator = compile_schema(form.schema, reason="invalid_output_schema", of="the answer", limits=limits)
    if fits(validator, value, odd_numbers=odd_numbers):
        return ""
    faults = [
        f"{path_of(list(error.instance_path)) or 'the answer'}: {clip(error.message, MAX_FAULT_CHARS)}"
        for error in islice(find_errors(validator, value), MAX_FAULTS)
    ]
    return "; ".join(faults) or "it does not fit the schema"


def _convert(value: JsonValue, kind: Any) -> Any:
    if kind is None or isinstance(kind, (dict, OutputFormat)):
        return value
    if hasattr(kind, "model_validate"):
        return kind.model_validate(value)
    return msgspec.convert(value, kind)


def without_fence(text: str) -> str:
    """The text inside a ``` fence, which models put around JSON although they are asked not to."""
    stripped = text.strip()
    if not (stripped.startswith("```") and stripped.endswith("```") and "\n" in stripped):
        return stripped
    return stripped[stripped.index("\n") + 1 : -3].strip()


def was_told_in_words(reply: Reply) -> bool:
    """Whether the model was only told of the form. Some can be held to one when they have no tools."""
    return any(warning.code == "format_approximated" and warning.path == "output" for warning in reply.warnings)


def ask_again(fault: str) -> str:
    return f"Your answer cannot be used: {fault}. Answer again, with nothing but JSON of the form that was asked for."
