import os
import pwd
from pathlib import Path

import pytest

from groundwire.cli.options import os_user


@pytest.fixture
def question(project, run, run_json, confirmed_tool):
    """The id of a question that waits."""
    confirmed_tool()
    assert run("call", "wipe_disk", '{"text": "\\u001b[2J"}', "--session", "s1").exit_code == 1
    (waiting,) = run_json("approvals", "list")
    return waiting["confirmationId"]


def test_a_question_shows_what_will_be_done(question, run, run_json):
    (waiting,) = run_json("approvals", "list")
    assert (waiting["tool"], waiting["sessionId"], waiting["status"]) == ("wipe_disk", "s1", "pending")
    assert waiting["arguments"] == {"text": "\x1b[2J"}
    assert waiting["expiresAt"].endswith("Z")
    assert waiting["expired"] is False
    line = run("approvals", "list", color=True).stdout.splitlines()[1]
    assert line.startswith(f"{question}  pending  wipe_disk  s1")
    assert line.endswith('{"text":"\\u001b[2J"}')


@pytest.mark.requirement("B-199", "B-201")
def test_an_approved_call_passes_once(question, run, run_json):
    args = ("call", "wipe_disk", '{"text": "\\u001b[2J"}', "--session", "s1")
    assert run("approvals", "approve", question, "--note", "seen").exit_code == 0
    (approved,) = run_json("approvals", "list", "--status", "approved")
    assert (approved["decidedBy"], approved["note"]) == (os_user(), "seen")
    assert run(*args).exit_code == 0
    assert Path("ran.txt").read_text() == "x"
    assert [item["status"] for item in run_json("approvals", "list", "--status", "all")] == ["spent"]
    assert run(*args).exit_code == 1
    assert Path("ran.txt").read_text() == "x"


def test_a_denied_call_stays_refused(question, run, run_json):
    assert run("approvals", "deny", question).exit_code == 0
    (denied,) = run_json("approvals", "list", "--status", "denied")
    assert denied["decidedBy"] == os_user()
    assert run("call", "wipe_disk", '{"text": "\\u001b[2J"}', "--session", "s1").exit_code == 1
    assert not Path("ran.txt").exists()


def test_the_environment_cannot_say_who_decides(question, run, run_json, monkeypatch):
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME", "SUDO_USER"):
        monkeypatch.setenv(name, "The Owner")
    assert run("approvals", "approve", question, "--by", "The Owner").exit_code == 2
    assert run("approvals", "approve", question).exit_code == 0
    (approved,) = run_json("approvals", "list", "--status", "approved")
    assert approved["decidedBy"] == pwd.getpwuid(os.geteuid()).pw_name


def test_a_question_is_decided_once(question, run):
    assert run("approvals", "deny", question).exit_code == 0
    again = run("approvals", "approve", question)
    assert again.exit_code == 1
    assert again.stderr.startswith("error[already_decided]:")


def test_an_expired_question_is_shown_as_expired_and_cannot_be_approved(project, run, run_json, confirmed_tool):
    Path("groundwire.toml").write_text("[ledger]\nconfirmationSeconds = 0.000001\n")
    confirmed_tool()
    run("call", "wipe_disk")
    assert run_json("approvals", "list") == []
    (expired,) = run_json("approvals", "list", "--status", "all")
    assert expired["expired"] is True
    assert "  expired  " in run("approvals", "list", "--status", "all").stdout
    assert run("approvals", "approve", expired["confirmationId"]).exit_code == 1


def test_tenants_do_not_see_each_other(question, run, run_json):
    assert run_json("approvals", "list", "--tenant", "other") == []
    assert run("approvals", "approve", question, "--tenant", "other").exit_code == 1


def test_the_way_to_approve_names_the_tenant(project, run, confirmed_tool):
    confirmed_tool()
    assert "--tenant acme" in run("call", "wipe_disk", "--tenant", "acme").stderr


@pytest.mark.parametrize("command", ["approve", "deny"])
def test_an_unknown_question_is_an_error_and_creates_nothing(project, run, command):
    result = run("approvals", command, "cnf_nothing")
    assert result.exit_code == 1
    assert "error[not_found]:" in result.stderr
    assert not Path("groundwire.db").exists()


def test_an_unknown_status_is_a_usage_error(project, run):
    assert run("approvals", "list", "--status", "maybe").exit_code == 2
