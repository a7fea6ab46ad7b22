from groundwire.codecs.wire.private import (
    give_back,
    keep,
    note_extras,
    note_foreign,
    own_members,
    take_own,
    unknown_members,
    unknown_values,
    visible,
)
from groundwire.codecs.wire.warnings import Losses

KNOWN = frozenset({"type"})
PRIVATE = {"here": {"signature": "s", "_shape": 1}, "there": {"cache": {}, "_shape": 2}}


def told(losses):
    return [(warning.code, warning.path, warning.message) for warning in losses.taken()]


def test_what_a_codec_does_not_know_is_kept_but_nobody_outside_may_write_its_notes():
    source = {"type": "t", "new": 1, "none": None, "_shape": "forged"}
    assert unknown_members(source, KNOWN) == {"new": 1, "none": None}
    assert unknown_values(source, KNOWN) == {"new": 1}
    assert unknown_members({"type": "t"}, KNOWN) == unknown_values({"type": "t"}, KNOWN) == {}


def test_nothing_is_kept_where_there_is_nothing():
    assert keep("here", {}) == {}
    assert keep("here", {"a": 1}) == {"here": {"a": 1}}
    assert own_members({}, "here") == {}


def test_a_dialect_gets_its_own_back_and_notes_never_reach_the_wire():
    own = own_members(PRIVATE, "here")
    assert own == {"signature": "s", "_shape": 1}
    assert visible(own) == {"signature": "s"}
    assert give_back({"type": "t"}, own) == {"type": "t", "signature": "s"}


def test_what_others_kept_is_told_as_a_loss_except_their_notes_and_what_is_carried():
    losses = Losses()
    assert take_own(PRIVATE, "here", "items[0]", losses) == PRIVATE["here"]
    assert told(losses) == [("private_dropped", "items[0]", "Left out, as only there knows it: cache.")]
    unheard = Losses()
    note_foreign(PRIVATE, "here", "items[0]", unheard, carried=frozenset({"cache"}))
    note_foreign({"there": {"_shape": 2}, "elsewhere": {}}, "here", "items[0]", unheard)
    assert told(unheard) == []


def test_each_extra_member_of_another_dialect_is_told_by_its_name():
    losses = Losses()
    note_extras(PRIVATE, "here", losses)
    assert told(losses) == [("extra_dropped", "extras.there.cache", "Only there knows this member.")]
