import os
import time

import pytest

from groundwire.database_files import SIDECAR_SECONDS, DatabaseFiles


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "store.db"
    for suffix in ("", "-wal", "-shm"):
        path.with_name(f"store.db{suffix}").write_bytes(b"x" * 100)
    return path


@pytest.fixture
def files(database):
    found = DatabaseFiles(database)
    found.remember()
    assert found.are_in_place()
    return found


def sidecars_are_due():
    """A check of the sidecars counts for a moment; wait until that is over."""
    until = time.monotonic() + SIDECAR_SECONDS
    while time.monotonic() <= until:
        pass


def test_files_that_were_not_opened_have_no_problem(tmp_path):
    assert DatabaseFiles(tmp_path / "none.db").find_problem() == ""


@pytest.mark.parametrize(("size", "is_fine"), [(99, False), (100, True), (101, True)])
def test_a_database_may_grow_but_not_shrink(database, files, size, is_fine):
    os.truncate(database, size)
    assert files.are_in_place() is is_fine
    assert bool(files.find_problem()) is not is_fine


def test_what_it_has_grown_to_is_what_it_may_not_fall_below(database, files):
    os.truncate(database, 200)
    assert files.are_in_place()
    os.truncate(database, 150)
    assert not files.are_in_place()


def test_the_log_may_shrink(database, files):
    os.truncate(f"{database}-wal", 0)
    sidecars_are_due()
    assert files.are_in_place()


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
def test_each_file_is_missed_when_it_is_deleted_and_when_it_is_replaced(database, files, suffix):
    path = database.with_name(f"store.db{suffix}")
    other = database.with_name("other")
    other.write_bytes(b"y" * 100)
    sidecars_are_due()
    other.rename(path)
    assert not files.are_in_place()
    assert "replaced" in files.find_problem()
    fresh = DatabaseFiles(database)
    fresh.remember()
    path.unlink()
    sidecars_are_due()
    assert not fresh.are_in_place()
    assert "deleted" in fresh.find_problem()


def test_a_check_counts_for_as_long_as_its_caller_says(database, files):
    database.unlink()
    assert files.are_in_place(within=60)
    assert not files.are_in_place()


def test_a_problem_stays_although_the_file_comes_back(database, files):
    kept = database.rename(database.with_name("kept"))
    assert files.find_problem()
    kept.rename(database)
    assert files.find_problem()
    assert not files.are_in_place()
    files.forget()
    files.remember()
    assert files.find_problem() == ""
    assert files.are_in_place()


def test_connections_that_are_closed_in_order_may_take_their_log_with_them(database, files):
    files.prepare_close()
    for suffix in ("-wal", "-shm"):
        database.with_name(f"store.db{suffix}").unlink()
    assert files.find_problem() == ""
    database.with_name("store.db-wal").touch()
    files.remember()
    assert files.are_in_place()


def test_a_log_that_others_deleted_is_missed_after_closing_too(database, files):
    database.with_name("store.db-wal").unlink()
    files.prepare_close()
    assert files.find_problem()


def test_a_relative_path_is_that_of_the_folder_in_which_it_was_opened(database, monkeypatch):
    monkeypatch.chdir(database.parent)
    files = DatabaseFiles("store.db")
    files.remember()
    monkeypatch.chdir("/")
    assert files.are_in_place()
