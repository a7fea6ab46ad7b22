"""What both OpenAI APIs say no to, in the same words: names, lists of tools, schemas, wrong types and values."""

import re
from collections.abc import Iterator
from typing import Any

from groundwire.contracts.failures import Failure
from groundwire.simulator.openai_schemas import complaints
from groundwire.simulator.refusals import first_double, refuse, word

MAX_NAME = 64
MAX_TOOLS = 128
_NAME = re.compile(r"[a-zA-Z0-9_-]+")


def bad_output(wanted: dict[str, Any], path: str) -> Iterator[Failure]:
    yield from bad_name(wanted.get("name"), f"{path}.name")
    if wanted.get("strict") is True:
        for complaint in complaints(wanted.get("schema"), strict=True):
            yield refuse(
                f"Invalid schema for response_format '{wanted.get('name')}': {complaint}", param=path.rsplit(".", 1)[0]
            )


def bad_tool_list(tools: Any) -> Iterator[Failure]:
    if not isinstance(tools, list):
        yield wrong_type("tools", "an array of objects", tools)
    elif not tools:
        yield refuse(
            "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.",
            param="tools",
            code="empty_array",
        )
    elif len(tools) > MAX_TOOLS:
        yield refuse(
            f"Invalid 'tools': array too long. Expected an array with maximum length {MAX_TOOLS}, but got an array with "
            f"length {len(tools)} instead.",
            param="tools",
            code="array_above_max_length",
        )


def bad_parameters(declared: dict[str, Any], path: str) -> Iterator[Failure]:
    if declared.get("parameters") is None:
        return
    for complaint in complaints(declared["parameters"], strict=declared.get("strict") is True):
        yield refuse(
            f"Invalid schema for function '{declared.get('name')}': {complaint}",
            param=f"{path}.parameters",
            code="invalid_function_parameters",
        )


def double_tools(names: list[str]) -> Iterator[Failure]:
    double = first_double(names)
    if double is not None:
        yield refuse(
            f"Invalid 'tools': duplicate tool name '{double}'. Tool names must be unique.",
            param="tools",
            code="invalid_value",
        )


def bad_name(name: Any, path: str) -> Iterator[Failure]:
    if not isinstance(name, str) or not name:
        yield refuse(f"Missing required parameter: '{path}'.", param=path, code="missing_required_parameter")
    elif len(name) > MAX_NAME:
        yield too_long(path, name, MAX_NAME)
    elif not _NAME.fullmatch(name):
        yield refuse(
            f"Invalid '{path}': string does not match pattern. Expected a string that matches the pattern "
            "'^[a-zA-Z0-9_-]+$'.",
            param=path,
            code="invalid_value",
        )


def too_long(path: str, value: str, limit: int) -> Failure:
    message = (
        f"Invalid '{path}': string too long. Expected a string with maximum length {limit}, but got a string with "
        f"length {len(value)} instead."
    )
    return refuse(message, param=path, code="string_above_max_length")


def wrong_value(path: str, value: Any, allowed: tuple[str, ...]) -> Failure:
    listed = ", ".join(f"'{entry}'" for entry in allowed)
    return refuse(f"Invalid value: '{value}'. Supported values are: {listed}.", param=path, code="invalid_value")


def wrong_type(path: str, wanted: str, value: Any) -> Failure:
    message = f"Invalid type for '{path}': expected {wanted}, but got {word(value)} instead."
    return refuse(message, param=path, code="invalid_type")
