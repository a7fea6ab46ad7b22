"""Spilling: an output that is too large is kept whole in the store, and the model gets a reference and a way to read it.

Only for tools that ask for it. The reading tool exists only in turns that spilled something, and obeys the masks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import ErrorType, ToolError
from groundwire.registry import Tool

if TYPE_CHECKING:
    from groundwire.contracts.ports import Store
    from groundwire.runtime.context import Context

READ_TOOL = "read_spilled"
PREVIEW_CHARS = 1_000
PORTION_CHARS = 20_000


def spilled_notice(ref: str, text: str) -> JsonObject:
    """What takes the place of the output."""
    return {
        "spilled": {
            "ref": ref,
            "chars": len(text),
            "preview": text[:PREVIEW_CHARS],
            "read_with": READ_TOOL,
        }
    }


def reading_tool(store: Store) -> Tool:
    async def read_spilled(ref: str, context: Context, offset: int = 0, limit: int = PORTION_CHARS) -> JsonObject:
        body = await store.load_blob(context.tenant, context.conversation_id, ref)
        if body is None:
            raise ToolError(ErrorType.NOT_FOUND, f"There is no spilled output {ref!r} in this conversation.")
        text = body.decode()
        end = min(len(text), offset + limit)
        return {"text": text[offset:end], "next_offset": end if end < len(text) else None, "chars": len(text)}

    return Tool(
        name=READ_TOOL,
        description="Read a part of an output that was too large to be shown. Give the ref and an offset.",
        parameters={
            "type": "object",
            "properties": {
                "ref": {"type": "string", "description": "The reference from the spilled notice."},
                "offset": {"type": "integer", "minimum": 0, "description": "Where to start, in characters."},
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": PORTION_CHARS,
                    "description": "How much to read.",
                },
            },
            "required": ["ref"],
            "additionalProperties": False,
        },
        handler=read_spilled,
        category="retrieval",
    )
