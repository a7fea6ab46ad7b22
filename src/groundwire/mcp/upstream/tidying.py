"""Servers' answers, made into what the SDK accepts: one odd tool must not hide the others, nor an odd block a result.

Pure functions over the results inside messages. What a server really declared is read by `raw_tools`.
"""

from typing import Any

from groundwire.codecs.mcp import is_block
from groundwire.contracts.canonical import JsonObject, dump_json


def raw_tools(result: Any) -> list[JsonObject]:
    """The declarations in a listing, as they were sent; what has no name cannot be called, and is left out."""
    tools = result.get("tools") if isinstance(result, dict) else None
    if not isinstance(tools, list):
        return []
    return [tool for tool in tools if isinstance(tool, dict) and isinstance(tool.get("name"), str)]


def tidy(result: Any) -> Any:
    """A listing with tools that nobody can misread; a call's result with content that is content."""
    if not isinstance(result, dict):
        return result
    if isinstance(result.get("tools"), list):
        return {**result, "tools": [_plain_tool(tool) for tool in raw_tools(result)]}
    if "content" in result or "structuredContent" in result:
        content = result.get("content")
        blocks = content if isinstance(content, list) else [] if content is None else [content]
        tidied = {**result, "content": [_block(block) for block in blocks]}
        if not isinstance(tidied.get("isError", False), bool):
            tidied["isError"] = bool(tidied["isError"])
        return tidied
    return result


def _plain_tool(tool: JsonObject) -> JsonObject:
    """What the SDK has to know of a tool; that is little, as arguments and results are validated elsewhere."""
    schema: Any = tool.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    is_usual = isinstance(properties, dict) and all(isinstance(value, dict) for value in properties.values())
    return {"name": tool["name"], "inputSchema": {"type": "object", "properties": properties if is_usual else {}}}


def _texts(value: Any) -> JsonObject:
    return {name: member for name, member in value.items() if isinstance(member, str)}


def _block(block: Any) -> JsonObject:
    """A block with nothing but texts in it: notes for other readers have no place in data, and may be wrong."""
    if is_block(block):
        nested: JsonObject = {"resource": _texts(block["resource"])} if block["type"] == "resource" else {}
        return _texts(block) | nested
    return {"type": "text", "text": block if isinstance(block, str) else dump_json(block).decode()}
