"""The list of tools on the wire: function declarations and, beside them, the tools that Google runs itself."""

from collections.abc import Iterable, Sequence
from typing import Any

import orjson
from msgspec import Raw

from groundwire.codecs.gemini.casing import camel_keys
from groundwire.codecs.gemini.profile import DIALECT, Profile
from groundwire.codecs.schemas.forms import from_openapi_subset, to_json_schema_subset, to_openapi_subset
from groundwire.codecs.wire.freeform import FREEFORM_PARAMETERS
from groundwire.codecs.wire.names import NameTable
from groundwire.codecs.wire.private import take_own, unknown_values, visible
from groundwire.codecs.wire.reading import as_list, as_object, optional_text, required_text
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.requests import DeclaredTool, FunctionTool, NativeTool

_KNOWN = frozenset({"name", "description", "parameters", "parametersJsonSchema"})

Shape = list[list[int]]
"""Per wire object how many functions and how many built-in tools it held, where that is not what we would write."""


def read_tools(value: Any, path: str) -> tuple[list[DeclaredTool], Shape | None]:
    tools: list[DeclaredTool] = []
    shape: Shape = []
    for place, entry in enumerate(as_list(value, path)):
        wire = camel_keys(as_object(entry, f"{path}[{place}]"))
        declared = wire.get("functionDeclarations")
        declarations = [] if declared is None else as_list(declared, f"{path}[{place}].functionDeclarations")
        for index, declaration in enumerate(declarations):
            tools.append(_read_function(declaration, f"{path}[{place}].functionDeclarations[{index}]"))
        native: JsonObject = {
            key: member for key, member in wire.items() if key != "functionDeclarations" and member is not None
        }
        if native:
            tools.append(NativeTool(origin=DIALECT, value=native))
        shape.append([len(declarations) if declared is not None else -1, int(bool(native))])
    return tools, None if shape == _usual_shape(tools) else shape


def _read_function(declaration: Any, path: str) -> FunctionTool:
    wire = camel_keys(as_object(declaration, path))
    members = unknown_values(wire, _KNOWN)
    parameters: JsonObject | None = None
    if wire.get("parametersJsonSchema") is not None:
        parameters = as_object(wire["parametersJsonSchema"], f"{path}.parametersJsonSchema")
        members["_form"] = "json"
    elif wire.get("parameters") is not None:
        written = as_object(wire["parameters"], f"{path}.parameters")
        parameters = from_openapi_subset(written)
        members["_form"] = "native"
        members["_parameters"] = written
    else:
        members["_form"] = "none"
    return FunctionTool(
        name=required_text(wire, "name", path),
        description=optional_text(wire, "description", path),
        parameters=parameters,
        private={DIALECT: members},
    )


def write_tools(
    tools: Sequence[DeclaredTool],
    names: NameTable,
    losses: Losses,
    profile: Profile,
    *,
    shape: Any = None,
    fragments: bool = False,
) -> list[JsonObject]:
    """The wire list; the result depends on nothing but the arguments. Functions share one entry unless `shape` parts them."""
    functions: list[JsonObject] = []
    natives: list[JsonObject] = []
    order: list[dict[str, Any]] = []
    for place, tool in enumerate(tools):
        if isinstance(tool, NativeTool):
            if tool.origin != DIALECT:
                losses.add_tool(f"tools[{place}]", tool)
                continue
            natives.append(visible(tool.value))
            order.append(natives[-1])
            continue
        if not functions:
            order.append({"functionDeclarations": functions})
        path = f"tools[{place}]"
        wire: JsonObject = {"name": names.declare(tool.name, path)}
        if tool.description is not None:
            wire["description"] = tool.description
        parameters = tool.parameters
        if fragments and not (tool.private or profile.native_schema) and isinstance(parameters, Raw):
            wire["parametersJsonSchema"] = orjson.Fragment(bytes(parameters))  # type: ignore[assignment]
        else:
            _complete_function(wire, tool, path, losses, profile)
        functions.append(wire)
    return _shaped(functions, natives, shape) or order


def _complete_function(wire: JsonObject, tool: FunctionTool, path: str, losses: Losses, profile: Profile) -> None:
    members = take_own(tool.private, DIALECT, path, losses) if tool.private else {}
    parameters = tool.schema
    if tool.freeform is not None:
        parameters = FREEFORM_PARAMETERS
        losses.add(
            "format_approximated", path, "A tool that takes plain text is offered with the one argument `input`."
        )
    if parameters is not None:
        _add_parameters(wire, parameters, members, losses, path, profile)
    if members:
        wire.update(visible(members))


def _add_parameters(
    wire: JsonObject, parameters: JsonObject, members: JsonObject, losses: Losses, path: str, profile: Profile
) -> None:
    form = members.get("_form")
    if form == "json":
        wire["parametersJsonSchema"] = parameters
    elif form == "native":
        _add_native_parameters(wire, members.get("_parameters"), parameters, losses, path)
    elif profile.native_schema:
        _add_native_parameters(wire, None, parameters, losses, path)
    else:
        converted = to_json_schema_subset(parameters)
        if converted.warnings:
            losses.add_schema(f"{path}.parameters", converted.warnings)
        wire["parametersJsonSchema"] = converted.schema


def _add_native_parameters(
    wire: JsonObject, written: JsonValue, parameters: JsonObject, losses: Losses, path: str
) -> None:
    if isinstance(written, dict) and from_openapi_subset(written) == parameters:
        wire["parameters"] = written
        return
    converted = to_openapi_subset(parameters)
    losses.add_schema(f"{path}.parameters", converted.warnings)
    # Older models refuse an object without properties, so such a tool has no `parameters` at all.
    if converted.schema.get("properties") or converted.schema.get("description") != parameters.get("description"):
        wire["parameters"] = converted.schema


def _usual_shape(tools: Iterable[DeclaredTool]) -> Shape:
    shape: Shape = []
    functions: list[int] | None = None
    for tool in tools:
        if isinstance(tool, NativeTool):
            shape.append([-1, 1])
        elif functions is None:
            functions = [1, 0]
            shape.append(functions)
        else:
            functions[0] += 1
    return shape


def _shaped(functions: list[JsonObject], natives: list[JsonObject], shape: Any) -> list[JsonObject] | None:
    """As the sender had parted them, provided that nobody added or removed a tool since."""
    if not isinstance(shape, list):
        return None
    if sum(max(count, 0) for count, _ in shape) != len(functions) or sum(own for _, own in shape) != len(natives):
        return None
    entries: list[JsonObject] = []
    taken = own_taken = 0
    for count, own in shape:
        entry: JsonObject = {}
        if count >= 0:
            entry["functionDeclarations"] = list(functions[taken : taken + count])
            taken += count
        if own:
            entry.update(natives[own_taken])
            own_taken += 1
        entries.append(entry)
    return entries
