"""Tools that take plain text instead of arguments, and the function that stands for one where there are only functions."""

from collections.abc import Iterable

from groundwire.codecs.wire.results import object_arguments
from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.requests import DeclaredTool, FunctionTool

FREEFORM_PARAMETERS: JsonObject = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
}


def freeform_names(tools: Iterable[DeclaredTool]) -> frozenset[str]:
    return frozenset(tool.name for tool in tools if isinstance(tool, FunctionTool) and tool.freeform is not None)


def freeform_text(raw: str) -> str | None:
    """The plain text in the arguments of such a function; None if they carry anything else."""
    arguments = object_arguments(raw)
    text = arguments.get("input") if arguments is not None and len(arguments) == 1 else None
    return text if isinstance(text, str) else None
