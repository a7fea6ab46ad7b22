import pytest

from groundwire.cli.options import Duration
from groundwire.cli.output import clean, print_table


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("two\nlines", "two\nlines"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("a\rb", r"a\rb"),
        ("\x9b31m", r"\x9b31m"),
        ("abc\u202edcba", r"abc\u202edcba"),
        ("\udcff", r"\udcff"),
        ("東京 🗼", "東京 🗼"),
    ],
)
def test_text_cannot_steer_a_terminal(text, shown):
    assert clean(text) == shown


def test_columns_line_up_whatever_their_script(capsys):
    print_table(("NAME", "TEXT"), [("東京", "one"), ("a", "two\nlines"), ("abcdef", "\x1b[1m")], empty="none")
    assert capsys.readouterr().out.splitlines() == [
        "NAME    TEXT",
        "東京    one",
        "a       two\\nlines",
        "abcdef  \\x1b[1m",
    ]


def test_an_empty_table_is_a_sentence(capsys):
    print_table(("NAME",), [], empty="There are none.")
    assert capsys.readouterr().out == "There are none.\n"


@pytest.mark.parametrize(
    ("text", "seconds"), [("45s", 45), ("30m", 1_800), ("12h", 43_200), ("90d", 7_776_000), ("2w", 1_209_600)]
)
def test_a_duration_is_a_number_and_a_unit(text, seconds):
    assert Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "d", "90", "-1d", "1.5h", "90 d", "1y", "²d"])
def test_anything_else_is_no_duration(run, text):
    assert run("audit", "prune", "--older-than", text).exit_code == 2
