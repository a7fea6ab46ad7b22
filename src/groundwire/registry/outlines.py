"""What handler.py defines, read from its syntax tree: nothing is run while building.

Knows Python's syntax and the names a handler may export. Whether the code works is seen when it is first called.
"""

import ast
import inspect
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from groundwire.registry.signatures import CONTEXT, Argument, Kind, Signature

Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_ALIASES = ("alias", "validation_alias")


class HandlerSyntax(Exception):
    """handler.py is not Python."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """The top-level names of a module, with the definition where there is one."""

    names: dict[str, Definition | None]

    def signature(self, name: str) -> Signature | None:
        """The signature of a function; None when only running the module could tell."""
        definition = self.names.get(name)
        if definition is None or definition.decorator_list or _renames(definition):
            return None
        return _read(definition)

    def kind(self, name: str) -> Kind | None:
        definition = self.names.get(name)
        return None if definition is None or definition.decorator_list else _kind(definition)

    def fault(self, name: str) -> str:
        """What makes a function unfit as a handler, as far as its definition shows."""
        definition = self.names.get(name)
        if definition is None or definition.decorator_list:
            return ""
        if isinstance(definition, ast.FunctionDef) and _yields(definition):
            return f"{name}() is a generator; make it an async generator (async def) to stream progress."
        positional = definition.args.posonlyargs
        free = len(positional) + len(definition.args.args) - len(definition.args.defaults)
        if positional and free > 0:
            return f"{name}() takes {positional[0].arg!r} by position only; arguments are passed by name."
        return ""


def read_outline(source: bytes) -> Outline:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
            compile(tree, "handler.py", "exec", dont_inherit=True)
    except SyntaxError as error:
        raise HandlerSyntax(f"line {error.lineno}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise HandlerSyntax(str(error) or type(error).__name__) from None
    return Outline(names=dict(_bindings(tree.body)))


def _bindings(statements: list[ast.stmt]) -> Iterator[tuple[str, Definition | None]]:
    for statement in statements:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield statement.name, statement
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            yield from ((alias.asname or alias.name, None) for alias in statement.names)
        elif isinstance(statement, ast.Assign):
            yield from ((target.id, None) for target in statement.targets if isinstance(target, ast.Name))
        elif isinstance(statement, ast.AnnAssign) and statement.value and isinstance(statement.target, ast.Name):
            yield statement.target.id, None
        elif isinstance(statement, (ast.If, ast.Try, ast.With)):
            yield from _bindings(statement.body)
            yield from _bindings(getattr(statement, "orelse", []))
            for handler in getattr(statement, "handlers", []):
                yield from _bindings(handler.body)


def _read(definition: Definition) -> Signature:
    given = definition.args
    named = [*given.posonlyargs, *given.args]
    free = len(named) - len(given.defaults)
    required = {argument.arg for argument in named[:free]}
    required |= {
        argument.arg for argument, value in zip(given.kwonlyargs, given.kw_defaults, strict=True) if value is None
    }
    names = [argument.arg for argument in (*given.args, *given.kwonlyargs)]
    return Signature(
        arguments=tuple(
            Argument(name=name, label=name, annotation=inspect.Parameter.empty, required=name in required)
            for name in names
            if name != CONTEXT
        ),
        kind=_kind(definition),
        wants_context=CONTEXT in names,
        takes_any=given.kwarg is not None,
    )


def _kind(definition: Definition) -> Kind:
    if isinstance(definition, ast.FunctionDef):
        return "sync"
    return "stream" if _yields(definition) else "async"


def _yields(definition: Definition) -> bool:
    waiting: list[ast.AST] = list(definition.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(node))
    return False


def _renames(definition: Definition) -> bool:
    """True when a parameter may have another name in the schema, as `Field(alias=…)` gives it."""
    return any(
        keyword.arg in _ALIASES
        for node in ast.walk(definition.args)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
    )
