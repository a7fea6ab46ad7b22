"""A small document that models read and change while they are tried: in memory, with a version and two tools.

`state_get` and `state_patch` are what reliability is measured with: few enough to be learnt at once, and easy to get
wrong. The workspace is implicit; a model that names one may only name the one it is in.
"""

import copy
from typing import Protocol

from msgspec import Struct

from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import ErrorType, ToolError
from groundwire.evals.pointers import OPERATIONS, PatchError, patched, value_at
from groundwire.registry import Registry, Tool

ALLOWED = ("state_get", "state_patch")
"""The tools that are offered unless a run says otherwise."""
MAX_OPERATIONS = 200

_WORKSPACE_ID = {"type": "string", "description": "Leave it out: it is the workspace you are in."}
_GET = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": 'JSON Pointer such as /draft/tags; "" is everything.'},
        "workspace_id": _WORKSPACE_ID,
    },
    "additionalProperties": False,
}
_PATCH = {
    "type": "object",
    "properties": {
        "ops": {
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_OPERATIONS,
            "items": {
                "type": "object",
                "properties": {
                    "op": {"type": "string", "enum": list(OPERATIONS)},
                    "path": {"type": "string", "description": "JSON Pointer such as /draft/title"},
                    "value": {"description": "The new value, for all but delete."},
                    "index": {"type": "integer", "minimum": 0, "description": "Where to insert."},
                },
                "required": ["op", "path"],
                "additionalProperties": False,
            },
        },
        "workspace_id": _WORKSPACE_ID,
    },
    "required": ["ops"],
    "additionalProperties": False,
}


class WorkspaceStore(Protocol):
    """What the tools need of whatever keeps the document."""

    workspace_id: str
    version: int

    def read(self) -> JsonValue: ...

    def write(self, document: JsonValue) -> int:
        """Keep the document; the new version."""
        ...


class MemoryWorkspace(Struct):
    document: JsonObject
    workspace_id: str = "ws_1"
    version: int = 1

    def read(self) -> JsonValue:
        return self.document

    def write(self, document: JsonValue) -> int:
        if not isinstance(document, dict):
            raise TypeError("a workspace is an object")
        self.document = document
        self.version += 1
        return self.version


def workspace_tools(store: WorkspaceStore) -> Registry:
    """The model's tools over this workspace."""

    async def state_get(path: str = "", workspace_id: str | None = None) -> JsonObject:
        _refuse_other(store, workspace_id)
        try:
            value = value_at(store.read(), path)
        except PatchError as error:
            raise ToolError(ErrorType.VALIDATION, error.message, detail=error.detail) from None
        return {"value": copy.deepcopy(value), "version": store.version}

    async def state_patch(ops: list[JsonObject], workspace_id: str | None = None) -> JsonObject:
        _refuse_other(store, workspace_id)
        try:
            document, changed = patched(store.read(), ops)
        except PatchError as error:
            raise ToolError(ErrorType.VALIDATION, error.message, detail=error.detail) from None
        return {"version": store.write(document), "changed": [*changed]}

    get = Tool(
        "state_get",
        description="Read the workspace, or the part of it at a path.",
        parameters=_GET,
        handler=state_get,
        category="retrieval",
        modes=("text", "voice"),
    )
    patch = Tool(
        "state_patch",
        description="Change the workspace by a list of operations. All of them are made, or none.",
        parameters=_PATCH,
        handler=state_patch,
        category="action",
        modes=("text", "voice"),
    )
    return Registry([get, patch])


def _refuse_other(store: WorkspaceStore, workspace_id: str | None) -> None:
    if workspace_id is not None and workspace_id != store.workspace_id:
        message = f"There is no workspace {workspace_id!r} here; leave workspace_id out."
        raise ToolError(ErrorType.NOT_FOUND, message)
