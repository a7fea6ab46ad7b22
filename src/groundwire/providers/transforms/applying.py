"""The transforms by name, and how the names of a plan are applied to a body.

Bodies are plain JSON of the OpenAI-chat wire shape. They are never changed in place, and what a transform does not
understand it passes on untouched, so that nothing here fails. Unknown names do nothing: `names_unknown` tells them.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.replies import WireWarning
from groundwire.contracts.requests import SendOptions
from groundwire.providers.transforms import dialects, leaks, markup, messages, shapes, tools
from groundwire.providers.transforms.extraction import has_calls

Transform: TypeAlias = Callable[[JsonObject], JsonObject]

_NATURAL_ENDS = frozenset({None, "", "stop", "eos", "eos_token", "end_turn", "function_call"})
"""Reasons that only say that the model had finished. A cut or filtered answer keeps its reason, calls or not."""


def _by_name(*transforms: Transform) -> Mapping[str, Transform]:
    return MappingProxyType({transform.__name__: transform for transform in transforms})


MESSAGE_TRANSFORMS = _by_name(
    messages.assistant_tool_calls_content_null_if_blank,
    messages.assistant_tool_calls_reasoning_content_empty_if_missing,
    messages.assistant_tool_calls_signature_skip_validator_if_missing,
)
TOOL_TRANSFORMS = _by_name(tools.openai_tools_strip_function_descriptions)
RESPONSE_TRANSFORMS = _by_name(
    shapes.assistant_function_call_to_tool_calls,
    shapes.assistant_tool_calls_object_to_array,
    shapes.assistant_tool_calls_arguments_json_string_if_hash,
    dialects.assistant_content_tool_call_tags_to_tool_calls,
    dialects.assistant_content_mistral_marks_to_tool_calls,
    dialects.assistant_content_llama_python_tag_to_tool_calls,
    dialects.assistant_content_llama_function_tags_to_tool_calls,
    dialects.assistant_content_deepseek_marks_to_tool_calls,
    dialects.assistant_content_kimi_marks_to_tool_calls,
    dialects.assistant_content_harmony_commentary_to_tool_calls,
    dialects.assistant_content_json_fences_to_tool_calls,
    markup.assistant_content_qwen_coder_tags_to_tool_calls,
    markup.assistant_content_minimax_tags_to_tool_calls,
    leaks.assistant_content_special_tokens_trimmed_at_end,
)


def skipped(options: SendOptions, reason: str) -> tuple[WireWarning, ...]:
    """The warning that transforms were named where none is applied."""
    if not (options.message_transforms or options.tool_transforms or options.response_transforms):
        return ()
    return (WireWarning(code="transforms_skipped", path="", message=reason),)


def names_unknown(options: SendOptions) -> tuple[str, ...]:
    """The names in the options that no transform of their kind has."""
    asked = (
        (options.message_transforms, MESSAGE_TRANSFORMS),
        (options.tool_transforms, TOOL_TRANSFORMS),
        (options.response_transforms, RESPONSE_TRANSFORMS),
    )
    return tuple(dict.fromkeys(name for names, table in asked for name in names if name not in table))


def apply_to_request(body: JsonObject, options: SendOptions) -> JsonObject:
    """The body with its messages and tools transformed; the very same body if nothing changes."""
    body = _with_each(body, "messages", _chosen(options.message_transforms, MESSAGE_TRANSFORMS))
    return _with_each(body, "tools", _chosen(options.tool_transforms, TOOL_TRANSFORMS))


def apply_to_response(body: JsonObject, options: SendOptions) -> JsonObject:
    """The body with the message of every choice transformed; calls that come to light become its reason to end."""
    transforms = _chosen(options.response_transforms, RESPONSE_TRANSFORMS)

    def transform_choice(choice: JsonObject) -> JsonObject:
        message = choice.get("message")
        if not isinstance(message, dict):
            return choice
        transformed = _through(message, transforms)
        if transformed is message:
            return choice
        changed = {**choice, "message": transformed}
        if not _lists_calls(message) and _lists_calls(transformed) and _ended_naturally(choice):
            changed["finish_reason"] = "tool_calls"
        return changed

    return _with_each(body, "choices", [transform_choice] if transforms else [])


def _chosen(names: Iterable[str], table: Mapping[str, Transform]) -> list[Transform]:
    return [table[name] for name in names if name in table]


def _with_each(body: JsonObject, member: str, transforms: list[Transform]) -> JsonObject:
    entries = body.get(member)
    if not transforms or not isinstance(entries, list):
        return body
    changed: list[JsonValue] = [_through(entry, transforms) if isinstance(entry, dict) else entry for entry in entries]
    if all(new is old for new, old in zip(changed, entries, strict=True)):
        return body
    return {**body, member: changed}


def _through(value: JsonObject, transforms: list[Transform]) -> JsonObject:
    for transform in transforms:
        value = transform(value)
    return value


def _lists_calls(message: JsonObject) -> bool:
    return has_calls(message) and isinstance(message.get("tool_calls"), list)


def _ended_naturally(choice: JsonObject) -> bool:
    reason = choice.get("finish_reason")
    return (reason is None or isinstance(reason, str)) and reason in _NATURAL_ENDS
