"""Files of others: any bytes give values, or an error that names the file and the line."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundwire import ConfigError
from groundwire.evals.peers.reading import read_text, read_value, read_values


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("files") / "suite.json"


def places(file, text):
    file.write_text(text, encoding="utf-8")
    return [(found.line, found.value) for found in read_values(file)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("\n\n", []),
        ('{"a": 1}\n\n{"a": 2}\n', [(1, {"a": 1}), (3, {"a": 2})]),
        ('{"a":\n 1} 2', [(1, {"a": 1}), (2, 2)]),
        ("[]", []),
        ("\n[\n1,\n\n{}\n]\n", [(3, 1), (5, {})]),
        ("\ufeff[1]", [(1, 1)]),
        ("[1,]", [(1, 1)]),
    ],
)
def test_values_have_the_line_that_they_begin_on(file, text, found):
    assert places(file, text) == found


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('{"a": 1}\n{"a": \n', 3, "it is not JSON"),
        ("[1,\n2", 2, "its list does not go on"),
        ("[1,\n", 2, "its list does not end"),
        ("[1]\n[2]", 2, "it goes on after its list"),
        ("[1\n2]", 2, "its list does not go on"),
        ("1\nNaN", 2, "it is not JSON"),
        ('1\n"\\ud800"', 2, "it is not JSON"),
        ("1\n" + "[" * 200 + "]" * 200, 2, "nested"),
        ("1\n" + "[" * 200_000, 2, "nested too deeply"),
        ("1\n" + "9" * 5000 + "\nx", 2, "it is not JSON"),
    ],
)
def test_what_is_no_json_is_named_with_its_line(file, text, line, said):
    file.write_text(text)
    with pytest.raises(ConfigError, match=said) as error:
        read_values(file)
    assert str(error.value).startswith(f"{file}:{line}: ")


def test_what_is_no_utf8_is_named_with_its_line(file):
    file.write_bytes(b"1\n2\n\xff")
    with pytest.raises(ConfigError, match=re.escape(f"{file}:3: it is not UTF-8.")):
        read_values(file)


@pytest.mark.parametrize("text", ['{"a": 1,\n\n"b": }\n', '{"a": 1,\n\n"b":'])
def test_the_one_value_of_a_file_is_named_with_its_line(file, text):
    file.write_text(text)
    with pytest.raises(ConfigError, match=re.escape(f"{file}:3: it is not JSON")):
        read_value(file)


@pytest.mark.parametrize(("size", "is_refused"), [(8, False), (9, True)])
def test_a_file_has_a_largest_size(file, size, is_refused):
    file.write_text("1" * size)
    if is_refused:
        with pytest.raises(ConfigError, match="is larger than"):
            read_text(file, most=8)
    else:
        assert read_text(file, most=8) == "1" * size


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary() | st.text(alphabet='[]{},:"1a \n').map(str.encode))
def test_any_bytes_give_values_or_a_named_error(file, data):
    file.write_bytes(data)
    for read in (read_values, read_value):
        said = f"{file}:1: "
        try:
            read(file)
        except ConfigError as error:
            said = str(error)
        assert re.match(rf"{re.escape(str(file))}:\d+: ", said)
