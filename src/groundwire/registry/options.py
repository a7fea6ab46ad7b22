"""From what an author writes in Python to a checked spec with its handler.

Knows options, signatures and schemas. Knows neither `Tool`, which wraps what is made here, nor any other tool.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

import msgspec
from msgspec import Struct, field

from groundwire.contracts.canonical import digest
from groundwire.contracts.errors import RegistryError
from groundwire.contracts.tools import (
    OBJECT_SCHEMA,
    BargeIn,
    Budget,
    Category,
    Exposure,
    Gate,
    Ground,
    Mode,
    ToolPolicy,
    ToolSpec,
    Variant,
    wire_name,
)
from groundwire.registry.approval_texts import approval_text_problems
from groundwire.registry.docstrings import Docstring, first_paragraph, read_docstring
from groundwire.registry.guides import read_guide
from groundwire.registry.handlers import Handler, bind, handler_path
from groundwire.registry.names import check_name
from groundwire.registry.policies import POLICY_FIELDS, policy_problems, read_policy
from groundwire.registry.signatures import Signature, read_signature
from groundwire.registry.validators import as_parameters, copy_schema

if TYPE_CHECKING:
    from groundwire.registry.annotations import Adapters

Function = Callable[..., Any]
MODES: tuple[Mode, ...] = ("text", "voice")
_Choice = TypeVar("_Choice", bound=StrEnum)


class ToolOptions(TypedDict, total=False):
    """What `Tool` and `@tool` take besides name and function. The second half are the fields of `ToolPolicy`."""

    description: str
    parameters: Mapping[str, Any] | None
    category: Category | Literal["retrieval", "action", "utility"]
    modes: Mode | Sequence[Mode]
    confirm: bool
    approval_text: str
    exposure: Exposure | Literal["model", "internal"]
    result: Mapping[str, Any] | Literal[False] | None
    guide: str
    reconcile: Function | None
    variants: Mapping[str, Function]
    policy: ToolPolicy | Mapping[str, Any] | None

    soft_ms: int | None
    hard_ms: int | None
    budget: Sequence[Budget | Mapping[str, Any]]
    scope: str | Sequence[str]
    ground: Mapping[str, Ground | Mapping[str, Any]]
    supplied: Sequence[str]
    gates: Sequence[str | Gate | Mapping[str, Any]]
    empty_field: str | None
    repeatable: bool
    blocking: bool | None
    background: bool
    commits: bool
    spill: bool
    barge_in: BargeIn | Literal["cancel", "finish"] | None


class AuthoredSource:
    """A tool written in Python: everything is at hand, only hashing waits."""

    def __init__(self, spec: ToolSpec, function: Function | None, handler: Handler | None) -> None:
        self.function = function
        self._spec = spec
        self._handler = handler

    def spec(self) -> ToolSpec:
        return self._spec

    def content_hash(self) -> str:
        """Hash what is declared. Where the function stands is not content."""
        declared = msgspec.to_builtins(msgspec.structs.replace(self._spec, handler_path="", handler_hash=""))
        if not self._spec.approval_text:  # a tool that does not use it keeps the version it had before it existed
            del declared["approval_text"]
        return digest(declared)

    def handler(self) -> Handler:
        if self._handler is None:
            raise RegistryError(f"The tool {self._spec.tool_id} has no handler.", reason="no_handler")
        return self._handler


class _Draft(Struct, frozen=True, kw_only=True):
    """What is known of a tool before its options are read: from annotations, or from nothing."""

    parameters: object = None
    result: object = None
    docstring: Docstring = field(default_factory=Docstring)
    signature: Signature | None = None
    adapters: "Adapters | None" = None


def author_tool(name: str, function: Function | None, options: ToolOptions, *, annotated: bool) -> AuthoredSource:
    """Turn options, and with `annotated` the function's own annotations and docstring, into a tool."""
    tool_id = check_name(name)
    _refuse_unknown(tool_id, options)
    draft = _draft(tool_id, function, options, annotated=annotated)
    _check_text(tool_id, options.get("description", ""), options.get("guide", ""), options.get("approval_text", ""))
    guide = read_guide(options.get("guide", ""))
    description = options.get("description") or draft.docstring.description or guide.description
    parameters = copy_schema(draft.parameters, reason="invalid_parameters", of=tool_id)
    spec = ToolSpec(
        tool_id=tool_id,
        wire_name=wire_name(tool_id),
        category=_choose(Category, options.get("category", Category.UTILITY), "category", of=tool_id),
        modes=_modes(options.get("modes", MODES), of=tool_id),
        requires_confirmation=bool(options.get("confirm", False)),
        exposure=_choose(Exposure, options.get("exposure", Exposure.MODEL), "exposure", of=tool_id),
        description=description,
        parameters=as_parameters(parameters, of=tool_id),
        result=copy_schema(draft.result, reason="invalid_result", of=tool_id) if draft.result else None,
        policy=_policy(tool_id, options),
        summary=guide.summary or first_paragraph(description),
        documentation=options.get("guide", ""),
        handler_path="" if function is None else handler_path(function),
        approval_text=options.get("approval_text", ""),
    )
    variants = options.get("variants", {})
    problems = (*policy_problems(spec, variants if function is not None else None), *approval_text_problems(spec))
    for reason, message in problems:
        raise RegistryError(f"{tool_id}: {message}", reason=reason)
    if function is None:
        return AuthoredSource(spec, None, None)
    handler = bind(
        function,
        spec,
        signature=draft.signature,
        adapters=draft.adapters,
        reconcile=options.get("reconcile"),
        variants=variants,
    )
    return AuthoredSource(spec, function, handler)


def _draft(tool_id: str, function: Function | None, options: ToolOptions, *, annotated: bool) -> _Draft:
    given, result = options.get("parameters"), options.get("result")
    if function is None or not annotated:
        return _Draft(parameters=OBJECT_SCHEMA if given is None else given, result=result)
    documented = read_docstring(function.__doc__)
    if given is not None:
        return _Draft(parameters=given, result=result, docstring=documented)
    from groundwire.registry.annotations import adapters_for, parameters_schema, resolve_return, result_schema

    signature = read_signature(function, of=f"The function of {tool_id}")
    adapters = adapters_for(signature.arguments, of=tool_id)
    return _Draft(
        parameters=parameters_schema(signature, adapters, documented.parameters, of=tool_id),
        result=result_schema(resolve_return(function), of=tool_id) if result is None else result,
        docstring=documented,
        signature=signature,
        adapters=adapters,
    )


def _refuse_unknown(tool_id: str, options: ToolOptions) -> None:
    known = list(ToolOptions.__annotations__)
    for option in options:
        if option not in known:
            import difflib

            near = difflib.get_close_matches(option, [*known, "name", "handler"], n=1, cutoff=0.5)
            raise RegistryError(
                f"The tool {tool_id} has the unknown option {option!r}.",
                reason="unknown_option",
                hint=f"Did you mean {near[0]!r}?" if near else f"Known options: {', '.join(known)}.",
            )


def _check_text(tool_id: str, *texts: str) -> None:
    """What cannot be written as UTF-8 could neither be hashed nor sent."""
    try:
        for text in texts:
            text.encode()
    except (UnicodeEncodeError, AttributeError):
        raise RegistryError(f"The description of {tool_id} is not text.", reason="invalid_option") from None


def _policy(tool_id: str, options: ToolOptions) -> ToolPolicy:
    fields = {name: value for name, value in options.items() if name in POLICY_FIELDS and name != "variants"}
    policy = read_policy(options.get("policy"), fields, of=tool_id)
    named = {variant.name for variant in policy.variants}
    extra = tuple(Variant(name=name) for name in options.get("variants", {}) if name not in named)
    return msgspec.structs.replace(policy, variants=(*policy.variants, *extra)) if extra else policy


def _choose(choices: type[_Choice], value: str, option: str, *, of: str) -> _Choice:
    try:
        return choices(value)
    except ValueError:
        known = ", ".join(choices)
        raise RegistryError(
            f"The {option} of {of} is one of {known}, not {value!r}.", reason="invalid_option"
        ) from None


def _modes(modes: Mode | Sequence[Mode], *, of: str) -> tuple[Mode, ...]:
    given = (modes,) if isinstance(modes, str) else tuple(modes)
    if not given or any(mode not in MODES for mode in given):
        raise RegistryError(
            f"The modes of {of} are one or both of text and voice, not {modes!r}.", reason="invalid_option"
        )
    return tuple(mode for mode in MODES if mode in given)
