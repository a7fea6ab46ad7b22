"""`python -m bench [calls] [actions] [scaling] [codecs] [loop]`."""

import asyncio
import sys
from importlib import import_module

ALL = ("calls", "actions", "scaling", "codecs", "loop")


def main() -> None:
    chosen = sys.argv[1:] or ALL
    unknown = [name for name in chosen if name not in ALL]
    if unknown:
        raise SystemExit(f"there is no benchmark {unknown[0]!r}; there are {', '.join(ALL)}")
    print(f"Python {sys.version.split()[0]}. Ratios within one run count; microseconds depend on the machine.")
    for name in chosen:
        asyncio.run(import_module(f"bench.{name}").main())


main()
