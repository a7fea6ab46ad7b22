"""Whether a request is made of the values that it may be made of: asked once, before any provider sees it.

Python does not look when the values are made, and a provider would stumble over a wrong one somewhere inside. What the
values say, and whether a model can do it, is not judged here.
"""

from operator import attrgetter, contains
from types import NoneType
from typing import Any

from groundwire.contracts.errors import ConfigError
from groundwire.contracts.messages import CallItem, Message, NativeItem, ReasoningItem, ResultItem, TextPart
from groundwire.contracts.requests import (
    FunctionTool,
    ModelRequest,
    NativeTool,
    OutputFormat,
    ReasoningOptions,
    Sampling,
    SendOptions,
    ToolChoice,
)

_ONE: tuple[tuple[str, frozenset[type], str], ...] = (
    ("model", frozenset({str}), "the name of a model"),
    ("tool_choice", frozenset({ToolChoice, NoneType}), 'such as ToolChoice(mode="required")'),
    ("parallel_calls", frozenset({bool, NoneType}), "True, False, or None for what the model does by itself"),
    ("sampling", frozenset({Sampling}), "such as Sampling(temperature=0.2)"),
    ("max_output_tokens", frozenset({int, NoneType}), "a number of tokens"),
    ("output", frozenset({OutputFormat, NoneType}), 'such as OutputFormat(type="json")'),
    ("reasoning", frozenset({ReasoningOptions, NoneType}), 'such as ReasoningOptions(effort="low")'),
    ("stream", frozenset({bool}), "models.stream(request) sets it"),
    ("extras", frozenset({dict}), "objects by the name of their dialect"),
)
_MANY: tuple[tuple[str, frozenset[type], str], ...] = (
    (
        "items",
        frozenset({Message, CallItem, ResultItem, ReasoningItem, NativeItem}),
        'a message is say("user", "…"); what a model said is in reply.items, what a tool gave is a ResultItem',
    ),
    ("instructions", frozenset({TextPart}), 'a system prompt is instructions=(TextPart(text="…"),)'),
    (
        "tools",
        frozenset({FunctionTool, NativeTool}),
        "FunctionTool(name=…, description=…, parameters=…); registry.function_tools() makes them of tools that can be run",
    ),
)
_values_of = attrgetter(*(name for name, _, _ in _ONE))
_KNOWN = tuple(known for _, known, _ in _ONE)


def check_asked(request: ModelRequest, options: SendOptions) -> None:
    """Raise ConfigError for the first value of a wrong type, with what belongs there."""
    if not isinstance(request, ModelRequest):
        raise _misfit("request", request, "ModelRequest", 'ModelRequest(model=…, items=(say("user", "…"),))')
    if not isinstance(options, SendOptions):
        raise _misfit("options", options, "SendOptions", "such as SendOptions(timeout=30)")
    values = _values_of(request)
    if not all(map(contains, _KNOWN, map(type, values))):
        for value, (name, known, hint) in zip(values, _ONE, strict=True):
            if not isinstance(value, tuple(known)):
                raise _misfit(f"request.{name}", value, _names(known), hint)
    for name, known, hint in _MANY:
        entries = getattr(request, name)
        if not isinstance(entries, (tuple, list)):
            raise _misfit(f"request.{name}", entries, f"a tuple of {_names(known)}", hint)
        if not known.issuperset(map(type, entries)):
            place = next(place for place, entry in enumerate(entries) if type(entry) not in known)
            raise _misfit(f"request.{name}[{place}]", entries[place], _names(known), hint)


def _names(kinds: frozenset[type]) -> str:
    return " or ".join(sorted("None" if kind is NoneType else kind.__name__ for kind in kinds))


def _misfit(path: str, value: Any, expected: str, hint: str) -> ConfigError:
    return ConfigError(f"{path} is of type {type(value).__name__}, and must be {expected}.", hint=hint)
