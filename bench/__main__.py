"""`python -m bench [calls] [actions] [scaling] [codecs] [loop] [jobs]`."""

import asyncio
import subprocess
import sys
from importlib import import_module

ALL = ("calls", "actions", "scaling", "codecs", "loop", "jobs")


def main() -> None:
    chosen = sys.argv[1:] or ALL
    unknown = [name for name in chosen if name not in ALL]
    if unknown:
        raise SystemExit(f"there is no benchmark {unknown[0]!r}; there are {', '.join(ALL)}")
    if len(chosen) == 1:
        asyncio.run(import_module(f"bench.{chosen[0]}").main())
        return
    print(
        f"Python {sys.version.split()[0]}. Ratios within one run count; microseconds depend on the machine.", flush=True
    )
    for name in chosen:  # each in a process of its own: what it starts would inherit the peak of this one's memory
        done = subprocess.run([sys.executable, "-m", "bench", name], check=False)
        if done.returncode:
            raise SystemExit(done.returncode)


main()
