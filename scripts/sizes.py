"""Print what has grown beyond our habits in src: long files, long functions, long parameter lists.

It never fails. Sizes are something to look at, and a limit that blocks is a limit that gets worked around.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src"
FILE_LINES = 400
FUNCTION_LINES = 60
PARAMETERS = 7

Function = ast.FunctionDef | ast.AsyncFunctionDef


def body_lines(function: Function) -> int:
    """Count from the first statement after the docstring to the last line."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def count_parameters(function: Function) -> int:
    given = function.args
    named = [argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    starred = [argument for argument in (given.vararg, given.kwarg) if argument]
    return len(named) + len(starred) - (named[:1] in (["self"], ["cls"]))


def measure(text: str) -> Iterator[str]:
    lines = text.count("\n")
    if lines > FILE_LINES:
        yield f"{lines} lines (habit: {FILE_LINES})"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, Function):
            if (length := body_lines(node)) > FUNCTION_LINES:
                yield f"{node.name}, line {node.lineno}: {length} body lines (habit: {FUNCTION_LINES})"
            if (count := count_parameters(node)) > PARAMETERS:
                yield f"{node.name}, line {node.lineno}: {count} parameters (habit: {PARAMETERS})"


def main() -> None:
    findings = [
        f"  {path.relative_to(SOURCE.parent)}: {finding}"
        for path in sorted(SOURCE.rglob("*.py"))
        for finding in measure(path.read_text(encoding="utf-8"))
    ]
    print(f"Sizes: {len(findings)} beyond our habits", *findings, sep="\n")


if __name__ == "__main__":
    main()
