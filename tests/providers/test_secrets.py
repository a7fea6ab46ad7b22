import copy
import pickle

import pytest

from groundwire.contracts.redaction import HIDDEN
from groundwire.providers.secrets import Secret

KEY = "sk-very-secret-123"


def test_a_key_shows_itself_only_when_asked_to():
    secret = Secret(KEY)
    assert secret.reveal() == KEY
    for shown in (repr(secret), str(secret), f"{secret}", f"{[secret]}", "%s" % secret):  # noqa: UP031 - every way
        assert KEY not in shown


def test_a_key_cannot_be_stored_by_accident():
    with pytest.raises(TypeError):
        pickle.dumps(Secret(KEY))
    with pytest.raises(TypeError):
        copy.deepcopy([Secret(KEY)])


def test_a_text_that_echoes_the_key_loses_it():
    assert Secret(KEY).hide_in(f"Incorrect API key provided: {KEY}.") == f"Incorrect API key provided: {HIDDEN}."


def test_no_key_hides_nothing_and_is_false():
    assert not Secret("")
    assert Secret("").hide_in("none of it") == "none of it"
    assert Secret("a").hide_in("a cat") == "a cat"


def test_equal_keys_are_equal():
    assert Secret(KEY) == Secret(KEY)
    assert len({Secret(KEY), Secret(KEY), Secret("other")}) == 2
