"""`groundwire view`: the newest report, or the one that is named."""

import os
import sys
from datetime import UTC, datetime, timedelta

import pytest

from groundwire.evals.reports import ReportFolder, write_report
from tests.evals.report_samples import make_failure, make_records, make_run

NOW = datetime(2026, 11, 16, 10, 30, tzinfo=UTC)


@pytest.fixture
def make_report(empty):
    def make_report(records, *, seconds=0, finish=True):
        folder = ReportFolder.create("reports", make_run(), now=NOW + timedelta(seconds=seconds))
        with folder.open_trials() as trials:
            for record in records:
                trials.append(record)
        if finish:
            write_report(folder, make_run(), records)
        return folder

    return make_report


def test_the_newest_report_is_shown(make_report, run):
    make_report(make_records())
    newest = make_report(make_records(), seconds=1)
    shown = run("view", "--no-open")
    assert (shown.exit_code, shown.stdout) == (0, f"{newest.page_file}\n")


@pytest.mark.parametrize("named", ["20261116T103000Z", "reports/20261116T103000Z"])
def test_a_report_is_named_by_its_folder_or_its_name(make_report, run, named):
    older = make_report(make_records())
    make_report(make_records(), seconds=1)
    assert run("view", named, "--no-open").stdout.endswith(f"{older.page_file}\n")


def test_the_browser_gets_the_page(make_report, groundwire, monkeypatch, tmp_path):
    report = make_report(make_records())
    asked = tmp_path / "asked.txt"
    script = tmp_path / "browser.py"
    script.write_text("import sys, pathlib; pathlib.Path(sys.argv[1]).write_text(sys.argv[2])")
    monkeypatch.setenv("BROWSER", f"{sys.executable} {script} {asked} %s")
    assert groundwire("view").returncode == 0
    assert asked.read_text() == report.page_file.resolve().as_uri()


def test_where_no_browser_is_the_path_is_still_told(make_report, groundwire, monkeypatch):
    report = make_report(make_records())
    monkeypatch.setenv("BROWSER", "false %s")
    monkeypatch.setenv("PATH", "")
    shown = groundwire("view")
    assert (shown.returncode, shown.stdout) == (0, f"{report.page_file}\n")
    assert shown.stderr == "No browser could be opened; open the file yourself.\n"


def test_the_summary_is_printed_as_json(make_report, run_json):
    make_report(make_records())
    summary = run_json("view")
    assert (summary["overall"]["passed"], summary["overall"]["scored"]) == (5, 7)
    assert [row["model"] for row in summary["combinations"]] == ["sim/good", "sim/poor"]


def test_a_run_that_was_cut_off_has_its_page_made(make_report, run):
    report = make_report([make_failure()], finish=False)
    assert run("view", "--no-open").exit_code == 0
    assert b"wrong_text" in report.page_file.read_bytes()


def test_a_page_that_is_older_than_its_trials_is_made_anew(make_report, run):
    report = make_report(make_records())
    with report.open_trials() as trials:
        trials.append(make_failure(number=3, code="brand_new"))
    os.utime(report.page_file, ns=(0, 0))
    run("view", "--no-open")
    assert b"brand_new" in report.page_file.read_bytes()


def test_a_fresh_page_is_left_as_it_is(make_report, run):
    report = make_report(make_records())
    report.page_file.write_bytes(b"mine")
    run("view", "--no-open")
    assert report.page_file.read_bytes() == b"mine"


@pytest.mark.parametrize("arguments", [[], ["nothing"], ["."]])
def test_a_report_that_is_not_there_is_an_error(empty, run, arguments):
    shown = run("view", *arguments)
    assert (shown.exit_code, shown.stdout) == (1, "")
    assert shown.stderr.startswith("error[not_found]:")


@pytest.mark.parametrize("file", ["run.json", "trials.jsonl"])
def test_a_damaged_report_is_an_error(make_report, run, file):
    report = make_report(make_records())
    (report.path / file).write_bytes(b"broken\n")
    shown = run("view", "--json")
    assert (shown.exit_code, shown.stdout) == (1, "")
    assert shown.stderr.startswith("error[report_damaged]:")
    assert file in shown.stderr
