"""Benchmarks measure what they say. How fast it is, `make bench` tells; no test asks for that."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from groundwire import Registry, Runtime

BENCH = Path(__file__).resolve().parents[2] / "bench"
LEAST_CALLS = 5 * (20 + 20 + 200)


def measure(folder, store):
    """The harness itself fails where the tool did not run as often as it was called, or the model's answer is missing."""
    variables = {**os.environ, "PYTHONPATH": str(BENCH / "agents"), "STORE": store}
    command = [sys.executable, BENCH / "peer_ours.py", "--seconds", "0"]
    done = subprocess.run(command, env=variables, cwd=folder, capture_output=True, text=True, check=True, timeout=120)
    return json.loads(done.stdout)


@pytest.mark.requirement("OQ-17")
def test_our_loop_has_figures_for_every_shape(tmp_path):
    found = measure(tmp_path, "memory://")
    assert all(found[name] > 0 for name in ("seq20", "par20", "seq200", "import_ms", "rss_mb"))


@pytest.mark.requirement("OQ-17")
async def test_each_call_that_is_measured_on_sqlite_is_in_the_audit_chain(tmp_path):
    store = f"sqlite:///{tmp_path}/bench.db"
    measure(tmp_path, store)
    async with Runtime(Registry(), store) as runtime:
        report = await runtime.verify_audit()
    assert report.ok
    assert report.records >= LEAST_CALLS


def test_a_benchmark_that_there_is_not_is_named_with_those_that_there_are():
    command = [sys.executable, "-m", "bench", "lop"]
    done = subprocess.run(command, cwd=BENCH.parent, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert "there is no benchmark 'lop'; there are calls" in done.stderr
