"""From beginning to end, as users type it: every command a process of its own."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest


def flip_a_byte(seq):
    """Change one character of one stored audit record; its id."""
    with sqlite3.connect("groundwire.db") as connection:
        record_id, digest = connection.execute("SELECT id, output_hash FROM audit WHERE seq = ?", (seq,)).fetchone()
        flipped = ("1" if digest[0] == "0" else "0") + digest[1:]
        connection.execute("UPDATE audit SET output_hash = ? WHERE seq = ?", (flipped, seq))
    connection.close()
    return record_id


def test_from_nothing_to_a_proof_that_somebody_touched_the_record(empty, groundwire, monkeypatch):
    assert groundwire("init", "shop").returncode == 0
    monkeypatch.chdir("shop")
    assert "1.0." in groundwire("build", "tools/").stdout
    assert [tool["toolId"] for tool in json.loads(groundwire("tools", "list", "--json").stdout)] == [
        "get_weather",
        "send_note",
    ]
    assert json.loads(groundwire("call", "get_weather", '{"city": "Tokyo"}', "--json").stdout)["ok"] is True

    def send(text):
        done = groundwire("call", "send_note", json.dumps({"text": text}), "--idempotency-key", "k", "--json")
        return done.returncode, json.loads(done.stdout)

    code, first = send("hi")
    assert (code, first["meta"]["replayed"]) == (0, False)
    code, second = send("hi")
    assert (code, second["meta"]["replayed"], second["data"]) == (0, True, first["data"])
    code, third = send("something else")
    assert (code, third["error"]["type"]) == (1, "CONFLICT")
    assert Path("notes.txt").read_text().count("\n") == 1

    verified = groundwire("audit", "verify")
    assert verified.returncode == 0
    assert "4 records" in verified.stdout
    record_id = flip_a_byte(2)
    broken = groundwire("audit", "verify")
    assert broken.returncode == 1
    assert f"record 2 ({record_id}): changed" in broken.stdout


def test_a_tail_that_was_cut_is_found_by_the_checkpoint(project, groundwire):
    for city in ("Oslo", "Rome", "Lima"):
        groundwire("call", "get_weather", json.dumps({"city": city}))
    assert groundwire("audit", "verify", "--checkpoint").returncode == 0
    with sqlite3.connect("groundwire.db") as connection:
        connection.execute("DELETE FROM audit WHERE seq >= 2")
        connection.execute("UPDATE audit_head SET seq = 1, hash = (SELECT hash FROM audit WHERE seq = 1)")
    connection.close()
    assert groundwire("audit", "verify").returncode == 0
    cut = groundwire("audit", "verify", "--checkpoint")
    assert cut.returncode == 1
    assert "record 3: cut" in cut.stdout


@pytest.mark.requirement("B-096", "B-097", "B-098", "B-099", "B-100", "B-101")
def test_a_new_folder_is_a_new_tool_after_one_build(project, groundwire, add_tool):
    settings = Path("groundwire.toml").read_bytes()
    add_tool("roll_dice", "def execute(): return 4\n", rebuild=False)
    assert groundwire("call", "roll_dice", "--json").returncode == 1
    assert groundwire("build", "tools/").returncode == 0
    assert json.loads(groundwire("call", "roll_dice", "--json").stdout)["data"] == 4
    assert Path("groundwire.toml").read_bytes() == settings


def test_a_person_approves_what_a_model_asked_for(project, groundwire, confirmed_tool):
    confirmed_tool()
    args = ("call", "wipe_disk", '{"text": "all"}', "--session", "s1", "--as-model", "--json")
    asked = groundwire(*args)
    assert asked.returncode == 1
    advice = asked.stderr.splitlines()[0]
    assert groundwire(*advice.partition(": groundwire ")[2].split()).returncode == 0
    assert groundwire(*args).returncode == 0
    assert Path("ran.txt").read_text() == "x"
    assert groundwire("audit", "verify").returncode == 0


def test_processes_at_the_same_time_make_one_chain_and_one_effect(project, groundwire):
    command = [sys.executable, "-m", "groundwire", "call", "send_note", '{"text": "hi"}', "--idempotency-key", "k"]
    processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(6)]
    for process in processes:
        _, stderr = process.communicate(timeout=60)
        assert (process.returncode, stderr) == (0, b"")
    assert Path("notes.txt").read_text().count("\n") == 1
    assert "6 records" in groundwire("audit", "verify", "--checkpoint").stdout


def test_the_demo_runs_from_beginning_to_end(repository, tmp_path):
    command = tmp_path / "groundwire"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m groundwire "$@"\n')
    command.chmod(0o755)
    environment = os.environ | {"GROUNDWIRE_STORE": "mysql://not-for-the-demo"}
    done = subprocess.run(
        ["bash", str(repository / "scripts" / "demo.sh"), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment,
        cwd=tmp_path,
    )
    banner, asked, got = done.stderr.splitlines()
    assert (done.returncode, "built-in model answers" in banner) == (0, True)
    assert asked == '→ get_weather {"city":"Rome"}'
    assert got.startswith("← ok get_weather ")
    assert '"replayed":true' in done.stdout
    assert "The chain is whole: 4 records" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["groundwire"]
