from typing import get_args

import groundwire
from groundwire.contracts import events


def test_every_public_name_can_be_imported():
    missing = [name for name in getattr(groundwire, "__all__", ()) if not hasattr(groundwire, name)]
    assert missing == []


def test_public_names_are_listed_once():
    names = list(getattr(groundwire, "__all__", ()))
    assert len(names) == len(set(names))


def test_every_event_that_is_emitted_is_public_under_its_own_name():
    emitted = set(get_args(events.Event)) - {events.AppEvent}  # nothing emits it yet
    assert {getattr(groundwire, kind.__name__, None) for kind in emitted} == emitted
