"""A day of negotiations on one machine: `python -m bench.supplier [CONVERSATIONS]`, ten thousand unless told otherwise.

The rules answer in place of models, so what is measured is ours: host, loop, store and jobs, on SQLite, by a clock that is
moved hour by hour. Conversations begin all day; suppliers answer within the hour, some with three messages, some refuse, some
send canned text, some say nothing. A peer that does this durably was not found; the figures stand for themselves.
"""

import asyncio
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from groundwire import Runtime, Settings
from groundwire.apps.supplier.agents import Roles, supplier_registry, with_grounding
from groundwire.apps.supplier.contracts import GroundingMode, HistoryEntry, SourcingRequest
from groundwire.apps.supplier.host import SupplierHost
from groundwire.apps.supplier.negotiator import RULES, rules_models
from groundwire.apps.supplier.opening import SupplierOptions, open_supplier
from groundwire.jobs import JobSettings, open_jobs
from groundwire.testing import FakeClock

CONVERSATIONS = 10_000
HOURS = 24
TOGETHER = 64
POLL_SECONDS = 0.2  # a queue that is looked at more often costs more than what it hands out
MIDNIGHT = 1_773_158_400.0  # 2026-03-11 00:00 in Shanghai
SUPPLIERS = (
    ("在的，有现货", "100个起，5块2一个", "交期7到10天"),
    ("500个起，1.35含税含运", "付款后三天出货"),
    ("不好意思，这款停产了，找别家吧",),
    ("【自动回复】亲，客服正在赶来",),
    (),
)


async def main(conversations: int = CONVERSATIONS) -> None:
    with tempfile.TemporaryDirectory() as folder:
        await _simulate(conversations, Path(folder))


async def _simulate(conversations: int, folder: Path) -> None:
    clock = FakeClock(MIDNIGHT)
    url = f"sqlite:///{folder}/store.db"
    settings = with_grounding(Settings(), GroundingMode.STRICT)
    options = SupplierOptions(
        roles=Roles(bot=RULES, summary=RULES), silence_hours=6, signal_log=str(folder / "signals.jsonl")
    )
    jobs = open_jobs(url, clock=clock, settings=JobSettings(poll_seconds=POLL_SECONDS, concurrency=TOGETHER))
    began, cpu = time.perf_counter(), time.process_time()
    async with (
        Runtime(supplier_registry(), url, settings=settings, clock=clock) as runtime,
        open_supplier(runtime, jobs, rules_models(clock), options) as (host, _),
    ):
        for hour in range(HOURS):
            await _in_groups(range(hour * conversations // HOURS, (hour + 1) * conversations // HOURS), host)
            clock.advance(3600)
            await jobs.idle()
            took = time.perf_counter() - began
            print(f"\r  hour {hour + 1:>2} of {HOURS}, {took:6.0f} s", end="", file=sys.stderr, flush=True)
        done = await jobs.count()
        ended = await _statuses(host)
    print(file=sys.stderr)
    took, spent = time.perf_counter() - began, time.process_time() - cpu
    told, size = _on_disk(folder)
    worked = sum(done.values())
    print(f"{conversations} conversations in a simulated day: {took:.0f} s, {spent:.0f} s of CPU")
    print(
        f"  conversations per second {conversations / took:>10.1f}    jobs per second {worked / took:.0f}, of {worked}"
    )
    print(
        f"  peak memory MB           {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:>10.0f}    on disk {size:.0f} MB"
    )
    print(
        f"  signals told             {told:>10}    {', '.join(f'{name} {count}' for name, count in sorted(ended.items()))}"
    )


async def _in_groups(numbers: range, host: SupplierHost) -> None:
    gate = asyncio.Semaphore(TOGETHER)

    async def lead(number: int) -> None:
        async with gate:
            session = f"s-{number}"
            await host.begin(SourcingRequest(session_id=session, item="皮质钥匙扣", qty=150))
            for place, line in enumerate(SUPPLIERS[number % len(SUPPLIERS)]):
                entry = HistoryEntry(role="supplier", content=line, message_id=f"{session}.{place}")
                await host.receive(session, entry)
                await host.wait_for(session, entry.message_id, seconds=600)

    await asyncio.gather(*map(lead, numbers))


def _on_disk(folder: Path) -> tuple[int, float]:
    """How many signals were written, and how many megabytes all is."""
    return (folder / "signals.jsonl").read_bytes().count(b"\n"), sum(
        file.stat().st_size for file in folder.iterdir()
    ) / 1e6


async def _statuses(host: SupplierHost) -> Counter[str]:
    found: Counter[str] = Counter()
    before = ""
    while page := await host.list(before=before, limit=500):
        found.update(one.status.value for one in page)
        before = page[-1].session_id
    return found


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else int(os.environ.get("CONVERSATIONS", CONVERSATIONS))))
