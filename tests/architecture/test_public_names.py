from typing import get_args

import pytest

import groundwire
from groundwire import serving
from groundwire.contracts import events

each = pytest.mark.parametrize("package", [groundwire, serving])


@each
def test_every_public_name_can_be_imported(package):
    missing = [name for name in package.__all__ if not hasattr(package, name)]
    assert missing == []


@each
def test_public_names_are_listed_once(package):
    names = list(package.__all__)
    assert len(names) == len(set(names))


def test_every_event_that_is_emitted_is_public_under_its_own_name():
    emitted = set(get_args(events.Event)) - {events.AppEvent}  # nothing emits it yet
    assert {getattr(groundwire, kind.__name__, None) for kind in emitted} == emitted
