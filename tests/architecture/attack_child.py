"""Runs attacks of its own with the command line of the real ones."""

import signal
import sys
from pathlib import Path

from scripts.attack.command import main
from scripts.attack.definitions import Attack, SetupError, conclude
from scripts.attack.processes import NOTED, GroupProcess


def hold(context):
    return conclude([], f"random number {context.random.random()}")


def break_down(context):
    return conclude(["first fault", "second fault"], "")


def fail(context):
    raise RuntimeError("a mistake in the attack")


def lack(context):
    raise SetupError("nothing to attack")


def hang(context):
    """Leaves a process behind, whose id is noted in the working folder."""
    command = [sys.executable, "-c", "import signal; signal.pause()"]
    process = GroupProcess(command, context.folder, context.folder / "log", noted=context.folder / NOTED)
    Path("left.txt").write_text(f"{process.pid} {context.folder}", encoding="utf-8")
    signal.pause()


ATTACKS = tuple(
    Attack(name=run.__name__, aim=f"To {run.__name__}.", run=run, seconds=seconds, usual_seconds=1)
    for run, seconds in ((hold, 20), (break_down, 20), (fail, 20), (lack, 20), (hang, 3))
)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], ATTACKS))
