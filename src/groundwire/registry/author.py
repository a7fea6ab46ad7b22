"""How a tool comes from Python: the `Tool` class and the `tool` decorator.

A `Tool` is a spec, a content hash and a way to its handler, whatever it was made from. It knows nothing of other
tools (that is `registry`), of folders (`folder`) or of the artifact (`artifact`), and it never carries out a call:
calling a `Tool` calls the plain function, as a test would.
"""

import functools
from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol, Unpack, overload

from groundwire.contracts.schema_limits import DEFAULT_SCHEMA_LIMITS, SchemaLimits
from groundwire.contracts.tools import ToolSpec
from groundwire.registry.handlers import ArgumentFault, Handler
from groundwire.registry.options import Function, ToolOptions, author_tool
from groundwire.registry.schema_bounds import measure_schema
from groundwire.registry.validators import CompiledSchema, compile_schema

__all__ = ["ArgumentFault", "Handler", "Source", "Tool", "ToolOptions", "tool"]


class Source(Protocol):
    """Where a tool's parts come from. Each is asked for once, when first needed."""

    def spec(self) -> ToolSpec: ...

    def content_hash(self) -> str: ...

    def handler(self) -> Handler: ...


class Tool:
    """One tool: a spec for the model, and a handler for the runtime unless the client executes it.

    Raises RegistryError if the options do not make a tool, and SchemaTooComplex if a schema exceeds `schema_limits`.
    """

    tool_id: str
    wire_name: str
    source: Source
    schema_limits: SchemaLimits

    def __init__(
        self,
        name: str,
        *,
        handler: Function | None = None,
        schema_limits: SchemaLimits = DEFAULT_SCHEMA_LIMITS,
        **options: Unpack[ToolOptions],
    ) -> None:
        source = author_tool(name, _function_of(handler), options, annotated=False)
        self.tool_id, self.wire_name, self.source = source.spec().tool_id, source.spec().wire_name, source
        self.schema_limits = schema_limits
        if source.function is None:
            _measure(self)
        else:
            functools.update_wrapper(self, source.function, updated=())
            # A schema written by hand is checked while its author is looking; a client's, when it is first needed.
            _ = self.validator, self.result_validator

    @classmethod
    def from_source(
        cls, tool_id: str, wire_name: str, source: Source, schema_limits: SchemaLimits = DEFAULT_SCHEMA_LIMITS
    ) -> "Tool":
        """Make a tool whose parts are read when they are first needed."""
        made = cls.__new__(cls)
        made.tool_id, made.wire_name, made.source, made.schema_limits = tool_id, wire_name, source, schema_limits
        return made

    @classmethod
    def from_function(
        cls,
        function: Function,
        name: str | None,
        options: ToolOptions,
        schema_limits: SchemaLimits = DEFAULT_SCHEMA_LIMITS,
    ) -> "Tool":
        """Make a tool of a function's annotations and docstring."""
        plain = _function_of(function)
        source = author_tool(name or str(getattr(plain, "__name__", "")), plain, options, annotated=True)
        made = cls.from_source(source.spec().tool_id, source.spec().wire_name, source, schema_limits)
        functools.update_wrapper(made, plain, updated=())
        _measure(made)
        return made

    @cached_property
    def spec(self) -> ToolSpec:
        return self.source.spec()

    @cached_property
    def content_hash(self) -> str:
        return self.source.content_hash()

    @cached_property
    def validator(self) -> CompiledSchema:
        """The argument schema, compiled."""
        return compile_schema(
            self.spec.parameters, reason="invalid_parameters", of=self.tool_id, limits=self.schema_limits
        )

    @cached_property
    def result_validator(self) -> CompiledSchema | None:
        """The result schema, compiled; None if the tool has none."""
        result = self.spec.result
        if result is None:
            return None
        return compile_schema(result, reason="invalid_result", of=self.tool_id, limits=self.schema_limits)

    @cached_property
    def _handler(self) -> Handler:
        return self.source.handler()

    def handler(self) -> Handler:
        """Give what executes this tool; the reason of a RegistryError says why there is nothing."""
        return self._handler

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._handler.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Tool({self.tool_id!r})"


@overload
def tool(function: Function, /) -> Tool: ...


@overload
def tool(
    *, name: str | None = None, schema_limits: SchemaLimits = DEFAULT_SCHEMA_LIMITS, **options: Unpack[ToolOptions]
) -> Callable[[Function], Tool]: ...


def tool(
    function: Function | None = None,
    /,
    *,
    name: str | None = None,
    schema_limits: SchemaLimits = DEFAULT_SCHEMA_LIMITS,
    **options: Unpack[ToolOptions],
) -> Tool | Callable[[Function], Tool]:
    """Make a function a tool: its annotations become the schema, its docstring the description."""
    if function is None:
        return lambda decorated: Tool.from_function(decorated, name, options, schema_limits)
    return Tool.from_function(function, name, options, schema_limits)


def _measure(made: Tool) -> None:
    """Refuse schemas that are too complex. Compiling them can wait until they are needed."""
    for schema in (made.spec.parameters, made.spec.result):
        if schema is not None:
            measure_schema(schema, of=made.tool_id, limits=made.schema_limits)


def _function_of(handler: Any) -> Any:
    return handler.handler().function if isinstance(handler, Tool) else handler
