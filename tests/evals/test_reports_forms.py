import json
import random
from datetime import UTC, datetime
from xml.etree import ElementTree as ET

import msgspec
import pytest
from inline_snapshot import snapshot

from groundwire.evals.comparing import compare
from groundwire.evals.records import Blame, Status
from groundwire.evals.reports import (
    ReportFolder,
    append_step_summary,
    results_table,
    write_markdown,
    write_report,
)
from groundwire.evals.reports.figures import say_cost, say_count, say_duration, say_rate
from groundwire.evals.reports.junit import MESSAGE_CHARS, write_junit
from groundwire.evals.reports.markdown import STEP_SUMMARY_BYTES, spell
from groundwire.evals.statistics import Summary, summarise
from tests.evals.report_samples import HOSTILE, make_failure, make_invalid, make_record, make_records, make_run

NOW = datetime(2026, 11, 16, 10, 30, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path):
    return ReportFolder.create(tmp_path, make_run(), now=NOW)


@pytest.mark.requirement("C-088", "C-055")
def test_markdown_has_results_scenarios_and_failures():
    run = make_run(notes={"sim/good": "tags are read as calls"})
    assert write_markdown(run, make_records(), summarise(make_records())) == snapshot("""\
# Evaluation: smoke

**5/7** passed (71 %, 95 % interval 36–92 %) · 1 not scored · simulated · 2 trials each · seed 7

## Results

| model | sampling_profile | ok | p95_ms | notes |
| --- | --- | ---: | ---: | --- |
| sim/good | default | 4/4 | 200 | tags are read as calls |
| sim/poor | default | 1/3 | 200 | 1 invalid |

## Scenarios

| scenario | ok | rate | interval_95 | p95_ms | failures |
| --- | ---: | ---: | ---: | ---: | --- |
| happy_path | 2/4 | 50 % | 15–85 % | 200 | no_call 1, wrong_text 1 |
| chat_only | 3/3 | 100 % | 44–100 % | 200 | rate_limit 1 |

## Failures

| code | blame | count | where |
| --- | --- | ---: | --- |
| no_call | model | 1 | happy_path 1 |
| rate_limit | provider | 1 | chat_only 1 |
| wrong_text | model | 1 | happy_path 1 |
""")


@pytest.mark.requirement("C-088")
def test_the_results_table_has_the_columns_that_readers_expect():
    table = results_table(make_run(), summarise(make_records()))
    assert table.headers == ("model", "sampling_profile", "ok", "p95_ms", "notes")
    assert table.rows == (("sim/good", "default", "4/4", "200", ""), ("sim/poor", "default", "1/3", "200", "1 invalid"))


def test_strategies_have_a_column_where_there_are_several():
    records = [make_record(strategy="fallback_off"), make_failure("sim/good", strategy="fallback_on")]
    table = results_table(make_run(), summarise(records))
    assert table.headers == ("model", "sampling_profile", "strategy", "ok", "p95_ms", "notes")
    assert [row[2:4] for row in table.rows] == [("fallback_off", "1/1"), ("fallback_on", "0/1")]


@pytest.mark.requirement("C-096")
@pytest.mark.parametrize(("passed", "note"), [(50, ""), (49, "near-perfect"), (48, "near-perfect"), (47, "")])
def test_from_96_percent_on_a_combination_is_near_perfect(passed, note):
    records = [make_record(number=n) if n <= passed else make_failure("sim/good", number=n) for n in range(1, 51)]
    assert [row[-1] for row in results_table(make_run(), summarise(records)).rows] == [note]


def test_combinations_stand_from_best_to_worst_and_the_faster_first():
    records = [
        make_failure("a"),
        make_record("b", latency_ms=20.0),
        make_record("c", latency_ms=10.0),
        make_invalid("d"),
    ]
    assert [row[0] for row in results_table(make_run(), summarise(records)).rows] == ["c", "b", "a", "d"]


def test_a_comparison_stands_before_the_tables():
    before = [make_record(number=n) for n in range(1, 41)]
    after = [make_failure("sim/good", number=n) for n in range(1, 41)]
    comparison = compare(before, after, labels=("main", "branch"))
    text = write_markdown(make_run(), after, summarise(after), comparison)
    assert "## main and branch\n\n" in text
    assert "| overall | 40/40 | 0/40 | -100 |" in text
    assert text.index("## main and branch") < text.index("## Results")


def test_words_of_a_model_cannot_leave_their_cell():
    records = [make_failure("a|b\n<img src=x>", scenario="[x](javascript:1)", code="`|`")]
    text = write_markdown(make_run(), records, summarise(records))
    rows = [line for line in text.splitlines() if "img" in line]
    assert rows == [r"| a\|b &lt;img src=x&gt; | default | 0/1 | 100 |  |"]
    assert "<" not in text
    assert r"\[x\](javascript:1)" in text


def test_spelling_leaves_names_as_they_are():
    assert spell("qwen/qwen3-next_80b · 4.6: ok?") == "qwen/qwen3-next_80b · 4.6: ok?"


def test_junit_has_a_suite_per_combination_and_a_case_per_trial():
    root = ET.fromstring(write_junit(make_run(), make_records()))
    assert root.attrib == {
        "name": "smoke",
        "tests": "8",
        "failures": "2",
        "errors": "0",
        "skipped": "1",
        "time": "1.200",
    }
    assert [(suite.get("name"), suite.get("tests"), suite.get("failures"), suite.get("skipped")) for suite in root] == [
        ("sim/good · default · plain", "4", "0", "0"),
        ("sim/poor · default · plain", "4", "2", "1"),
    ]
    cases = root[1].findall("testcase")
    assert [case.get("name") for case in cases] == [
        "happy_path · 1",
        "happy_path · 2",
        "chat_only · 1",
        "chat_only · 2",
    ]
    failure, skipped = cases[0][0], cases[2][0]
    assert (failure.tag, failure.attrib) == ("failure", {"message": "It said Ok.", "type": "wrong_text"})
    assert failure.text == "final_text: wrong_text: It said Ok."
    assert (skipped.tag, skipped.get("message")) == ("skipped", "invalid, provider: 429 three times")
    assert [len(case) for case in cases] == [1, 1, 1, 0]


@pytest.mark.parametrize("char", [chr(code) for code in (0, 8, 11, 27, 0xD800, 0xFFFE, 0xFFFF)])
def test_junit_is_xml_whatever_a_model_says(char):
    text = f"{HOSTILE}{char}]]>"
    record = make_failure(text, text, message=text, code=text)
    root = ET.fromstring(write_junit(make_run(suite=text), [record]))
    spelled = char.encode("unicode_escape").decode()
    assert root[0][0][0].get("message").endswith(f"{spelled}]]>")
    assert "</script>" in root[0][0][0].get("message")


@pytest.mark.parametrize(("length", "shown"), [(MESSAGE_CHARS, "x" * MESSAGE_CHARS), (MESSAGE_CHARS + 1, None)])
def test_long_messages_are_cut_in_junit(length, shown):
    root = ET.fromstring(write_junit(make_run(), [make_failure(message="x" * length)]))
    assert root[0][0][0].get("message") == (shown or "x" * (MESSAGE_CHARS - 1) + "…")


def test_every_form_is_in_the_folder(folder):
    write_report(folder, make_run(), make_records())
    assert sorted(file.name for file in folder.path.iterdir()) == [
        "junit.xml",
        "report.html",
        "report.md",
        "run.json",
        "summary.json",
        "trials.jsonl",
    ]
    summary = msgspec.json.decode(folder.summary_file.read_bytes(), type=Summary)
    assert summary == summarise(make_records())
    assert json.loads(folder.summary_file.read_text())["overall"]["passed"] == 5


def test_forms_do_not_depend_on_the_order_in_which_trials_ended(folder):
    def write(records):
        write_report(folder, make_run(), records)
        return [
            file.read_bytes()
            for file in (folder.summary_file, folder.markdown_file, folder.junit_file, folder.page_file)
        ]

    shuffled = make_records()
    random.Random(3).shuffle(shuffled)
    assert shuffled != make_records()
    assert write(shuffled) == write(make_records())


def test_of_a_trial_that_was_run_again_the_last_record_counts(folder):
    summary = write_report(
        folder, make_run(), [make_invalid("sim/good", "chat_only"), make_record(scenario="chat_only")]
    )
    assert (summary.overall.passed, summary.overall.scored, summary.overall.invalid) == (1, 1, 0)
    assert ET.fromstring(folder.junit_file.read_bytes()).get("tests") == "1"


def test_a_run_without_trials_has_a_report_too(folder):
    summary = write_report(folder, make_run(), [])
    assert (summary.overall.scored, summary.overall.rate) == (0, None)
    assert "**0/0** passed (–" in folder.markdown_file.read_text()
    assert b"<h1>smoke</h1>" in folder.page_file.read_bytes()


def test_a_failure_without_a_code_is_counted_too():
    record = make_record(status=Status.FAILED, blame=Blame.HARNESS)
    assert "| unspecified | harness | 1 | happy_path 1 |" in write_markdown(make_run(), [record], summarise([record]))


def test_the_summary_of_a_job_is_appended_to(tmp_path):
    target = tmp_path / "summary.md"
    target.write_text("before\n")
    assert append_step_summary("# Report\n", {"GITHUB_STEP_SUMMARY": str(target)})
    assert target.read_text() == "before\n# Report\n"


def test_outside_of_github_nothing_is_appended():
    assert not append_step_summary("# Report\n", {})
    assert not append_step_summary("# Report\n", {"GITHUB_STEP_SUMMARY": ""})


@pytest.mark.parametrize("over", [0, 1])
def test_the_summary_of_a_job_stays_within_what_is_shown(tmp_path, over):
    target = tmp_path / "summary.md"
    text = "row\n" * (STEP_SUMMARY_BYTES // 4) + "x" * over
    append_step_summary(text, {"GITHUB_STEP_SUMMARY": str(target)})
    written = target.read_text()
    assert len(written) <= STEP_SUMMARY_BYTES
    assert (written == text) is (over == 0)
    assert written.endswith("row\n\n\nThe rest is in report.md.\n") is (over == 1)
    append_step_summary("more\n", {"GITHUB_STEP_SUMMARY": str(target)})
    assert target.stat().st_size <= STEP_SUMMARY_BYTES


@pytest.mark.parametrize(
    ("rate", "text"), [(None, "–"), (0.0, "0 %"), (0.001, "1 %"), (0.5, "50 %"), (0.999, "99 %"), (1.0, "100 %")]
)
def test_only_a_spotless_rate_is_called_100_percent(rate, text):
    assert say_rate(rate) == text


def test_figures_are_short():
    assert [say_duration(ms) for ms in (None, 0.25, 9.5, 10, 999, 1_000, 99_940, 100_000)] == [
        "–",
        "0.25 ms",
        "9.5 ms",
        "10 ms",
        "999 ms",
        "1.0 s",
        "99.9 s",
        "100 s",
    ]
    assert [say_cost(cost) for cost in (None, 0.0, 0.01234, 12.5)] == ["–", "$0.00", "$0.0123", "$12.50"]
    assert say_count(1234567) == "1\u202f234\u202f567"
