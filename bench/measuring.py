"""How things are measured: process CPU time, the best of several rounds, printed as ratios."""

import gc
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path


async def cpu_us(rounds: int, calls: int, work: Callable[[], Awaitable[None]]) -> float:
    """CPU microseconds per call of `work`, which makes `calls` calls: the best round, because the machine is shared."""
    best = float("inf")
    for _ in range(rounds):
        gc.collect()
        started = time.process_time_ns()
        await work()
        best = min(best, (time.process_time_ns() - started) / calls / 1000)
    return best


async def wall_us(rounds: int, calls: int, work: Callable[[], Awaitable[None]]) -> float:
    """Wall microseconds per call: the median round, because waiting for a disk is part of it."""
    times: list[float] = []
    for _ in range(rounds):
        gc.collect()
        started = time.perf_counter_ns()
        await work()
        times.append((time.perf_counter_ns() - started) / calls / 1000)
    return statistics.median(times)


def fdatasync_us(folder: Path, tries: int = 200) -> float:
    """The median time that this disk takes to make 4 KiB durable."""
    times: list[float] = []
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        for _ in range(tries):
            file.write(b"x" * 4096)
            file.flush()
            started = time.perf_counter_ns()
            os.fdatasync(file.fileno())
            times.append((time.perf_counter_ns() - started) / 1000)
    return statistics.median(times)


def line(name: str, value: float, unit: str = "µs", *, goal: str = "", met: bool | None = None) -> None:
    mark = "" if met is None else "   ok" if met else "   MISSED"
    aim = f"   goal {goal}" if goal else ""
    print(f"  {name:<58}{value:>10.2f} {unit}{aim}{mark}", flush=True)


def heading(text: str) -> None:
    print(f"\n{text}", flush=True)
