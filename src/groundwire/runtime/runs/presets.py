"""Settings for common situations, in their dict form: sugar over the settings, which stay the source of truth."""

from collections.abc import Mapping
from typing import Any

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.transforms import parse_names
from groundwire.runtime.runs.settings import TRANSFORM_LISTS


def openai_compatible_reliability(**changes: Any) -> JsonObject:
    """Conservative defaults for servers that speak OpenAI's dialect more or less."""
    return merge_settings(
        {
            "tool_use_mode": "relaxed",
            "fallback_retry_count": 1,
            "fix_empty_final": True,
            "message_transforms": ["assistant_tool_calls_content_null_if_blank"],
            "response_transforms": [
                "assistant_function_call_to_tool_calls",
                "assistant_tool_calls_object_to_array",
                "assistant_tool_calls_arguments_json_string_if_hash",
            ],
            "tool_call_transforms": ["assistant_tool_calls_arguments_blank_to_empty_object"],
        },
        changes,
    )


def content_tag_tool_call_fallback() -> JsonObject:
    """For models and routes that write `<tool_call>` tags into their text."""
    return {"response_transforms": ["assistant_content_tool_call_tags_to_tool_calls"]}


def deepseek_openrouter_compat() -> JsonObject:
    return {"message_transforms": ["assistant_tool_calls_reasoning_content_empty_if_missing"]}


def gemini_openrouter_compat() -> JsonObject:
    return {"message_transforms": ["assistant_tool_calls_signature_skip_validator_if_missing"]}


PRESETS = {
    preset.__name__: preset
    for preset in (
        openai_compatible_reliability,
        content_tag_tool_call_fallback,
        deepseek_openrouter_compat,
        gemini_openrouter_compat,
    )
}


def merge_settings(*parts: Mapping[str, Any]) -> JsonObject:
    """Later ones win; lists of transforms are joined, each name once, and request overrides are merged by member."""
    merged: dict[str, Any] = {}
    for part in parts:
        for name, value in part.items():
            if name in TRANSFORM_LISTS:
                merged[name] = list(dict.fromkeys((*merged.get(name, ()), *parse_names(value))))
            elif name == "request_overrides" and isinstance(value, dict):
                merged[name] = {**merged.get(name, {}), **value}
            else:
                merged[name] = value
    return merged
