"""envelope.md: the shape in which every call ends."""

from collections.abc import Iterator
from typing import Any

import msgspec

from groundwire.contracts import projections
from groundwire.contracts.errors import ErrorDetail, ErrorType
from groundwire.contracts.results import ENVELOPE_VERSION, ConfirmationNotice, Meta, ToolResult
from groundwire.contracts.schemas import ENVELOPE, load
from scripts.reference.markdown import code, fenced, page, table

VIEWS = (projections.model_view, projections.response_view, projections.listing_view, projections.flat_view)

WORDS = {
    "envelope.errors": "All of them; several where several arguments are wrong.",
    "envelope.warnings": "Remarks beside the result, for the model.",
    "envelope.intents": "What the tool would like to happen to the session.",
    "envelope.meta": "What the runtime says about the call.",
    "error.type": "One of the [types](errors.md#types-of-a-failed-call).",
    "intent.type": "One of `IntentType`, or an application's own.",
    "intent.payload": "Whatever belongs to it.",
    "meta.envelopeVersion": "The version of this shape.",
    "meta.callId": "The call's id: the caller's, or one made up.",
    "meta.durationMs": "From call to result, in milliseconds.",
    "meta.registryVersion": "Which version of the tools was used.",
    "meta.tool": "The tool's id.",
    "meta.sessionId": "The session.",
    "meta.parentCallId": "The call that this one serves.",
    "meta.confirmation": "The approval that is waited for.",
    "meta.evidence": "What was checked about quoted words.",
    "meta.variant": "Which variant of the tool ran.",
    "meta.spilled": "The reference of an output that was too large.",
    "meta.details": "What the tool itself adds.",
    "confirmation.id": "Its id.",
    "evidence.argument": "Which argument.",
    "evidence.turn": "The turn of the message that holds the words.",
    "evidence.start": "Where they begin in it, in characters.",
    "evidence.end": "Where they end.",
    "evidence.nearMiss": "Why they were not found.",
}
"""For fields that the published schema does not describe."""

_META: dict[str, Any] = {
    "call_id": "call_1",
    "duration_ms": 1.5,
    "registry_version": "1.0.0f3a9c21",
    "session_id": "s1",
}
GOOD = ToolResult.success(
    {"number": "A-7"}, warnings=("The name was not checked.",), meta=Meta(tool="find_order", **_META)
)
BAD = ToolResult.failure(
    ErrorType.CONFIRMATION_REQUIRED,
    "pay needs a person's agreement first.",
    meta=Meta(tool="pay", confirmation=ConfirmationNotice(id="cnf_1", expires_at="2026-11-15T12:05:00.000Z"), **_META),
)
WRONG = ToolResult.failure(ErrorType.VALIDATION, "number: is required; send it.", detail=ErrorDetail.MISSING_ARGUMENT)


def generate() -> str:
    schema = load(ENVELOPE)
    definitions = schema["$defs"]
    return page(
        "The envelope",
        f"The one shape in which every call ends, refused calls too. Version {ENVELOPE_VERSION}; its JSON Schema is "
        f"`groundwire/contracts/schemas/{ENVELOPE}.json`. In Python it is `ToolResult`, with the same names in snake_case.",
        fenced("json", _pretty(GOOD)),
        fenced("json", _pretty(BAD)),
        "## Fields",
        _fields("envelope", schema),
        "`message` is for the model. What an operator needs to know stands in the audit record and the log.",
        *(
            f"### {code(name)}\n\n{_described(definitions[name])}{_fields(name, definitions[name])}"
            for name in ("error", "intent", "meta", "confirmation", "evidence")
        ),
        "The types and details of errors are listed under [errors](errors.md).",
        "## Other shapes",
        "Derived from the envelope, for callers that know another form; in `groundwire.contracts.projections`. "
        "`model_view` is what a model should be shown.",
        table(("function", "shape", "success", "failure"), _views()),
        "`groundwire.contracts.schemas.envelope_problems(value)` says what keeps a JSON value from being an envelope.",
    )


def _fields(part: str, schema: dict[str, Any]) -> str:
    return table(("field", "type", "present", "meaning"), _rows(part, schema))


def _rows(part: str, schema: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, value in schema["properties"].items():
        present = "always" if name in schema.get("required", ()) else "where it applies"
        yield code(name), _type(value), present, value.get("description") or WORDS[f"{part}.{name}"]


def _type(value: dict[str, Any]) -> str:
    if "$ref" in value:
        return code(value["$ref"].rpartition("/")[2])
    if "anyOf" in value:
        return " or ".join(_type(choice) for choice in value["anyOf"])
    if "const" in value:
        return code(value["const"])
    if "enum" in value:
        return "text"
    kinds = value.get("type", "any")
    if kinds == "array":
        return f"list of {_type(value['items'])}"
    words = {"string": "text", "boolean": "true or false", "integer": "whole number"}
    return " or ".join(words.get(kind, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds))


def _described(schema: dict[str, Any]) -> str:
    return f"{schema['description']}\n\n" if "description" in schema else ""


def _views() -> Iterator[tuple[str, ...]]:
    good, bad = ToolResult.success({"number": "A-7"}), WRONG
    for view in VIEWS:
        meaning = (view.__doc__ or "").split("\n")[0]
        yield code(view.__name__), meaning, _example(view(good)), _example(view(bad))


def _example(value: dict[str, Any]) -> str:
    value = {name: "…" if name == "meta" else item for name, item in value.items()}
    return code(msgspec.json.encode(value).decode())


def _pretty(value: ToolResult) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
