"""`groundwire eval trust`: cards from reports, signed; and the check that a runtime would make."""

import json

import pytest
from click.testing import CliRunner

from groundwire import TrustError
from groundwire.cli import main
from groundwire.cli.eval_trust import eval_trust
from groundwire.contracts.errors import ConfigError, NotFound
from groundwire.evals.records import CallTrace, EvalRun, encode_record, encode_run
from tests.evals.made_records import records
from tests.evals.trusted import KEY, KEY_ENV, card, write_trust

PATCH = CallTrace(name="patch", arguments={}, ok=True)


@pytest.fixture(autouse=True)
def key(empty, monkeypatch):
    monkeypatch.setenv(KEY_ENV, KEY)


@pytest.fixture
def run():
    """The command as it stands, without `groundwire eval` in front of it: errors come as they are."""

    def invoke(*words):
        return CliRunner().invoke(eval_trust, [*map(str, words)], help_option_names=["-h", "--help"])

    return invoke


def report(folder, ends, **fields):
    folder.mkdir()
    run = EvalRun(
        run_id=folder.name, suite="s", models=("m",), profiles=("p",), strategies=("s",), scenarios=("happy_path",),
        trials=len(ends), seed=1,
    )  # fmt: skip
    (folder / "run.json").write_bytes(encode_run(run))
    made = records(ends, calls=(PATCH,), sampling={}, **fields)
    (folder / "trials.jsonl").write_bytes(b"".join(encode_record(one) + b"\n" for one in made))
    return folder


def test_a_report_becomes_a_signed_file_and_the_file_is_verified(run, empty):
    written = run(report(empty / "r1", "+" * 50), "-o", "t.json")
    assert written.exit_code == 0, written.output
    assert "m      p        patch  reliable  50/50   92-100 %  50 of 50 trials passed" in written.output
    assert "Wrote 1 card to t.json, valid until " in written.output
    verified = run("verify", "t.json")
    assert verified.exit_code == 0
    assert "t.json is signed, and valid until " in verified.output
    assert KEY not in (empty / "t.json").read_text()


def test_several_reports_are_one_body_of_evidence(run, empty):
    first, second = report(empty / "r1", "+" * 30), report(empty / "r2", "+" * 20)
    shown = json.loads(run(first, second, "--json").output)
    [card] = shown["cards"]
    assert (card["trust"], card["evidence"]["trials"], card["evidence"]["runs"]) == ("reliable", 50, ["r1", "r2"])


def test_thresholds_strategy_and_time_are_options(run, empty):
    folder = report(empty / "r1", "+" * 20)
    shown = json.loads(run(folder, "--rule", "minTrials=20", "--rule", "minLow=0.8", "--json").output)
    assert (shown["cards"][0]["trust"], shown["rule"]["minTrials"]) == ("reliable", 20)
    assert run(folder, "--strategy", "other").exit_code == 2
    assert run(folder, "--valid", "0s").exit_code == 0
    with pytest.raises(TrustError, match="expired"):
        raise run("verify", "trust.json").exception


@pytest.mark.parametrize(
    ("rule", "code"), [("minLow", 2), ("minLow=high", 2), ("minLow=1.5", 1), ("minLove=0.9", 1), ("minTrials=0", 1)]
)
def test_a_threshold_that_is_none_is_refused(run, empty, rule, code):
    refused = run(report(empty / "r1", "+"), "--rule", rule)
    assert refused.exit_code == code
    assert code == 2 or isinstance(refused.exception, ConfigError)
    assert not (empty / "trust.json").exists()


def test_a_file_that_was_changed_is_named(run, empty):
    run(report(empty / "r1", "-" * 50))
    file = empty / "trust.json"
    file.write_text(file.read_text().replace('"deny"', '"reliable"'))
    failed = run("verify")
    assert (failed.exit_code, failed.exception.reason) == (1, "tampered")
    assert failed.exception.message.startswith("the trust file trust.json cannot be used: its signature does not fit")


def test_without_a_key_nothing_is_written(run, empty, monkeypatch):
    monkeypatch.delenv(KEY_ENV)
    failed = run(report(empty / "r1", "+"))
    assert (failed.exit_code, failed.exception.reason) == (1, "no_key")
    assert not (empty / "trust.json").exists()


def test_the_settings_name_the_variable_of_the_key(run, empty, monkeypatch):
    (empty / "groundwire.toml").write_text('[trust]\nkeyEnv = "OTHER_KEY"\n')
    monkeypatch.setenv("OTHER_KEY", KEY[::-1])
    run(report(empty / "r1", "+"))
    assert run("verify").exit_code == 0
    (empty / "groundwire.toml").unlink()
    assert run("verify").exception.reason == "tampered"


def test_what_is_no_report_is_named(run, empty):
    assert isinstance(run(empty / "nothing").exception, NotFound)


def test_reports_without_a_use_of_a_tool_say_nothing(run, empty):
    refused = run(report(empty / "r1", "???"))
    assert refused.exit_code == 2
    assert "nothing can be said" in refused.output


def test_help_names_both_commands(run):
    shown = run("--help").output
    assert "write" in shown
    assert "verify" in shown


def test_an_evaluation_becomes_trust_in_two_commands(empty):
    evaluated = CliRunner().invoke(
        main, ["eval", "smoke", "--scenarios", "happy_path", "--models", "perfect", "--trials", "50", "--quiet"]
    )
    assert evaluated.exit_code == 0, evaluated.output
    [folder] = (empty / "reports").iterdir()
    shown = json.loads(CliRunner().invoke(main, ["eval", "trust", str(folder), "--json"]).output)
    assert {(one["model"], one["tool"]): one["trust"] for one in shown["cards"]} == {
        ("simulated/perfect", "state_get"): "reliable",
        ("simulated/perfect", "state_patch"): "reliable",
        ("simulated/rules", "state_get"): "deny",
        ("simulated/rules", "state_patch"): "deny",
    }
    (empty / "trust.json").write_text("{}")
    refused = CliRunner().invoke(main, ["eval", "trust", "verify"])
    assert refused.exit_code == 1
    assert "error[trust_error]: the trust file trust.json cannot be used: it holds no trust cards" in refused.output


@pytest.mark.parametrize("words", [("serve", "--port", "0"), ("chat", "-m", "Hello"), ("call", "get_weather", "{}")])
def test_nothing_that_uses_tools_starts_with_a_trust_file_that_has_expired(project, words):
    _expired(project)
    refused = CliRunner().invoke(main, words)
    assert refused.exit_code == 1
    assert "error[trust_error]: the trust file" in refused.output
    assert "cannot be used: it expired at 1970-01-01T00:00:01.000Z" in refused.output


@pytest.mark.parametrize("words", [("audit", "list"), ("approvals", "list"), ("keys", "list")])
def test_records_can_be_read_with_a_trust_file_that_has_expired(project, words):
    _expired(project)
    assert CliRunner().invoke(main, words).exit_code == 0


def _expired(project):
    write_trust(project / "trust.json", card("m", "get_weather", "deny"), expires=1.0)
    (project / "groundwire.toml").write_text('[trust]\nfile = "trust.json"\n')
