"""The transform that trims what a chat template left at the end of a text."""

from groundwire.contracts.canonical import JsonObject, JsonValue

LEAKED_TOKENS = (
    "<|im_end|>",
    "<|im_start|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|end|>",
    "<|return|>",
    "<｜end▁of▁sentence｜>",
    "<end_of_turn>",
    "</s>",
)
_ROLE = "assistant"
_AFTER_ROLE = ("\n", "\r", "<|end_header_id|>")
_BEFORE_ROLE = ("\n", "\r", *LEAKED_TOKENS)


def assistant_content_special_tokens_trimmed_at_end(message: JsonObject) -> JsonObject:
    """Only at the end: a token in the middle may be what the text is about."""
    content = message.get("content")
    if message.get("role", "assistant") != "assistant":
        return message
    trimmed = _trimmed_parts(content) if isinstance(content, list) else _trimmed(content)
    return message if trimmed is content else {**message, "content": trimmed}


def _trimmed_parts(parts: list[JsonValue]) -> list[JsonValue]:
    last = parts[-1] if parts else None
    if not isinstance(last, dict) or last.get("type") != "text":
        return parts
    text = last.get("text")
    trimmed = _trimmed(text)
    return parts if trimmed is text else [*parts[:-1], {**last, "text": trimmed}]


def _trimmed(text: JsonValue) -> JsonValue:
    if not isinstance(text, str):
        return text
    end = shown = len(text)
    while True:
        end = _end_without_space(text, end)
        leak = next((token for token in LEAKED_TOKENS if text.endswith(token, 0, end)), None)
        if leak is None and _is_role_line(text, end):
            leak = _ROLE
        if leak is None:
            return text if shown == len(text) else text[:end]
        end = shown = end - len(leak)


def _end_without_space(text: str, end: int) -> int:
    while end and text[end - 1].isspace():
        end -= 1
    return end


def _is_role_line(text: str, end: int) -> bool:
    """The role's name as a line of its own, or between tokens: in a sentence it is only a word."""
    start = end - len(_ROLE)
    if not text.endswith(_ROLE, 0, end) or not text.startswith(_AFTER_ROLE, end):
        return False
    return start == 0 or text.endswith(_BEFORE_ROLE, 0, start)
