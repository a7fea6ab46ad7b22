"""JSON Schema 2020-12 as a machine: check a schema, compile it once.

Knows nothing of tools. References to other documents are refused, so that no schema makes this process open a socket;
patterns run with bounded backtracking, so that no argument makes it hang.
"""

from typing import TYPE_CHECKING, NoReturn

from groundwire.contracts.canonical import JsonObject, JsonValue, dump_json, parse_json
from groundwire.contracts.errors import InvalidJson, RegistryError

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator as Validator

BACKTRACK_LIMIT = 1_000
"""Steps back of a pattern with look-around or back-references. Each may read the text to its end, so this times the
text's length is what an argument can cost. Other patterns take one pass and need no limit."""
_COMPOSED = ("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if")


def compile_schema(schema: JsonValue, *, reason: str, of: str) -> "Validator":
    """Compile a schema, which checks it against the meta-schema; `reason` and `of` name what is at fault."""
    import jsonschema_rs

    if not isinstance(schema, (dict, bool)):
        raise RegistryError(f"The schema of {of} is not a JSON object.", reason=reason)
    try:
        return jsonschema_rs.Draft202012Validator(
            schema,
            validate_formats=False,
            retriever=_refuse,
            pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=BACKTRACK_LIMIT),
        )
    except jsonschema_rs.ValidationError as error:
        where = "/".join(str(step) for step in error.instance_path) or "the root"
        raise RegistryError(f"The schema of {of} is wrong at {where}: {error.message}", reason=reason) from None
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise RegistryError(f"The schema of {of} cannot be compiled: {error}", reason=reason) from None


def copy_schema(schema: object, *, reason: str, of: str) -> JsonObject:
    """Take a schema out of its author's hands, which proves on the way that it is JSON."""
    if not isinstance(schema, dict):
        raise RegistryError(f"The schema of {of} is a JSON object, not {type(schema).__name__}.", reason=reason)
    try:
        copied = parse_json(dump_json(schema))
    except InvalidJson as error:
        raise RegistryError(f"The schema of {of} is not JSON: {error}", reason=reason) from None
    assert isinstance(copied, dict)  # noqa: S101 - what was dumped from a dict
    return copied


def as_parameters(schema: JsonObject, *, of: str) -> JsonObject:
    """Arguments are always an object: say so where the schema does not, and refuse one that says otherwise."""
    if "type" not in schema and not any(keyword in schema for keyword in _COMPOSED):
        return {"type": "object", **schema}
    if schema.get("type", "object") != "object":
        raise RegistryError(
            f"The parameters of {of} have the type {schema['type']!r}; arguments are always an object.",
            reason="invalid_parameters",
        )
    return schema


def declared_arguments(parameters: JsonObject) -> frozenset[str] | None:
    """The names that a schema declares at its root; None when only a validator could tell."""
    properties = parameters.get("properties")
    if any(keyword in parameters for keyword in _COMPOSED):
        return None
    return frozenset(properties) if isinstance(properties, dict) else frozenset()


def needs_backtracking(pattern: str) -> bool:
    """Whether a pattern has look-around or back-references, which no engine can match in one pass."""
    import jsonschema_rs

    options = jsonschema_rs.RegexOptions()
    try:
        jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=options)
    except (jsonschema_rs.ValidationError, ValueError):
        return True
    return False


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"references out of the schema are not followed ({uri})")
