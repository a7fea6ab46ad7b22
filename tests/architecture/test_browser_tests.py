"""Browser tests wait with locator assertions: code that runs in the page is subject to its policy, and to timing."""

import ast

import pytest

FORBIDDEN = frozenset(
    {
        "eval_on_selector",
        "eval_on_selector_all",
        "evaluate",
        "evaluate_all",
        "evaluate_handle",
        "wait_for_function",
        "wait_for_timeout",
    }
)


def find_forbidden(source):
    calls = [node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return sorted(call.attr for call in calls if isinstance(call, ast.Attribute) and call.attr in FORBIDDEN)


def test_no_browser_test_evaluates_code_in_the_page_or_waits_for_a_time(repository):
    sources = {file: file.read_text() for file in (repository / "tests").rglob("*.py")}
    browser_tests = {file: text for file, text in sources.items() if "sync_playwright()" in text}
    assert browser_tests
    assert {file.name: found for file, text in browser_tests.items() if (found := find_forbidden(text))} == {}


@pytest.mark.parametrize("call", sorted(FORBIDDEN))
def test_forbidden_calls_are_found(call):
    assert find_forbidden(f"page.{call}('document.title')") == [call]
    assert find_forbidden(f"page.{call}") == []
