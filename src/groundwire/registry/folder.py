"""Tool folders: `tools/<wire name>/{schema.json, guide.md, handler.py}`, read and checked without running anything.

A folder becomes a `Tool` or one `Problem`, never an exception. Knows nothing of the artifact's bytes or where they go.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from groundwire.contracts.canonical import JsonObject, JsonValue, parse_json
from groundwire.contracts.errors import InvalidJson, RegistryError
from groundwire.contracts.schema_limits import DEFAULT_SCHEMA_LIMITS, SchemaLimits
from groundwire.contracts.tools import Category, Exposure, ToolSpec, wire_name
from groundwire.registry.advice import Advice
from groundwire.registry.approval_texts import approval_text_problems
from groundwire.registry.artifact import QuarantinedTool, is_handler_path, relative_path
from groundwire.registry.author import Tool
from groundwire.registry.contents import (
    GUIDE_FILE,
    HANDLER_FILE,
    SCHEMA_FILE,
    content_hash,
    handler_hash,
    leads_outside,
    normalise,
    read_digests,
    show_path,
)
from groundwire.registry.guides import Guide, read_guide
from groundwire.registry.handlers import Handler, check_signature
from groundwire.registry.loading import load_handler, variant_function
from groundwire.registry.names import check_name
from groundwire.registry.options import MODES
from groundwire.registry.outlines import HandlerSyntax, Outline, read_outline
from groundwire.registry.policies import policy_problems, read_policy
from groundwire.registry.validators import CompiledSchema, compile_schema

REASONS: Mapping[str, str] = {
    "missing_schema": "the folder has no schema.json",
    "invalid_json": "schema.json is not JSON in UTF-8, or nested too deeply",
    "schema_shape": "schema.json lacks a field, has an unknown one, or one of the wrong kind",
    "invalid_name": "the toolId is empty, too long, could be a path, holds white space or control characters, or mixes scripts",
    "invalid_parameters": "parameters is not a JSON Schema 2020-12",
    "invalid_result": "result is not a JSON Schema 2020-12",
    "invalid_policy": "policy contradicts itself",
    "missing_guide": "the folder has no guide.md",
    "invalid_guide": "guide.md is not UTF-8",
    "schema_too_complex": "parameters or result exceeds a limit of [schemas]; the message has SCHEMA_TOO_COMPLEX and the measure",
    "empty_guide": "guide.md has no line besides headings",
    "missing_handler": "the folder has no handler.py",
    "handler_syntax": "handler.py is not Python",
    "no_execute": "handler.py defines no execute()",
    "handler_signature": "execute() cannot take what the schema declares",
    "variant_without_handler": "a variant's function is not in handler.py",
    "supplied_not_declared": "policy.supplied names an argument that is not in the schema",
    "ground_not_declared": "policy.ground names an argument that is not in the schema",
    "scope_not_declared": "policy.scope names an argument that is not in the schema",
    "budget_not_declared": "policy.budget counts by an argument that is not in the schema",
    "invalid_approval_text": "approvalText is not one line of visible characters with names of arguments in braces",
    "approval_text_not_declared": "approvalText names an argument that is not in the schema",
    "duplicate_tool_id": "another folder has the same toolId; neither is built",
    "wire_name_collision": "another tool has the same wire name; neither is built",
    "invalid_folder": "the folder's name cannot be written into the artifact",
    "link_outside": "a file is a link that leads out of the folder",
    "unreadable": "a file cannot be read",
}
"""Why a folder is not built. The codes are stable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why one folder is not built. `path` is the file at fault, from the tools folder."""

    tool: str
    reason: str
    message: str
    path: str

    def quarantined(self) -> QuarantinedTool:
        return QuarantinedTool(tool=self.tool, reason=self.reason, message=self.message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a tools folder holds, each part in a stable order."""

    tools: tuple[Tool, ...]
    problems: tuple[Problem, ...]
    advice: tuple[Advice, ...]


class FolderSource:
    """A tool in a folder: read while building, imported at first use."""

    def __init__(self, folder: Path, spec: ToolSpec, digests: dict[str, str], outline: Outline) -> None:
        self.folder = folder
        self.outline = outline
        self._spec = spec
        self._digests = digests

    def spec(self) -> ToolSpec:
        return self._spec

    def content_hash(self) -> str:
        return content_hash(self._digests)

    def handler(self) -> Handler:
        return load_handler(self.folder, self._spec)


class _Bad(Exception):
    """What is wrong with the file `name` of a folder."""

    def __init__(self, reason: str, message: str, name: str) -> None:
        super().__init__(message)
        self.reason, self.message, self.name = reason, message, name


def read_tools(
    tools_dir: Path, base_path: Path | None = None, schema_limits: SchemaLimits = DEFAULT_SCHEMA_LIMITS
) -> Found:
    """Read every folder that does not begin with `_` or a dot. Handlers are named from `base_path`."""
    try:
        folders = sorted(path for path in tools_dir.iterdir() if path.name[0] not in "_." and path.is_dir())
    except OSError as error:
        raise RegistryError(
            f"The tools folder {tools_dir} cannot be read: {error.strerror}",
            reason="missing_tools",
            hint="`groundwire init .` makes one with two sample tools.",
        ) from None
    tools, problems, advice = list[Tool](), list[Problem](), list[Advice]()
    for folder in folders:
        name = show_path(folder.name)
        try:
            tool, guide = read_tool(folder, base_path or tools_dir.parent, schema_limits)
        except _Bad as bad:
            problems.append(
                Problem(tool=name, reason=bad.reason, message=bad.message, path=f"{name}/{bad.name}".rstrip("/"))
            )
            continue
        tools.append(tool)
        advice.extend(_advise(tool, guide, name))
    clashes = _find_clashes(tools)
    return Found(
        tools=tuple(tool for tool in tools if tool not in clashes),
        problems=(*problems, *clashes.values()),
        advice=tuple(each for each in advice if each.tool not in {tool.tool_id for tool in clashes}),
    )


def read_tool(folder: Path, base_path: Path, schema_limits: SchemaLimits = DEFAULT_SCHEMA_LIMITS) -> tuple[Tool, Guide]:
    """Read one tool folder; raises `_Bad` with the reason for its quarantine."""
    written = _read_schema(folder)
    documentation = _read_guide(folder)
    guide = read_guide(documentation)
    if not guide.summary:
        raise _Bad("empty_guide", "guide.md needs a line that is not a heading: it becomes the summary.", GUIDE_FILE)
    outline = _read_handler(folder)
    try:
        digests = read_digests(folder)
    except OSError as error:
        raise _Bad("unreadable", f"A file cannot be read: {error}", "") from None
    path = relative_path(folder / HANDLER_FILE, base_path)
    if not is_handler_path(path):
        raise _Bad("invalid_folder", f"The path {show_path(path)!r} cannot be written into the artifact.", "")
    try:
        _check_schemas(written, schema_limits)
        spec = _make_spec(written, guide, documentation, path, handler_hash(digests))
        _check_handler(outline, spec)
    except RegistryError as error:
        at_fault = HANDLER_FILE if error.reason in ("handler_signature", "variant_without_handler") else SCHEMA_FILE
        raise _Bad(error.reason, error.message, at_fault) from None
    source = FolderSource(folder, spec, digests, outline)
    return Tool.from_source(spec.tool_id, spec.wire_name, source, schema_limits), guide


def _read_schema(folder: Path) -> JsonObject:
    data = _read_file(folder, SCHEMA_FILE, "missing_schema")
    try:
        written = parse_json(data.removeprefix(b"\xef\xbb\xbf").decode())
    except (InvalidJson, UnicodeDecodeError) as error:
        raise _Bad("invalid_json", f"schema.json is not JSON: {error}", SCHEMA_FILE) from None
    if not isinstance(written, dict) or not _shape().is_valid(written):
        faults = [
            f"{'/'.join(map(str, fault.instance_path)) or 'the root'}: {fault.message}"
            for fault in islice(_shape().errors(_without_schemas(written)), 3)
        ]
        where = "; ".join(faults) or "a place that it is too large to name"
        raise _Bad("schema_shape", f"schema.json is wrong at {where}", SCHEMA_FILE)
    return written


def _without_schemas(written: JsonValue) -> JsonValue:
    """A schema.json without the contents of its JSON Schemas: errors of a value with many parts are not listed."""
    if not isinstance(written, dict):
        return written
    contents = {name: value for name in ("parameters", "result") if isinstance(value := written.get(name), dict)}
    return written | {name: {"type": value["type"]} if "type" in value else {} for name, value in contents.items()}


def _read_guide(folder: Path) -> str:
    try:
        return normalise(_read_file(folder, GUIDE_FILE, "missing_guide")).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _Bad("invalid_guide", f"guide.md is not UTF-8: {error}", GUIDE_FILE) from None


def _read_handler(folder: Path) -> Outline:
    try:
        outline = read_outline(_read_file(folder, HANDLER_FILE, "missing_handler"))
    except HandlerSyntax as error:
        raise _Bad("handler_syntax", f"handler.py is not Python: {error}", HANDLER_FILE) from None
    if "execute" not in outline.names:
        raise _Bad("no_execute", "handler.py must define execute() at its top level.", HANDLER_FILE)
    return outline


def _read_file(folder: Path, name: str, missing: str) -> bytes:
    file = folder / name
    if file.exists() and not file.is_file() and not file.is_dir():  # reading a pipe would wait for ever
        raise _Bad("unreadable", f"{name} is not a regular file.", name)
    if leads_outside(file, folder):
        raise _Bad("link_outside", f"{name} is a link that leads out of the folder. Copy the file into it.", name)
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise _Bad(missing, f"The folder has no {name}.", name) from None
    except OSError as error:
        raise _Bad("unreadable", f"{name} cannot be read: {error.strerror}", name) from None


def _check_schemas(written: Any, limits: SchemaLimits) -> None:
    compile_schema(written["parameters"], reason="invalid_parameters", of="parameters", limits=limits)
    if "result" in written:
        compile_schema(written["result"], reason="invalid_result", of="result", limits=limits)


def _make_spec(written: JsonObject, guide: Guide, documentation: str, path: str, code: str) -> ToolSpec:
    fields: Any = written
    tool_id = check_name(fields["toolId"])
    modes = fields.get("modes", MODES)
    return ToolSpec(
        tool_id=tool_id,
        wire_name=wire_name(tool_id),
        category=Category(fields["category"]),
        modes=tuple(mode for mode in MODES if mode in modes),
        requires_confirmation=fields.get("requiresConfirmation", False),
        exposure=Exposure(fields.get("exposure", Exposure.MODEL)),
        description=guide.description,
        parameters=fields["parameters"],
        result=fields.get("result"),
        policy=read_policy(fields.get("policy"), {}, of=tool_id),
        summary=guide.summary,
        documentation=documentation,
        handler_path=path,
        handler_hash=code,
        approval_text=fields.get("approvalText", ""),
    )


def _check_handler(outline: Outline, spec: ToolSpec) -> None:
    variants = [variant for variant in spec.policy.variants if variant_function(variant) in outline.names]
    problems = (*policy_problems(spec, [variant.name for variant in variants]), *approval_text_problems(spec))
    for reason, message in problems:
        raise RegistryError(message, reason=reason)
    for name in ("execute", *map(variant_function, variants)):
        if fault := outline.fault(name):
            raise RegistryError(fault, reason="handler_signature")
        if signature := outline.signature(name):
            check_signature(signature, spec)


def _find_clashes(tools: Iterable[Tool]) -> dict[Tool, Problem]:
    sharing: dict[str, list[Tool]] = defaultdict(list)
    for tool in tools:
        sharing[tool.wire_name].append(tool)
    clashes: dict[Tool, Problem] = {}
    for wire, together in sharing.items():
        for tool in together if len(together) > 1 else ():
            others = [other for other in together if other is not tool]
            same = any(other.tool_id == tool.tool_id for other in others)
            names = " and ".join(sorted({tool.tool_id, *(other.tool_id for other in others)}))
            message = f"Several folders have the toolId {names}." if same else f"{names} share the wire name {wire}."
            clashes[tool] = Problem(
                tool=tool.tool_id,
                reason="duplicate_tool_id" if same else "wire_name_collision",
                message=message,
                path=f"{show_path(_folder_of(tool).name)}/{SCHEMA_FILE}",
            )
    return clashes


def _folder_of(tool: Tool) -> Path:
    folder: Path = tool.source.folder  # type: ignore[attr-defined]
    return folder


def _advise(tool: Tool, guide: Guide, folder: str) -> Iterable[Advice]:
    if folder != tool.wire_name:
        message = f"The folder of {tool.tool_id} is called {folder!r}; its wire name would be found faster."
        yield Advice(tool=tool.tool_id, code="folder_name", severity="warning", message=message, path=folder)
    if guide.rival:
        message = f"The summary is {guide.summary!r}, but the second line says {guide.rival!r}."
        path = f"{folder}/{GUIDE_FILE}"
        yield Advice(tool=tool.tool_id, code="summary_disagrees", severity="warning", message=message, path=path)


@cache
def _shape() -> CompiledSchema:
    schema = files("groundwire.registry").joinpath("schemas", "tool-1.0.0.json").read_bytes()
    return compile_schema(msgspec.json.decode(schema), reason="schema_shape", of="schema.json")
