"""What every framework is given, and how it is timed. Standard library only, because each runs in its own environment.

A model answers from a counter: in each step so many calls of `create_ticket`, at last a text. A peer has `load()`, which
imports it and gives its version and a function `make(script)`; that gives what is timed, one run of its whole loop.
"""

import argparse
import asyncio
import gc
import inspect
import json
import resource
import statistics
import time

SCHEMA = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "minLength": 1, "maxLength": 200},
        "priority": {"type": "string", "enum": ["low", "normal", "high"]},
        "count": {"type": "integer", "minimum": 0, "maximum": 1000},
        "customer": {
            "type": "object",
            "properties": {
                "id": {"type": "string"},
                "email": {"type": "string"},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["id", "email"],
            "additionalProperties": False,
        },
    },
    "required": ["title", "priority", "count", "customer"],
    "additionalProperties": False,
}
ARGS = [
    {
        "title": f"Printer {number} on fire",
        "priority": ("low", "normal", "high")[number % 3],
        "count": number,
        "customer": {"id": f"c-{number}", "email": "a@example.org", "tags": ["vip", "eu"]},
    }
    for number in range(256)
]
ARGS_JSON = [json.dumps(arguments) for arguments in ARGS]
FINAL = "All tickets were created."
SHAPES = {"seq20": (20, 1), "par20": (1, 20), "seq200": (200, 1)}

_made = [0]


def body(title, priority, count, customer):  # noqa: ARG001 - the tool's arguments
    """What the tool does; counted, so that nobody is timed who did not run it."""
    _made[0] += 1
    return '{"ok":true,"id":"T-%d"}' % count


class Script:
    """`step()` gives the numbers of the arguments to call with, None when it is time to answer."""

    def __init__(self, steps, width):
        self.steps, self.width, self.taken = steps, width, 0

    def step(self):
        now = self.taken
        self.taken += 1
        return None if now >= self.steps else range(now * self.width, (now + 1) * self.width)


def main(name, load):
    parser = argparse.ArgumentParser()
    parser.add_argument("--import-only", action="store_true")
    parser.add_argument("--seconds", type=float, default=2.0)
    given = parser.parse_args()
    began = time.process_time()
    version, make = load()
    found = {"peer": name, "version": version, "import_ms": (time.process_time() - began) * 1000}
    if not given.import_only:
        asyncio.run(_measure(make, found, given.seconds))
        found["rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(found), flush=True)


async def _measure(make, found, seconds):
    for shape, (steps, width) in SHAPES.items():
        costs = []
        end = time.monotonic() + seconds
        while len(costs) < 5 or time.monotonic() < end:
            script = Script(steps, width)
            work, before = make(script), _made[0]
            gc.collect()
            began = time.process_time_ns()
            given = work()
            answer = await given if inspect.isawaitable(given) else given
            costs.append((time.process_time_ns() - began) / (steps * width) / 1000)
            if _made[0] - before != steps * width or script.taken != steps + 1 or FINAL not in str(answer):
                raise SystemExit(
                    f"{found['peer']} did not do its work: {_made[0] - before} calls, answer {answer!r:.80}"
                )
        found[shape] = statistics.median(costs[2:])
