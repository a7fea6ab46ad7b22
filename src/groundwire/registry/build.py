"""The build: tool folders in, tool_registry.json and tools.lock out.

    scan the folders → schema.json → guide.md → handler.py → provider forms → version → two files

1. Every folder of the tools folder that does not begin with `_` or a dot is a tool.
2. `schema.json` is checked against `schemas/tool-1.0.0.json`, its schemas against JSON Schema 2020-12.
3. `guide.md` must say something; its first plain line is the summary.
4. `handler.py` must define `execute`; it is parsed, never run.
5. Each tool is written in the form of every provider, without the arguments that the executor supplies.
6. The version is a hash of the content of all tools: the same files give the same version anywhere, at any time.

A folder that fails a step is quarantined with a named reason and the rest is built. The lock is committed, the artifact
is not; `check` tells when the two no longer fit the folders. Knows nothing of who reads the artifact later.
"""

import contextlib
import os
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from groundwire.contracts.errors import ArtifactError, RegistryError
from groundwire.contracts.schema_limits import DEFAULT_SCHEMA_LIMITS, SchemaLimits
from groundwire.registry.advice import Advice
from groundwire.registry.artifact import decode_artifact, encode_artifact, entry_of, version_of
from groundwire.registry.author import Tool
from groundwire.registry.declarations import declare_all
from groundwire.registry.folder import Found, Problem, read_tools
from groundwire.registry.lint import provider_advice, runtime_advice
from groundwire.registry.registry import ARTIFACT_FILE, timestamp

LOCK_FILE = "tools.lock"
DriftKind: TypeAlias = Literal["added", "removed", "changed", "quarantined", "missing_lock", "damaged"]
Folder: TypeAlias = "str | os.PathLike[str]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """One difference between the folders and a file that was built from them."""

    tool: str
    kind: DriftKind
    message: str
    file: str = LOCK_FILE


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildReport:
    """What a build did. `changed` compares with the lock that was there before."""

    version: str
    built: tuple[str, ...]
    quarantined: tuple[Problem, ...]
    warnings: tuple[Advice, ...]
    changed: tuple[Drift, ...]


class Lock(msgspec.Struct, frozen=True, kw_only=True):
    """tools.lock: small, sorted, and the same on every machine."""

    version: str
    tools: dict[str, str]


def build(
    tools_dir: Folder,
    out_dir: Folder = ".",
    *,
    environ: Mapping[str, str] = os.environ,
    schema_limits: SchemaLimits = DEFAULT_SCHEMA_LIMITS,
) -> BuildReport:
    """Build all tools and write both files, each at once or not at all."""
    source, out = Path(tools_dir), Path(out_dir)
    found = read_tools(source, out, schema_limits)
    tools = sorted(found.tools, key=lambda tool: tool.tool_id)
    lock = _lock_of(tools)
    known = out / LOCK_FILE
    changed = tuple(_compare_lock(known, lock) if known.exists() else _differences("", {}, lock, LOCK_FILE))
    artifact = encode_artifact(
        tools,
        version=lock.version,
        built_at=timestamp(_build_time(environ)),
        base_path=out,
        git_commit=read_commit(source),
        quarantined=[problem.quarantined() for problem in found.problems],
    )
    write_atomically(out / ARTIFACT_FILE, artifact)
    write_atomically(known, msgspec.json.format(msgspec.json.encode(lock), indent=2) + b"\n")
    return BuildReport(
        version=lock.version,
        built=tuple(tool.tool_id for tool in tools),
        quarantined=found.problems,
        warnings=tuple(_warnings(found)),
        changed=changed,
    )


def check(
    tools_dir: Folder, out_dir: Folder = ".", *, schema_limits: SchemaLimits = DEFAULT_SCHEMA_LIMITS
) -> list[Drift]:
    """Compare the folders with what was built from them; an empty list means that nothing needs building."""
    out = Path(out_dir)
    found = read_tools(Path(tools_dir), out, schema_limits)
    fresh = _lock_of(found.tools)
    drift = list(_compare_lock(out / LOCK_FILE, fresh))
    if (out / ARTIFACT_FILE).exists():
        drift.extend(_compare_artifact(out / ARTIFACT_FILE, fresh, found.tools))
    drift.extend(
        Drift(tool=problem.tool, kind="quarantined", message=f"{problem.reason}: {problem.message}", file=problem.path)
        for problem in found.problems
    )
    return drift


def read_commit(folder: Path) -> str | None:
    """The commit that is checked out there, if git can tell."""
    command = ["git", "-C", str(folder), "rev-parse", "HEAD"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)  # noqa: S603 - fixed words
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return run.stdout.strip() if run.returncode == 0 and run.stdout.strip() else None


def write_atomically(path: Path, data: bytes) -> None:
    """Readers see the old file or the new one, whole."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise RegistryError(f"{path} cannot be written: {error.strerror}", reason="unwritable") from None


def _lock_of(tools: Iterable[Tool]) -> Lock:
    hashes = {tool.tool_id: tool.content_hash for tool in tools}
    return Lock(version=version_of(tools), tools=dict(sorted(hashes.items())))


def _compare_lock(path: Path, fresh: Lock) -> Iterator[Drift]:
    try:
        locked = msgspec.json.decode(path.read_bytes(), type=Lock)
    except FileNotFoundError:
        yield Drift(tool="", kind="missing_lock", message=f"There is no {LOCK_FILE}; run `groundwire build`.")
    except (OSError, msgspec.DecodeError, UnicodeError, RecursionError) as error:
        yield Drift(tool="", kind="damaged", message=f"{LOCK_FILE} cannot be read: {error}")
    else:
        yield from _differences(locked.version, locked.tools, fresh, LOCK_FILE)


def _compare_artifact(path: Path, fresh: Lock, tools: Iterable[Tool]) -> Iterator[Drift]:
    try:
        built = decode_artifact(path.read_bytes(), outside=True)
    except (OSError, ArtifactError) as error:
        yield Drift(tool="", kind="damaged", message=str(error), file=ARTIFACT_FILE)
    else:
        hashes = {entry.tool_id: entry.content_hash for entry in built.tools}
        yield from _differences(built.version, hashes, fresh, ARTIFACT_FILE)
        said = {entry.tool_id: msgspec.json.encode(entry) for entry in built.tools}
        for tool in tools:
            entry = entry_of(tool, path.parent)
            if hashes.get(tool.tool_id) == entry.content_hash and said[tool.tool_id] != msgspec.json.encode(entry):
                message = f"{tool.tool_id} was edited in {ARTIFACT_FILE} by hand."
                yield Drift(tool=tool.tool_id, kind="changed", message=message, file=ARTIFACT_FILE)


def _differences(version: str, before: Mapping[str, str], fresh: Lock, file: str) -> Iterator[Drift]:
    after = fresh.tools
    for name in sorted({*before, *after}):
        if name not in before:
            yield Drift(tool=name, kind="added", message=f"{name} is not in {file} yet.", file=file)
        elif name not in after:
            yield Drift(tool=name, kind="removed", message=f"{name} is in {file} but not built.", file=file)
        elif before[name] != after[name]:
            yield Drift(tool=name, kind="changed", message=f"{name} is not what {file} says.", file=file)
    if before and before == after and version != fresh.version:
        yield Drift(tool="", kind="damaged", message=f"{file} says {version}, not {fresh.version}.", file=file)


def _warnings(found: Found) -> Iterator[Advice]:
    yield from (advice for advice in found.advice if advice.severity == "warning")
    for tool in found.tools:
        yield from runtime_advice(tool)
        yield from (advice for advice in provider_advice(tool, declare_all(tool.spec)) if advice.severity == "warning")


def _build_time(environ: Mapping[str, str]) -> datetime:
    """Now, or the moment that SOURCE_DATE_EPOCH names."""
    try:
        return datetime.fromtimestamp(int(environ["SOURCE_DATE_EPOCH"]), UTC)
    except (KeyError, ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(int(time.time()), UTC)
