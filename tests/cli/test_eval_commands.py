"""`eval init`, `eval record` and `eval replay`."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from groundwire.cli.eval_init import eval_init
from groundwire.cli.eval_record import eval_record
from groundwire.cli.eval_replay import eval_replay
from groundwire.contracts.errors import NotFound
from groundwire.evals.comparing import compare
from groundwire.evals.reports import ReportFolder, newest_report
from groundwire.testing import Answer, Ask

WEATHER = Answer(calls=(Ask("get_weather", {"city": "Oslo"}),))


def run(command, *arguments):
    """As `groundwire` runs it: click remembers how a command was first asked for help."""
    return CliRunner().invoke(command, [str(one) for one in arguments], help_option_names=["-h", "--help"])


@pytest.fixture
def weather_run(project, record):
    return record("What is the weather in Oslo?", WEATHER, "It is fine.", session="s1").run_id


@pytest.fixture
def script(project):
    """What the built-in model says from now on."""

    def write(*answers):
        Path("script.json").write_text(json.dumps({"answers": answers}))
        Path("groundwire.toml").write_text('[simulator]\nscript = "script.json"\n')

    return write


def test_a_first_suite_is_written_beside_the_tools(project):
    written = run(eval_init)
    assert (written.exit_code, written.stdout) == (
        0,
        "Wrote evals/tools.yaml.\nNext:\n  groundwire eval evals/tools.yaml\n",
    )
    suite = yaml.safe_load(Path("evals/tools.yaml").read_text(encoding="utf-8"))
    assert [one["id"] for one in suite["scenarios"]] == [
        "happy_get_weather",
        "happy_send_note",
        "missing_argument_get_weather",
        "chat_only",
        "forbidden_send_note",
    ]
    assert suite["scenarios"][0]["setup"]["tools"] == "../tools"


def test_a_suite_that_is_there_is_kept_unless_it_may_be_written_over(project):
    Path("evals").mkdir()
    Path("evals/tools.yaml").write_text("mine")
    refused = run(eval_init)
    assert refused.exit_code == 2
    assert "evals/tools.yaml is there already; --force writes over it" in refused.stderr
    assert Path("evals/tools.yaml").read_text() == "mine"
    assert run(eval_init, "--force").exit_code == 0
    assert Path("evals/tools.yaml").read_text().startswith("# A first suite")


def test_a_recorded_run_is_printed_or_written(weather_run):
    printed = run(eval_record, weather_run)
    assert printed.exit_code == 0
    assert run(eval_record, weather_run, "-o", "evals/weather.yaml").stdout == "Wrote evals/weather.yaml.\n"
    assert Path("evals/weather.yaml").read_text(encoding="utf-8") == printed.stdout
    (scenario,) = yaml.safe_load(printed.stdout)["scenarios"]
    assert (scenario["id"], scenario["turns"]) == (weather_run, ["What is the weather in Oslo?"])
    assert scenario["checks"][-1] == {"check": "text", "equals": "It is fine."}


def test_the_text_of_a_recorded_run_need_not_count(weather_run):
    (scenario,) = yaml.safe_load(run(eval_record, weather_run, "--text", "none").stdout)["scenarios"]
    assert [check["check"] for check in scenario["checks"]] == ["calls"]


def test_a_recording_that_is_there_is_kept(weather_run):
    Path("mine.yaml").write_text("mine")
    assert run(eval_record, weather_run, "-o", "mine.yaml").exit_code == 2
    assert Path("mine.yaml").read_text() == "mine"


def test_a_run_that_is_not_there_is_not_recorded(project):
    assert isinstance(run(eval_record, "nowhere", "-o", "x.yaml").exception, NotFound)
    assert not Path("x.yaml").exists()


def test_runs_that_come_out_the_same_pass_and_are_on_record(weather_run, script):
    script({"calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]}, "It is fine.")
    replayed = run(eval_replay, weather_run, "--model", "sim/new", "--reports", "out")
    (folder,) = Path("out").iterdir()
    assert replayed.exit_code == 0, replayed.output
    assert replayed.stdout == (f"{weather_run} · 1: passed\n1 of 1 replay came out the same. Report: {folder}\n")
    assert sorted(file.name for file in folder.iterdir()) == [
        "junit.xml",
        "report.html",
        "report.md",
        "run.json",
        "summary.json",
        "trials.jsonl",
    ]
    planned = ReportFolder(folder).read_run()
    assert (planned.suite, planned.models, planned.scenarios) == ("replay", ("sim/new",), (weather_run,))
    (record,) = ReportFolder(folder).read_records()
    assert (record.trial.strategy, record.passed) == ("replay", True)


def test_a_difference_fails_the_command_and_is_told(weather_run, script):
    script("It is fine.")
    replayed = run(eval_replay, weather_run, "--model", "sim/new")
    assert replayed.exit_code == 1
    assert replayed.stdout.splitlines()[:2] == [
        f"{weather_run} · 1: failed",
        '  step 1: call_removed of get_weather: {"city":"Oslo"} → nothing',
    ]


def test_replays_as_json_are_the_records(weather_run, script):
    script("It is fine.")
    replayed = run(eval_replay, weather_run, "--model", "sim/new", "--trials", "2", "--json")
    records = json.loads(replayed.stdout)
    assert [(one["trial"]["number"], one["status"]) for one in records] == [(1, "failed"), (2, "failed")]


def test_a_replay_needs_something_new(weather_run):
    refused = run(eval_replay, weather_run)
    assert refused.exit_code == 2
    assert "--model, --instructions or --tools" in refused.stderr


def test_a_run_that_is_not_there_leaves_no_report(project):
    assert isinstance(run(eval_replay, "nowhere", "--model", "sim/new").exception, NotFound)
    assert not Path("reports").exists()


def test_two_replays_are_compared_as_any_evaluations_are(weather_run, script):
    good = [{"calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]}, "It is fine."]
    for name, answers in (("a", good), ("b", ["It is fine."])):
        script(*answers)
        run(eval_replay, weather_run, "--model", f"sim/{name}", "--trials", "10", "--reports", name)
    sides = [newest_report(name).read_records() for name in ("a", "b")]
    assert compare(*sides, labels=("a", "b")).sentence == f"b is worse at {weather_run}; 95 % sure"
