"""How a tool comes from Python: the `Tool` class and the `tool` decorator.

A `Tool` is a spec, a content hash and a way to its handler, whatever it was made from. It knows nothing of other
tools (that is `registry`), of folders (`folder`) or of the artifact (`artifact`), and it never carries out a call:
calling a `Tool` calls the plain function, as a test would.
"""

import functools
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, Unpack, overload

from groundwire.contracts.tools import ToolSpec
from groundwire.registry.handlers import ArgumentFault, Handler
from groundwire.registry.options import Function, ToolOptions, author_tool
from groundwire.registry.validators import compile_schema

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator as Validator

__all__ = ["ArgumentFault", "Handler", "Source", "Tool", "ToolOptions", "tool"]


class Source(Protocol):
    """Where a tool's parts come from. Each is asked for once, when first needed."""

    def spec(self) -> ToolSpec: ...

    def content_hash(self) -> str: ...

    def handler(self) -> Handler: ...


class Tool:
    """One tool: a spec for the model, and a handler for the runtime unless somebody else executes it."""

    tool_id: str
    wire_name: str
    source: Source

    def __init__(self, name: str, *, handler: Function | None = None, **options: Unpack[ToolOptions]) -> None:
        source = author_tool(name, _function_of(handler), options, annotated=False)
        self.tool_id, self.wire_name, self.source = source.spec().tool_id, source.spec().wire_name, source
        if source.function is not None:
            functools.update_wrapper(self, source.function, updated=())
            # A schema written by hand is checked while its author is looking; a client's, when it is first needed.
            _ = self.validator, self.result_validator

    @classmethod
    def from_source(cls, tool_id: str, wire_name: str, source: Source) -> "Tool":
        """Make a tool whose parts are read when they are first needed."""
        made = cls.__new__(cls)
        made.tool_id, made.wire_name, made.source = tool_id, wire_name, source
        return made

    @classmethod
    def from_function(cls, function: Function, name: str | None, options: ToolOptions) -> "Tool":
        """Make a tool of a function's annotations and docstring."""
        plain = _function_of(function)
        source = author_tool(name or str(getattr(plain, "__name__", "")), plain, options, annotated=True)
        made = cls.from_source(source.spec().tool_id, source.spec().wire_name, source)
        functools.update_wrapper(made, plain, updated=())
        return made

    @cached_property
    def spec(self) -> ToolSpec:
        return self.source.spec()

    @cached_property
    def content_hash(self) -> str:
        return self.source.content_hash()

    @cached_property
    def validator(self) -> "Validator":
        """The argument schema, compiled."""
        return compile_schema(self.spec.parameters, reason="invalid_parameters", of=self.tool_id)

    @cached_property
    def result_validator(self) -> "Validator | None":
        result = self.spec.result
        return None if result is None else compile_schema(result, reason="invalid_result", of=self.tool_id)

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
def tool(*, name: str | None = None, **options: Unpack[ToolOptions]) -> Callable[[Function], Tool]: ...


def tool(
    function: Function | None = None, /, *, name: str | None = None, **options: Unpack[ToolOptions]
) -> Tool | Callable[[Function], Tool]:
    """Make a function a tool: its annotations become the schema, its docstring the description."""
    if function is None:
        return lambda decorated: Tool.from_function(decorated, name, options)
    return Tool.from_function(function, name, options)


def _function_of(handler: Any) -> Any:
    return handler.handler().function if isinstance(handler, Tool) else handler
