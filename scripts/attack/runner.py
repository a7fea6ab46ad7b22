"""Run attacks one after another, each in a process of its own with a time limit."""

import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from scripts.attack.definitions import Attack, AttackContext, Outcome, SetupError
from scripts.attack.processes import NOTED, end_noted

TOTAL_SECONDS = 300.0
SAMPLE_SECONDS = 60.0
_SAMPLE_WORK = 28.0
"""Usual seconds of a sample: on a busy machine attacks take longer than usual."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    groundwire: str
    seed: int
    is_sample: bool = False
    total_seconds: float = TOTAL_SECONDS


@dataclass(frozen=True, kw_only=True)
class Finished:
    attack: Attack
    outcome: Outcome
    seconds: float


def choose_sample(attacks: Sequence[Attack], seed: int) -> list[Attack]:
    """As many attacks as usually fit into the time of a sample, chosen by the seed, in their given order."""
    order = list(attacks)
    random.Random(seed).shuffle(order)  # noqa: S311 - a choice to repeat, not a secret
    chosen: set[str] = set()
    left = _SAMPLE_WORK
    for attack in order:
        if attack.usual_seconds <= left:
            chosen.add(attack.name)
            left -= attack.usual_seconds
    return [attack for attack in attacks if attack.name in chosen]


def run_attacks(
    attacks: Sequence[Attack],
    options: RunOptions,
    begin: Callable[[int, Attack], None],
    end: Callable[[int, Finished], None],
) -> list[Finished]:
    """Run all attacks. One that the end of the whole run cuts short, or that comes after it, is an error."""
    deadline = time.monotonic() + options.total_seconds
    finished = []
    for number, attack in enumerate(attacks, 1):
        begin(number, attack)
        started = time.monotonic()
        left = deadline - started
        outcome = _run_one(attack, options, min(attack.seconds, left)) if left > 0 else None
        if outcome is None and left < attack.seconds:  # not its own limit, so it says nothing about the defence
            message = f"not finished: the {options.total_seconds:.0f} s of the whole run are over"
            outcome = Outcome(status="error", happened=message)
        elif outcome is None:
            outcome = Outcome(status="not held", happened=f"no result within {attack.seconds:.0f} s")
        finished.append(Finished(attack=attack, outcome=outcome, seconds=time.monotonic() - started))
        end(number, finished[-1])
    return finished


def _run_one(attack: Attack, options: RunOptions, limit: float) -> Outcome | None:
    """The outcome of an attack; None if there is none in time."""
    folder = Path(tempfile.mkdtemp(prefix="groundwire-attack-"))
    processes = multiprocessing.get_context("fork")  # attacks are functions, which only a fork can pass on
    receiver, sender = processes.Pipe(duplex=False)
    child = processes.Process(target=_work, args=(attack, options, folder, sender))
    child.start()
    sender.close()
    try:
        if not receiver.poll(limit):
            return None
        result: Outcome = receiver.recv()
        return result
    except EOFError:
        return Outcome(status="error", happened="the process of the attack ended without a result")
    finally:
        child.kill()
        child.join()
        end_noted(folder / NOTED)
        shutil.rmtree(folder, ignore_errors=True)


def _work(attack: Attack, options: RunOptions, folder: Path, sender: Connection) -> None:
    """In the child: run the attack, send its outcome."""
    os.setsid()  # an interrupt at the terminal is for the runner, which then ends everything
    context = AttackContext(
        groundwire=options.groundwire,
        folder=folder,
        random=random.Random(f"{options.seed}:{attack.name}"),  # noqa: S311 - repeatable by the printed seed
        is_sample=options.is_sample,
    )
    try:
        outcome = attack.run(context)
    except SetupError as error:
        outcome = Outcome(status="error", happened=str(error))
    except Exception:  # noqa: BLE001 - a mistake in one attack must not end the others
        traceback.print_exc(file=sys.stderr)
        outcome = Outcome(status="error", happened=traceback.format_exc(limit=-1).strip().replace("\n", " "))
    sender.send(outcome)
