"""The command line of the attacks: which ones to run, and what is printed of them."""

import argparse
import json
import os
import secrets
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from scripts.attack.definitions import Attack
from scripts.attack.runner import (
    SAMPLE_SECONDS,
    TOTAL_SECONDS,
    Finished,
    RunOptions,
    choose_sample,
    run_attacks,
)

EXECUTABLE_VARIABLE = "ATTACK_GROUNDWIRE"


def main(arguments: Sequence[str], attacks: Sequence[Attack]) -> int:
    """0 if every attack held, 1 if one did not, 2 for a wrong command line."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.list:
        for attack in attacks:
            print(f"{attack.name:<24} {attack.aim}")
        return 0
    known = {attack.name for attack in attacks}
    if unknown := [name for name in given.only if name not in known]:
        parser.error(f"unknown attack {unknown[0]!r}. --list names them all.")
    groundwire = shutil.which(given.groundwire)
    if groundwire is None:
        parser.error(f"{given.groundwire!r} is not an executable. Name one with --groundwire or {EXECUTABLE_VARIABLE}.")

    chosen = [attack for attack in attacks if not given.only or attack.name in given.only]
    if given.sample:
        chosen = choose_sample(chosen, given.seed)
    if not chosen:
        parser.error("no attack was chosen: those that were named are too long for a sample.")
    options = RunOptions(
        groundwire=str(Path(groundwire).absolute()),
        seed=given.seed,
        is_sample=given.sample,
        total_seconds=SAMPLE_SECONDS if given.sample else TOTAL_SECONDS,
    )
    return _run(chosen, options, as_json=given.json)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.attack",
        description="Attack `groundwire serve` on this machine. Exits 1 if an attack did not hold.",
    )
    parser.add_argument("--only", metavar="NAME", action="append", default=[], help="run this attack; repeatable")
    parser.add_argument("--list", action="store_true", help="list the attacks and exit")
    parser.add_argument("--sample", action="store_true", help="run some attacks, chosen by the seed, in 60 s at most")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="repeat a run; default: random")
    parser.add_argument("--json", action="store_true", help="print the results as one JSON object")
    parser.add_argument(
        "--groundwire",
        metavar="PATH",
        default=os.environ.get(EXECUTABLE_VARIABLE) or str(Path(sys.executable).with_name("groundwire")),
        help=f"the executable to attack; default: {EXECUTABLE_VARIABLE}, or the one beside this Python",
    )
    return parser


def _run(attacks: Sequence[Attack], options: RunOptions, *, as_json: bool) -> int:
    output = sys.stderr if as_json else sys.stdout
    is_terminal = output.isatty()
    width = len(str(len(attacks)))
    started = time.monotonic()
    print(
        f"seed {options.seed}, {options.groundwire}, {len(attacks)} attacks, at most {options.total_seconds:.0f} s",
        file=output,
        flush=True,
    )

    def begin(number: int, attack: Attack) -> None:
        if is_terminal:  # replaced by the line of the result
            print(f"[{number:>{width}}/{len(attacks)}] {attack.name} …", end="\r", file=output, flush=True)

    def end(number: int, done: Finished) -> None:
        status = done.outcome.status.upper() if done.outcome.status != "held" else "held"
        print(
            f"[{number:>{width}}/{len(attacks)}] {done.attack.name:<24} {status:<8} {done.seconds:5.1f} s  {done.outcome.happened}",
            file=output,
            flush=True,
        )

    finished = run_attacks(attacks, options, begin, end)
    counts = {
        status: sum(done.outcome.status == status for done in finished) for status in ("held", "not held", "error")
    }
    seconds = time.monotonic() - started
    print(
        f"{counts['held']} held, {counts['not held']} did not hold, {counts['error']} could not run, in {seconds:.0f} s",
        file=output,
        flush=True,
    )
    if as_json:
        results = [
            {
                "name": done.attack.name,
                "aim": done.attack.aim,
                "status": done.outcome.status,
                "happened": done.outcome.happened,
                "seconds": round(done.seconds, 1),
            }
            for done in finished
        ]
        print(json.dumps({"seed": options.seed, "groundwire": options.groundwire, "attacks": results}, indent=1))
    return 0 if counts["held"] == len(finished) else 1
