"""Canonical parameter schemas (JSON Schema 2020-12) in the form each provider takes, and Gemini's form back.

One function per target; all of them are pure, deterministic, leave their input alone and never raise on a schema. Where
a target cannot say something, values become freer, the description says it in words, and a warning names the place.
"""

from groundwire.codecs.schemas.conversions import Conversion, JsonValue, Schema, WarningLog
from groundwire.codecs.schemas.flattening import flatten, flatten_keeping_definitions
from groundwire.codecs.schemas.json_subset import write_json_subset
from groundwire.codecs.schemas.keywords import as_schema
from groundwire.codecs.schemas.openapi import write_openapi
from groundwire.codecs.schemas.openapi_reading import read_openapi
from groundwire.codecs.schemas.plain import is_plain
from groundwire.codecs.schemas.pointers import references_in
from groundwire.codecs.schemas.root import object_root, plain_object_root

_ALWAYS_REACHABLE = ("#/$defs/", "#/definitions/")


def to_openapi_subset(schema: JsonValue) -> Conversion:
    """Gemini's `parameters`: upper-case types, `nullable`, no references, string enums."""
    log = WarningLog()
    plain = flatten(plain_object_root(schema, log), root=as_schema(schema), log=log)
    return Conversion(schema=write_openapi(plain, log), warnings=log.taken())


def to_json_schema_subset(schema: JsonValue) -> Conversion:
    """Gemini's `parametersJsonSchema`: JSON Schema with `$defs`, without the keywords that Gemini refuses or ignores."""
    if isinstance(schema, dict) and is_plain(schema):
        return Conversion(schema=schema)
    log = WarningLog()
    plain = flatten_keeping_definitions(plain_object_root(schema, log), root=as_schema(schema), log=log)
    return Conversion(schema=write_json_subset(plain, log), warnings=log.taken())


def to_openai(schema: JsonValue) -> Conversion:
    """OpenAI without strict mode, and Anthropic: as it is, below a root that is a plain object."""
    log = WarningLog()
    rooted = plain_object_root(schema, log)
    is_rewritten = any(warning.code == "root_rewritten" for warning in log.taken())
    if is_rewritten and not all(name.startswith(_ALWAYS_REACHABLE) for name in references_in(rooted)):
        # References into the root's old shape would now miss or mean something else.
        rooted = flatten(rooted, root=as_schema(schema), log=log)
    return Conversion(schema=rooted, warnings=log.taken())


def to_anthropic(schema: JsonValue) -> Conversion:
    """As for OpenAI: both take JSON Schema as it is and refuse alternatives at the root."""
    return to_openai(schema)


def to_mcp(schema: JsonValue) -> Conversion:
    """MCP takes all of JSON Schema; only the root's type is fixed."""
    log = WarningLog()
    return Conversion(schema=object_root(schema, log), warnings=log.taken())


def from_openapi_subset(schema: Schema) -> Schema:
    """Gemini's `Schema` as plain lower-case JSON Schema."""
    return read_openapi(schema)
