"""The runs of the memory store. They are bounded, by number and by size, except for those that go on.

Those that have ended for good are dropped first, and those that could be taken up again only where that is not enough.
"""

from collections.abc import Sequence
from operator import itemgetter
from typing import TypeAlias

import msgspec

from groundwire.contracts.runs import RESUMABLE, Run, RunEntry
from groundwire.store.memory_tables import page
from groundwire.store.rules import appended, begun, run_exists

Key: TypeAlias = tuple[str, str]

_MAX_BYTES = 64 * 1024 * 1024


class MemoryRuns:
    def __init__(self, max_runs: int) -> None:
        self._max_runs = max_runs
        self._runs: dict[Key, Run] = {}
        self._entries: dict[Key, list[RunEntry]] = {}
        self._of_sessions: dict[Key, dict[str, None]] = {}
        """The runs of each session, in the order in which they began."""
        self._bytes = 0

    def create(self, run: Run, entries: Sequence[RunEntry]) -> None:
        key, head = (run.tenant, run.run_id), begun(run, entries)
        if key in self._runs:
            raise run_exists(run)
        self._entries[key] = []
        if run.session_id:
            self._of_sessions.setdefault((run.tenant, run.session_id), {})[run.run_id] = None
        self._put(key, head, entries)

    def append(self, run: Run, entries: Sequence[RunEntry]) -> bool:
        key, head = (run.tenant, run.run_id), appended(run, entries)
        stored = self._runs.get(key)
        if stored is None or stored.entries != run.entries:
            return False
        # All but RUN_CHANGES stays; key and name are the same anyway.
        kept = msgspec.structs.replace(head, session_id=stored.session_id, created_at=stored.created_at)
        self._put(key, kept, entries)
        return True

    def load(self, tenant: str, run_id: str) -> Run | None:
        return self._runs.get((tenant, run_id))

    def entries(self, tenant: str, run_id: str) -> list[RunEntry]:
        return list(self._entries.get((tenant, run_id), ()))

    def of_session(self, tenant: str, session_id: str) -> dict[str, list[RunEntry]]:
        runs = self._of_sessions.get((tenant, session_id), ())
        return {run_id: entries for run_id in runs if (entries := self.entries(tenant, run_id))}

    def newest_first(self, tenant: str, session_id: str | None, before: str, limit: int) -> list[Run]:
        rows = (run for run in reversed(self._runs.values()) if run.tenant == tenant)
        return page(rows, lambda run: (run.run_id,), before, limit, lambda run: session_id in {None, run.session_id})

    def _put(self, key: Key, head: Run, entries: Sequence[RunEntry]) -> None:
        self._runs[key] = head
        self._entries[key].extend(entries)
        self._bytes += sum(len(entry.body) for entry in entries)
        if len(self._runs) > self._max_runs or self._bytes > _MAX_BYTES:
            self._make_room(key)

    def _make_room(self, newest: Key) -> None:
        """Let ended runs go until a tenth is free, the oldest first."""
        ended = [(key, run.outcome in RESUMABLE) for key, run in self._runs.items() if run.outcome and key != newest]
        for key, _ in sorted(ended, key=itemgetter(1)):
            if len(self._runs) <= self._max_runs * 0.9 and self._bytes <= _MAX_BYTES * 0.9:
                return
            self._drop(key)

    def _drop(self, key: Key) -> None:
        run = self._runs.pop(key)
        self._bytes -= sum(len(entry.body) for entry in self._entries.pop(key))
        session = (run.tenant, run.session_id)
        if session in self._of_sessions:
            del self._of_sessions[session][run.run_id]
            if not self._of_sessions[session]:
                del self._of_sessions[session]
