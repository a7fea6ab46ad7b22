"""The runs of the memory store. They are bounded, by number and by size, except for those that go on.

Those that have ended for good are dropped first, sooner still if they were part of no conversation; those that could be
taken up again only where that is not enough.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

import msgspec

from groundwire.contracts.runs import RESUMABLE, Outcome, Run, RunEntry
from groundwire.contracts.texts import storable as storable_text
from groundwire.store.memory_tables import bound, page
from groundwire.store.rules import LEASE_FIELDS, begun, check_places, run_exists

Key: TypeAlias = tuple[str, str]
NOT_WAITING: Mapping[str, float] = MappingProxyType({})

_MAX_BYTES = 64 * 1024 * 1024
_MAX_SPENT_BYTES = 8 * 1024 * 1024
"""Of runs from which nothing goes on any more: about 500 of 20 steps each."""


class _Kept:
    """A run: its head as it was created and as it was written last, its lease, and its entries."""

    __slots__ = ("created", "entries", "lease", "newest", "size")

    def __init__(self, created: Run) -> None:
        self.created = self.newest = self.lease = created
        self.entries: list[RunEntry] = []
        self.size = 0

    @property
    def is_spent(self) -> bool:
        """It has ended for good, and was part of no conversation."""
        outcome = self.newest.outcome
        return bool(outcome) and outcome not in RESUMABLE and not self.created.session_id

    def head(self) -> Run:
        """The newest values of RUN_CHANGES and LEASE_FIELDS; all others as it was created."""
        return msgspec.structs.replace(
            self.newest,
            session_id=self.created.session_id,
            created_at=self.created.created_at,
            model=storable_text(self.newest.model),
            text=storable_text(self.newest.text),
            entries=len(self.entries),
            **_lease_of(self.lease),
        )


class MemoryRuns:
    def __init__(self, max_runs: int) -> None:
        self._max_runs = max_runs
        self._runs: dict[Key, _Kept] = {}
        self._of_sessions: dict[Key, dict[str, None]] = {}
        """The runs of each session, in the order in which they began."""
        self._waits: dict[Key, set[str]] = {}
        """By approval, the runs that wait for it."""
        self._bytes = 0
        self._spent_bytes = 0

    def create(self, run: Run, entries: Sequence[RunEntry]) -> None:
        key = (run.tenant, run.run_id)
        begun(run, entries)
        if key in self._runs:
            raise run_exists(run)
        kept = self._runs[key] = _Kept(run)
        if run.session_id:
            self._of_sessions.setdefault((run.tenant, run.session_id), {})[run.run_id] = None
        self._put(key, kept, entries)

    def append(self, run: Run, entries: Sequence[RunEntry], waiting: Mapping[str, float] = NOT_WAITING) -> bool:
        """Append, as `RunStore.append_run` does. `waiting` has the approvals that it waits for, each with the time until then."""
        key = (run.tenant, run.run_id)
        check_places(run, entries)
        kept = self._runs.get(key)
        if kept is None or len(kept.entries) != run.entries or kept.lease.owner != run.owner:
            return False
        kept.newest = run
        if kept.lease.resumes:
            kept.lease = msgspec.structs.replace(kept.lease, resumes=0)
        if run.outcome:
            due_at = min(waiting.values(), default=0.0)
            kept.lease = msgspec.structs.replace(kept.lease, owner="", due_at=due_at, cancel_requested=False)
            for approval_id in waiting:
                self._waits.setdefault((run.tenant, approval_id), set()).add(run.run_id)
            bound(self._waits, self._max_runs)
        self._put(key, kept, entries)
        return True

    def swap_lease(self, seen: Run, wanted: Run) -> bool:
        kept = self._runs.get((seen.tenant, seen.run_id))
        if kept is None or _lease_of(kept.lease) != _lease_of(seen):
            return False
        kept.lease = wanted
        return True

    def due(self, now: float, limit: int) -> list[Run]:
        found = [kept for kept in self._runs.values() if 0 < kept.lease.due_at <= now]
        return [kept.head() for kept in sorted(found, key=lambda kept: kept.lease.due_at)[:limit]]

    def to_cancel(self, owners: Iterable[str]) -> list[str]:
        wanted = set(owners)
        return [
            kept.lease.owner
            for kept in self._runs.values()
            if kept.lease.cancel_requested and kept.lease.owner in wanted
        ]

    def wake(self, tenant: str, approval_id: str, now: float) -> None:
        """Make the runs due that wait for this approval."""
        for run_id in self._waits.pop((tenant, approval_id), ()):
            kept = self._runs.get((tenant, run_id))
            if kept is not None and kept.newest.outcome == Outcome.AWAITING_APPROVAL and not kept.lease.owner:
                kept.lease = msgspec.structs.replace(kept.lease, due_at=now)

    def load(self, tenant: str, run_id: str) -> Run | None:
        kept = self._runs.get((tenant, run_id))
        return None if kept is None else kept.head()

    def entries(self, tenant: str, run_id: str) -> list[RunEntry]:
        kept = self._runs.get((tenant, run_id))
        return [] if kept is None else list(kept.entries)

    def of_session(self, tenant: str, session_id: str) -> dict[str, list[RunEntry]]:
        runs = self._of_sessions.get((tenant, session_id), ())
        return {run_id: entries for run_id in runs if (entries := self.entries(tenant, run_id))}

    def newest_first(self, tenant: str, session_id: str | None, before: str, limit: int) -> list[Run]:
        rows = (kept for kept in reversed(self._runs.values()) if kept.created.tenant == tenant)
        wanted = page(
            rows,
            lambda kept: (kept.created.run_id,),
            before,
            limit,
            lambda kept: session_id in {None, kept.created.session_id},
        )
        return [kept.head() for kept in wanted]

    def _put(self, key: Key, kept: _Kept, entries: Sequence[RunEntry]) -> None:
        kept.entries += entries
        size = 0
        for entry in entries:
            size += len(entry.body)
        kept.size += size
        self._bytes += size
        if kept.newest.outcome and kept.is_spent:
            self._spent_bytes += kept.size
        if self._spent_bytes > _MAX_SPENT_BYTES:
            self._drop_spent(key)
        if len(self._runs) > self._max_runs or self._bytes > _MAX_BYTES:
            self._make_room(key)

    def _drop_spent(self, newest: Key) -> None:
        """Let spent runs go until a tenth of their room is free, the oldest first."""
        for key, kept in [(key, kept) for key, kept in self._runs.items() if kept.is_spent and key != newest]:
            if self._spent_bytes <= _MAX_SPENT_BYTES * 0.9:
                return
            self._drop(key, kept)

    def _make_room(self, newest: Key) -> None:
        """Let ended runs go until a tenth is free, the oldest first."""
        ended = [(key, kept) for key, kept in self._runs.items() if kept.newest.outcome and key != newest]
        for key, kept in sorted(ended, key=lambda one: one[1].newest.outcome in RESUMABLE):
            if len(self._runs) <= self._max_runs * 0.9 and self._bytes <= _MAX_BYTES * 0.9:
                return
            self._drop(key, kept)

    def _drop(self, key: Key, kept: _Kept) -> None:
        del self._runs[key]
        self._bytes -= kept.size
        if kept.is_spent:
            self._spent_bytes -= kept.size
        session = (kept.created.tenant, kept.created.session_id)
        if session in self._of_sessions:
            del self._of_sessions[session][kept.created.run_id]
            if not self._of_sessions[session]:
                del self._of_sessions[session]


def _lease_of(run: Run) -> dict[str, Any]:
    return {name: getattr(run, name) for name in LEASE_FIELDS}
