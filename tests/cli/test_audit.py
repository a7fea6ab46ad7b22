import json
import os
import sqlite3
from pathlib import Path

import pytest

from groundwire.cli.options import os_user

FIELDS = ("id", "request_id", "tool_name", "input_hash", "output_hash", "success", "duration_ms", "error", "created_at")


@pytest.fixture
def recorded(project, run):
    """A store with five records: four calls that succeeded and one that was refused."""
    for city in ("Oslo", "Rome", "Lima"):
        run("call", "get_weather", json.dumps({"city": city}))
    run("call", "get_weather", "{}")
    run("call", "send_note", '{"text": "hi"}')


def change(statement, *values):
    with sqlite3.connect("groundwire.db") as connection:
        assert connection.execute(statement, values).rowcount > 0
    connection.close()


@pytest.mark.requirement("D-111", "D-112", "D-113", "D-114", "D-117", "D-118", "D-119", "D-120")
def test_every_call_is_listed_refused_ones_too(recorded, run, run_json):
    listed = run_json("audit", "list")
    assert [record["seq"] for record in listed] == [5, 4, 3, 2, 1]
    assert [record["success"] for record in listed] == [True, False, True, True, True]
    assert all(name in record for record in listed for name in FIELDS)
    assert listed[1]["error"].startswith("VALIDATION")
    lines = run("audit", "list", "--limit", "2").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["NUMBER", "5", "4"]


def test_a_whole_chain_is_verified(recorded, run, run_json):
    result = run("audit", "verify")
    assert result.exit_code == 0
    report = run_json("audit", "verify")
    assert (report["ok"], report["records"], report["keyed"], report["checkpoint"]) == (True, 5, False, "none")
    assert "5 records, chained without a key" in result.stdout
    assert f"head: record 5, {report['head']['hash']}" in result.stdout
    assert "cannot be excluded" in result.stdout


def test_a_key_is_mentioned_and_needed(project, run, monkeypatch):
    monkeypatch.setenv("GROUNDWIRE_AUDIT_KEY", "a key")
    run("call", "get_weather", '{"city": "Oslo"}')
    assert "chained with a key" in run("audit", "verify").stdout
    monkeypatch.delenv("GROUNDWIRE_AUDIT_KEY")
    result = run("audit", "verify")
    assert result.exit_code == 1
    assert "They were checked without a key" in result.stderr


def test_a_changed_record_is_named(recorded, run):
    change("UPDATE audit SET tool_name = 'set_weather' WHERE seq = 2")
    result = run("audit", "verify", "--json")
    assert result.exit_code == 1
    (problem,) = json.loads(result.stdout)["problems"]
    assert (problem["kind"], problem["seq"]) == ("changed", 2)
    readable = run("audit", "verify")
    assert readable.exit_code == 1
    assert f"record 2 ({problem['recordId']}): changed" in readable.stdout


def test_a_removed_record_is_named(recorded, run):
    change("DELETE FROM audit WHERE seq = 3")
    result = run("audit", "verify", "--json")
    assert result.exit_code == 1
    assert [problem["kind"] for problem in json.loads(result.stdout)["problems"]] == ["missing"]


@pytest.mark.parametrize("path", [[], ["audit.checkpoint"], ["--verbose"]])
def test_a_cut_tail_is_found_with_a_checkpoint(recorded, run, path):
    assert run("audit", "verify", "--checkpoint", *path).exit_code == 0
    change("DELETE FROM audit WHERE seq > 3")
    assert run("audit", "verify").exit_code == 1
    change("UPDATE audit_head SET seq = 3, hash = (SELECT hash FROM audit WHERE seq = 3)")
    assert run("audit", "verify").exit_code == 0
    result = run("audit", "verify", "--checkpoint", *path)
    assert result.exit_code == 1
    assert "record 5: cut" in result.stdout


def test_a_database_that_was_removed_is_found_with_a_checkpoint(recorded, run):
    for file in Path().glob("groundwire.db*"):
        file.unlink()
    result = run("audit", "verify", "--checkpoint")
    assert result.exit_code == 1
    assert "record 5: cut" in result.stdout
    assert not Path("groundwire.db").exists()


@pytest.mark.parametrize("command", [["audit", "verify"], ["audit", "verify", "--checkpoint"], ["approvals", "list"]])
def test_looking_does_not_vouch_for_the_chain(recorded, run, command):
    change("DELETE FROM audit WHERE seq > 3")
    before = Path("audit.checkpoint").read_bytes()
    run(*command)
    assert Path("audit.checkpoint").read_bytes() == before


def test_a_checkpoint_file_that_is_gone_proves_nothing(recorded, run):
    Path("audit.checkpoint").unlink()
    result = run("audit", "verify", "--checkpoint")
    assert result.exit_code == 1
    assert result.stderr.startswith("error[store_error]: the checkpoint file")


def test_a_checkpoint_that_is_not_configured_is_an_error(recorded, run):
    Path("groundwire.toml").write_text("")
    result = run("audit", "verify", "--checkpoint")
    assert result.exit_code == 1
    assert result.stderr.startswith("error[config_error]:")


def test_an_export_has_one_flat_record_per_line(recorded, run, run_json):
    result = run("audit", "export")
    assert result.exit_code == 0
    records = [json.loads(line) for line in result.stdout.splitlines()]
    assert [record["seq"] for record in records] == [1, 2, 3, 4, 5]
    assert all(name in record for record in records for name in (*FIELDS, "previous_hash", "hash"))
    assert [record["previous_hash"] for record in records[1:]] == [record["hash"] for record in records[:-1]]
    assert records == run_json("audit", "list")[::-1]


def test_an_export_to_a_file_is_whole(recorded, run):
    result = run("audit", "export", "--output", "chain.jsonl")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert len(Path("chain.jsonl").read_text().splitlines()) == 5
    assert list(Path().glob("*.partial")) == []


def test_an_unreadable_record_is_exported_as_such_and_fails(recorded, run):
    change("UPDATE audit SET evidence = 'nonsense' WHERE seq = 2")
    result = run("audit", "export")
    assert result.exit_code == 1
    assert json.loads(result.stdout.splitlines()[1]).keys() == {"seq", "id", "unreadable"}
    assert "record 2 " in run("audit", "verify").stdout


def test_old_records_can_be_pruned_and_the_chain_stays_provable(recorded, run, run_json):
    assert "Removed 0 records" in run("audit", "prune", "--older-than", "90d").stdout
    result = run("audit", "prune", "--older-than", "0s")
    assert result.exit_code == 0
    assert "Removed 4 records" in result.stdout  # the newest always stays
    assert run("audit", "verify", "--checkpoint").exit_code == 0
    newest = run_json("audit", "list")[0]
    assert (newest["kind"], newest["approver"]) == ("retention", os_user())


def test_an_age_is_asked_for(project, run):
    assert run("audit", "prune").exit_code == 2


@pytest.mark.parametrize("command", [["audit", "verify"], ["audit", "list"], ["approvals", "list"], ["metrics"]])
def test_a_damaged_database_is_an_error(project, run, command):
    Path("groundwire.db").write_bytes(os.urandom(5_000))
    result = run(*command)
    assert result.exit_code == 1
    assert result.stderr.startswith("error[store_error]:")


def test_a_store_that_is_not_there_cannot_be_verified_and_is_not_made(project, run):
    before = sorted(Path().iterdir())
    for args in ((), ("--json",), ("--checkpoint",)):
        result = run("audit", "verify", *args)
        assert result.exit_code == 1
        assert result.stdout == ""
        assert "error[store_error]: there is no store at sqlite:///groundwire.db" in result.stderr
        assert sorted(Path().iterdir()) == before


def test_an_empty_store_is_verified_as_empty(project, run):
    run("call", "get_weather", '{"city": "Oslo"}', "--profile", "nobody")  # opens the store, and is refused before it
    result = run("audit", "verify")
    assert result.exit_code == 0
    assert "There are no records to verify." in result.stdout


def test_a_problem_is_told_once(recorded, run):
    change("UPDATE audit SET tool_name = 'set_weather' WHERE seq = 2")
    (line,) = [line for line in run("audit", "verify").stdout.splitlines() if line.startswith("record 2")]
    assert line.count("record 2") == 1
    assert line.endswith("): changed: its content is not what was chained")


@pytest.mark.parametrize("age", ["999999w", "999999999999w"])
def test_an_age_before_all_time_removes_nothing(recorded, run, age):
    result = run("audit", "prune", "--older-than", age)
    assert result.exit_code == 0
    assert "Removed 0 records from before 0001-01-01T00:00:00.000Z." in result.stdout


def test_an_age_longer_than_any_time_is_a_usage_error(recorded, run):
    result = run("audit", "prune", "--older-than", "1000000000000w")
    assert result.exit_code == 2
    assert "longer than any time" in result.stderr
