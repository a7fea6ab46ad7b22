"""A run is killed with SIGKILL anywhere, and another process goes on: the same conversation, and every effect once.

Its record then replays exactly, as that of a run that nobody disturbed.
"""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CHILD = Path(__file__).with_name("run_child.py")
POINTS = (
    *(f"ask {number}" for number in (1, 2, 3, 4, 5)),
    *(f"{step} {number}" for step in ("replay", "invoke", "output", "settle", "done") for number in (1, 3, 5, 7)),
    *(f"reserve {number}" for number in (1, 3, 4, 5)),  # the last two are of calls that a tool makes
    *(f"{moment} create_run 1" for moment in ("before", "after")),
    *(f"{moment} append_run {number}" for moment in ("before", "after") for number in (1, 2, 3, 4)),
)
ALL_PAID = ["1", "2", "3", "4", "5"]


def child(command: str, store: str, folder: Path, kill: str = "") -> tuple[int, Any]:
    process = subprocess.run(
        [sys.executable, str(CHILD), command, store, str(folder), kill],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert process.returncode in (0, -signal.SIGKILL), process.stderr
    return process.returncode, json.loads(process.stdout) if process.stdout else None


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("undisturbed")
    _, result = child("run", f"sqlite:///{folder}/groundwire.db", folder)
    assert (result["outcome"], result["replays"]) == ("completed", True)
    assert (folder / "effects.txt").read_text().split() == ALL_PAID
    return result


@pytest.mark.requirement("C-037")
@pytest.mark.parametrize("kill", POINTS)
def test_a_run_that_is_killed_anywhere_is_finished_by_another_process(
    kill: str, store: str, tmp_path: Path, undisturbed: Any
) -> None:
    assert child("run", store, tmp_path, kill) == (-signal.SIGKILL, None)
    assert child("resume", store, tmp_path) == (0, undisturbed)
    assert sorted((tmp_path / "effects.txt").read_text().split()) == ALL_PAID


def test_a_run_may_be_killed_again_and_again(store: str, tmp_path: Path, undisturbed: Any) -> None:
    assert child("run", store, tmp_path, "settle 1") == (-signal.SIGKILL, None)
    for kill in ("invoke 1", "ask 1", "settle 1", "ask 2"):
        assert child("resume", store, tmp_path, kill) == (-signal.SIGKILL, None), kill
    assert child("resume", store, tmp_path) == (0, undisturbed)
    assert sorted((tmp_path / "effects.txt").read_text().split()) == ALL_PAID
