"""An action with ledger and audit on SQLite: alone, durable against power loss, and sixty-four at once."""

import asyncio
import hashlib
import itertools
import sqlite3
import tempfile
import time
from pathlib import Path

from bench.measuring import cpu_us, fdatasync_us, heading, line, wall_us
from bench.workload import SCHEMA, Counter, argument_texts
from groundwire import Registry, Runtime, Tool

CALLS = 256
ROUNDS = 12
AT_ONCE = 64
BATCHES = 20
FSYNCS_PER_ACTION = 1
"""At level `power` the reservation is made durable before the handler starts; a lost settle becomes unknown."""


async def main() -> None:
    with tempfile.TemporaryDirectory(prefix="bench-", dir=".") as name:
        folder = Path(name)
        await _alone(folder)
        await _durable(folder)
        await _at_once(folder)


def _runtime(counter: Counter, url: str) -> Runtime:
    tool = Tool(
        name="create_ticket",
        description="Create a ticket.",
        parameters=SCHEMA,
        handler=counter.create_ticket,
        category="action",
    )
    return Runtime(Registry([tool]), url)


class _Caller:
    """Makes sequential or simultaneous calls with arguments that were never used before."""

    def __init__(self, url: str) -> None:
        self.counter = Counter()
        self.runtime = _runtime(self.counter, url)
        self._start = itertools.count(0)

    async def sequential(self, calls: int) -> None:
        texts = argument_texts(calls, start=next(self._start) * calls)
        async with self.runtime.turn(session="bench") as turn:
            for text in texts:
                result = await self.runtime.call("create_ticket", text, turn=turn)
                if not result.ok:
                    raise SystemExit(f"an action failed: {result.error}")

    async def at_once(self, batches: int) -> None:
        texts = argument_texts(batches * AT_ONCE, start=next(self._start) * batches * AT_ONCE)
        async with self.runtime.turn(session="bench") as turn:
            for batch in itertools.batched(texts, AT_ONCE) if hasattr(itertools, "batched") else _batched(texts):
                await asyncio.gather(*(self.runtime.call("create_ticket", text, turn=turn) for text in batch))


def _batched(texts: list[str]) -> list[list[str]]:
    return [texts[index : index + AT_ONCE] for index in range(0, len(texts), AT_ONCE)]


async def _alone(folder: Path) -> None:
    heading("An action alone (SQLite, level process, CPU per call)")
    caller = _Caller(f"sqlite:///{folder}/process.db")
    await caller.sequential(CALLS)
    ours = await cpu_us(ROUNDS, CALLS, lambda: caller.sequential(CALLS))
    line("groundwire: reserve, run, settle, audit", ours, goal="≤ 150", met=ours <= 150)
    await caller.runtime.close()


async def _durable(folder: Path) -> None:
    heading("An action alone (SQLite, level power, wall per call)")
    caller = _Caller(f"sqlite:///{folder}/power.db?durability=power")
    await caller.sequential(32)
    sync = fdatasync_us(folder)
    ours = await wall_us(8, 64, lambda: caller.sequential(64))
    limit = FSYNCS_PER_ACTION * sync + 400
    line("fdatasync of 4 KiB on this disk", sync)
    line("groundwire: reserve, run, settle, audit", ours, goal=f"≤ {limit:.0f}", met=ours <= limit)
    await caller.runtime.close()


async def _at_once(folder: Path) -> None:
    heading(f"{AT_ONCE} actions at once (SQLite, level process, rate)")
    caller = _Caller(f"sqlite:///{folder}/many.db")
    await caller.at_once(2)
    calls = BATCHES * AT_ONCE
    ours = 1e6 / await wall_us(7, calls, lambda: caller.at_once(BATCHES))
    bare = _bare_rate(folder)
    line("bare: reserve, settle and audit statements in batches", bare, "calls/s")
    line("groundwire", ours, "calls/s")
    line("ratio to bare", ours / bare, "×", goal="≥ 0.5", met=ours >= bare / 2)
    await caller.runtime.close()


def _bare_rate(folder: Path) -> float:
    """The same rows with the same durability, and nothing else: no validation, no policy, no handler."""
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("CREATE TABLE effects (key TEXT PRIMARY KEY, input TEXT, status TEXT, result BLOB, at REAL)")
    connection.execute(
        "CREATE TABLE audit (seq INTEGER PRIMARY KEY, id TEXT, tool TEXT, input TEXT, output TEXT, ok INTEGER,"
        " ms REAL, at TEXT, previous TEXT, hash TEXT)"
    )
    best, seq, previous = float("inf"), 0, "0" * 64
    for number in range(7):
        started = time.perf_counter()
        for batch in range(BATCHES):
            keys = [f"{number}-{batch}-{index}" for index in range(AT_ONCE)]
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(
                "INSERT INTO effects VALUES (?,?,'reserved',NULL,?)", [(key, key, time.time()) for key in keys]
            )
            connection.execute("COMMIT")
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(
                "UPDATE effects SET status='settled', result=? WHERE key=?", [(b"{}", key) for key in keys]
            )
            rows = []
            for key in keys:
                seq += 1
                digest = hashlib.sha256(f"{previous}{key}".encode()).hexdigest()
                rows.append((seq, key, "create_ticket", digest, digest, 1, 0.1, "now", previous, digest))
                previous = digest
            connection.executemany("INSERT INTO audit VALUES (?,?,?,?,?,?,?,?,?,?)", rows)
            connection.execute("COMMIT")
        best = min(best, time.perf_counter() - started)
    connection.close()
    return BATCHES * AT_ONCE / best
