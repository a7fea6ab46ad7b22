import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SCAN = """
def execute(page):
    if page < 0:
        raise ValueError("there is no such page")
    return {"text": f"page {page}"}
"""
PAGE = {"type": "object", "properties": {"page": {"type": "integer"}}, "required": ["page"]}


@pytest.fixture
def scan(project, run, add_tool):
    """Leave the scanning of a page for later; the job's id."""
    add_tool("scan", SCAN, category="retrieval", parameters=PAGE, policy={"background": True})

    def scan(page):
        result = run("call", "scan", json.dumps({"page": page}), "--json")
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)["data"]["job"]["id"]

    return scan


def test_a_background_call_is_a_job_that_a_worker_does(scan, run, run_json):
    job_id = scan(7)
    (waiting,) = run_json("jobs", "list")
    assert (waiting["jobId"], waiting["kind"], waiting["status"]) == (job_id, "tool", "waiting")
    assert waiting["dueAt"].endswith("Z")
    worked = run("jobs", "work", "--until-idle")
    assert (worked.exit_code, worked.stderr) == (0, "Working on jobs.\n")
    done = run_json("jobs", "show", job_id)
    assert (done["status"], done["attempt"], done["result"]["data"]) == ("done", 1, {"text": "page 7"})
    assert run_json("jobs", "list", "--status", "waiting") == []
    assert f"{job_id}  tool  done" in run("jobs", "list", "--kind", "tool").stdout
    assert '"text": "page 7"' in run("jobs", "show", job_id).stdout


def test_a_job_is_cancelled_once(scan, run, run_json):
    job_id = scan(7)
    assert run("jobs", "cancel", job_id).stdout == f"{job_id} is cancelled.\n"
    again = run("jobs", "cancel", job_id)
    assert again.exit_code == 1
    assert "it is cancelled" in again.stderr
    run("jobs", "work", "--until-idle")
    assert run_json("jobs", "show", job_id)["result"] is None


def test_a_dead_letter_is_tried_again(scan, run, run_json):
    job_id = scan(-1)
    run("jobs", "work", "--until-idle")
    (failed,) = run_json("jobs", "list", "--status", "failed")
    assert failed["error"].startswith("INTERNAL: scan failed unexpectedly.")
    again = run_json("jobs", "retry", job_id)
    assert (again["status"], again["attempt"]) == ("waiting", 0)
    twice = run("jobs", "retry", job_id)
    assert twice.exit_code == 1
    assert "no dead letter" in twice.stderr


@pytest.mark.parametrize("command", ["show", "retry", "cancel"])
def test_a_job_that_is_not_there_is_an_error_with_a_hint(empty, run, command):
    missing = run("jobs", command, "job_9")
    assert missing.exit_code == 1
    assert missing.stderr.endswith("error[not_found]: There is no job job_9.\nhint: groundwire jobs list\n")


def test_looking_at_jobs_creates_nothing(empty, run, run_json):
    listed = run("jobs", "list")
    assert listed.stdout == "There are no jobs.\n"
    assert "there is no groundwire.db" in listed.stderr
    assert run_json("jobs", "list") == []
    assert list(empty.iterdir()) == []


def test_a_page_is_gone_on_with(scan, run_json):
    first, second = scan(1), scan(2)
    assert [job["jobId"] for job in run_json("jobs", "list", "--limit", "1")] == [second]
    assert [job["jobId"] for job in run_json("jobs", "list", "--before", second)] == [first]


SLOW = """
import pathlib, time

def execute():
    pathlib.Path("begun").touch()
    while not pathlib.Path("may-end").exists():
        time.sleep(0.01)
    return "paid"
"""


@pytest.mark.parametrize("options", [[], ["--until-idle"]])
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_that_is_told_to_stop_finishes_the_action_that_it_has_begun(
    project, run_json, add_tool, options, sent
):
    add_tool("pay", SLOW, category="action", policy={"background": True})
    job_id = run_json("call", "pay", "{}")["data"]["job"]["id"]
    command = [sys.executable, "-m", "groundwire", "jobs", "work", *options]
    worker = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=Path.cwd())
    try:
        while not Path("begun").exists():
            assert worker.poll() is None
        worker.send_signal(sent)
        Path("may-end").touch()
        assert worker.wait(60) == 0
    finally:
        worker.kill()
        worker.communicate()
    assert run_json("jobs", "show", job_id)["status"] == "done"


def test_a_worker_stops_when_it_is_told_to(scan, run_json):
    job_id = scan(7)
    worker = subprocess.Popen(
        [sys.executable, "-m", "groundwire", "jobs", "work"], stderr=subprocess.PIPE, text=True, cwd=Path.cwd()
    )
    try:
        assert worker.stderr.readline() == "Working on jobs.\n"
        while run_json("jobs", "show", job_id)["status"] != "done":
            pass
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(60) == 0
    finally:
        worker.kill()
        worker.communicate()
