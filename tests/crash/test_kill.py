"""A process is killed with SIGKILL between any two steps. No effect happens twice, and none is forgotten."""

import json
import random
import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from groundwire import Registry, Runtime
from groundwire.runtime.dispatcher import STEPS

Child = Callable[..., "subprocess.Popen[str]"]

STEPS_OF_A_CALL = (
    *STEPS[: STEPS.index("invoke") + 1],
    "before effect",
    "after effect",
    *STEPS[STEPS.index("output") :],
)
TIMEOUT = 60


def _finish(process: "subprocess.Popen[str]") -> tuple[int, list[dict[str, Any]]]:
    out, err = process.communicate(timeout=TIMEOUT)
    assert process.returncode in (0, -signal.SIGKILL), err
    return process.returncode, [json.loads(line) for line in out.splitlines()]


def _effects(folder: Path) -> Counter[str]:
    file = folder / "effects.txt"
    return Counter(file.read_text().splitlines() if file.exists() else [])


async def _chain_is_intact(store: str) -> bool:
    async with Runtime(Registry([]), store) as runtime:
        return (await runtime.verify_audit()).ok


@pytest.mark.requirement("OQ-40")
@pytest.mark.parametrize("step", STEPS_OF_A_CALL)
async def test_a_killed_action_is_known_or_unknown_but_never_repeated(
    step: str, store: str, tmp_path: Path, child: Child
) -> None:
    code, _ = _finish(child("one", store, tmp_path, "pay", "c1", step))
    assert code == -signal.SIGKILL
    before = _effects(tmp_path)["the-key"]
    code, [envelope] = _finish(child("one", store, tmp_path, "pay", "c1"))
    assert code == 0
    after = _effects(tmp_path)["the-key"]
    assert after <= 1
    if envelope["ok"]:
        assert after == 1
        assert envelope["meta"]["replayed"] is (before == 1)
    else:
        assert envelope["error"]["type"] == "OUTCOME_UNKNOWN"
        assert after == before
    assert await _chain_is_intact(store)


@pytest.mark.parametrize("step", STEPS_OF_A_CALL)
async def test_a_killed_action_that_can_reconcile_always_ends_with_one_effect(
    step: str, store: str, tmp_path: Path, child: Child
) -> None:
    _finish(child("one", store, tmp_path, "pay_and_know", "c1", step))
    before = _effects(tmp_path)["the-key"]
    code, [envelope] = _finish(child("one", store, tmp_path, "pay_and_know", "c1"))
    assert code == 0
    assert envelope["ok"], envelope
    assert envelope["data"] == {"done": "the-key"}
    assert envelope["meta"]["replayed"] is (before == 1)
    assert _effects(tmp_path)["the-key"] == 1
    reserved_and_unsettled = (
        STEPS_OF_A_CALL.index("invoke") <= STEPS_OF_A_CALL.index(step) <= STEPS_OF_A_CALL.index("settle")
    )
    assert (tmp_path / "reconciled.txt").exists() is reserved_and_unsettled
    assert await _chain_is_intact(store)


async def test_a_person_decides_what_a_crash_left_unknown(store: str, tmp_path: Path, child: Child) -> None:
    _finish(child("one", store, tmp_path, "pay", "c1", "after effect"))
    _, [envelope] = _finish(child("one", store, tmp_path, "pay", "c1"))
    assert envelope["error"]["type"] == "OUTCOME_UNKNOWN"
    async with Runtime(Registry([]), store) as runtime:
        [effect] = await runtime.effects()
        await runtime.reconcile(effect.effect_id, happened=True, data={"done": "by hand"}, by="tester")
    _, [again] = _finish(child("one", store, tmp_path, "pay", "c2"))
    assert again["data"] == {"done": "by hand"}
    assert again["meta"]["replayed"]
    assert _effects(tmp_path)["the-key"] == 1


@pytest.mark.parametrize("seed", range(6))
async def test_killed_at_a_random_moment_and_restarted_until_done_each_key_takes_effect_once(
    seed: int, store: str, tmp_path: Path, child: Child
) -> None:
    chance = random.Random(seed)
    count = 25
    while (done := sum(_effects(tmp_path).values())) < count:
        process = child("work", store, tmp_path, "pay_and_know", str(count))
        assert process.stdout is not None
        for _ in range(done + chance.randrange(7)):
            if not process.stdout.readline():
                break
        process.kill()
        process.communicate(timeout=TIMEOUT)
    code, envelopes = _finish(child("work", store, tmp_path, "pay_and_know", str(count)))
    assert code == 0
    assert [envelope["ok"] for envelope in envelopes] == [True] * count
    assert _effects(tmp_path) == Counter({f"key-{number}": 1 for number in range(count)})
    assert await _chain_is_intact(store)
