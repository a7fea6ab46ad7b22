import ast
import textwrap

import pytest

from scripts import requirements
from scripts.requirements import Coverage

MANIFEST = (
    "id\tstate\ttext\n# a comment\n\nA-001\tcontext\tBackground.\nA-002\topen:not begun\tLater.\nA-003\tbuilt\tNow.\n"
)


def read(tests: str, manifest: str = MANIFEST) -> requirements.Report:
    rows, problems = requirements.read_manifest(manifest)
    coverage = Coverage(problems=problems)
    requirements.count_tests(ast.parse(textwrap.dedent(tests)), "test_sample.py", coverage)
    return requirements.compare(rows, coverage)


def count(tests: str) -> dict[str, int]:
    coverage = Coverage()
    requirements.count_tests(ast.parse(textwrap.dedent(tests)), "test_sample.py", coverage)
    assert coverage.problems == []
    return dict(coverage.tests)


def test_this_repository_keeps_its_manifest_and_its_tests_in_step():
    assert requirements.build_report().problems == []


def test_each_row_lands_in_one_group():
    report = read("""
        @pytest.mark.requirement("A-003")
        def test_it(): ...
    """)
    assert report.covered == {"A-003": 1}
    assert report.context == ["A-001"]
    assert report.open == {"A-002": "not begun"}
    assert report.problems == []


def test_a_context_row_may_be_named_by_a_test():
    report = read("""
        @pytest.mark.requirement("A-001", "A-003")
        async def test_it(): ...
    """)
    assert report.covered == {"A-001": 1, "A-003": 1}
    assert report.problems == []


@pytest.mark.parametrize(
    ("named", "problem"),
    [
        ('"A-003", "Z-999"', "Z-999 is named by a test but not in the manifest"),
        ('"A-003", "A-002"', "A-002 is named by a test but the manifest says open"),
        ('"A-001"', "A-003 is built but no test names it"),
        ('"A-003", *IDS', "test_sample.py:2: a requirement id must be a literal string"),
    ],
)
def test_a_disagreement_is_a_problem(named, problem):
    tests = f"""
        @pytest.mark.requirement({named})
        def test_it(): ...
    """
    assert read(tests).problems == [problem]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("A-001\tcontext\tAgain.", "line 7: A-001 is listed twice"),
        ("A-004\tdone\tWhat?", "line 7: A-004 has the unknown state 'done'"),
        ("A-004\topen\tWhy?", "line 7: A-004 is open without a reason"),
    ],
)
def test_a_row_that_makes_no_sense_is_a_problem(row, problem):
    assert requirements.read_manifest(MANIFEST + row)[1] == [problem]


def test_a_mark_on_a_module_counts_all_its_tests():
    tests = """
        pytestmark = [pytest.mark.requirement("A-001"), pytest.mark.other]

        def test_one(): ...
        def help_one(): ...
        class TestMore:
            def test_two(self): ...
    """
    assert count(tests) == {"A-001": 2}


def test_a_mark_on_a_class_counts_its_methods():
    tests = """
        @pytest.mark.requirement("A-001")
        class TestMore:
            pytestmark = pytest.mark.requirement("A-002")
            def test_one(self): ...
            def test_two(self): ...
    """
    assert count(tests) == {"A-001": 2, "A-002": 2}


def test_a_mark_on_a_parameter_counts_once():
    tests = """
        CASES = [pytest.param(1, marks=pytest.mark.requirement("A-001"))]

        @pytest.mark.requirement("A-003")
        @pytest.mark.parametrize("n", [*CASES, pytest.param(2, marks=[pytest.mark.requirement("A-001", "A-002")])])
        def test_it(n): ...
    """
    assert count(tests) == {"A-001": 2, "A-002": 1, "A-003": 1}


def test_a_mark_that_reaches_no_test_is_a_problem():
    tests = """
        MARK = pytest.mark.requirement("A-003")

        @pytest.mark.requirement("A-003")
        def help_it(): ...
    """
    assert read(tests).problems == [
        "test_sample.py:4: this requirement marker is on no test",
        "test_sample.py:2: this requirement marker is on no test",
        "A-003 is built but no test names it",
    ]


def test_a_missing_manifest_is_a_problem(tmp_path):
    assert requirements.build_report(tmp_path / "requirements.tsv", tmp_path).problems == [
        "requirements.tsv does not exist"
    ]
