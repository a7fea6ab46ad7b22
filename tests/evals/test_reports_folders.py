import json
import resource
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.contracts.errors import NotFound, ReportBusy, ReportDamaged
from groundwire.evals.records import encode_record
from groundwire.evals.reports import ReportFolder, list_reports, newest_report
from tests.evals.report_samples import HOSTILE, make_failure, make_record, make_run

NOW = datetime(2026, 11, 16, 10, 30, 5, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path):
    return ReportFolder.create(tmp_path / "reports", make_run(), now=NOW)


def append(folder, *records):
    with folder.open_trials() as trials:
        for record in records:
            trials.append(record)


def test_a_report_is_a_folder_that_is_named_by_its_time(tmp_path, folder):
    assert folder.path == tmp_path / "reports" / "20261116T103005Z"
    assert sorted(file.name for file in folder.path.iterdir()) == ["run.json", "trials.jsonl"]
    assert (folder.read_run(), folder.read_records()) == (make_run(), ())


def test_the_name_is_in_universal_time_whatever_the_zone(tmp_path):
    there = NOW.astimezone(timezone(timedelta(hours=-9)))
    assert ReportFolder.create(tmp_path, make_run(), now=there).name == "20261116T103005Z"


def test_reports_of_one_second_do_not_overwrite_each_other(tmp_path):
    names = [ReportFolder.create(tmp_path, make_run(seed=seed), now=NOW).name for seed in range(11)]
    assert names[:3] == ["20261116T103005Z", "20261116T103005Z-2", "20261116T103005Z-3"]
    assert [report.read_run().seed for report in list_reports(tmp_path)] == list(range(11))


def test_listing_passes_over_what_is_no_report(tmp_path, folder):
    reports = folder.path.parent
    (reports / "20261116T103006Z").mkdir()
    (reports / "notes").mkdir()
    (reports / "20261116T103007Z").write_text("a file")
    assert [report.name for report in list_reports(reports)] == [folder.name]
    assert list_reports(tmp_path / "nowhere") == []


def test_the_newest_report_is_the_last_by_time(folder):
    later = ReportFolder.create(folder.path.parent, make_run(), now=NOW + timedelta(seconds=1))
    ReportFolder.create(folder.path.parent, make_run(), now=NOW - timedelta(days=400))
    assert newest_report(folder.path.parent).path == later.path


def test_without_reports_there_is_no_newest(tmp_path):
    with pytest.raises(NotFound):
        newest_report(tmp_path)


def test_a_record_is_in_the_file_as_soon_as_it_is_appended(folder):
    record = make_failure(message=HOSTILE, state={"text": HOSTILE})
    with folder.open_trials() as trials:
        trials.append(record)
        assert folder.read_records() == (record,)


def test_appending_goes_on_where_the_file_ends(folder):
    append(folder, make_record(number=1))
    append(folder, make_record(number=2))
    assert folder.read_records() == (make_record(number=1), make_record(number=2))


def test_a_last_line_that_was_cut_anywhere_costs_only_itself(folder):
    first, second = encode_record(make_record(number=1)) + b"\n", encode_record(make_record(number=2))
    for cut in range(len(second)):
        folder.trials_file.write_bytes(first + second[:cut])
        assert folder.read_records() == (make_record(number=1),)
    append(folder, make_record(number=3))
    assert folder.read_records() == (make_record(number=1), make_record(number=3))


def test_a_last_line_that_lacks_only_its_end_is_kept(folder):
    folder.trials_file.write_bytes(encode_record(make_record(number=1)))
    assert folder.read_records() == (make_record(number=1),)
    append(folder, make_record(number=2))
    assert folder.read_records() == (make_record(number=1), make_record(number=2))


def test_only_one_writes_into_a_report_at_a_time(folder):
    with folder.open_trials() as trials:
        with pytest.raises(ReportBusy):
            folder.open_trials()
        trials.append(make_record(number=1))
    append(folder, make_record(number=2))
    assert folder.read_records() == (make_record(number=1), make_record(number=2))


def test_a_record_that_the_disk_has_no_room_for_leaves_no_trace(folder):
    with folder.open_trials() as trials:
        trials.append(make_record(number=1))
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (folder.trials_file.stat().st_size + 20, limits[1]))
        try:
            with pytest.raises(OSError, match="File too large"):
                trials.append(make_record(number=2))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        trials.append(make_record(number=3))
    assert folder.read_records() == (make_record(number=1), make_record(number=3))


@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff\xfe", b"[" * 100_000, b'{"trial":1}'])
def test_a_damaged_line_is_named(folder, damage):
    whole = encode_record(make_record())
    folder.trials_file.write_bytes(b"\n".join([whole, damage, whole, b""]))
    with pytest.raises(ReportDamaged) as caught:
        folder.read_records()
    assert (caught.value.code, caught.value.line) == ("report_damaged", 2)
    assert "trials.jsonl, line 2" in caught.value.message


@given(data=st.binary(max_size=200), before=st.integers(0, 2))
def test_any_bytes_give_records_or_a_named_error(tmp_path_factory, data, before):
    folder = ReportFolder(tmp_path_factory.getbasetemp() / "any")
    folder.path.mkdir(exist_ok=True)
    folder.run_file.write_bytes(data)
    folder.trials_file.write_bytes((encode_record(make_record()) + b"\n") * before + data)
    with pytest.raises(ReportDamaged):
        folder.read_run()
    if b"\n" in data:
        with pytest.raises(ReportDamaged) as caught:
            folder.read_records()
        assert caught.value.line == before + 1
    else:
        assert len(folder.read_records()) == before


@pytest.mark.parametrize("missing", ["run.json", "trials.jsonl"])
def test_a_folder_without_its_files_is_not_a_report(folder, missing):
    (folder.path / missing).unlink()
    with pytest.raises(NotFound, match=missing):
        folder.read_run() if missing == "run.json" else folder.read_records()


def test_a_file_is_not_a_report(tmp_path):
    Path(tmp_path, "file").write_text("x")
    with pytest.raises(NotFound):
        ReportFolder(tmp_path / "file").read_run()


def test_the_run_is_readable_json(folder):
    assert json.loads(folder.run_file.read_text())["createdAt"] == "2026-11-16T10:30:00Z"
