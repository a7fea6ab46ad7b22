"""Look for schemas that pass the bounds and are slow all the same: `python -m scripts.fuzz_schemas -n 5000 --seed 7`.

Every example is a hostile schema with a value of 100 000 bytes and one of 200 000. What passes the bounds may take at
most three times as long for the larger one, and never more than a second. Prints the seed, its progress, and what it saw.
"""

import argparse
import json
import random
import sys
import time
from collections import Counter

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.properties.hostile_schemas import Example, hostile_schemas, ladders, run_example, shapes

SHOWN = 1_000
"""Characters of a schema that are printed."""


def main(arguments: list[str]) -> int:
    """0 where nothing was found."""
    parser = argparse.ArgumentParser(prog="fuzz_schemas", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("-n", type=int, default=2_000, help="how many examples")
    parser.add_argument("--seed", type=int, default=None, help="the seed of an earlier campaign")
    options = parser.parse_args(arguments)
    number = options.seed if options.seed is not None else random.SystemRandom().randrange(2**32)
    print(f"seed {number}, {options.n} examples", flush=True)
    campaign = _Campaign(options.n)
    campaign.run(number)
    campaign.report()
    return 1 if campaign.faults else 0


class _Campaign:
    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self._seen = 0
        self._started = self._told = time.monotonic()
        self._refused: Counter[str] = Counter()
        self._passed: list[Example] = []
        self._slowest = 0.0, ""
        self.faults: list[str] = []

    def run(self, number: int) -> None:
        @seed(number)
        @settings(
            max_examples=self._wanted,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(schema=st.one_of(hostile_schemas(), ladders()), shape=shapes())
        def each(schema: dict[str, object], shape: object) -> None:
            self._note(run_example(schema, shape), schema)

        each()

    def _note(self, example: Example, schema: dict[str, object]) -> None:
        self._seen += 1
        if example.refused:
            self._refused[example.refused] += 1
        else:
            self._passed.append(example)
            if example.seconds > self._slowest[0]:
                self._slowest = example.seconds, json.dumps(schema)[:SHOWN]
        if example.fault:
            self.faults.append(example.fault)
            print(f"\n{example.fault}: {json.dumps(schema)[:SHOWN]}", flush=True)
        if time.monotonic() - self._told > 10:
            self._told = time.monotonic()
            print(f"{self._seen} of {self._wanted}, {self._told - self._started:.0f} s", flush=True)

    def report(self) -> None:
        slowest, schema = self._slowest
        steepest = max((example.growth for example in self._passed), default=0.0)
        recursive = sum(example.is_recursive for example in self._passed)
        print(f"{self._seen} examples in {time.monotonic() - self._started:.0f} s, {len(self.faults)} faults")
        print(
            f"passed {len(self._passed)} ({recursive} recursive): {slowest:.3f} s at most, growth {steepest:.2f} at most"
        )
        print(f"slowest: {schema}")
        for measure, count in self._refused.most_common():
            print(f"refused {count}: {measure}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
