from scripts import sizes


def test_small_code_is_not_mentioned():
    assert list(sizes.measure("def add(a, b):\n    return a + b\n")) == []


def test_a_long_file_is_mentioned():
    assert list(sizes.measure("x = 1\n" * 401)) == ["401 lines (habit: 400)"]


def test_a_long_function_is_mentioned_without_its_docstring():
    body = "    x = 1\n" * 60
    assert list(sizes.measure(f'def fits():\n    """Say.\n\n    More.\n    """\n{body}')) == []
    assert list(sizes.measure(f"def grown():\n{body}    return x\n")) == [
        "grown, line 1: 61 body lines (habit: 60)",
    ]


def test_parameters_are_counted_without_self():
    assert list(sizes.measure("class A:\n    def fits(self, a, b, c, d, e, f, g): ...\n")) == []
    assert list(sizes.measure("def grown(a, b, c, d, /, e, f, *, g, **h): ...\n")) == [
        "grown, line 1: 8 parameters (habit: 7)",
    ]
