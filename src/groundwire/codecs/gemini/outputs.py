"""The format of the answer: `responseMimeType` with one of the two schema forms, or Vertex's `responseFormat`."""

from typing import Any

from groundwire.codecs.gemini.casing import camel_keys
from groundwire.codecs.gemini.profile import DIALECT, Profile
from groundwire.codecs.schemas.conversions import Conversion, SchemaWarning
from groundwire.codecs.schemas.forms import from_openapi_subset, to_json_schema_subset, to_openapi_subset
from groundwire.codecs.wire.private import take_own
from groundwire.codecs.wire.warnings import Losses
from groundwire.contracts.canonical import JsonObject, dump_json
from groundwire.contracts.messages import Private
from groundwire.contracts.requests import OutputFormat

OUTPUT_MEMBERS = ("responseMimeType", "responseSchema", "responseJsonSchema", "responseFormat")

_JSON = "application/json"
_PLAIN = "text/plain"


def read_output(members: JsonObject) -> OutputFormat | None:
    """What the members ask for; None for what only Gemini knows, such as an answer out of an enum."""
    if not members:
        return None
    private: Private = {DIALECT: {"_members": members}}
    wire: dict[str, Any] = members
    if "responseFormat" in wire:
        text = wire["responseFormat"].get("text") if isinstance(wire["responseFormat"], dict) else None
        if len(members) > 1 or not isinstance(text, dict):
            return None
        text = camel_keys(text)
        mime, schema = text.get("mimeType"), text.get("schema")
    else:
        mime, schema = wire.get("responseMimeType"), wire.get("responseJsonSchema")
        if schema is None and isinstance(wire.get("responseSchema"), dict):
            schema = from_openapi_subset(wire["responseSchema"])
    if mime == _PLAIN and schema is None:
        return OutputFormat(type="text", private=private if "responseFormat" in wire else {})
    if mime != _JSON or not (schema is None or isinstance(schema, dict)):
        return None
    return OutputFormat(type="json" if schema is None else "schema", schema=schema, private=private)


def write_output(output: OutputFormat, losses: Losses, profile: Profile) -> JsonObject:
    members = take_own(output.private, DIALECT, "output", losses).get("_members") if output.private else None
    if isinstance(members, dict):
        read = read_output(members)
        if read is not None and read.type == output.type and read.schema == output.schema:
            return members
    if output.type == "text":
        return {"responseMimeType": _PLAIN}
    if output.type == "json" or output.schema is None:
        return {"responseMimeType": _JSON}
    converted = _converted(output.schema, profile)
    losses.add_schema("output.schema", converted.warnings)
    schema = converted.schema
    if output.description and "description" not in schema:
        schema = {**schema, "description": output.description}
    return {"responseMimeType": _JSON, "responseSchema" if profile.native_schema else "responseJsonSchema": schema}


def describe_output(output: OutputFormat) -> str:
    """The same in words, for models that take no form of the answer beside tools."""
    words = "Your final answer, when you call no tool any more, is one JSON value and nothing else."
    if output.description:
        words += f" It is: {output.description}"
    return words if output.schema is None else f"{words} It fits this JSON Schema: {dump_json(output.schema).decode()}"


def _converted(schema: JsonObject, profile: Profile) -> Conversion:
    convert = to_openapi_subset if profile.native_schema else to_json_schema_subset
    if schema.get("type", "object") == "object":
        return convert(schema)
    # Unlike arguments, an answer need not be an object: it is converted as the one member of an object.
    inner = {key: value for key, value in schema.items() if key not in ("$defs", "definitions")}
    outer = {key: value for key, value in schema.items() if key in ("$defs", "definitions")}
    conversion = convert({"type": "object", "properties": {"answer": inner}, **outer})
    properties: Any = conversion.schema.get("properties")
    written = dict(properties["answer"])
    if "$defs" in conversion.schema:
        written["$defs"] = conversion.schema["$defs"]
    warnings = tuple(
        SchemaWarning(code=warning.code, path=warning.path.removeprefix("/properties/answer"), message=warning.message)
        for warning in conversion.warnings
    )
    return Conversion(schema=written, warnings=warnings)
