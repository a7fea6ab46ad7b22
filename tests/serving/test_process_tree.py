"""Processes whose parents have died: which of them a supervisor ends, and when."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CHILD = Path(__file__).with_name("orphans_child.py")
ROOT = CHILD.parent.parent.parent


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no way to adopt orphans")
def test_a_death_ends_the_orphans_that_came_with_it_and_the_end_all_that_are_not_older_than_the_server():
    done = subprocess.run(
        [sys.executable, str(CHILD)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.splitlines() == ["new True True False False", "all True False"]
