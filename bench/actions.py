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
from groundwire.contracts.audit import Chain
from groundwire.contracts.records import AuditEntry, AuditHead, Effect
from groundwire.store import statements
from groundwire.store.rows import audit_values, effect_values
from groundwire.store.sqlite import SqliteStore, numbered

CALLS = 256
ROUNDS = 12
AT_ONCE = 64
BATCHES = 20
RAW = argument_texts(1)[0]
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
    """Makes sequential or simultaneous calls with arguments that were never used before, prepared in advance."""

    def __init__(self, url: str, calls: int) -> None:
        self.counter = Counter()
        self.runtime = _runtime(self.counter, url)
        self._texts = iter(argument_texts(calls))

    async def sequential(self, calls: int) -> None:
        texts = itertools.islice(self._texts, calls)
        async with self.runtime.turn(session="bench") as turn:
            for text in texts:
                await self.runtime.call("create_ticket", text, turn=turn)
        self._check(calls)

    async def at_once(self, batches: int) -> None:
        texts = list(itertools.islice(self._texts, batches * AT_ONCE))
        async with self.runtime.turn(session="bench") as turn:
            for batch in _batched(texts):
                await asyncio.gather(*(self.runtime.call("create_ticket", text, turn=turn) for text in batch))
        self._check(len(texts))

    def _check(self, calls: int) -> None:
        if self.counter.calls != calls:
            raise SystemExit(f"the tool ran {self.counter.calls} times, not {calls}")
        self.counter.calls = 0


def _batched(texts: list[str]) -> list[list[str]]:
    return [texts[index : index + AT_ONCE] for index in range(0, len(texts), AT_ONCE)]


async def _alone(folder: Path) -> None:
    heading("An action alone (SQLite, level process, CPU per call)")
    caller = _Caller(f"sqlite:///{folder}/process.db", CALLS * (ROUNDS + 1))
    await caller.sequential(CALLS)
    ours = await cpu_us(ROUNDS, CALLS, lambda: caller.sequential(CALLS))
    line("groundwire: reserve, run, settle, audit", ours, goal="≤ 150", met=ours <= 150)
    await caller.runtime.close()


async def _durable(folder: Path) -> None:
    heading("An action alone (SQLite, level power, wall per call)")
    caller = _Caller(f"sqlite:///{folder}/power.db?durability=power", 32 + 8 * 64)
    await caller.sequential(32)
    sync = fdatasync_us(folder)
    ours = await wall_us(8, 64, lambda: caller.sequential(64))
    limit = FSYNCS_PER_ACTION * sync + 400
    line("fdatasync of 4 KiB on this disk", sync)
    line("groundwire: reserve, run, settle, audit", ours, goal=f"≤ {limit:.0f}", met=ours <= limit)
    await caller.runtime.close()


async def _at_once(folder: Path) -> None:
    heading(f"{AT_ONCE} actions at once (SQLite, level process, rate)")
    caller = _Caller(f"sqlite:///{folder}/many.db", (2 + 7 * BATCHES) * AT_ONCE)
    await caller.at_once(2)
    calls = BATCHES * AT_ONCE
    ours = 1e6 / await wall_us(7, calls, lambda: caller.at_once(BATCHES))
    bare = await _bare_rate(folder)
    line("bare: reserve, settle and audit statements in batches", bare, "calls/s")
    line("groundwire", ours, "calls/s")
    line("ratio to bare", ours / bare, "×", goal="≥ 0.5", met=ours >= bare / 2)
    await caller.runtime.close()


async def _bare_rate(folder: Path) -> float:
    """Reserve, settle and audit on the same tables with the same durability, 64 at a time, and nothing else."""
    path = folder / "bare.db"
    store = SqliteStore(path)
    await store.open()
    await store.shut()
    connection = sqlite3.connect(path, isolation_level=None, cached_statements=64)
    connection.execute("PRAGMA synchronous=NORMAL")
    reserve, settle, audit = (
        numbered(sql) for sql in (statements.INSERT_EFFECT, statements.SETTLE_EFFECT, statements.INSERT_AUDIT)
    )
    best, head, chain = float("inf"), AuditHead(), Chain()
    for number in range(7):
        started = time.perf_counter()
        for batch in range(BATCHES):
            effects = [_effect(f"{number}-{batch}-{index}") for index in range(AT_ONCE)]
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(reserve, [effect_values(effect) for effect in effects])
            connection.execute("COMMIT")
            connection.execute("BEGIN IMMEDIATE")
            key = [(effect.tenant, effect.tool, effect.key, effect.attempt) for effect in effects]
            connection.executemany(settle, [(*k, "settled", b"{}" * 100, "", time.time()) for k in key])
            records = []
            for effect in effects:
                record = chain.link(head, _entry(effect))
                head = AuditHead(seq=record.seq, hash=record.hash)
                records.append(audit_values(record))
            connection.executemany(audit, records)
            connection.execute("COMMIT")
        best = min(best, time.perf_counter() - started)
    connection.close()
    return BATCHES * AT_ONCE / best


def _effect(name: str) -> Effect:
    digest = hashlib.sha256(name.encode()).hexdigest()
    now = time.time()
    return Effect(
        effect_id=f"eff_{name}",
        tenant="default",
        tool="create_ticket",
        key=f"run:{name}:{digest}",
        input_digest=digest,
        owner="bench",
        attempt=f"att_{name}",
        lease_until=now + 20,
        session_id="bench",
        call_id=f"call_{name}",
        raw=RAW,
        created_at=now,
        updated_at=now,
    )


def _entry(effect: Effect) -> AuditEntry:
    return AuditEntry(
        id=f"aud_{effect.effect_id}",
        tenant=effect.tenant,
        request_id=effect.call_id,
        tool_name=effect.tool,
        input_hash=effect.input_digest,
        output_hash=hashlib.sha256(b"{}" * 100).hexdigest(),
        success=True,
        duration_ms=0.1,
        created_at="2026-01-01T00:00:00.000Z",
        call_id=effect.call_id,
        effect_key=effect.key,
    )
