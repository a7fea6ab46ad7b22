"""The script of attacks reports what happened: a defence that does not hold makes it fail."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.attack.catalogue import ATTACKS
from scripts.attack.definitions import Attack, conclude
from scripts.attack.processes import is_alive
from scripts.attack.runner import SAMPLE_SECONDS, TOTAL_SECONDS, RunOptions, choose_sample, run_attacks

ROOT = Path(__file__).resolve().parents[2]
CHILD = Path(__file__).with_name("attack_child.py")


def run(folder, *arguments, script=(str(CHILD),)):
    command = [sys.executable, *script, "--groundwire", sys.executable, *arguments]
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False, timeout=120)


def test_attacks_that_hold_lead_to_success(tmp_path):
    done = run(tmp_path, "--only", "hold")
    assert done.returncode == 0
    assert "1 held, 0 did not hold, 0 could not run" in done.stdout


@pytest.mark.parametrize(
    ("name", "status", "happened"),
    [
        ("break_down", "NOT HELD", "first fault; second fault"),
        ("fail", "ERROR", "a mistake in the attack"),
        ("lack", "ERROR", "nothing to attack"),
    ],
)
def test_one_attack_that_does_not_hold_fails_the_run(tmp_path, name, status, happened):
    done = run(tmp_path, "--only", "hold", "--only", name)
    assert done.returncode == 1
    [line] = [line for line in done.stdout.splitlines() if f" {name} " in line]
    assert status in line
    assert happened in line


def test_an_attack_without_a_result_in_time_does_not_hold_and_leaves_nothing_behind(tmp_path):
    done = run(tmp_path, "--only", "hang")
    assert done.returncode == 1
    assert "no result within 3 s" in done.stdout
    pid, folder = (tmp_path / "left.txt").read_text().split()
    assert not is_alive(int(pid))
    assert not Path(folder).exists()


def test_an_unknown_attack_is_an_error_of_the_command_line(tmp_path):
    done = run(tmp_path, "--only", "hold", "--only", "no_such_attack")
    assert done.returncode == 2
    assert "no_such_attack" in done.stderr
    assert done.stdout == ""


def test_an_executable_that_does_not_exist_is_an_error_of_the_command_line(tmp_path):
    assert run(tmp_path, "--only", "hold", "--groundwire", "/nowhere/groundwire").returncode == 2


def test_a_seed_repeats_a_run(tmp_path):
    once, again, other = (run(tmp_path, "--json", "--only", "hold", "--seed", seed) for seed in ("7", "7", "8"))
    told = [json.loads(done.stdout)["attacks"][0]["happened"] for done in (once, again, other)]
    assert told[0] == told[1] != told[2]
    assert json.loads(once.stdout)["seed"] == 7


def test_results_are_one_json_object_with_the_progress_elsewhere(tmp_path):
    done = run(tmp_path, "--json", "--only", "hold", "--only", "break_down")
    assert [(row["name"], row["status"]) for row in json.loads(done.stdout)["attacks"]] == [
        ("hold", "held"),
        ("break_down", "not held"),
    ]
    assert "[2/2] break_down" in done.stderr


def test_an_attack_that_the_end_of_the_run_cuts_short_proves_nothing(tmp_path):
    code = (
        "from attack_child import ATTACKS\n"
        "from scripts.attack.runner import RunOptions, run_attacks\n"
        "options = RunOptions(groundwire='', seed=1, total_seconds=1)\n"
        "ignore = lambda number, subject: None\n"
        "print(*(done.outcome.status for done in run_attacks(ATTACKS[-1:] * 2, options, ignore, ignore)))\n"
    )
    variables = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{CHILD.parent}"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["error", "error"]


def test_attacks_without_time_left_are_reported_as_not_run():
    told = []
    attack = Attack(name="late", aim="To be late.", run=lambda context: conclude([], ""), seconds=5, usual_seconds=1)
    options = RunOptions(groundwire=sys.executable, seed=1, total_seconds=0)
    [finished] = run_attacks([attack], options, lambda number, attack: None, lambda number, done: told.append(done))
    assert (finished.outcome.status, told) == ("error", [finished])


def test_a_sample_is_chosen_by_the_seed_and_fits_into_its_time():
    chosen = choose_sample(ATTACKS, 7)
    assert chosen == choose_sample(ATTACKS, 7) != choose_sample(ATTACKS, 8)
    assert 0 < sum(attack.usual_seconds for attack in chosen) < SAMPLE_SECONDS
    assert {attack.name for seed in range(200) for attack in choose_sample(ATTACKS, seed)} == {
        attack.name for attack in ATTACKS
    }


def test_all_attacks_have_names_of_their_own_and_fit_into_the_time_of_a_run(tmp_path):
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)
    assert sum(attack.usual_seconds for attack in ATTACKS) < TOTAL_SECONDS
    listed = run(ROOT, "--list", script=("-m", "scripts.attack")).stdout.splitlines()
    assert [line.split()[0] for line in listed] == [attack.name for attack in ATTACKS]


def test_attacks_reach_a_real_server():
    own = str(Path(sys.executable).with_name("groundwire"))
    done = run(ROOT, "--json", "--only", "tenant-reads", "--groundwire", own, script=("-m", "scripts.attack"))
    assert done.returncode == 0, done.stderr
