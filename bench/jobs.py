"""Jobs: how many a second are submitted and done, on SQLite and PostgreSQL, and what a worker needs of memory.

One client and one worker in one process, each store in a process of its own. The handler does nothing.
"""

import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time

from groundwire.jobs import Job, JobSettings, open_jobs

JOBS = 1_000
TOGETHER = 16
NAMES = ("sqlite", "postgresql")


async def main() -> None:
    print(f"{JOBS} jobs, {TOGETHER} submitted at a time and as many done at a time, looked for every 20 ms")
    print(f"{'store':<12}{'submitted/s':>13}{'done/s':>10}{'memory MB':>12}{'+ engine MB':>13}{'import s':>10}")
    for name in NAMES:
        await asyncio.to_thread(subprocess.run, [sys.executable, "-m", "bench.jobs", name], check=True)


async def _measure(name: str, url: str) -> None:
    before = _memory()
    jobs = open_jobs(url, settings=JobSettings(poll_seconds=0.02, concurrency=TOGETHER))
    began = time.perf_counter()
    await jobs.submit("none", {})
    opened = time.perf_counter() - began

    began = time.perf_counter()
    for _ in range(JOBS // TOGETHER):
        await asyncio.gather(*(jobs.submit("nothing", {"number": 1}) for _ in range(TOGETHER)))
    submitted = time.perf_counter() - began

    left = JOBS // TOGETHER * TOGETHER
    all_done = asyncio.Event()

    async def nothing(_: Job) -> None:
        nonlocal left
        left -= 1
        if not left:
            all_done.set()

    began = time.perf_counter()
    await jobs.start({"nothing": nothing})
    await all_done.wait()
    done = time.perf_counter() - began
    await jobs.close()
    after = _memory()
    rates = f"{JOBS / submitted:>13.0f}{JOBS / done:>10.0f}"
    print(f"{name:<12}{rates}{after:>12.0f}{after - before:>13.0f}{opened:>10.2f}", flush=True)


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _run(name: str) -> None:
    if name == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(_measure(name, f"sqlite:///{folder}/store.db"))
        return
    from tests.postgres_server import running_server

    with running_server() as url:
        asyncio.run(_measure(name, os.environ.get("GROUNDWIRE_TEST_POSTGRES", url)))


if __name__ == "__main__":
    _run(sys.argv[1])
