"""The published JSON Schemas of the contracts, and the validator of envelopes.

Knows only values that were already read from JSON; who sent them, and what happens to bad ones, is not known here.
"""

import json
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator as Validator

ENVELOPE = "envelope-1.0.0"


def load(name: str) -> dict[str, Any]:
    """The schema of that name, such as `envelope-1.0.0`."""
    text = resources.files(__name__).joinpath(f"{name}.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def envelope_problems(value: Any) -> list[str]:
    """Say what keeps a value from being an envelope; nothing when it is one. Takes any value and never raises."""
    try:
        problems = [f"{_path(error.instance_path)}: {error.message[:300]}" for error in _validator().iter_errors(value)]
    except (TypeError, ValueError, RecursionError) as error:
        return [f"envelope: not JSON: {error}"]
    if problems:
        return problems
    if value["errors"] and value["error"] != value["errors"][0]:
        return ["error: differs from errors[0]"]
    return []


@cache
def _validator() -> "Validator":
    from jsonschema_rs import Draft202012Validator

    return Draft202012Validator(load(ENVELOPE))


def _path(parts: list[str | int]) -> str:
    path = ""
    for part in parts:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path or "envelope"
