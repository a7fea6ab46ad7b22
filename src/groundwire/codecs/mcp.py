"""What the Model Context Protocol says about tools: declarations, and the results of calls in both directions.

Only the values inside its messages: envelopes, versions and transports are left to whoever speaks it.
"""

from typing import Any, cast

from groundwire.codecs.schemas.conversions import Declaration, Schema, SchemaWarning, WarningLog
from groundwire.codecs.schemas.forms import to_mcp
from groundwire.codecs.schemas.keywords import types_of
from groundwire.codecs.wire.names import NameRule, lint_tool_name
from groundwire.contracts.canonical import JsonObject, JsonValue, dump_json
from groundwire.contracts.results import ConfirmationNotice, ErrorInfo, ToolResult
from groundwire.contracts.tools import Category

NOTHING = "(no output)"
"""In place of a content that is empty, which several model APIs refuse."""
_BLOCKS = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource_link": ("uri", "name"),
    "resource": ("resource",),
}
"""The kinds of content, with the members that make them one."""
_NAME = NameRule(first="[A-Za-z0-9_.-]", further="[A-Za-z0-9_.-]", max_length=128)


def lint_name(name: str) -> tuple[SchemaWarning, ...]:
    return lint_tool_name(name, _NAME)


def encode_declaration(
    *,
    name: str,
    description: str,
    parameters: Schema,
    result: Schema | None = None,
    category: Category | None = None,
) -> Declaration:
    """One tool. Only actions change anything, so every other category is announced as read-only."""
    converted = to_mcp(parameters)
    log = WarningLog()
    value: Schema = {"name": name, "description": description, "inputSchema": converted.schema}
    if result is not None and types_of(result) == ["object"]:
        value["outputSchema"] = result
    elif result is not None:
        # Clients of the protocol up to 2025-11-25 refuse the whole list over any other output schema.
        log.add("result_not_object", "/outputSchema", "Only object schemas are declared; this one was left out.")
    if category is not None:
        acts = category == Category.ACTION
        value["annotations"] = {"readOnlyHint": not acts, "destructiveHint": acts}
    return Declaration(value=value, warnings=(*lint_name(name), *converted.warnings, *log.taken()))


def encode_result(result: ToolResult) -> JsonObject:
    """The result of a call. A failure is a result too, with the text for the model; the rest is beside it in `_meta`."""
    meta: dict[str, Any] = {"groundwire/callId": result.meta.call_id}
    if result.meta.replayed:
        meta["groundwire/replayed"] = True
    encoded: dict[str, Any] = {"content": _content_of(result), "isError": not result.ok, "_meta": meta}
    if result.ok and isinstance(result.data, dict) and not _is_content(result.data):
        encoded["structuredContent"] = result.data
    if result.error is not None:
        meta["groundwire/error"] = {"type": result.error.type.value, "detail": result.error.detail}
    if isinstance(result.meta.confirmation, ConfirmationNotice):
        notice = result.meta.confirmation
        meta["groundwire/confirmation"] = {"id": notice.id, "expiresAt": notice.expires_at}
    return encoded


def decode_result(value: JsonObject, *, keep_media: bool = False) -> tuple[JsonValue, bool]:
    """What a server's tool gave, as data, and whether it failed. Anything but a result is data as it is.

    Pictures, sounds and files are named and left out unless `keep_media`: to a model they would be a wall of letters.
    """
    failed = value.get("isError") is True
    if value.get("structuredContent") is not None and not failed:
        return value["structuredContent"], failed
    content = value.get("content")
    blocks = content if isinstance(content, list) else [] if content is None else [content]
    read = [block if keep_media else _without_media(block) for block in blocks]
    texts = [text for text in map(_text_of, read) if text is not None]
    if len(texts) == len(read):
        return ("\n".join(texts) if texts else None), failed
    return {"content": read}, failed


def _content_of(result: ToolResult) -> list[JsonValue]:
    blocks: list[JsonValue] = []
    if result.ok:
        if _is_content(result.data):
            blocks.extend(cast("dict[str, list[JsonValue]]", result.data)["content"])
        else:
            blocks.append(_text(_written(result.data)))
    first = result.error.message if result.error is not None else ""
    more = (error for error in result.errors[1:] if error.message not in first)  # a validation's first names them all
    blocks.extend(_text(_told(error)) for error in (*result.errors[:1], *more))
    if isinstance(result.meta.confirmation, ConfirmationNotice):
        blocks.append(_text(f"The question has the id {result.meta.confirmation.id}."))
    blocks.extend(_text(f"Warning: {warning}") for warning in result.warnings)
    return blocks


def _told(error: ErrorInfo) -> str:
    detail = f" ({error.detail})" if error.detail else ""
    later = " The same call may succeed later." if error.retryable else ""
    return f"{error.type.value}{detail}: {error.message}{later}"


def _written(data: JsonValue) -> str:
    if data is None or data == "":
        return NOTHING
    return data if isinstance(data, str) else dump_json(data).decode()


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _text_of(block: JsonValue) -> str | None:
    """Older servers send a bare string for a block of text."""
    if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str):
        return str(block["text"])
    return block if isinstance(block, str) else None


def _is_content(data: Any) -> bool:
    """Whether data is content in the protocol's own form, as `decode_result` gives it for what is not only text."""
    if not isinstance(data, dict) or data.keys() != {"content"} or not isinstance(data["content"], list):
        return False
    return bool(data["content"]) and all(map(is_block, data["content"]))


def is_block(block: Any) -> bool:
    """Whether a value is a block of content, of one of the known kinds."""
    if not isinstance(block, dict) or not isinstance(block.get("type"), str) or block["type"] not in _BLOCKS:
        return False
    if block["type"] == "resource":
        resource = block.get("resource")
        return (
            isinstance(resource, dict)
            and isinstance(resource.get("uri"), str)
            and any(isinstance(resource.get(part), str) for part in ("text", "blob"))
        )
    return all(isinstance(block.get(member), str) for member in _BLOCKS[block["type"]])


def _without_media(block: JsonValue) -> JsonValue:
    if not isinstance(block, dict):
        return block
    resource = block.get("resource")
    if isinstance(block.get("data"), str):
        return _text(f"({block.get('type')}, {block.get('mimeType')}, {_size(block['data'])}: not shown)")
    if isinstance(resource, dict) and isinstance(resource.get("blob"), str):
        uri, kind = resource.get("uri"), resource.get("mimeType")
        return _text(f"(file {uri}, {kind}, {_size(resource['blob'])}: not shown)")
    return block


def _size(base64: Any) -> str:
    return f"{len(base64) * 3 // 4} bytes"
