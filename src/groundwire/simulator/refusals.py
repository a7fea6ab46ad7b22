"""How a rule says no, and the few questions that the rules of all dialects ask of a body.

A rule looks at the JSON as it came, never through our decoders: what it knows is what the provider's own documentation
and error messages say, so that it can find our mistakes too.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.failures import Failure, FailureKind


class Asked(Struct, frozen=True, kw_only=True):
    """A request as its rules see it. Header names are in lower case."""

    body: JsonObject
    headers: Mapping[str, str]
    model: str


Rule: TypeAlias = Callable[[Asked], Iterator[Failure]]


def first_refusal(rules: Iterable[Rule], asked: Asked) -> Failure | None:
    for rule in rules:
        for failure in rule(asked):
            return failure
    return None


def refuse(
    message: str,
    *,
    param: str | None = None,
    code: str | None = None,
    type: str = "invalid_request_error",  # noqa: A002
) -> Failure:
    return Failure(kind=FailureKind.INVALID_REQUEST, message=message, status=400, param=param, code=code, type=type)


def not_found(message: str, *, param: str | None = None, code: str | None = None) -> Failure:
    return Failure(kind=FailureKind.NOT_FOUND, message=message, status=404, param=param, code=code)


def objects(value: Any) -> list[dict[str, Any]]:
    """The entries of a list that are objects; anything else counts as nothing."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def placed(value: Any) -> list[tuple[int, dict[str, Any]]]:
    """The same with their places."""
    return (
        [(place, entry) for place, entry in enumerate(value) if isinstance(entry, dict)]
        if isinstance(value, list)
        else []
    )


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


def first_double(values: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def word(value: Any) -> str:
    """What a JSON value is called in the messages of the OpenAI APIs."""
    if value is None:
        return "null"
    names = {bool: "a boolean", str: "a string", int: "an integer", float: "a decimal number", list: "an array"}
    return names.get(type(value), "an object")
