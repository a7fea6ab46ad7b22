import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from groundwire.cli.options import os_user

CRASH = """
def execute():
    with open("ran.txt", "a") as file:
        file.write("x")
    raise RuntimeError
"""


@pytest.fixture
def unknown(project, run, run_json, add_tool):
    """The id of an effect of which nobody knows whether it happened."""
    add_tool("crash", CRASH, category="action")
    assert run("call", "crash", "--idempotency-key", "k").exit_code == 1
    (effect,) = run_json("effects", "list", "--status", "unknown")
    return effect["effectId"]


def call(run):
    result = run("call", "crash", "--idempotency-key", "k", "--json")
    return result.exit_code, json.loads(result.stdout)


def test_effects_are_listed_with_their_state(project, run, run_json):
    run("call", "send_note", '{"text": "hi"}')
    (effect,) = run_json("effects", "list")
    assert (effect["tool"], effect["status"]) == ("send_note", "settled")
    assert effect["result"]["data"]["text"] == "hi"
    assert effect["updatedAt"].endswith("Z")
    assert run_json("effects", "list", "--status", "unknown") == []
    assert "settled  send_note" in run("effects", "list").stdout


def test_what_happened_is_settled_with_the_result_that_a_person_gives(unknown, run, run_json):
    assert call(run)[1]["error"]["type"] == "OUTCOME_UNKNOWN"
    done = run("effects", "reconcile", unknown, "--happened", "--result", '{"n": 1}', "--note", "saw it")
    assert done.exit_code == 0
    code, envelope = call(run)
    assert (code, envelope["data"], envelope["meta"]["replayed"]) == (0, {"n": 1}, True)
    (effect,) = run_json("effects", "list")
    assert (effect["status"], effect["decidedBy"], effect["note"]) == ("settled", os_user(), "saw it")
    assert Path("ran.txt").read_text() == "x"


def test_what_did_not_happen_may_run_again(unknown, run):
    assert run("effects", "reconcile", unknown, "--not-happened").exit_code == 0
    call(run)
    assert Path("ran.txt").read_text() == "xx"


def test_a_decision_is_on_record(unknown, run, run_json):
    run("effects", "reconcile", unknown, "--not-happened")
    newest = run_json("audit", "list")[0]
    assert (newest["kind"], newest["approver"], newest["tool_name"]) == ("reconcile", os_user(), "crash")


def test_a_settled_effect_is_not_decided_again(unknown, run):
    run("effects", "reconcile", unknown, "--happened")
    result = run("effects", "reconcile", unknown, "--not-happened")
    assert result.exit_code == 1
    assert result.stderr.startswith("error[already_decided]:")


@pytest.mark.parametrize(
    "args", [[], ["--not-happened", "--result", "1"], ["--happened", "--result", "{"], ["--happened", "--limit", "1"]]
)
def test_an_unclear_decision_is_a_usage_error(project, run, args):
    assert run("effects", "reconcile", "eff_1", *args).exit_code == 2


def test_an_unknown_effect_id_is_an_error_and_creates_nothing(project, run):
    result = run("effects", "reconcile", "eff_nothing", "--happened")
    assert result.exit_code == 1
    assert "error[not_found]:" in result.stderr
    assert not Path("groundwire.db").exists()


def test_the_reservation_of_a_process_that_died_is_listed_as_unknown(project, run, run_json, add_tool):
    add_tool("die", "import os, signal\ndef execute():\n    os.kill(os.getpid(), signal.SIGKILL)\n", category="action")
    process = subprocess.run(
        [sys.executable, "-m", "groundwire", "call", "die"], check=False, timeout=60, capture_output=True
    )
    assert process.returncode == -9
    assert [found["status"] for found in run_json("effects", "list")] == ["reserved"]
    with sqlite3.connect("groundwire.db") as connection:  # the lease runs out
        connection.execute("UPDATE effects SET lease_until = 1.0")
    connection.close()
    (effect,) = run_json("effects", "list", "--status", "unknown")
    assert run_json("effects", "list", "--status", "reserved") == []
    assert [found["status"] for found in run_json("effects", "list")] == ["unknown"]
    assert run("effects", "reconcile", effect["effectId"], "--not-happened").exit_code == 0
    assert run_json("effects", "list") == []
