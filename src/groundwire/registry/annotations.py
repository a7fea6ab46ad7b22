"""Annotations through pydantic: to JSON Schema for the model, and from JSON values for the function.

The one module that needs pydantic, which is slow to import: it does so inside its functions, and nobody imports this
module before the first decorated function. Knows nothing of tools, only of signatures.
"""

import dataclasses
import inspect
import sys
import types
import typing
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from groundwire.contracts.canonical import JsonObject, JsonValue
from groundwire.contracts.errors import RegistryError
from groundwire.registry.signatures import Argument, Signature

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic.json_schema import GenerateJsonSchema

Adapters: typing.TypeAlias = "Mapping[str, TypeAdapter[Any]]"


def adapters_for(arguments: Iterable[Argument], *, of: str) -> Adapters:
    """One adapter per parameter, by its name in the function."""
    return {argument.name: _adapter(argument.annotation, argument.name, of=of) for argument in arguments}


def parameters_schema(
    signature: Signature, adapters: Adapters, descriptions: Mapping[str, str], *, of: str
) -> JsonObject:
    """The JSON Schema of all arguments together."""
    labels = {argument.name: argument.label for argument in signature.arguments}
    schemas, definitions = _generate(adapters, "validation", of=of)
    properties: dict[str, JsonValue] = {}
    for argument in signature.arguments:
        schema = schemas[argument.name]
        if descriptions.get(argument.name):
            schema.setdefault("description", descriptions[argument.name])
        if not argument.required:
            schema.update(_default(argument, adapters[argument.name]))
        properties[labels[argument.name]] = schema
    whole: JsonObject = {"type": "object", "properties": properties}
    required: list[JsonValue] = [argument.label for argument in signature.arguments if argument.required]
    if required:
        whole["required"] = required
    if not signature.takes_any:
        whole["additionalProperties"] = False
    if definitions:
        whole["$defs"] = definitions
    return whole


def result_schema(annotation: Any, *, of: str) -> JsonObject | None:
    """The schema of a return annotation that names a shape: a model, a dataclass or a TypedDict."""
    if not isinstance(annotation, type) or not _is_shape(annotation):
        return None
    adapter = _adapter(annotation, "return", of=of)
    schemas, definitions = _generate({"return": adapter}, "serialization", of=of)
    schema = schemas["return"]
    reference = schema.get("$ref")
    if isinstance(reference, str) and len(schema) == 1:
        name = reference.removeprefix("#/$defs/")
        if not _refers(definitions, reference):
            schema = typing.cast("JsonObject", definitions.pop(name))
        else:
            schema = {"type": "object", "$ref": reference}
    return {**schema, "$defs": definitions} if definitions else schema


def resolve_return(function: Any) -> Any:
    """The return annotation, or nothing when it cannot be resolved: a result schema is a courtesy."""
    inner = inspect.unwrap(function)
    holder = types.SimpleNamespace(__annotations__={"return": getattr(inner, "__annotations__", {}).get("return")})
    try:
        return typing.get_type_hints(holder, getattr(inner, "__globals__", {}), include_extras=True)["return"]
    except Exception:  # noqa: BLE001 - evaluating an annotation can raise anything
        return None


def _adapter(annotation: Any, name: str, *, of: str) -> "TypeAdapter[Any]":
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        with warnings.catch_warnings():
            # Aliases and defaults in a Field are ours to apply, not the adapter's; it warns that it ignores them.
            warnings.simplefilter("ignore")
            return TypeAdapter(Any if annotation is inspect.Parameter.empty else portable(annotation))
    except (PydanticUserError, TypeError, ValueError, NameError) as error:
        raise _unfit(name, of, error) from None


def _generate(adapters: Adapters, mode: Any, *, of: str) -> tuple[dict[str, JsonObject], JsonObject]:
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    if not adapters:
        return {}, {}
    try:
        found, shared = TypeAdapter.json_schemas(
            [(name, mode, adapter) for name, adapter in adapters.items()], schema_generator=_generator()
        )
    except PydanticUserError as error:
        raise _unfit(" or ".join(adapters), of, error) from None
    definitions = shared.get("$defs", {})
    for definition in definitions.values():
        definition.pop("title", None)
    return {name: dict(schema) for (name, _), schema in found.items()}, definitions


def _generator() -> "type[GenerateJsonSchema]":
    from pydantic.json_schema import GenerateJsonSchema

    class Tidy(GenerateJsonSchema):
        """Without the titles that only repeat a field's name."""

        def field_title_should_be_set(self, schema: Any) -> bool:
            return False

        def emit_warning(self, kind: Any, detail: str) -> None:
            """Stay silent: a default that is not JSON is simply not shown."""

    return Tidy


def _default(argument: Argument, adapter: "TypeAdapter[Any]") -> JsonObject:
    try:
        return {"default": adapter.dump_python(argument.default, mode="json", warnings=False)}
    except Exception:  # noqa: BLE001 - a default that is not JSON is the function's own business
        return {}


def _is_shape(annotation: type) -> bool:
    if dataclasses.is_dataclass(annotation) or is_typed_dict(annotation):
        return True
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and issubclass(annotation, pydantic.BaseModel)


def is_typed_dict(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, dict) and hasattr(annotation, "__total__")


def _refers(value: JsonValue, reference: str) -> bool:
    if isinstance(value, dict):
        return value.get("$ref") == reference or any(_refers(part, reference) for part in value.values())
    return isinstance(value, list) and any(_refers(part, reference) for part in value)


def portable(annotation: Any) -> Any:
    """Rewrite `typing.TypedDict`, which pydantic refuses before Python 3.12, wherever it stands in an annotation."""
    if sys.version_info >= (3, 12):
        return annotation
    if is_typed_dict(annotation) and type(annotation).__module__ == "typing":
        return _rewritten(annotation)
    inner = typing.get_args(annotation)
    if not inner or typing.get_origin(annotation) is typing.Literal:
        return annotation
    parts = tuple(part if isinstance(part, list) else portable(part) for part in inner)
    if all(new is old for new, old in zip(parts, inner, strict=True)):
        return annotation
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return typing.Annotated[(parts[0], *inner[1:])]
    return typing.Union[parts] if origin is types.UnionType else (origin or annotation)[parts]  # noqa: UP007


def _rewritten(annotation: Any) -> Any:
    import typing_extensions

    hints = typing.get_type_hints(annotation, include_extras=True)
    fields = {
        name: portable(hint)
        if name in annotation.__required_keys__
        else typing_extensions.NotRequired[portable(_bare(hint))]
        for name, hint in hints.items()
    }
    rewritten = typing_extensions.TypedDict(annotation.__name__, fields)  # type: ignore[misc]
    rewritten.__doc__ = annotation.__doc__
    return rewritten


def _bare(hint: Any) -> Any:
    return typing.get_args(hint)[0] if typing.get_origin(hint) in (typing.NotRequired, typing.Required) else hint


def _unfit(name: str, of: str, error: Exception) -> RegistryError:
    first_line = str(error).split("\n", 1)[0]
    return RegistryError(
        f"The annotation of {name!r} in {of} has no JSON form: {first_line}",
        reason="invalid_annotation",
        hint="Use JSON types, Literal, Enum, dataclasses, TypedDict, pydantic models or datetime types.",
    )
