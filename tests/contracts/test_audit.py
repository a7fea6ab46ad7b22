import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.contracts.audit import Chain, ChainVerifier, record_body
from groundwire.contracts.canonical import canonical_json
from groundwire.contracts.errors import InvalidJson
from groundwire.contracts.records import GENESIS, AuditEntry, AuditHead, UnreadableRecord
from groundwire.contracts.results import Evidence


def entry(number, **fields):
    return AuditEntry(
        id=f"aud_{number}",
        tenant="default",
        request_id=f"r{number}",
        tool_name="t",
        input_hash="1" * 64,
        output_hash="2" * 64,
        **{"success": True, "duration_ms": 1.5, "created_at": f"2026-01-01T00:00:0{number}.000Z", **fields},
    )


def linked(count, chain=None):
    chain, head, records = chain or Chain(), AuditHead(), []
    for number in range(1, count + 1):
        record = chain.link(head, entry(number))
        head = AuditHead(seq=record.seq, hash=record.hash)
        records.append(record)
    return records


def report(records, *, chain=None, checkpoints=()):
    verifier = ChainVerifier(chain or Chain(), checkpoints=checkpoints)
    for record in records:
        verifier.feed(record)
    return verifier.finish()


def kinds(found):
    return [problem.kind for problem in found.problems]


def test_records_are_numbered_and_tied_to_the_one_before():
    first, second, _ = linked(3)
    assert (first.seq, first.previous_hash) == (1, GENESIS)
    assert (second.seq, second.previous_hash) == (2, first.hash)


def test_an_untouched_chain_is_fine_and_says_whether_it_was_keyed_or_checked():
    found = report(linked(3))
    assert found.ok
    assert (found.records, found.first_seq, found.head.seq) == (3, 1, 3)
    assert (found.keyed, found.checkpoint) == (False, "none")
    keyed = Chain(b"secret")
    records = linked(3, keyed)
    found = report(records, chain=keyed, checkpoints=[AuditHead(seq=3, hash=records[2].hash)])
    assert (found.ok, found.keyed, found.checkpoint) == (True, True, "checked")


@pytest.mark.parametrize("field", ["request_id", "success", "duration_ms", "error", "decision", "evidence", "approver"])
def test_any_changed_field_is_found(field):
    changes = {"success": False, "duration_ms": 2.0, "evidence": (Evidence(argument="a", grounded=True),)}
    records = linked(3)
    changed = msgspec.structs.replace(records[1].entry, **{field: changes.get(field, "changed")})
    records[1] = msgspec.structs.replace(records[1], entry=changed)
    found = report(records)
    assert kinds(found) == ["changed"]
    assert found.problems[0].seq == 2


def test_a_removed_record_is_missing():
    records = linked(4)
    del records[1]
    assert kinds(report(records)) == ["missing"]


def test_a_changed_record_with_a_new_hash_breaks_the_next_link():
    records = linked(3)
    forged = msgspec.structs.replace(records[1].entry, success=False)
    records[1] = Chain().link(AuditHead(seq=1, hash=records[0].hash), forged)
    assert kinds(report(records)) == ["reordered"]


def test_swapped_records_are_found():
    records = linked(3)
    records[0], records[1] = records[1], records[0]
    assert not report(records).ok


def test_a_missing_beginning_is_found():
    found = report(linked(3)[1:])
    assert kinds(found) == ["missing"]


def test_a_cut_tail_is_found_only_with_a_checkpoint():
    records = linked(3)
    noted = [AuditHead(seq=3, hash=records[2].hash)]
    assert report(records[:2]).ok
    assert kinds(report(records[:2], checkpoints=noted)) == ["cut"]


def test_a_wholly_rewritten_chain_is_found_only_with_a_checkpoint():
    noted = [AuditHead(seq=2, hash=linked(3)[1].hash)]
    head, rewritten = AuditHead(), []
    for number in range(1, 4):
        record = Chain().link(head, entry(number, success=False))
        head = AuditHead(seq=record.seq, hash=record.hash)
        rewritten.append(record)
    assert report(rewritten).ok
    assert kinds(report(rewritten, checkpoints=noted)) == ["changed"]


def test_without_the_key_a_keyed_chain_cannot_be_forged():
    records = linked(2, Chain(b"secret"))
    forged = Chain().link(AuditHead(seq=1, hash=records[0].hash), entry(2, success=False))
    assert kinds(report([records[0], forged], chain=Chain(b"secret"))) == ["changed"]
    assert not report(records, chain=Chain(b"another")).ok


def test_an_unreadable_record_is_blamed_alone():
    records = linked(3)
    found = report([records[0], UnreadableRecord(seq=2, record_id="aud_2", reason="not JSON"), records[2]])
    assert kinds(found) == ["unreadable"]


def test_a_retention_record_explains_a_missing_beginning():
    records = linked(3)
    removed = f'{{"removed_to":1,"hash":"{records[0].hash}","count":1}}'
    notice = entry(4, kind="retention", reason=removed)
    head = AuditHead(seq=3, hash=records[2].hash)
    assert report([*records[1:], Chain().link(head, notice)]).ok
    lying = entry(4, kind="retention", reason=removed.replace('"removed_to":1', '"removed_to":2'))
    assert kinds(report([*records[1:], Chain().link(head, lying)])) == ["missing"]


@settings(deadline=None)
@given(
    text=st.text(alphabet=st.characters(exclude_categories=("Cs",))),
    duration=st.floats(min_value=0, max_value=1e9).map(lambda value: round(value, 3)),
    seq=st.integers(min_value=1, max_value=2**40),
)
def test_a_hash_covers_the_canonical_json_of_the_whole_record(text, duration, seq):
    for evidence in ((), (Evidence(argument=text, grounded=None),)):
        found = entry(1, reason=text, error=text or None, duration_ms=duration, evidence=evidence)
        whole = {"seq": seq, "previous_hash": GENESIS, "entry": msgspec.to_builtins(found)}
        assert record_body(seq, GENESIS, found) == canonical_json(whole)


def test_an_entry_that_cannot_be_json_is_refused_as_such():
    with pytest.raises(InvalidJson):
        Chain().link(AuditHead(), entry(1, reason="\ud800"))


def test_a_rewritten_record_cannot_hide_behind_a_later_note_of_itself():
    chain = Chain()
    true = chain.link(AuditHead(), entry("aud_1"))
    false = chain.link(AuditHead(), entry("aud_2"))
    notes = [AuditHead(seq=1, hash=true.hash), AuditHead(seq=1, hash=false.hash)]
    verifier = ChainVerifier(chain, checkpoints=notes)
    verifier.feed(false)
    assert [problem.kind for problem in verifier.finish().problems] == ["changed"]


def test_a_tail_that_was_cut_is_found_by_what_the_store_says_of_its_head():
    chain = Chain()
    first = chain.link(AuditHead(), entry("aud_1"))
    second = chain.link(AuditHead(seq=1, hash=first.hash), entry("aud_2"))
    verifier = ChainVerifier(chain, head=AuditHead(seq=2, hash=second.hash))
    verifier.feed(first)
    assert [problem.kind for problem in verifier.finish().problems] == ["cut"]


def test_the_fields_of_an_entry_stand_in_the_order_that_is_hashed():
    assert list(AuditEntry.__struct_fields__) == sorted(AuditEntry.__struct_fields__)
