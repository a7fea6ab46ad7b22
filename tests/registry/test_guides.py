import pytest

from groundwire.registry.guides import read_guide


@pytest.mark.requirement("B-072", "X-06")
@pytest.mark.parametrize(
    ("text", "summary", "rival"),
    [
        ("# tool\nFirst.\nSecond.", "First.", ""),
        ("# tool\n\n\nFirst.\n\n## Parameters\n", "First.", ""),
        ("# tool\n## Summary\nFirst.", "First.", "## Summary"),
        ("First.\nSecond.", "First.", "Second."),
        ("First.", "First.", ""),
        ("Title\n=====\nFirst.", "First.", "====="),
        ("---\n# tool\nFirst.", "First.", "# tool"),
        ("# only\n\n## headings\n", "", ""),
        (" \n\t\n", "", ""),
        ("", "", ""),
    ],
)
def test_the_summary_is_the_first_plain_line_and_a_differing_second_line_is_known(text, summary, rival):
    guide = read_guide(text)
    assert (guide.summary, guide.rival) == (summary, rival)


@pytest.mark.requirement("B-102")
def test_the_description_is_the_whole_first_paragraph():
    guide = read_guide("# tool\nDoes this.\nAnd that.\n\nMore.\n\n## Parameters\n- a")
    assert guide.summary == "Does this."
    assert guide.description == "Does this. And that."
