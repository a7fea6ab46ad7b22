"""The runs of the memory store. They are bounded, by number and by size, except for those that go on.

Those that have ended for good are dropped first, sooner still if they were part of no conversation; those that could be
taken up again only where that is not enough.
"""

from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from groundwire.contracts.runs import RESUMABLE, Run, RunEntry
from groundwire.contracts.texts import storable as storable_text
from groundwire.store.memory_tables import page
from groundwire.store.rules import begun, check_places, run_exists

Key: TypeAlias = tuple[str, str]

_MAX_BYTES = 64 * 1024 * 1024
_MAX_SPENT_BYTES = 8 * 1024 * 1024
"""Of runs from which nothing goes on any more: about 500 of 20 steps each."""


class _Kept:
    """A run: how it was created, its newest head as it was given, and its entries."""

    __slots__ = ("created", "entries", "newest", "size")

    def __init__(self, created: Run) -> None:
        self.created = self.newest = created
        self.entries: list[RunEntry] = []
        self.size = 0

    @property
    def is_spent(self) -> bool:
        """It has ended for good, and was part of no conversation."""
        outcome = self.newest.outcome
        return bool(outcome) and outcome not in RESUMABLE and not self.created.session_id

    def head(self) -> Run:
        """Of the newest head all but RUN_CHANGES is as it was at the beginning."""
        return msgspec.structs.replace(
            self.newest,
            session_id=self.created.session_id,
            created_at=self.created.created_at,
            model=storable_text(self.newest.model),
            text=storable_text(self.newest.text),
            entries=len(self.entries),
        )


class MemoryRuns:
    def __init__(self, max_runs: int) -> None:
        self._max_runs = max_runs
        self._runs: dict[Key, _Kept] = {}
        self._of_sessions: dict[Key, dict[str, None]] = {}
        """The runs of each session, in the order in which they began."""
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

    def append(self, run: Run, entries: Sequence[RunEntry]) -> bool:
        key = (run.tenant, run.run_id)
        check_places(run, entries)
        kept = self._runs.get(key)
        if kept is None or len(kept.entries) != run.entries:
            return False
        kept.newest = run
        self._put(key, kept, entries)
        return True

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
