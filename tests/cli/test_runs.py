"""`groundwire runs`: runs listed, and one of them told."""

import pytest

from groundwire.testing import Answer, Ask

WEATHER = Answer("Let me look.", calls=(Ask("get_weather", {"city": "Oslo"}, call_id="call_1"),))


def test_runs_are_listed_newest_first_and_page_by_page(project, record, run_json, run):
    first, second, third = (record(f"Hello {name}", f"Hi {name}.").run_id for name in "abc")
    assert [row["runId"] for row in run_json("runs", "list")] == [third, second, first]
    assert [row["runId"] for row in run_json("runs", "list", "--limit", "1")] == [third]
    assert [row["runId"] for row in run_json("runs", "list", "--limit", "1", "--before", third)] == [second]
    shown = run("runs", "list").stdout.splitlines()
    assert shown[0].split() == ["TIME", "RUN", "SESSION", "MODEL", "STATUS", "TEXT"]
    assert shown[1].split()[1:] == [third, "-", "sim/recorded", "completed", "Hi", "c."]


def test_runs_can_be_narrowed_to_a_session(project, record, run_json):
    kept = record("Hello", "Hi.", session="s1").run_id
    record("Hello", "Hi.", session="s2")
    assert [row["runId"] for row in run_json("runs", "list", "--session", "s1")] == [kept]


@pytest.mark.requirement("C-037")
def test_a_run_is_told_step_by_step(project, record, run):
    result = record("What is the weather in Oslo?", WEATHER, "It is fine.")
    told = run("runs", "show", result.run_id)
    assert told.exit_code == 0
    lines = told.stdout.splitlines()
    assert lines[0].startswith(f"{result.run_id}: sim/recorded, 20")
    assert lines[1] == "user: What is the weather in Oslo?"
    assert lines[2].startswith("registry 1.0.")
    assert lines[3].endswith(": sim/recorded, tools get_weather, send_note")
    assert lines[4].startswith("step 1 (")
    assert lines[5:7] == ["  says: Let me look.", '  calls get_weather {"city":"Oslo"} as call_1']
    assert lines[7].startswith('  get_weather gave {"ok":true,"data":{')
    assert lines[8].startswith("step 2 (")
    assert lines[9] == "  says: It is fine."
    assert lines[10] == f"ended: completed (2 steps, 1 call, {result.usage.total} tokens)"
    assert lines[11:] == ["  It is fine."]


def test_a_repaired_run_is_told_with_its_reason(project, record, run):
    result = record("Hello", "", "", "")
    lines = run("runs", "show", result.run_id).stdout.splitlines()
    assert "asked again, because of empty_answer" in lines
    assert lines[-2].startswith("ended: empty_answer (3 steps, 0 calls, ")


def test_a_waiting_run_says_what_it_waits_for(project, record, run, confirmed_tool):
    confirmed_tool()
    result = record("Wipe it", Answer(calls=(Ask("wipe_disk", {"text": "x"}, call_id="call_1"),)))
    told = run("runs", "show", result.run_id).stdout
    assert f"  call_1 waits: groundwire approvals approve {result.approvals[0]}\n" in told


def test_a_failed_run_says_why(project, record, run):
    result = record("Hello", Answer(calls=(Ask("no_such_tool"),)))
    lines = run("runs", "show", result.run_id).stdout.splitlines()
    assert lines[-4].startswith("step 1 failed: server: The script calls 'no_such_tool'")
    assert lines[-3].startswith("ended: provider_error (0 steps, ")


def test_json_has_the_entries_and_the_stored_calls(project, record, run_json):
    result = record("What is the weather in Oslo?", WEATHER, "It is fine.")
    shown = run_json("runs", "show", result.run_id)
    assert shown["run"]["outcome"] == "completed"
    assert [entry["kind"] for entry in shown["entries"]] == [
        "started",
        "planned",
        "answered",
        "resulted",
        "answered",
        "ended",
    ]
    assert [(call["tool"], call["callId"]) for call in shown["calls"]] == [("get_weather", "call_1")]


def test_a_text_cannot_steer_the_terminal(project, record, run):
    result = record("Hello", "red \x1b[31m")
    assert "  says: red \\x1b[31m\n" in run("runs", "show", result.run_id).stdout


def test_a_run_that_is_not_there_is_said_so(project, record, run):
    record("Hello", "Hi.")
    shown = run("runs", "show", "run_none")
    assert (shown.exit_code, shown.stdout) == (1, "")
    assert shown.stderr.startswith("error[not_found]: Run 'run_none' does not exist.")
