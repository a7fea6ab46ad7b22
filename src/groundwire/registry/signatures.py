"""What a function's signature says: which arguments it takes, and which of them are more than plain JSON.

Imports no schema library. What a parameter's annotation becomes as JSON Schema is the business of `annotations`.
"""

import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from groundwire.contracts.errors import RegistryError

CONTEXT = "context"
Kind: TypeAlias = Literal["sync", "async", "stream"]

_PLAIN = frozenset({str, int, float, bool, None, type(None), Any, object, list, dict, inspect.Parameter.empty})
# Metadata that JSON Schema enforces or that only says something; validators, predicates and trimming are neither.
_PLAIN_METADATA = frozenset(
    {"Ge", "Gt", "Interval", "Le", "Len", "Lt", "MaxLen", "MinLen", "MultipleOf", "Strict", "str"}
)


class Argument(Struct, frozen=True, kw_only=True):
    """One parameter. `label` is its name in the schema, which an alias may set apart from `name`.

    `field` is the pydantic field that holds the default, where the function itself has none.
    """

    name: str
    label: str
    annotation: Any
    required: bool
    default: Any = None
    field: Any = None

    @property
    def is_plain(self) -> bool:
        """True when the JSON value is what the function expects, so that nothing needs converting."""
        return self.label == self.name and self.field is None and is_plain(self.annotation)


class Signature(Struct, frozen=True, kw_only=True):
    arguments: tuple[Argument, ...]
    kind: Kind
    wants_context: bool
    takes_any: bool


def read_signature(function: Callable[..., Any], *, of: str, lenient: bool = False) -> Signature:
    """Read a handler's signature. `lenient` is for handlers whose schema was written by hand.

    Such a handler may have annotations that cannot be resolved and a `*args` that stays empty.
    """
    kind = kind_of(function, of=of)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        return Signature(arguments=(), kind=kind, wants_context=False, takes_any=True)
    if parameters and parameters[0].name in ("self", "cls") and parameters[0].default is parameters[0].empty:
        raise _refusal(of, "is a method without its object; give the bound method, as in Tool(handler=thing.method)")
    arguments, wants_context, takes_any = list[Argument](), False, False
    for parameter in parameters:
        if parameter.kind is parameter.VAR_KEYWORD:
            takes_any = True
        elif parameter.kind is parameter.VAR_POSITIONAL:
            if not lenient:
                raise _refusal(of, f"takes *{parameter.name}; arguments are passed by name, so declare each of them")
        elif parameter.kind is parameter.POSITIONAL_ONLY:
            if not lenient or parameter.default is parameter.empty:
                raise _refusal(of, f"takes {parameter.name!r} by position only; arguments are passed by name")
        elif parameter.name == CONTEXT:
            wants_context = True
        else:
            arguments.append(_read_argument(parameter, function, of=of, lenient=lenient))
    return Signature(arguments=tuple(arguments), kind=kind, wants_context=wants_context, takes_any=takes_any)


def kind_of(function: Callable[..., Any], *, of: str) -> Kind:
    if not callable(function):
        raise _refusal(of, f"is {type(function).__name__}, which cannot be called")
    called = function.func if isinstance(function, functools.partial) else function
    if not hasattr(called, "__code__") and not inspect.isroutine(called):
        called = type(called).__call__
    # The flags are also what a mock of an async function carries, which is not a function itself.
    flags = getattr(getattr(called, "__code__", None), "co_flags", 0)
    if flags & inspect.CO_ASYNC_GENERATOR:
        return "stream"
    if flags & inspect.CO_COROUTINE:
        return "async"
    if flags & inspect.CO_GENERATOR:
        raise _refusal(of, "is a generator; make it an async generator (async def) to stream progress")
    return "sync"


def is_plain(annotation: Any) -> bool:
    """True for str, int, float, bool, None, Any, literals of these, and lists, dicts and unions of plain types."""
    if isinstance(annotation, (str, bytes)):
        return False
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is None:
        return _is_hashable(annotation) and annotation in _PLAIN
    if origin is typing.Annotated:
        return is_plain(inner[0]) and all(_is_plain_metadata(value) for value in inner[1:])
    if origin is Literal:
        return all(value is None or type(value) in (str, int, bool) for value in inner)
    return origin in (list, dict, typing.Union, types.UnionType) and all(is_plain(part) for part in inner)


def field_info(value: object) -> Any:
    """Give the value if it is pydantic's FieldInfo, else None. Who has one has imported pydantic already."""
    pydantic = sys.modules.get("pydantic.fields")
    return value if pydantic is not None and isinstance(value, pydantic.FieldInfo) else None


def _read_argument(parameter: inspect.Parameter, function: Callable[..., Any], *, of: str, lenient: bool) -> Argument:
    annotation = _resolve(parameter.annotation, parameter.name, function, of=of, lenient=lenient)
    required, default, label, holder = parameter.default is parameter.empty, parameter.default, parameter.name, None
    if field := field_info(default):
        annotation = typing.Annotated[Any if annotation is parameter.empty else annotation, field]
        required = True
    for field in filter(None, map(field_info, _metadata(annotation))):
        label = field.validation_alias if isinstance(field.validation_alias, str) else field.alias or label
        if required and not field.is_required():
            holder = field
    if holder is not None:
        required, default = False, holder.get_default(call_default_factory=True)
    return Argument(
        name=parameter.name,
        label=label,
        annotation=annotation,
        required=required,
        default=None if required else default,
        field=holder,
    )


def _resolve(annotation: Any, name: str, function: Callable[..., Any], *, of: str, lenient: bool) -> Any:
    inner = inspect.unwrap(function)
    inner = getattr(inner, "__func__", inner)
    cells = zip(
        getattr(inner, "__code__", _NO_CODE).co_freevars, getattr(inner, "__closure__", None) or (), strict=False
    )
    closure = {free: cell.cell_contents for free, cell in cells if _is_filled(cell)}
    holder = types.SimpleNamespace(__annotations__={name: annotation})
    try:
        hints = typing.get_type_hints(holder, getattr(inner, "__globals__", {}), closure, include_extras=True)
    except Exception as error:  # noqa: BLE001 - evaluating an annotation can raise anything
        if lenient:
            return inspect.Parameter.empty
        raise RegistryError(
            f"The annotation of {name!r} in {of} cannot be resolved: {error}",
            reason="invalid_annotation",
            hint="Define the type at the top of the module, before the function.",
        ) from None
    return annotation if annotation is inspect.Parameter.empty else hints[name]


def _metadata(annotation: Any) -> tuple[Any, ...]:
    return annotation.__metadata__ if typing.get_origin(annotation) is typing.Annotated else ()


def _is_plain_metadata(value: object) -> bool:
    if field := field_info(value):
        return all(_is_plain_metadata(part) or vars(part).keys() == {"pattern"} for part in field.metadata)
    return type(value).__name__ in _PLAIN_METADATA


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _is_filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def _refusal(of: str, why: str) -> RegistryError:
    return RegistryError(f"{of} {why}.", reason="handler_signature")


_NO_CODE = compile("", "", "exec")
