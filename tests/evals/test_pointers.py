"""Pointers and changes: RFC 6901's rules, and nothing half done."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.evals.pointers import PatchError, parse_pointer, patched, value_at

DOCUMENT = {"a": {"": 1, "b/c": 2, "d~e": 3}, "list": ["x", "y"], "n": None}


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("", DOCUMENT),
        ("/a/", 1),
        ("/a/b~1c", 2),
        ("/a/d~0e", 3),
        ("/list/1", "y"),
        ("/n", None),
    ],
)
def test_a_pointer_leads_to_its_value(pointer, value):
    assert value_at(DOCUMENT, pointer) == value


@pytest.mark.parametrize(
    "pointer", ["a", "/~", "/a~2", "/list/01", "/list/-1", "/list/2", "/list/-", "/list/1e0", "/no", "/n/x"]
)
def test_a_pointer_that_leads_nowhere_is_told(pointer):
    with pytest.raises(PatchError) as caught:
        value_at(DOCUMENT, pointer)
    assert caught.value.detail == "INVALID_PATH"


def test_an_escaped_tilde_and_one_is_the_name_tilde_one():
    assert parse_pointer("/~01") == ["~1"]


@pytest.mark.parametrize(
    ("operation", "path", "value"),
    [
        ({"op": "set", "path": "/new", "value": 1}, "/new", 1),
        ({"op": "add", "path": "/list/0", "value": "z"}, "/list/0", "z"),
        ({"op": "replace", "path": "/n", "value": None}, "/n", None),
        ({"path": "/n", "value": 5}, "/n", 5),
        ({"op": "append", "path": "/list", "value": "z"}, "/list", ["x", "y", "z"]),
        ({"op": "push", "path": "/list", "value": "z"}, "/list", ["x", "y", "z"]),
        ({"op": "insert", "path": "/list", "index": 0, "value": "z"}, "/list", ["z", "x", "y"]),
        ({"op": "delete", "path": "/list/0"}, "/list", ["y"]),
        ({"op": "remove", "path": "/a"}, "", {"list": ["x", "y"], "n": None}),
    ],
)
def test_each_change_is_made_and_the_words_of_the_rfc_are_understood(operation, path, value):
    before = copy.deepcopy(DOCUMENT)
    made, touched = patched(DOCUMENT, [operation])
    assert value_at(made, path) == value
    assert touched == [operation["path"]]
    assert before == DOCUMENT


@pytest.mark.parametrize(
    ("operation", "detail"),
    [
        ({"op": "set", "path": "/a", "value": "x"}, "TYPE_MISMATCH"),
        ({"op": "set", "path": "/list", "value": "x"}, "TYPE_MISMATCH"),
        ({"op": "set", "path": "", "value": []}, "TYPE_MISMATCH"),
        ({"op": "append", "path": "/a", "value": 1}, "TYPE_MISMATCH"),
        ({"op": "insert", "path": "/list", "index": 3, "value": 1}, "INVALID_PATH"),
        ({"op": "insert", "path": "/list", "value": 1}, "INVALID_PATH"),
        ({"op": "insert", "path": "/list", "index": True, "value": 1}, "INVALID_PATH"),
        ({"op": "delete", "path": ""}, "INVALID_PATH"),
        ({"op": "delete", "path": "/no"}, "INVALID_PATH"),
        ({"op": "set", "path": "/no/x", "value": 1}, "INVALID_PATH"),
        ({"op": "set", "path": "/n/x", "value": 1}, "INVALID_PATH"),
        ({"op": "set", "path": "/n"}, "MISSING_ARGUMENT"),
        ({"path": "/n"}, "INVALID_VALUE"),
        ({"op": "move", "path": "/n", "value": 1}, "INVALID_VALUE"),
        ({"op": "set", "value": 1}, "INVALID_PATH"),
    ],
)
def test_a_change_that_cannot_be_made_names_its_place_and_changes_nothing(operation, detail):
    before = copy.deepcopy(DOCUMENT)
    with pytest.raises(PatchError) as caught:
        patched(DOCUMENT, [{"op": "set", "path": "/n", "value": 1}, operation])
    assert caught.value.detail == detail
    assert caught.value.message.startswith("ops[1]: ")
    assert before == DOCUMENT


def test_what_to_send_instead_is_said():
    with pytest.raises(PatchError) as caught:
        patched(DOCUMENT, [{"op": "set", "path": "/list", "value": "z"}])
    assert caught.value.message == "ops[0]: The value at /list must be a list of strings; you sent a string."


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES, VALUES, st.text(max_size=8))
def test_any_operation_on_any_document_is_made_or_told(document, operation, path):
    changes = [operation if isinstance(operation, dict) else {"op": "set", "path": path, "value": operation}]
    before = copy.deepcopy(document)
    try:
        patched(document, changes)
    except PatchError as error:
        assert error.detail
    assert document == before
