"""Opt-in corrections of calls before they are executed and of envelopes before a model is shown them.

They work on canonical values, whatever dialect those came from. The loop applies them; they know nothing of it.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from groundwire.contracts.calls import ToolCall
from groundwire.contracts.canonical import JsonObject
from groundwire.runtime.transforms import calls
from groundwire.runtime.transforms.results import tool_result_compact_envelope

__all__ = [
    "TOOL_CALL_TRANSFORMS",
    "TOOL_RESULT_TRANSFORMS",
    "ToolCallTransform",
    "ToolResultTransform",
    "apply_to_call",
    "apply_to_envelope",
]

ToolCallTransform: TypeAlias = Callable[[ToolCall, JsonObject | None], ToolCall]
ToolResultTransform: TypeAlias = Callable[[JsonObject], JsonObject]

TOOL_CALL_TRANSFORMS: Mapping[str, ToolCallTransform] = MappingProxyType(
    {
        transform.__name__: transform
        for transform in (
            calls.assistant_tool_calls_arguments_blank_to_empty_object,
            calls.assistant_tool_calls_arguments_double_encoded_to_object,
            calls.assistant_tool_calls_arguments_repair_json,
            calls.assistant_tool_calls_arguments_drop_repeated_object,
            calls.assistant_tool_calls_arguments_unwrap,
            calls.assistant_tool_calls_arguments_nested_json_by_schema,
            calls.assistant_tool_calls_arguments_coerce_by_schema,
        )
    }
)
"""In the order in which they make sense together."""
TOOL_RESULT_TRANSFORMS: Mapping[str, ToolResultTransform] = MappingProxyType(
    {"tool_result_compact_envelope": tool_result_compact_envelope}
)


def apply_to_call(call: ToolCall, names: Iterable[str], schema: JsonObject | None) -> ToolCall:
    """The call after the named transforms, in the order named; unknown names do nothing."""
    for name in names:
        if name in TOOL_CALL_TRANSFORMS:
            call = TOOL_CALL_TRANSFORMS[name](call, schema)
    return call


def apply_to_envelope(envelope: JsonObject, names: Iterable[str]) -> JsonObject:
    for name in names:
        if name in TOOL_RESULT_TRANSFORMS:
            envelope = TOOL_RESULT_TRANSFORMS[name](envelope)
    return envelope
