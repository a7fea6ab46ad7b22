"""Advice about tools that are fine as far as the runtime is concerned: names, words, schemas and guides.

Nothing here refuses a tool. Knows the providers' limits only through the warnings of the codecs.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import RegistryError
from groundwire.contracts.tools import Category, ToolSpec, model_parameters
from groundwire.registry.advice import Advice, Severity
from groundwire.registry.author import Tool
from groundwire.registry.contents import HANDLER_FILE
from groundwire.registry.declarations import declare_all
from groundwire.registry.folder import FolderSource, read_tools
from groundwire.registry.guides import read_guide
from groundwire.registry.names import is_plain
from groundwire.registry.outlines import HandlerSyntax, read_outline
from groundwire.registry.registry import Registry

if TYPE_CHECKING:
    from groundwire.codecs.schemas.conversions import Declaration

CODES: Mapping[str, tuple[Severity, str]] = {
    "name_odd": ("warning", "the name has characters or a length that some provider refuses"),
    "name_style": ("info", "the name is not snake_case"),
    "name_dots": ("info", "the name has dots, which models see as double underscores"),
    "folder_name": ("warning", "the folder is not called like the tool's wire name"),
    "missing_description": ("warning", "the tool says nothing about itself"),
    "missing_parameter_description": ("info", "an argument says nothing about itself"),
    "long_parameter_description": ("info", "an argument's description is long"),
    "context_argument": ("info", "an argument asks the model for what the context knows"),
    "barge_in_ignored": ("warning", "the tool says what an interruption does to it, and nothing interrupts calls yet"),
    "ground_value_ignored": ("warning", "numbers must occur in an argument that is not a quote"),
    "blocking_unsaid": ("warning", "a sync retrieval does not say whether it waits for something"),
    "unconfirmed": ("info", "an action sounds final but asks nobody"),
    "summary_disagrees": ("warning", "the guide's first plain line is not its second line"),
    "guide_sections": ("info", "the guide lacks a recommended section"),
    "guide_parameter_unknown": ("warning", "the guide describes an argument that the schema does not have"),
    "guide_parameter_missing": ("info", "the guide's parameters leave one out"),
    "guide_parameter_required": ("warning", "guide and schema disagree whether an argument is required"),
}
"""The codes of this module. Those of the codecs' warnings come as they are, with the providers they concern."""

_SERIOUS = frozenset(
    {
        "all_of_conflict",
        "description_length",
        "name_characters",
        "name_length",
        "parameter_name",
        "ref_unresolved",
        "schema_too_deep",
        "schema_too_large",
        "unsatisfiable",
    }
)
_SNAKE = re.compile(r"[a-z_][a-z0-9_]*(\.[a-z0-9_]+)*")
_CONTEXT = re.compile(
    r"(user|session|conversation|tenant|org(anisation|anization)?|workspace|request|call|trace)_?id"
    r"|actor|tenant|idempotency_?key|timestamp|now|current_(time|date|user)",
    re.IGNORECASE,
)
_FINAL = re.compile(
    r"(^|[_.-])(delete|remove|drop|wipe|purge|erase|destroy|pay|payment|refund|transfer|purchase|buy|charge)([_.-]|$)"
)
_LONG = 500
_PARAMETER_LINE = re.compile(r"[-*+]\s+[`*_]*([^\s`*(:]+)[`*_]*\s*(?:\(([^)]*)\))?.*")


def lint(subject: Registry | str | os.PathLike[str]) -> list[Advice]:
    """Advise about all tools of a registry, or of a tools folder with its quarantined ones as errors."""
    if isinstance(subject, Registry):
        return sorted(advice for tool in subject for advice in lint_tool(tool))
    found = read_tools(Path(subject))
    advice = {each for tool in found.tools for each in lint_tool(tool)} | set(found.advice)
    errors = (
        Advice(tool=problem.tool, code=problem.reason, severity="error", message=problem.message, path=problem.path)
        for problem in found.problems
    )
    return sorted([*advice, *errors])


def lint_tool(tool: Tool) -> Iterator[Advice]:
    spec = tool.spec
    findings = (*_name_advice(spec), *_schema_advice(spec), *_handler_advice(tool), *_guide_advice(spec))
    yield from _advise(spec, findings)
    yield from runtime_advice(tool)
    yield from provider_advice(tool, declare_all(spec))


def runtime_advice(tool: Tool) -> Iterator[Advice]:
    """What the runtime will not do as the tool asks."""
    yield from _advise(tool.spec, _policy_advice(tool.spec))


def _advise(spec: ToolSpec, findings: "Iterable[Finding]") -> Iterator[Advice]:
    for code, message, path in findings:
        yield Advice(tool=spec.tool_id, code=code, severity=CODES[code][0], message=message, path=path)


def provider_advice(tool: Tool, declarations: "Mapping[Any, Declaration]") -> Iterator[Advice]:
    """What the providers' forms lose or may be refused for, each thing once."""
    concerned: dict[tuple[str, str, str], list[str]] = {}
    for form, declaration in declarations.items():
        for warning in declaration.warnings:
            if warning.code == "keyword_dropped" and warning.message.startswith("additionalProperties"):
                continue  # true of every careful schema, and enforced at the call anyway
            concerned.setdefault((warning.code, warning.path, warning.message), []).append(form)
    for (code, path, message), forms in concerned.items():
        severity: Severity = "warning" if code in _SERIOUS else "info"
        yield Advice(
            tool=tool.tool_id, code=code, severity=severity, message=f"{message} ({', '.join(forms)})", path=path
        )


Finding = tuple[str, str, str]


def _name_advice(spec: ToolSpec) -> Iterator[Finding]:
    name = spec.tool_id
    if not is_plain(name):
        yield "name_odd", f"{name!r} will need another name with some providers.", ""
    elif not _SNAKE.fullmatch(name):
        yield "name_style", f"{name!r} is easier for models as snake_case.", ""
    if "." in name:
        yield "name_dots", f"Models see {name!r} as {spec.wire_name!r}.", ""
    if spec.category is Category.ACTION and not spec.requires_confirmation and _FINAL.search(name.lower()):
        yield "unconfirmed", f"{name} sounds final; should a person confirm it?", ""


def _schema_advice(spec: ToolSpec) -> Iterator[Finding]:
    if not spec.description.strip():
        yield "missing_description", "Say in a sentence or two what the tool does and when to use it.", ""
    for name, schema in _properties(model_parameters(spec)).items():
        path = f"/parameters/properties/{name}"
        described = str(schema.get("description", "")) if isinstance(schema, dict) else ""
        if not described.strip() and not (isinstance(schema, dict) and "$ref" in schema):
            yield "missing_parameter_description", f"Say what {name!r} is for.", path
        elif len(described) > _LONG:
            yield "long_parameter_description", f"{name!r} is described in {len(described)} characters.", path
        if _CONTEXT.fullmatch(name):
            yield "context_argument", f"{name!r} looks like context: supply it, or read it from the context.", path


def _policy_advice(spec: ToolSpec) -> Iterator[Finding]:
    """What a policy asks for that nothing acts on yet: an author must not believe it holds."""
    if spec.policy.barge_in is not None:
        message = "No call is interrupted yet: bargeIn is kept, but nothing reads it."
        yield "barge_in_ignored", message, "/policy/bargeIn"
    for argument, rule in spec.policy.ground.items():
        if rule.value and rule.by != "quote":
            message = f"{argument!r} is not a quote, so no number can be looked for in it: value is ignored."
            yield "ground_value_ignored", message, f"/policy/ground/{argument}/value"


def _handler_advice(tool: Tool) -> Iterator[Finding]:
    spec = tool.spec
    if spec.category is Category.RETRIEVAL and spec.policy.blocking is None and _kind(tool) == "sync":
        message = "A sync retrieval runs on the event loop: declare blocking true if it waits, false if it does not."
        yield "blocking_unsaid", message, spec.handler_path


def _kind(tool: Tool) -> str | None:
    """How the handler runs, as far as that can be told without importing it."""
    if isinstance(tool.source, FolderSource):
        return tool.source.outline.kind("execute")
    folder: Path | None = getattr(tool.source, "folder", None)
    try:
        return (
            tool.handler().kind
            if folder is None
            else read_outline((folder / HANDLER_FILE).read_bytes()).kind("execute")
        )
    except (RegistryError, HandlerSyntax, OSError):
        return None


def _guide_advice(spec: ToolSpec) -> Iterator[Finding]:
    if not spec.documentation.strip():
        return
    guide = read_guide(spec.documentation)
    if guide.rival:
        yield (
            "summary_disagrees",
            f"The summary is {guide.summary!r}; the second line says {guide.rival!r}.",
            "guide.md",
        )
    sections = _sections(spec.documentation)
    declared = _properties(model_parameters(spec))
    wanted = ["parameters", "examples"] if declared else ["examples"]
    for title in wanted:
        if title not in sections:
            yield "guide_sections", f"A section {title.capitalize()!r} helps models and people.", "guide.md"
    if "parameters" in sections:
        yield from _compare_parameters(spec, declared, sections["parameters"])


def _compare_parameters(spec: ToolSpec, declared: Mapping[str, Any], lines: Iterable[str]) -> Iterator[Finding]:
    required = spec.parameters.get("required")
    needed = set(required) if isinstance(required, list) else set()
    described = {match[1]: match[2] or "" for line in lines if (match := _PARAMETER_LINE.fullmatch(line))}
    for name, note in described.items():
        if name not in declared:
            yield (
                "guide_parameter_unknown",
                f"The guide describes {name!r}, which the schema does not have.",
                "guide.md",
            )
        elif ("required" in note) != (name in needed) and re.search(r"required|optional", note):
            yield "guide_parameter_required", f"Guide and schema disagree whether {name!r} is required.", "guide.md"
    for name in declared:
        if name not in described:
            yield "guide_parameter_missing", f"The guide does not describe {name!r}.", "guide.md"


def _sections(text: str) -> dict[str, list[str]]:
    """The lines of each section, by its heading in lower case."""
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    fenced = False
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif line.startswith("#") and not fenced:
            title = re.sub(r"\(.*?\)", "", line).strip("# \t:").lower()
            lines = sections.setdefault(title, [])
        elif line.strip() and not line.startswith((" ", "\t")):
            lines.append(line.strip())
    return sections


def _properties(parameters: JsonObject) -> Mapping[str, Any]:
    properties = parameters.get("properties")
    return properties if isinstance(properties, dict) else {}
