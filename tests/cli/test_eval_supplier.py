"""`groundwire eval supplier` and `groundwire app supplier play`, from the command line to what is printed."""

import json

import pytest

from groundwire.evals.reports import ReportFolder, newest_report


@pytest.fixture(autouse=True)
def no_keys(empty, monkeypatch):
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENROUTER_API_KEY", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)


def newest():
    return newest_report("reports")


@pytest.mark.requirement("A-115", "A-178", "X-11", "X-12")
def test_all_cases_pass_offline_and_the_totals_are_printed(run):
    done = run("eval", "supplier", "--grounding", "strict", "--quiet", "--min-pass", "1")
    assert done.exit_code == 0
    rows = {line.rsplit("  ", 2)[0].strip(): line.split()[-3:-1] for line in done.stdout.splitlines() if "%" in line}
    assert done.stdout.splitlines()[1].split()[:3] == ["recorded", "default", "14/14"]
    assert rows["bot calls grounded, ten cases"] == ["32/39", "82.1"]
    assert rows["signals grounded, ten cases"] == ["9/11", "81.8"]


@pytest.mark.requirement("A-177", "A-180")
def test_a_backend_and_cases_are_chosen_by_their_names(run):
    done = run("eval", "supplier", "--backend", "rules", "--case-ids", "mes2-01,mes2-07-rejection", "--json", "--quiet")
    said = json.loads(done.stdout)
    assert said["run"]["models"] == ["rules"]
    assert said["run"]["scenarios"] == ["mes2-01-moq-rejection", "mes2-07-rejection"]
    names = [total["name"] for total in said["summary"]["totals"]]
    assert names[0] == "statuses as expected"


@pytest.mark.requirement("A-179", "A-182")
def test_signals_are_delivered_into_the_report_when_asked_for(run):
    done = run("eval", "supplier", "--send-to-brain", "--case-ids", "mes2-01", "--quiet")
    assert "signals delivered" in done.stdout
    lines = (newest().path / "signals.jsonl").read_text().splitlines()
    assert [json.loads(line)["signal"]["signalType"] for line in lines] == ["human_escalation", "manual_review"]


def test_signals_that_did_not_arrive_fail_the_command_with_the_reason(run, monkeypatch):
    monkeypatch.setenv("GROUNDWIRE_BRAIN_SECRET", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD")
    done = run("eval", "supplier", "--send-to-brain", "http://127.0.0.1:9/signals", "--case-ids", "mes2-01", "--quiet")
    assert done.exit_code == 1
    assert "signals delivered: 0 of 2 (" in done.stderr


def test_a_run_is_gone_on_with_by_its_folder_with_the_options_that_it_had(run):
    run("eval", "supplier", "--grounding", "report", "--case-ids", "mes2-05", "--quiet")
    folder = newest().path
    done = run("eval", "--resume", str(folder), "--json", "--quiet")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["run"]["asked"]["options"] == {"grounding": "report"}
    (record,) = ReportFolder(folder).read_records()
    assert len(record.state["botToolTrace"]) == 4


def test_options_of_the_suite_are_refused_beside_a_resumed_run(run):
    run("eval", "supplier", "--case-ids", "mes2-05", "--quiet")
    done = run("eval", "supplier", "--resume", str(newest().path), "--grounding", "report")
    assert done.exit_code == 2
    assert "--grounding" in done.stderr


def test_a_real_model_without_a_key_says_which_is_missing(run):
    done = run("eval", "supplier", "--backend", "gemini-pro")
    assert done.exit_code == 1
    assert "GEMINI_API_KEY" in done.stderr


def test_a_dry_run_asks_nobody(run):
    done = run("eval", "supplier", "--backend", "gemini-pro", "--dry-run", "--json")
    said = json.loads(done.stdout)
    assert [(one["model"], one["trials"]) for one in said["models"]] == [("gemini-3.1-pro-preview", 14), ("rules", 14)]
    assert said["models"][0]["tokens"]["input"] > 100_000  # each request repeats the prompt and the tools


def test_a_game_is_shown_move_by_move(run):
    done = run("app", "supplier", "play", "--seed", "3")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0].startswith("买家  您好，我们想采购棒球帽")
    assert any(line.startswith("      → log_data moq = 30") for line in lines)
    assert "status: completed" in lines


def test_a_game_as_json_is_the_hand_and_then_one_move_per_line(run):
    done = run("app", "supplier", "play", "--seed", "3", "--turns", "2", "--item", "纸箱", "--qty", "9", "--json")
    moves = [json.loads(line) for line in done.stdout.splitlines()]
    assert (moves[0]["move"], moves[0]["request"]["item"], moves[0]["request"]["qty"]) == ("dealt", "纸箱", 9)
    assert {move["move"] for move in moves[1:]} == {"said", "captured", "ended"}
    assert sum(move["move"] == "said" and move["role"] == "supplier" for move in moves) <= 2
    assert moves[-1]["move"] == "ended"


def test_the_same_seed_is_the_same_game(run):
    first, second = (run("app", "supplier", "play", "--seed", "5", "--json").stdout for _ in range(2))
    said = [[json.loads(line).get("content") for line in text.splitlines()] for text in (first, second)]
    assert said[0] == said[1]


@pytest.mark.parametrize("role", ["--bot", "--supplier"])
def test_nobody_plays_for_a_model_that_cannot_be_asked(run, role):
    done = run("app", "supplier", "play", role, "gemini-pro")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "gemini-pro" in done.stderr


def test_a_game_whose_bot_cannot_be_reached_fails(run, empty):
    (empty / "groundwire.toml").write_text(
        '[providers.gone]\ndialect = "gemini"\nbaseUrl = "http://127.0.0.1:9"\nretry = { attempts = 1 }\n'
    )
    done = run("app", "supplier", "play", "--bot", "gone/model", "--seed", "3")
    assert done.exit_code == 1
    assert "status: error" in done.stdout
