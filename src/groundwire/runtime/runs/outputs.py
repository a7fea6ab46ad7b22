"""Answers of a given form: whether a text is JSON that its schema allows, and in words what is wrong with it."""

from itertools import islice

from groundwire.contracts.canonical import JsonValue, parse_json
from groundwire.contracts.errors import InvalidJson
from groundwire.contracts.requests import OutputFormat
from groundwire.registry.validators import compile_schema
from groundwire.runtime.validation import errors_of, path_of

MAX_FAULTS = 5


def read_output(text: str, form: OutputFormat) -> tuple[JsonValue, str]:
    """The value that the text is, and what is wrong with it; "" when nothing is."""
    try:
        value = parse_json(without_fence(text))
    except InvalidJson as error:
        return None, f"it is not JSON ({error})"
    if form.schema is None:
        return value, ""
    validator = compile_schema(form.schema, reason="invalid_output_schema", of="the answer")
    if validator.is_valid(value):
        return value, ""
    faults = [
        f"{path_of(list(error.instance_path)) or 'the answer'}: {error.message}"
        for error in islice(errors_of(form.schema, validator, value), MAX_FAULTS)
    ]
    return value, "; ".join(faults) or "it does not fit the schema"


def without_fence(text: str) -> str:
    """The text inside a ``` fence, which models put around JSON although they are asked not to."""
    stripped = text.strip()
    if not (stripped.startswith("```") and stripped.endswith("```") and "\n" in stripped):
        return stripped
    return stripped[stripped.index("\n") + 1 : -3].strip()


def ask_again(fault: str) -> str:
    return f"Your answer cannot be used: {fault}. Answer again, with nothing but JSON of the form that was asked for."
