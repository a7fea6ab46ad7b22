"""`groundwire eval`, from the command line to the report."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from groundwire.evals.reports import ReportFolder, newest_report

FILES = {"run.json", "trials.jsonl", "summary.json", "report.md", "junit.xml", "report.html"}
SMOKE = ["happy_path", "missing_workspace_id", "type_error_recovery", "long_arguments_guard", "chat_only"]
SUITE = """
- id: greets
  turns: [Say hello.]
  checks: [{check: text, contains: [hello]}]
  ideal: [{text: hello}]
"""


@pytest.fixture(autouse=True)
def no_knobs(empty, monkeypatch):
    """An empty folder, and no variable that a run would follow."""
    for name in [name for name in os.environ if name.startswith("OPENROUTER_")]:
        monkeypatch.delenv(name)
    for name in ("VERBOSE", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)


def verdicts(folder):
    """What a run found, without how long it took."""
    return {
        record.trial.name: (record.status, record.code, record.text, record.steps, record.seed)
        for record in ReportFolder(folder).read_records()
    }


def newest():
    return newest_report("reports").path


@pytest.mark.requirement("C-003", "C-043", "C-044", "C-055", "C-079", "C-088")
def test_the_smoke_suite_runs_offline_and_writes_every_form_of_the_report(run):
    done = run("eval", "smoke")
    assert done.exit_code == 0
    assert {file.name for file in newest().iterdir()} == FILES
    rows = {line.split()[0]: line.split()[2] for line in done.stdout.splitlines()[1:7]}
    assert rows == {
        "flaky": "5/5",
        "perfect": "5/5",
        "long-arguments": "4/5",
        "rules": "2/5",
        "tags": "1/5",
        "empty-finals": "0/5",
    }
    assert f"Report: {newest()}" in done.stdout


def test_two_runs_with_one_seed_find_the_same_and_another_seed_tries_anew(run):
    found = []
    for seed in (7, 7, 8):
        assert run("eval", "smoke", "--models", "flaky", "--trials", 4, "--seed", seed, "--quiet").exit_code == 0
        found.append(verdicts(newest()))
    assert found[0] == found[1]
    assert {verdict[-1] for verdict in found[0].values()}.isdisjoint(verdict[-1] for verdict in found[2].values())


@pytest.mark.requirement("C-063", "C-118")
def test_several_workers_find_what_one_finds(run):
    for jobs in (1, 4):
        assert run("eval", "smoke", "--trials", 2, "--jobs", jobs, "--reports", f"jobs{jobs}", "--quiet").exit_code == 0
    one, four = (newest_report(f"jobs{jobs}").path for jobs in (1, 4))
    assert verdicts(one) == verdicts(four)
    assert len(verdicts(one)) == 60


def started(*arguments):
    """The command as a process that tells of each trial on stderr."""
    command = [sys.executable, "-m", "groundwire", "eval", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8")


def wait_for_trials(process, count):
    lines = [process.stderr.readline() for _ in range(count)]
    assert all("ms" in line for line in lines), lines
    return newest()


def test_a_run_that_is_killed_and_gone_on_with_reports_what_an_undisturbed_one_does(run):
    asked = ("smoke", "--models", "flaky,tags", "--trials", 8)
    with started(*asked) as process:
        folder = wait_for_trials(process, 20)
        process.kill()
    before = ReportFolder(folder).read_records()
    assert 20 <= len(before) < 120
    assert not (folder / "report.html").exists()

    gone_on = run("eval", "--resume", folder)
    assert gone_on.exit_code == 0
    assert gone_on.stderr.count(" ms") == 120 - len(before)  # nothing is run twice

    assert run("eval", *asked, "--reports", "undisturbed", "--quiet").exit_code == 0
    undisturbed = newest_report("undisturbed").path
    assert verdicts(folder) == verdicts(undisturbed)
    assert len(ReportFolder(folder).read_records()) == 120
    assert _rates(folder) == _rates(undisturbed)


def _rates(folder):
    summary = json.loads((folder / "summary.json").read_bytes())
    return [(row["model"], row["scenario"], row["passed"], row["scored"], row["codes"]) for row in summary["cells"]]


def test_an_interrupted_run_says_how_to_go_on_and_can_be_gone_on_with(run):
    with started("smoke", "--models", "flaky", "--trials", 100) as process:
        folder = wait_for_trials(process, 5)
        process.send_signal(signal.SIGINT)
        told = process.stderr.read()
    assert process.returncode == 130
    assert f"Stopped. Go on with: groundwire eval --resume {folder}" in told
    done = len(ReportFolder(folder).read_records())
    assert done < 1000
    assert run("eval", "--resume", folder, "--quiet").exit_code == 0
    assert len(ReportFolder(folder).read_records()) == 1000


@pytest.mark.parametrize("flags", [["--trials", "2"], ["--models", "all"], ["--fallback-matrix"]])
def test_a_run_is_gone_on_with_as_it_was_begun(run, flags):
    assert run("eval", "smoke", "--models", "perfect", "--quiet").exit_code == 0
    refused = run("eval", "--resume", newest(), *flags)
    assert refused.exit_code == 2
    assert "A run is gone on with as it was begun; leave --" in refused.stderr
    assert run("eval", "smoke", "--resume", newest()).exit_code == 2
    assert run("eval", "--resume", newest(), "--jobs", 2).exit_code == 0


def test_a_scenario_that_has_changed_is_tried_again_when_a_run_is_gone_on_with(run):
    Path("own.yaml").write_text(SUITE)
    assert run("eval", "own.yaml", "--models", "perfect,!rules").exit_code == 0
    Path("own.yaml").write_text(SUITE.replace("contains: [hello]", "contains: [goodbye]"))
    again = run("eval", "--resume", newest(), "--json")
    assert json.loads(again.stdout)["summary"]["overall"]["passed"] == 0


def test_a_folder_that_is_no_report_cannot_be_gone_on_with(run):
    refused = run("eval", "--resume", ".")
    assert refused.exit_code == 1
    assert "error[not_found]" in refused.stderr


@pytest.mark.requirement("C-096")
@pytest.mark.parametrize(("least", "code"), [("0.8", 0), ("0.81", 1)])
def test_a_gate_fails_where_a_combination_passes_less_often(run, least, code):
    done = run("eval", "smoke", "--models", "long-arguments", "--min-pass", least, "--quiet")
    assert done.exit_code == code
    assert ("below 0.81: long-arguments default default: 4/5" in done.stderr) == bool(code)


def test_a_gate_fails_where_a_scenario_could_not_be_scored_and_it_is_told_why(run):
    Path("crashing.py").write_text("def crash(evidence):\n    raise KeyError('boom')\n")
    check = "  checks: [{check: function, function: 'crashing:crash'}]\n"
    Path("s.yaml").write_text(f"{SUITE}- id: broken\n  turns: [Say hello again.]\n{check}  ideal: [{{text: hello}}]\n")
    done = run("eval", "s.yaml", "--models", "perfect,flaky,!rules", "--min-pass", 0.5, "--quiet")
    assert done.exit_code == 1
    assert "2 trials invalid at broken: harness, harness_error: KeyError: 'boom'" in done.stderr
    assert "below 0.5: perfect default default broken: 0/0" in done.stderr


@pytest.mark.parametrize("number", ["nan", "inf", "-0.1", "x"])
@pytest.mark.parametrize("flag", ["--min-pass", "--max-cost"])
def test_a_gate_that_nothing_could_miss_is_refused(run, flag, number):
    done = run("eval", "smoke", "--models", "empty-finals", flag, number, "--quiet")
    assert done.exit_code == 2
    assert not Path("reports").exists()


def test_a_dry_run_shows_the_matrix_and_the_price_and_asks_nobody(run):
    done = run("eval", "smoke", "--models", "openai,x-ai", "--trials", 10, "--dry-run")
    assert done.exit_code == 0
    assert "openai/gpt-5.2:nitro" in done.stdout
    assert "150 trials, about $" in done.stdout
    assert "and 1 model without a price. Nobody was asked." in done.stdout
    assert not Path("reports").exists()
    planned = json.loads(run("eval", "smoke", "--dry-run", "--json").stdout)
    assert (planned["trials"], planned["cost"]) == (30, 0.0)


def test_a_dry_run_of_a_run_that_was_begun_shows_what_it_was(run):
    assert run("eval", "smoke", "--models", "perfect,!rules", "--quiet").exit_code == 0
    assert json.loads(run("eval", "--resume", newest(), "--dry-run", "--json").stdout)["trials"] == 5


@pytest.mark.requirement("C-050", "C-051")
def test_real_models_need_a_key_and_nothing_is_written_without_one(run):
    for flags in (["--live"], ["--models", "stable"], ["--models", "all"]):
        refused = run("eval", "smoke", *flags)
        assert refused.exit_code == 1
        assert "is a real model, and OPENROUTER_API_KEY is not set" in refused.stderr
    assert not Path("reports").exists()


@pytest.mark.requirement("C-050")
def test_a_key_alone_asks_nobody_real(run, monkeypatch):
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-secret")
    printed = run("eval", "smoke", "--json", "--quiet")
    assert json.loads(printed.stdout)["run"]["isLive"] is False
    assert not [file for file in newest().iterdir() if b"sk-secret" in file.read_bytes()]


@pytest.mark.requirement("C-052", "C-061", "C-062", "C-065")
def test_the_environment_says_what_flags_do_not(run, monkeypatch):
    monkeypatch.setenv("OPENROUTER_MODEL_FILTER", "perfect")
    monkeypatch.setenv("OPENROUTER_TRIALS", "2")
    monkeypatch.setenv("OPENROUTER_SCENARIOS", "happy_path,chat_only")
    planned = json.loads(run("eval", "workspace", "--dry-run", "--json").stdout)["run"]
    assert (planned["models"], planned["trials"]) == (["perfect", "rules"], 2)
    assert planned["scenarios"] == ["happy_path", "chat_only"]
    flags = ["--models", "flaky", "--trials", "3", "--scenarios", "default"]
    planned = json.loads(run("eval", "workspace", *flags, "--dry-run", "--json").stdout)["run"]
    assert (planned["models"], planned["trials"]) == (["flaky", "rules"], 3)
    assert planned["scenarios"] == SMOKE


@pytest.mark.requirement("C-064", "C-119")
def test_a_fallback_matrix_shows_both_sides(run):
    done = run("eval", "smoke", "--models", "tags,!rules", "--fallback-matrix", "--json", "--quiet")
    rows = json.loads(done.stdout)["summary"]["combinations"]
    assert {row["strategy"]: row["passed"] for row in rows} == {"fallback_off": 1, "fallback_on": 5}
    assert run("eval", "smoke", "--fallback-matrix", "--strategies", "default").exit_code == 2


@pytest.mark.requirement("C-115", "C-116", "C-117")
@pytest.mark.parametrize(
    ("verbose", "lines"),
    [
        ("0", []),
        ("", ["✓ 1/1 perfect default default happy_path 1: state_get ok → state_patch ok → Done.  3 steps"]),
        ("2", ["✓ 1/1 perfect default default happy_path 1: state_get ok (17 B in, "]),
    ],
)
def test_progress_is_told_as_much_as_is_asked_for(run, monkeypatch, verbose, lines):
    monkeypatch.setenv("VERBOSE", verbose)
    done = run("eval", "workspace", "--models", "perfect,!rules", "--scenarios", "happy_path")
    told = done.stderr.splitlines()
    assert len(told) == len(lines)
    assert all(line.startswith(start) for line, start in zip(told, lines, strict=True))
    assert all(("tokens in" in line) == (verbose == "2") for line in told)


def test_quiet_is_quiet(run):
    assert run("eval", "smoke", "--models", "perfect", "--quiet").stderr == ""


@pytest.mark.requirement("C-114", "X-27")
def test_a_choice_of_http_client_is_read_and_told_to_choose_nothing(run, monkeypatch):
    monkeypatch.setenv("OPENROUTER_HTTP_ADAPTER", "default")
    told = run("eval", "smoke", "--dry-run").stderr
    assert told == "OPENROUTER_HTTP_ADAPTER chooses nothing here: there is one HTTP client for every provider.\n"


def test_a_cache_gives_results_again_and_not_those_of_other_conditions(run):
    for _ in range(2):
        run("eval", "smoke", "--models", "flaky,!rules", "--cache", "kept", "--quiet")
    first, second = (ReportFolder(path).read_records() for path in sorted(Path("reports").iterdir()))
    assert first == second
    assert len(list(Path("kept").rglob("*.json"))) == 5
    run("eval", "smoke", "--models", "flaky,!rules", "--seed", 2, "--cache", "kept", "--quiet")
    assert len(list(Path("kept").rglob("*.json"))) == 10


@pytest.mark.parametrize(
    ("environment", "setup", "changed"),
    [
        ("p/tools", "{}", "p/tools/get_weather/handler.py"),
        ("stubs", "{tools: p/tools}", "p/tools/get_weather/schema.json"),
        ("own:make", "{}", "own.py"),
    ],
)
def test_a_change_of_tools_or_functions_makes_results_of_the_cache_unfit(run, environment, setup, changed):
    run("init", "p")
    Path("own.py").write_text(
        "from groundwire.evals.stubs import StubEnvironment\n\nmake = lambda _: StubEnvironment({'tools': []})\n"
    )
    Path("s.yaml").write_text(
        f"- {{id: a, turns: [Hi], environment: '{environment}', setup: {setup}, ideal: [{{text: Hi}}]}}"
    )
    asked = ("eval", "s.yaml", "--models", "perfect,!rules", "--cache", "kept", "--json", "--quiet")
    for content, kept in (("", 1), ("", 1), (" \n", 2)):
        Path(changed).write_text(Path(changed).read_text() + content)
        assert run(*asked).exit_code == 0
        assert len(list(Path("kept").rglob("*.json"))) == kept


def test_a_spoilt_file_of_the_cache_counts_as_none(run):
    run("eval", "smoke", "--models", "perfect,!rules", "--cache", "kept", "--quiet")
    for file in Path("kept").rglob("*.json"):
        file.write_bytes(b"{")
    assert run("eval", "smoke", "--models", "perfect,!rules", "--cache", "kept", "--quiet").exit_code == 0
    assert all(json.loads(file.read_bytes())["status"] == "passed" for file in Path("kept").rglob("*.json"))


def test_a_suite_of_ones_own_is_run_from_its_file(run):
    Path("own.yaml").write_text(SUITE)
    done = run("eval", "own.yaml", "--models", "perfect,!rules", "--json", "--quiet")
    printed = json.loads(done.stdout)
    assert (printed["run"]["suite"], printed["summary"]["overall"]["passed"]) == ("own", 1)


def test_own_models_come_from_groundwire_toml_and_from_a_file(run):
    Path("groundwire.toml").write_text('[[evals.models]]\nid = "acme/one"\ntags = ["mine"]\n')
    Path("more.toml").write_text('[[models]]\nid = "acme/two"\ntags = ["mine"]\n')
    planned = run("eval", "smoke", "--models", "mine", "--catalogue", "more.toml", "--dry-run", "--json")
    assert json.loads(planned.stdout)["run"]["models"] == ["acme/one", "acme/two", "rules"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["smok"], 1, "There is no suite 'smok'"),
        (["smoke", "--models", "perfcet"], 1, "did you mean perfect"),
        (["smoke", "--profiles", "defualt"], 1, "did you mean default"),
        (["smoke", "--scenarios", "hapy_path"], 1, "did you mean happy_path"),
        (["smoke", "--trials", "0"], 2, "0 is not in the range"),
        (["smoke", "--min-pass", "1.1"], 2, "1.1 is not in the range"),
        (["--json"], 2, "Name a suite, such as smoke, or a run to --resume."),
        (["compare", "a"], 2, "Missing argument 'AFTER'"),
        (["compare", "a", "b"], 1, "is not a report"),
    ],
)
def test_what_cannot_be_done_is_told_with_what_was_perhaps_meant(run, arguments, code, message):
    done = run("eval", *arguments)
    assert done.exit_code == code
    assert message in done.stderr


def test_a_variable_that_cannot_be_is_named(run, monkeypatch):
    monkeypatch.setenv("OPENROUTER_TRIALS", "many")
    done = run("eval", "smoke")
    assert done.exit_code == 1
    assert done.stderr.startswith("error[config_error]: OPENROUTER_TRIALS must be a whole number")


def test_two_reports_are_compared_and_the_worse_one_fails(run):
    for model, reports in (("perfect", "a"), ("empty-finals", "b")):
        run("eval", "smoke", "--models", f"{model},!rules", "--trials", 5, "--reports", reports, "--quiet")
    before, after = newest_report("a").path, newest_report("b").path
    worse = run("eval", "compare", before, after)
    assert worse.exit_code == 1
    assert "empty-finals is worse" in worse.stdout
    assert run("eval", "compare", after, before).exit_code == 0
    assert json.loads(run("eval", "compare", before, before, "--json").stdout)["verdict"] != "worse"


def test_a_github_job_shows_the_report(run, monkeypatch, tmp_path):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    run("eval", "smoke", "--models", "perfect", "--quiet")
    assert "| perfect |" in (tmp_path / "summary.md").read_text()


def test_a_summary_that_cannot_be_written_costs_nothing_but_itself(run, monkeypatch, tmp_path):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    done = run("eval", "smoke", "--models", "perfect", "--min-pass", 1, "--quiet")
    assert done.exit_code == 0
    assert f"Report: {newest()}" in done.stdout
    assert "GITHUB_STEP_SUMMARY cannot be written" in done.stderr


def test_help_lists_the_commands_and_the_word_run_may_stand_too(run):
    assert "compare" in run("eval", "--help").stdout
    assert "--fallback-matrix" in run("eval", "run", "--help").stdout
    assert run("eval", "run", "smoke", "--models", "perfect", "--quiet").exit_code == 0
