"""JSON Schema 2020-12: measures a schema, compiles it once, and finds what is wrong with a value.

Knows nothing of tools. References to other documents are refused, so that no schema makes this process open a socket;
schemas are held to limits before they are compiled, and patterns run on an engine without backtracking, so that no
value makes it hang.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from groundwire.contracts.canonical import JsonObject, JsonValue, dump_json, parse_json
from groundwire.contracts.errors import InvalidJson, RegistryError
from groundwire.contracts.schema_limits import DEFAULT_SCHEMA_LIMITS, SchemaLimits
from groundwire.registry.evaluation_meter import KEYWORD, EvaluationMeter
from groundwire.registry.schema_bounds import SchemaMeasures, analyse_schema
from groundwire.registry.schema_graph import parts_of
from groundwire.registry.schema_rewriter import rewrite_schema

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

MAX_EXPLAINED = 20_000
"""Errors beyond which they are not collected: each takes 12 µs."""
MAX_PARTS = 200
"""Of a value with more parts only the first error is reported: each error carries a copy of the part that it is about."""
PATTERN_BYTES = 5_242_880
"""Size of one compiled pattern, in case that `patternStates` misjudges it."""

_COMPOSED = ("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if")


class CompiledSchema:
    """A schema within its limits, compiled. Safe to use by many threads at once."""

    __slots__ = ("_engine", "_meter", "has_unique", "is_valid", "measures")

    is_valid: Callable[[Any], bool]
    """Whether a value is valid. One for which a recursive schema would need too many evaluations is not."""

    def __init__(
        self, engine: "Draft202012Validator", measures: SchemaMeasures | None, meter: EvaluationMeter | None
    ) -> None:
        self._engine = engine
        self._meter = meter
        self.measures = measures
        self.has_unique = measures is not None and measures.has_unique
        self.is_valid = engine.is_valid if meter is None else lambda value: meter.run(engine.is_valid, value)

    def errors(self, value: Any) -> Iterator[Any]:
        """The errors of an invalid value; none if finding them would take too long."""
        measures = self.measures
        if measures is None:
            return self._engine.iter_errors(value)
        parts = _visits(value, 1)
        visits = _visits(value, measures.recursive) if measures.recursive else parts
        is_cheap = visits * measures.errors <= MAX_EXPLAINED and (parts <= MAX_PARTS or not measures.names_are_checked)
        # The first error takes no longer than the verdict, unless it holds those of all alternatives.
        if not is_cheap and (measures.recursive or measures.has_unions):
            return iter(())
        if self._meter is not None:
            self._meter.begin(value)
        found = self._engine.iter_errors(value) if is_cheap and parts <= MAX_PARTS else self._first_error(value)
        return (error for error in found if error.kind.name != KEYWORD)

    def _first_error(self, value: Any) -> Iterator[Any]:
        try:
            self._engine.validate(value)
        except ValueError as error:
            yield error


def compile_schema(
    schema: JsonValue, *, reason: str, of: str, limits: SchemaLimits = DEFAULT_SCHEMA_LIMITS
) -> CompiledSchema:
    """Compile a schema, which checks it against the meta-schema; `reason` and `of` name what is at fault.

    Raises SchemaTooComplex if it exceeds a limit, and RegistryError if it is not valid.
    """
    if not isinstance(schema, (dict, bool)):
        raise RegistryError(f"The schema of {of} is not a JSON object.", reason=reason)
    if isinstance(schema, bool):
        return CompiledSchema(_compile({} if schema else {"not": {}}, None, reason=reason, of=of), None, None)
    try:
        analysis = analyse_schema(schema, of=of, limits=limits)
    except InvalidJson as error:
        raise RegistryError(f"The schema of {of} is not JSON: {error}", reason=reason) from None
    rewritten, rates = rewrite_schema(schema, analysis)
    meter = EvaluationMeter(rates, limits.max_evaluations) if rates else None
    return CompiledSchema(_compile(rewritten, meter, reason=reason, of=of), analysis.measures, meter)


def _compile(schema: dict[str, Any], meter: EvaluationMeter | None, *, reason: str, of: str) -> "Draft202012Validator":
    import jsonschema_rs

    try:
        return jsonschema_rs.Draft202012Validator(
            schema,
            validate_formats=False,
            retriever=_refuse,
            pattern_options=jsonschema_rs.RegexOptions(size_limit=PATTERN_BYTES),
            keywords=None if meter is None else {KEYWORD: meter.keyword()},
        )
    except jsonschema_rs.ValidationError as error:
        where = "/".join(str(step) for step in error.instance_path) or "the root"
        raise RegistryError(f"The schema of {of} is wrong at {where}: {error.message}", reason=reason) from None
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise RegistryError(f"The schema of {of} cannot be compiled: {error}", reason=reason) from None


def _visits(value: Any, references: int, enough: int = MAX_EXPLAINED) -> int:
    """How often nodes of a value may be visited if each level can be reached through each of these references.

    Stops counting beyond `enough`.
    """
    visits, level, weight = 0, [value], 1
    while level and visits <= enough:
        visits += len(level) * weight
        level = [item for part in level for item in parts_of(part)]
        weight *= references
    return visits


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


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"references out of the schema are not followed ({uri})")
