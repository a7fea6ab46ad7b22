"""Every known deviation of providers and models is named by a test, or has a reason to wait.

`quirks.tsv` has one row each: number, the part that copes with it, state (`covered`, or `later:` and the step that
brings it), and what it is. Tests name numbers with `@pytest.mark.quirk(12)`.
"""

from pathlib import Path

import pytest

from scripts.requirements import TESTS, scan_tests

MANIFEST = Path(__file__).with_name("quirks.tsv")
PARTS = {"codec", "transform", "provider", "runtime", "simulator", "gateway", "voice"}


@pytest.fixture(scope="module")
def rows():
    lines = MANIFEST.read_text(encoding="utf-8").splitlines()[1:]
    return {int(cells[0]): cells[1:] for cells in (line.split("\t") for line in lines)}


@pytest.fixture(scope="module")
def coverage():
    return scan_tests(TESTS, "quirk")


def test_the_manifest_has_every_number_once_and_in_order(rows):
    assert list(rows) == list(range(1, 91))


def test_every_row_says_where_it_is_handled_and_in_which_state_it_is(rows):
    for number, (where, state, what) in rows.items():
        assert where in PARTS, number
        assert state == "covered" or state.removeprefix("later:") not in ("", state), number
        assert what, number


def test_every_marker_is_a_number_of_the_manifest_on_a_test(rows, coverage):
    assert coverage.problems == []
    assert [name for name in coverage.tests if int(name) not in rows] == []


def test_what_is_covered_is_named_by_a_test_and_what_is_for_later_is_not(rows, coverage):
    named = {int(name) for name in coverage.tests}
    assert {number for number, (_, state, _) in rows.items() if state == "covered"} == named
