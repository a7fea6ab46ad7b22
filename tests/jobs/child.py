"""A worker that may be killed at any moment. Its real effects are lines in a file, caused by an action of a runtime.

python child.py STORE FOLDER [die before|die after|pause]
    works on jobs until its input ends; tells on its output which it has begun. `die` kills it at its first job, before or
    after the effect; `pause` stops it there before the effect, until somebody lets it go on.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from groundwire import Context, Registry, Runtime, Settings, tool
from groundwire.jobs import Job, JobFailed, JobSettings, RetrySchedule, open_jobs
from groundwire.runtime.ledger import LedgerTimes

SETTINGS = Settings(ledger=LedgerTimes(lease_seconds=0.6, wait_seconds=20))
SCHEDULE = RetrySchedule(delays=(0.2,) * 20, jitter=0)


def effects(folder: Path) -> list[str]:
    file = folder / "effects.txt"
    return file.read_text().splitlines() if file.exists() else []


def registry(folder: Path) -> Registry:
    def reconcile(context: Context) -> dict[str, Any] | None:
        return {"done": True} if context.idempotency_key in effects(folder) else None

    @tool(category="action", reconcile=reconcile)
    async def write(context: Context) -> dict[str, Any]:
        """Write a line."""
        descriptor = os.open(folder / "effects.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(descriptor, f"{context.idempotency_key}\n".encode())
        os.close(descriptor)
        return {"done": True}

    return Registry([write])


async def main(store: str, folder: Path, moment: str = "") -> None:
    paused: list[str] = []
    async with Runtime(registry(folder), store, settings=SETTINGS) as runtime:

        async def work(job: Job) -> None:
            print(job.job_id, flush=True)
            if moment == "die before":
                os.kill(os.getpid(), signal.SIGKILL)
            if moment == "pause" and not paused:
                paused.append(job.job_id)
                os.kill(os.getpid(), signal.SIGSTOP)
            result = await runtime.call("write", {}, idempotency_key=job.job_id)
            if moment == "die after":
                os.kill(os.getpid(), signal.SIGKILL)
            if not result.ok:
                raise JobFailed(str(result.error))
            await asyncio.sleep(0.01)

        jobs = open_jobs(store, settings=JobSettings(concurrency=4, poll_seconds=0.02))
        await jobs.start({"write": work})
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        await jobs.close()


if __name__ == "__main__":
    store_url, folder_name, *rest = sys.argv[1:]
    asyncio.run(main(store_url, Path(folder_name), *rest))
