"""tool_registry.json: every tool of a registry, as one file that is read at once and understood piece by piece.

Reading finds the names and leaves schemas, guides and declarations as bytes until they are asked for, so that ten
thousand tools load in a moment. It never looks at a tool folder. Who writes the file, and where, is `build`.
"""

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from groundwire.contracts.canonical import JsonObject, JsonValue, digest_bytes, dump_json
from groundwire.contracts.errors import ArtifactError
from groundwire.contracts.tools import Category, Exposure, Mode, ToolPolicy, ToolSpec, wire_name
from groundwire.registry.author import Tool
from groundwire.registry.contents import HANDLER_FILE
from groundwire.registry.declarations import declare_all
from groundwire.registry.handlers import Handler
from groundwire.registry.loading import load_handler
from groundwire.registry.names import name_fault

REBUILD = "Run `groundwire build` to write it anew."
Resolve = Callable[[ToolSpec], Handler]
_Part = TypeVar("_Part")
_INSIDE = re.compile(r"(?![A-Za-z]:)(?:(?!\.{1,2}/)[^/\\\0]+/)+handler\.py")
_FUNCTION = re.compile(r"[^/\\\0]*:[^/\\\0]*")


class Entry(Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """One tool. Large parts stay raw."""

    tool_id: str
    wire_name: str
    category: Category
    modes: tuple[Mode, ...]
    requires_confirmation: bool
    approval_text: str | UnsetType = UNSET
    exposure: Exposure
    json_schema: Raw
    result: Raw | UnsetType = UNSET
    policy: Raw | UnsetType = UNSET
    provider_schemas: Raw
    summary: Raw
    description: Raw
    documentation: Raw
    handler_path: str
    handler_hash: str
    content_hash: str


class QuarantinedTool(Struct, frozen=True, kw_only=True):
    tool: str
    reason: str
    message: str


class Artifact(Struct, frozen=True, kw_only=True, rename="camel"):
    version: str
    git_commit: str | None
    build_timestamp: str
    tools: list[Entry]
    quarantined: list[QuarantinedTool] = []


class EntrySource:
    """A tool out of an artifact, decoded part by part when asked."""

    def __init__(self, entry: Entry, base_path: Path, resolve: Resolve) -> None:
        self.entry = entry
        self.base_path = base_path
        self._resolve = resolve

    def spec(self) -> ToolSpec:
        entry = self.entry
        return ToolSpec(
            tool_id=entry.tool_id,
            wire_name=entry.wire_name,
            category=entry.category,
            modes=entry.modes,
            requires_confirmation=entry.requires_confirmation,
            exposure=entry.exposure,
            description=self._read(entry.description, str),
            parameters=self._read(entry.json_schema, dict),
            result=None if entry.result is UNSET else self._read(entry.result, dict),
            policy=ToolPolicy() if entry.policy is UNSET else self._read(entry.policy, ToolPolicy),
            summary=self._read(entry.summary, str),
            documentation=self._read(entry.documentation, str),
            handler_path=entry.handler_path,
            handler_hash=entry.handler_hash,
            approval_text="" if entry.approval_text is UNSET else entry.approval_text,
        )

    def content_hash(self) -> str:
        return self.entry.content_hash

    def declaration(self, form: str) -> JsonObject | None:
        """The form that was built; None when this artifact does not have it."""
        forms = self._read(self.entry.provider_schemas, dict[str, Raw])
        return self._read(forms[form], dict) if form in forms else None

    def handler(self) -> Handler:
        spec = self.spec()
        return self._resolve(spec) if self.folder is None else load_handler(self.folder, spec)

    @property
    def folder(self) -> Path | None:
        """Where the handler stands; None for a function."""
        path = self.entry.handler_path
        return (self.base_path / path).parent if path.endswith(f"/{HANDLER_FILE}") else None

    def _read(self, raw: Raw, kind: type[_Part]) -> _Part:
        try:
            return msgspec.json.decode(raw, type=kind)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise ArtifactError(
                f"The artifact's entry of {self.entry.tool_id} is damaged: {error}", reason="damaged", hint=REBUILD
            ) from None


def decode_artifact(body: bytes, *, outside: bool = False) -> Artifact:
    """Read an artifact; whatever is wrong with the bytes is an ArtifactError.

    Handlers stand below the artifact, or with `outside` also beside it, as a build into another folder leaves them.
    """
    try:
        artifact = msgspec.json.decode(body, type=Artifact)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ArtifactError(f"The artifact cannot be read: {error}", reason="damaged", hint=REBUILD) from None
    for entry in artifact.tools:
        if fault := _fault(entry, outside=outside):
            raise ArtifactError(f"The artifact is wrong: {fault}", reason="damaged", hint=REBUILD)
    return artifact


def encode_artifact(
    tools: Iterable[Tool],
    *,
    version: str,
    built_at: str,
    base_path: Path,
    git_commit: str | None = None,
    quarantined: Iterable[QuarantinedTool] = (),
) -> bytes:
    """Write one line per tool: small enough to load fast, and still something that one can search."""
    head = msgspec.json.encode({"version": version, "gitCommit": git_commit, "buildTimestamp": built_at})
    lines = b",\n".join(msgspec.json.encode(entry_of(tool, base_path)) for tool in tools)
    tail = msgspec.json.encode(list(quarantined))
    return b'%b,\n"tools":[\n%b\n],\n"quarantined":%b}\n' % (head[:-1], lines, tail)


def entry_of(tool: Tool, base_path: Path) -> Entry:
    """The artifact's entry of any tool; one that came out of an artifact is passed on as it was."""
    source = tool.source
    folder: Path | None = getattr(source, "folder", None)
    path = tool.spec.handler_path if folder is None else relative_path(folder / HANDLER_FILE, base_path)
    if isinstance(source, EntrySource):
        return msgspec.structs.replace(source.entry, handler_path=path)
    spec = tool.spec
    policy = msgspec.json.encode(spec.policy)
    return Entry(
        tool_id=spec.tool_id,
        wire_name=spec.wire_name,
        category=spec.category,
        modes=spec.modes,
        requires_confirmation=spec.requires_confirmation,
        approval_text=spec.approval_text or UNSET,
        exposure=spec.exposure,
        json_schema=_raw(spec.parameters),
        result=UNSET if spec.result is None else _raw(spec.result),
        policy=UNSET if policy == b"{}" else Raw(policy),
        provider_schemas=_raw({form: made.value for form, made in declare_all(spec).items()}),
        summary=_raw(spec.summary),
        description=_raw(spec.description),
        documentation=_raw(spec.documentation),
        handler_path=path,
        handler_hash=spec.handler_hash,
        content_hash=tool.content_hash,
    )


def version_of(tools: Iterable[Tool]) -> str:
    """The version of a set of tools: from their content, whatever their order."""
    lines = sorted(f"{tool.tool_id} {tool.content_hash}" for tool in tools)
    return "1.0." + digest_bytes("\n".join(lines).encode())[:8]


def relative_path(path: Path, base_path: Path) -> str:
    return Path(os.path.relpath(path, base_path)).as_posix()


def _fault(entry: Entry, *, outside: bool) -> str:
    if fault := name_fault(entry.tool_id):
        return fault
    if entry.wire_name != wire_name(entry.tool_id):
        return f"{entry.tool_id} does not have the wire name {entry.wire_name!r}."
    if entry.handler_path and not is_handler_path(entry.handler_path, outside=outside):
        return f"{entry.tool_id} has the handler path {entry.handler_path!r}."
    return ""


def is_handler_path(path: str, *, outside: bool = True) -> bool:
    """True for `module:function` and for a relative path to a handler.py, which may lead out only at its beginning."""
    if not path.endswith(f"/{HANDLER_FILE}"):
        return _FUNCTION.fullmatch(path) is not None
    while outside and path.startswith("../"):
        path = path.removeprefix("../")
    return path.isprintable() and _INSIDE.fullmatch(path) is not None


def _raw(value: JsonValue) -> Raw:
    return Raw(dump_json(value))
