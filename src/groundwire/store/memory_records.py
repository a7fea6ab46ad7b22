"""The rows of calls and the audit chain of the memory store.

The end of a call is only noted. Its rows are made, and hashed, together with others: when somebody reads, at a flush, or
when enough of them wait. In one go that takes half the time, and nobody can tell the difference.
"""

import threading
from collections import deque
from typing import TypeAlias

from groundwire.contracts.audit import Chain
from groundwire.contracts.errors import StoreError
from groundwire.contracts.ports import CallEnd
from groundwire.contracts.records import CallRecord, Closing
from groundwire.store.memory_chain import MemoryChain
from groundwire.store.memory_tables import bound

CallKey: TypeAlias = tuple[str, str, str]

_MAX_NOTED = 256


class MemoryRecords:
    def __init__(self, chain: Chain, max_rows: int) -> None:
        self._max_rows = max_rows
        self._lock = threading.RLock()  # loops in other threads may share it
        self._noted: deque[CallEnd] = deque()
        self._calls: dict[CallKey, CallRecord] = {}
        self._chain = MemoryChain(chain, max_rows)

    def note(self, end: CallEnd) -> None:
        """Take it for later. If its record turns out not to be storable, the next flush says so."""
        self._noted.append(end)
        if len(self._noted) >= _MAX_NOTED:
            self._make_rows()

    def add(self, closing: Closing) -> None:
        """Take it now, or fail because it cannot be stored."""
        self._make_rows()
        self._add(closing)

    def _add(self, closing: Closing) -> None:
        self._chain.append(closing.entry)
        call = closing.call
        if call is not None:
            self._calls.setdefault((call.tenant, call.session_id, call.call_id), call)
            if len(self._calls) > self._max_rows:
                bound(self._calls, self._max_rows)

    @property
    def calls(self) -> dict[CallKey, CallRecord]:
        """In the order in which they ended."""
        self._make_rows()
        return self._calls

    @property
    def chain(self) -> MemoryChain:
        self._make_rows()
        return self._chain

    def _make_rows(self) -> None:
        if not self._noted:
            return
        with self._lock:
            while self._noted:  # one by one: one bad record must not cost the rest
                closing = self._noted.popleft().closing()
                try:
                    self._add(closing)
                except StoreError:
                    self._chain.refuse(closing.entry)
