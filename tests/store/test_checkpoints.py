import os

import pytest

from groundwire.contracts.errors import StoreError, StoreUnavailable
from groundwire.contracts.records import AuditHead
from groundwire.store import CheckpointFile


def head(seq):
    return AuditHead(seq=seq, hash=f"{seq:064x}")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "checkpoints"


@pytest.mark.parametrize("fsync", [True, False])
def test_heads_are_read_as_they_were_noted(path, fsync):
    file = CheckpointFile(path, fsync=fsync)
    assert file.read() == []
    for seq in (1, 2, 9):
        file.append(head(seq))
    assert CheckpointFile(path).read() == [head(1), head(2), head(9)]


def test_an_unchanged_head_is_noted_once_and_an_empty_chain_never(path):
    file = CheckpointFile(path)
    file.append(AuditHead())
    assert not path.exists()
    file.append(head(3))
    file.append(head(3))
    assert path.read_bytes().count(b"\n") == 1


def test_two_processes_append_to_one_file(path):
    one, two = CheckpointFile(path), CheckpointFile(path)
    one.append(head(1))
    two.append(head(2))
    one.append(head(3))
    assert [noted.seq for noted in two.read()] == [1, 2, 3]


def test_a_line_torn_off_by_a_crash_is_passed_over_and_written_after(path):
    CheckpointFile(path).append(head(1))
    CheckpointFile(path).append(head(2))
    os.truncate(path, path.stat().st_size - 20)
    file = CheckpointFile(path)
    assert file.read() == [head(1)]
    file.append(head(3))
    assert file.read() == [head(1), head(3)]


def test_damage_in_the_middle_is_an_error(path):
    path.write_text('{"seq": 1, "hash": "a"}\nnonsense\n{"seq": 2, "hash": "b"}\n')
    with pytest.raises(StoreError, match="line 2"):
        CheckpointFile(path).read()


def test_a_file_that_cannot_be_written_is_unavailable(tmp_path):
    with pytest.raises(StoreUnavailable, match="checkpoints"):
        CheckpointFile(tmp_path / "missing" / "checkpoints").append(head(1))
    with pytest.raises(StoreUnavailable):
        CheckpointFile(tmp_path).read()
