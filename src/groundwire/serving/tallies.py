"""Counts of requests: kept in memory by each process, and added up in the store, so that any process tells of all.

Knows labels and numbers; what they are called in which format is for who shows them.
"""

import asyncio
import logging
from bisect import bisect_left
from contextlib import suppress

from groundwire.contracts.canonical import JsonObject
from groundwire.contracts.errors import GroundwireError
from groundwire.contracts.ports import Clock, Database, Store
from groundwire.contracts.records import Charge

log = logging.getLogger("groundwire.serving")

BOUNDS_MS = (1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000)
"""Upper bounds of the histogram of latencies; above the last is the rest."""
INTERVAL = 1.0
"""Seconds between two times of adding up: as old may be what a process knows of the others."""
GONE = 499
"""The status of a request whose client did not wait for an answer."""

_BOUNDS_NS = [int(bound * 1_000_000) for bound in BOUNDS_MS]
_COUNT, _SUM, _FIRST_BUCKET = 0, 1, 2
_OURS = ""
"""Whose counters these are: no tenant's."""
_APP = "serving"
_KEPT_SECONDS = 3600
"""So long stays what a process said that was killed."""
_SCRIPTS = (
    (
        "0001_workers",
        """
        CREATE TABLE serving_workers (
            worker TEXT NOT NULL PRIMARY KEY,
            in_flight BIGINT NOT NULL,
            seen DOUBLE PRECISION NOT NULL
        );
        """,
    ),
)


class Tally:
    """What one process has counted and not yet added up."""

    def __init__(self) -> None:
        self.in_flight = 0
        self._requests: dict[tuple[str, str, str, int], list[int]] = {}
        self._failures: dict[tuple[str, str], int] = {}

    def count(self, route: str, dialect: str, status: int, nanoseconds: int, tenant: str = "") -> None:
        """Count a request that was answered. `tenant` is empty where the caller is not known."""
        key = (tenant, route, dialect, status)
        cell = self._requests.get(key)
        if cell is None:
            cell = self._requests[key] = [0] * (_FIRST_BUCKET + len(BOUNDS_MS) + 1)
        cell[_COUNT] += 1
        cell[_SUM] += nanoseconds
        cell[_FIRST_BUCKET + bisect_left(_BOUNDS_NS, nanoseconds)] += 1

    def count_failure(self, kind: str, tenant: str = "") -> None:
        """Count a request that a model's provider failed."""
        self._failures[tenant, kind] = self._failures.get((tenant, kind), 0) + 1

    def take(self) -> list[Charge]:
        """Everything since the last time, which is then forgotten here."""
        requests, self._requests = self._requests, {}
        failures, self._failures = self._failures, {}
        charges = [
            Charge(name=_name("upstream_failures", whose), scope=kind, amount=count)
            for (tenant, kind), count in failures.items()
            for whose in _counted_for(tenant)
        ]
        for (tenant, route, dialect, status), cell in requests.items():
            for whose in _counted_for(tenant):
                charges += _charges_of(cell, f"{route}|{dialect}", status, whose)
        return charges


class TallyKeeper:
    """Adds up a process's tally in the store, once a second while there is something to add."""

    def __init__(self, tally: Tally, store: Store, clock: Clock, *, worker: str) -> None:
        self._tally = tally
        self._store = store
        self._clock = clock
        self._worker = worker
        self._waiting: dict[tuple[str, str], float] = {}
        self._told: int | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def _database(self) -> Database:
        return self._store.database

    async def open(self) -> None:
        await self._database.migrate(_APP, _SCRIPTS)
        forgotten = self._clock.now() - _KEPT_SECONDS
        await self._database.execute("DELETE FROM serving_workers WHERE seen < $1", forgotten)
        self._task = asyncio.get_running_loop().create_task(self._keep())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        with suppress(GroundwireError):
            await self.flush()
            await self._database.execute("DELETE FROM serving_workers WHERE worker = $1", self._worker)

    async def flush(self) -> None:
        for charge in self._tally.take():
            counter = (charge.name, charge.scope)
            self._waiting[counter] = self._waiting.get(counter, 0.0) + charge.amount
        if self._waiting:
            waiting, self._waiting = self._waiting, {}
            charges = [Charge(name=name, scope=scope, amount=amount) for (name, scope), amount in waiting.items()]
            try:
                await self._store.add(_OURS, charges)
            except BaseException:
                for counter, amount in waiting.items():
                    self._waiting[counter] = self._waiting.get(counter, 0.0) + amount
                raise
        if self._tally.in_flight or self._told:
            self._told = self._tally.in_flight
            await self._database.execute(
                "INSERT INTO serving_workers (worker, in_flight, seen) VALUES ($1, $2, $3)"
                " ON CONFLICT (worker) DO UPDATE SET in_flight = excluded.in_flight, seen = excluded.seen",
                self._worker,
                self._told,
                self._clock.now(),
            )

    async def read(self, tenant: str | None = None) -> JsonObject:
        """The counts of all processes; those of others are at most a second old.

        With a tenant, only its own, and without `inFlight`, which is counted for all tenants together.
        """
        await self.flush()
        requests = await self._counters("http_requests", tenant)
        sums = await self._counters("http_ms", tenant)
        buckets = await self._counters("http_buckets", tenant)
        failures = await self._counters("upstream_failures", tenant)
        counts: JsonObject = {
            "requests": [_request(scope, count) for scope, count in sorted(requests.items())],
            "latencyMs": [_latency(scope, total, buckets) for scope, total in sorted(sums.items())],
            "upstreamFailures": {kind: int(count) for kind, count in sorted(failures.items())},
        }
        return counts if tenant is not None else {**counts, "inFlight": await self._in_flight()}

    async def _counters(self, name: str, tenant: str | None) -> dict[str, float]:
        return await self._store.list_counters(_OURS, _name(name, tenant))

    async def _in_flight(self) -> int:
        """Of processes that have said so lately: one that was killed says nothing more."""
        rows = await self._database.fetch(
            "SELECT in_flight FROM serving_workers WHERE worker <> $1 AND seen > $2",
            self._worker,
            self._clock.now() - 5 * INTERVAL,
        )
        return self._tally.in_flight + sum(int(str(row["in_flight"])) for row in rows)

    async def _keep(self) -> None:
        while True:
            await self._clock.sleep(INTERVAL)
            try:
                await self.flush()
            except GroundwireError as error:
                log.warning("counts of requests could not be added up: %s", error)


def _counted_for(tenant: str) -> tuple[str | None, ...]:
    """Under which names a request is counted: for all tenants together, and for its own. Sums over tenants would be slow."""
    return (None, tenant) if tenant else (None,)


def _name(name: str, tenant: str | None) -> str:
    """The name of a counter for one tenant, or for all together (None). All of them are stored under one internal tenant."""
    return name if tenant is None else f"{name}:{tenant}"


def _charges_of(cell: list[int], scope: str, status: int, tenant: str | None) -> list[Charge]:
    counted = Charge(name=_name("http_requests", tenant), scope=f"{scope}|{status}", amount=cell[_COUNT])
    taken = Charge(name=_name("http_ms", tenant), scope=scope, amount=cell[_SUM] / 1_000_000)
    buckets = [
        Charge(name=_name("http_buckets", tenant), scope=f"{scope}|{place}", amount=count)
        for place, count in enumerate(cell[_FIRST_BUCKET:])
        if count
    ]
    return [counted, taken, *buckets]


def _request(scope: str, count: float) -> JsonObject:
    route, dialect, status = scope.split("|")
    return {"route": route, "dialect": dialect, "status": int(status), "count": int(count)}


def _latency(scope: str, total: float, buckets: dict[str, float]) -> JsonObject:
    """`buckets` count, for each bound and for all together, what took at most so long."""
    route, dialect = scope.split("|")
    counts = [int(buckets.get(f"{scope}|{place}", 0)) for place in range(len(BOUNDS_MS) + 1)]
    below = {f"{bound:g}": sum(counts[: place + 1]) for place, bound in enumerate(BOUNDS_MS)}
    return {
        "route": route,
        "dialect": dialect,
        "count": sum(counts),
        "sum": round(total, 3),
        "buckets": {**below, "+Inf": sum(counts)},
    }
