"""tool-folder.md: the three files of a tool, and what can be wrong with them."""

from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import msgspec

from groundwire.registry.folder import REASONS
from groundwire.registry.lint import CODES
from scripts.reference.markdown import code, page, table

SCHEMA = "tool-1.0.0.json"
PARTS = {
    "policy": "What the tool asks of the runtime. The [settings](settings.md) of an operator have the last word.",
    "budget": "One entry of `policy.budget`. See [budgets](../guides/policies.md#budgets).",
    "ground": "One value of `policy.ground`, under the argument's name. See [grounding](../guides/grounding.md).",
    "gate": "One entry of `policy.gates`; a flag's name alone will do. See [gates](../guides/policies.md#gates).",
    "variant": "One entry of `policy.variants`. See [variants](../guides/tools.md#variants).",
}
WORDS = {
    "policy.policy": "What the tool asks of the runtime; see below.",
    "budget.max": "How much may be used.",
    "budget.unit": "What is counted: calls, tokens of results, what handlers charge, or milliseconds.",
    "gate.flag": "The flag that must be on.",
    "variant.name": "Its name in the record.",
    "variant.percent": "The share of all callers that gets it.",
    "variant.users": "Users who get it.",
    "variant.organisations": "Organisations that get it.",
}
"""For fields that the published schema does not describe."""
UNUSED = {"bargeIn"}
"""Checked and stored, but nothing acts on them yet."""


def generate() -> str:
    schema: dict[str, Any] = msgspec.json.decode(files("groundwire.registry").joinpath("schemas", SCHEMA).read_bytes())
    definitions = schema["$defs"]
    parts = [
        f"### {code(name)}\n\n{text}\n\n{_fields(name, definitions[name], definitions)}" for name, text in PARTS.items()
    ]
    return page(
        "The tool folder",
        "`tools/<wire name>/` holds `schema.json`, `guide.md` and `handler.py`. This page lists what they may contain; "
        "[the guide](../guides/tools.md#a-tool-in-five-minutes-a-folder) shows one from beginning to end. Folders that begin "
        "with `_` or a dot are not tools.",
        "## schema.json",
        f"Checked against the published schema `groundwire/registry/schemas/{SCHEMA}` (`{schema['$id']}`).",
        _fields("policy", schema, definitions),
        *parts,
        "## guide.md",
        "Markdown in UTF-8. The first line that is not a heading is the summary; the text up to the next heading begins the "
        "description that models read. Recommended sections: Parameters, Examples, Watch Out.",
        "## handler.py",
        "Must define `execute` at its top level: `def`, `async def`, or an async generator. It gets the arguments by name, "
        "and `context` if it asks for it. May define `reconcile`, and a function per variant. Other files of the folder can "
        "be imported as `from .name import …`. The build reads the file and does not run it.",
        "## What `groundwire build` writes",
        table(
            ("file", "content"),
            [
                (
                    code("tool_registry.json"),
                    (
                        "`version`, `gitCommit`, `buildTimestamp`, `tools` with everything about each tool (schema, guide, policy, "
                        "the declaration for each provider, `handlerPath` relative to the file, hashes), and `quarantined`"
                    ),
                ),
                (code("tools.lock"), "`version`, and the content hash of each tool"),
            ],
        ),
        "The version is `1.0.` and eight hex digits over the content of all tools. Where a file stands, when it was built and "
        "by whom does not count.",
        "## Why a tool is quarantined",
        "A folder with a fault is left out, under one of these names; the others are built.",
        table(("reason", "meaning"), ((code(name), meaning) for name, meaning in REASONS.items())),
        "## Advice",
        "`groundwire tools lint` says what could be better. None of it keeps a tool from being used. Warnings about a "
        "provider's limits come with the provider's name.",
        table(
            ("code", "severity", "meaning"),
            ((code(name), severity, meaning) for name, (severity, meaning) in CODES.items()),
        ),
    )


def _fields(part: str, schema: dict[str, Any], definitions: dict[str, Any]) -> str:
    return table(("field", "type", "default", "meaning"), _rows(part, schema, definitions))


def _rows(part: str, schema: dict[str, Any], definitions: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, value in schema["properties"].items():
        required = name in schema.get("required", ())
        given = code(msgspec.json.encode(value["default"]).decode()) if "default" in value else ""
        default = "required" if required else given
        meaning = value.get("description") or WORDS[f"{part}.{name}"]
        if name in UNUSED:
            meaning += " **Nothing acts on it yet.**"
        yield code(name), _type(value, definitions), default, meaning


def _type(value: dict[str, Any], definitions: dict[str, Any]) -> str:
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return code(name) if name in PARTS else _type(definitions[name], definitions)
    if "anyOf" in value:
        return " or ".join(_type(choice, definitions) for choice in value["anyOf"])
    if "enum" in value:
        return " or ".join(code(choice) for choice in value["enum"] if choice is not None)
    kinds = value.get("type", "any")
    kinds = [kinds] if isinstance(kinds, str) else [kind for kind in kinds if kind != "null"]
    if kinds == ["array"]:
        return f"list of {_type(value['items'], definitions)}"
    if kinds == ["object"] and isinstance(value.get("additionalProperties"), dict):
        return f"object of {_type(value['additionalProperties'], definitions)}"
    return " or ".join(kinds)
