"""Handlers: a function made ready to be called with JSON arguments.

Knows signatures and a tool's spec. Does not call anything: time limits, threads and results are the runtime's.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from groundwire.contracts.errors import RegistryError
from groundwire.contracts.tools import ToolSpec
from groundwire.registry.signatures import CONTEXT, Argument, Kind, Signature, read_signature
from groundwire.registry.validators import declared_arguments

if TYPE_CHECKING:
    from groundwire.registry.annotations import Adapters

Convert = Callable[[dict[str, Any]], dict[str, Any]]


class ArgumentFault(Exception):
    """An argument fits its schema but not the type that the function asks for. `path` leads to it from the root."""

    def __init__(self, path: tuple[str | int, ...], message: str) -> None:
        super().__init__(f"{'.'.join(map(str, path))}: {message}")
        self.path = path
        self.message = message


class Handler(Struct, frozen=True, kw_only=True):
    """`convert` is None when the validated JSON arguments can be passed as they are."""

    function: Callable[..., Any]
    kind: Kind
    wants_context: bool = False
    convert: Convert | None = None
    reconcile: Callable[..., Any] | None = None
    variants: Mapping[str, "Handler"] = field(default_factory=dict)


def bind(
    function: Callable[..., Any],
    spec: ToolSpec,
    *,
    signature: Signature | None = None,
    adapters: "Adapters | None" = None,
    reconcile: Callable[..., Any] | None = None,
    variants: Mapping[str, Callable[..., Any]] | None = None,
) -> Handler:
    """Make a function the handler of a tool; refuses one that cannot take what the schema declares."""
    signature = signature or read_signature(function, of=f"The handler of {spec.tool_id}", lenient=True)
    unwanted = check_signature(signature, spec)
    return Handler(
        function=function,
        kind=signature.kind,
        wants_context=signature.wants_context,
        convert=_make_convert(signature.arguments, adapters, unwanted, of=f"the handler of {spec.tool_id}"),
        reconcile=reconcile,
        variants={name: bind(variant, spec) for name, variant in (variants or {}).items()},
    )


def check_signature(signature: Signature, spec: ToolSpec) -> frozenset[str]:
    """Compare what a function takes with what the schema declares; the supplied arguments that it does not ask for."""
    declared = declared_arguments(spec.parameters)
    if declared is None:
        return frozenset()
    if signature.wants_context and CONTEXT in declared:
        raise _misfit(spec, "declares an argument 'context', which is also the name of the handler's context")
    taken = {argument.label for argument in signature.arguments}
    missing = sorted(declared - taken - set(spec.policy.supplied))
    if missing and not signature.takes_any:
        raise _misfit(spec, f"declares {missing[0]!r}, which its handler does not take")
    required = {argument.label for argument in signature.arguments if argument.required}
    unknown = sorted(required - declared)
    if unknown and spec.parameters.get("additionalProperties") is False:
        raise _misfit(spec, f"has a handler that needs {unknown[0]!r}, which its schema does not declare")
    return frozenset() if signature.takes_any else declared - taken


def _make_convert(
    arguments: tuple[Argument, ...], adapters: "Adapters | None", unwanted: frozenset[str], *, of: str
) -> Convert | None:
    special = [argument for argument in arguments if not argument.is_plain]
    if not special:
        return (lambda values: {name: values[name] for name in values if name not in unwanted}) if unwanted else None
    from pydantic import ValidationError

    from groundwire.registry.annotations import adapters_for

    known = adapters or adapters_for(special, of=of)
    handled = unwanted.union(argument.label for argument in special)

    def convert(values: dict[str, Any]) -> dict[str, Any]:
        converted = {name: value for name, value in values.items() if name not in handled}
        for argument in special:
            if argument.label in values:
                try:
                    converted[argument.name] = known[argument.name].validate_python(values[argument.label])
                except ValidationError as error:
                    raise _fault(argument.label, values[argument.label], error) from None
            elif argument.field is not None:
                converted[argument.name] = argument.field.get_default(call_default_factory=True)
        return converted

    return convert


def _fault(label: str, value: Any, error: Any) -> ArgumentFault:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    path: list[str | int] = [label]
    for step in first["loc"]:
        # The location also names members of unions and other inner steps; only those in the value mean anything.
        try:
            value = value[step]
        except (TypeError, KeyError, IndexError):
            continue
        path.append(step)
    return ArgumentFault(tuple(path), first["msg"])


def handler_path(function: Callable[..., Any]) -> str:
    """Where a function is defined, as `module:qualname`."""
    named = function if hasattr(function, "__qualname__") else getattr(function, "func", type(function))
    return f"{getattr(named, '__module__', '')}:{getattr(named, '__qualname__', '')}"


def _misfit(spec: ToolSpec, why: str) -> RegistryError:
    return RegistryError(f"The tool {spec.tool_id} {why}.", reason="handler_signature")
