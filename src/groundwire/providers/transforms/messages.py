"""Transforms of one outgoing message of the OpenAI-chat wire shape.

Each takes a message and returns it, or a changed copy. They know nothing of the rest of the conversation.
"""

import base64

from groundwire.contracts.canonical import JsonObject

SKIPPED_SIGNATURE = base64.b64encode(b"skip_thought_signature_validator").decode()
"""The value documented for calls that Gemini did not make itself; base64, because the field holds bytes."""


def assistant_tool_calls_content_null_if_blank(message: JsonObject) -> JsonObject:
    content = message.get("content")
    if _has_calls(message) and isinstance(content, str) and not content.strip():
        return {**message, "content": None}
    return message


def assistant_tool_calls_reasoning_content_empty_if_missing(message: JsonObject) -> JsonObject:
    if _has_calls(message) and message.get("reasoning_content") is None:
        return {**message, "reasoning_content": ""}
    return message


def assistant_tool_calls_signature_skip_validator_if_missing(message: JsonObject) -> JsonObject:
    """Only the first call of a step is asked for a signature, and a real one is never replaced."""
    calls = message.get("tool_calls")
    if not _has_calls(message) or not isinstance(calls, list) or not isinstance(calls[0], dict):
        return message
    first = calls[0]
    extra = _object_or_empty(first.get("extra_content"))
    google = None if extra is None else _object_or_empty(extra.get("google"))
    if extra is None or google is None or google.get("thought_signature"):
        return message
    signed: JsonObject = {**google, "thought_signature": SKIPPED_SIGNATURE}
    return {**message, "tool_calls": [{**first, "extra_content": {**extra, "google": signed}}, *calls[1:]]}


def _has_calls(message: JsonObject) -> bool:
    calls = message.get("tool_calls")
    return message.get("role") == "assistant" and isinstance(calls, list) and bool(calls)


def _object_or_empty(value: object) -> JsonObject | None:
    """None for a shape that we do not know and so leave alone."""
    if value is None:
        return {}
    return value if isinstance(value, dict) else None
