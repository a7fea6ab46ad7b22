"""Hold the requirement manifest against the tests, in both directions.

`requirements.tsv` has one row per requirement: id, state, text. The state is `context` (background, nothing to prove),
`open:<reason>` (a known gap) or `built` (some test proves it). Tests name ids with `@pytest.mark.requirement("A-101")`,
in `pytestmark`, or in `pytest.param(..., marks=...)`. Tests are read, not run, so a broken test still counts here
and fails where it is run.
"""

import argparse
import ast
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MANIFEST = ROOT / "requirements.tsv"
TESTS = ROOT / "tests"

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, kw_only=True)
class Requirement:
    requirement_id: str
    state: str
    reason: str
    text: str


@dataclass(kw_only=True)
class Coverage:
    """How many tests name each id, and the markers that could not be counted."""

    tests: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Report:
    covered: dict[str, int]
    context: list[str]
    open: dict[str, str]
    problems: list[str]


def read_manifest(text: str) -> tuple[dict[str, Requirement], list[str]]:
    """Return the rows by id, and a sentence for each row that makes no sense."""
    rows: dict[str, Requirement] = {}
    problems = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        requirement_id, state, words = (cell.strip() for cell in (line + "\t\t").split("\t")[:3])
        if (requirement_id, state) == ("id", "state"):
            continue
        state, _, reason = (part.strip() for part in state.partition(":"))
        if requirement_id in rows:
            problems.append(f"line {number}: {requirement_id} is listed twice")
        if state not in {"context", "open", "built"}:
            problems.append(f"line {number}: {requirement_id} has the unknown state '{state}'")
        if state == "open" and not reason:
            problems.append(f"line {number}: {requirement_id} is open without a reason")
        rows[requirement_id] = Requirement(requirement_id=requirement_id, state=state, reason=reason, text=words)
    return rows, problems


def count_tests(tree: ast.Module, name: str, coverage: Coverage, mark: str = "requirement") -> None:
    """Add the markers of this name in one test module."""
    counted: set[ast.Call] = set()
    wanted, words = (str, "string") if mark == "requirement" else (int, "number")

    def add(markers: Iterable[ast.Call], tests: int) -> None:
        for marker in markers:
            counted.add(marker)
            if not tests:
                coverage.problems.append(f"{name}:{marker.lineno}: this {mark} marker is on no test")
            for argument in marker.args:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, wanted):
                    coverage.tests[str(argument.value)] += tests
                else:
                    coverage.problems.append(f"{name}:{marker.lineno}: a {mark} id must be a literal {words}")

    for node in ast.walk(tree):
        if _is_call_of(node, "param"):
            add(_find_markers(node, mark), 1)
    for node in ast.walk(tree):
        if isinstance(node, Function | ast.ClassDef):
            marks = (marker for decorator in node.decorator_list for marker in _find_markers(decorator, mark))
            add([marker for marker in marks if marker not in counted], len(_find_tests([node])))
        if isinstance(node, ast.ClassDef | ast.Module):
            add(_find_pytestmark(node.body, mark), len(_find_tests(node.body)))
    add([marker for marker in _find_markers(tree, mark) if marker not in counted], 0)


def scan_tests(folder: Path, mark: str = "requirement") -> Coverage:
    coverage = Coverage()
    for path in sorted(folder.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
        count_tests(tree, path.relative_to(folder.parent).as_posix(), coverage, mark)
    return coverage


def compare(rows: Mapping[str, Requirement], coverage: Coverage) -> Report:
    covered = {row: coverage.tests[row] for row in rows if coverage.tests[row]}
    problems = [
        *coverage.problems,
        *(f"{name} is named by a test but not in the manifest" for name in sorted(coverage.tests) if name not in rows),
        *(f"{name} is named by a test but the manifest says open" for name in covered if rows[name].state == "open"),
        *(f"{row} is built but no test names it" for row in rows if rows[row].state == "built" and row not in covered),
    ]
    rest = [row for row in rows.values() if row.requirement_id not in covered]
    return Report(
        covered=covered,
        context=[row.requirement_id for row in rest if row.state == "context"],
        open={row.requirement_id: row.reason for row in rest if row.state == "open"},
        problems=problems,
    )


def build_report(manifest: Path = MANIFEST, tests: Path = TESTS) -> Report:
    if not manifest.exists():
        return Report(covered={}, context=[], open={}, problems=[f"{manifest.name} does not exist"])
    rows, problems = read_manifest(manifest.read_text(encoding="utf-8"))
    report = compare(rows, scan_tests(tests))
    report.problems[:0] = problems
    return report


def _is_call_of(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", None)) == name


def _find_markers(node: ast.AST, mark: str) -> Iterator[ast.Call]:
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr == mark:
            owner = part.func.value
            if getattr(owner, "attr", getattr(owner, "id", None)) == "mark":
                yield part


def _find_pytestmark(body: Iterable[ast.stmt], mark: str) -> Iterator[ast.Call]:
    for statement in body:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in targets):
            yield from _find_markers(statement, mark)


def _find_tests(body: Iterable[ast.stmt]) -> list[Function]:
    """Find test functions as pytest does: by name, in the module and in Test classes, not inside functions."""
    tests: list[Function] = []
    for statement in body:
        if isinstance(statement, ast.ClassDef) and statement.name.startswith("Test"):
            tests += _find_tests(statement.body)
        elif isinstance(statement, Function) and statement.name.startswith("test"):
            tests.append(statement)
    return tests


def _render(report: Report) -> Iterator[str]:
    yield "\nCovered (number of tests)"
    yield from (f"  {name}  {number}" for name, number in report.covered.items())
    yield "\nContext"
    yield from (f"  {name}" for name in report.context)
    yield "\nOpen"
    yield from (f"  {name}  {reason}" for name, reason in report.open.items())


def main() -> int:
    parser = argparse.ArgumentParser(description="Show which requirements are covered by tests, context, or open.")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--check", action="store_true", help="print totals only; exit 1 when there are problems")
    options = parser.parse_args()

    report = build_report()
    totals = {group: len(members) for group, members in vars(report).items()}
    if options.json:
        print(json.dumps({"totals": totals, **vars(report)}, indent=2, ensure_ascii=False))
    else:
        print("Requirements:", ", ".join(f"{number} {group}" for group, number in totals.items()))
        for line in () if options.check else _render(report):
            print(line)
        for problem in report.problems:
            print("problem:", problem)
    return 1 if options.check and report.problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
