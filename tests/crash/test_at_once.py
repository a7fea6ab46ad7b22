"""A thousand calls with one key at the same time, in four processes: one effect, one result for all."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Child = Callable[..., "subprocess.Popen[str]"]

PROCESSES = 4
CALLS = 250


@pytest.mark.requirement("OQ-40", "D-045")
def test_a_thousand_calls_with_one_key_take_effect_once(store: str, tmp_path: Path, child: Child) -> None:
    children = [child("many", store, tmp_path, "one-key", str(CALLS)) for _ in range(PROCESSES)]
    for process in children:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    envelopes = []
    for process in children:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in children:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        envelopes.extend(json.loads(line) for line in out.splitlines())
    assert (tmp_path / "effects.txt").read_text() == "one-key\n"
    assert len(envelopes) == PROCESSES * CALLS
    assert {json.dumps(envelope["data"]) for envelope in envelopes} == {'{"done": "one-key"}'}
    assert sum(not envelope["meta"]["replayed"] for envelope in envelopes) == 1
