"""The rows of calls and the audit chain of the memory store."""

from typing import TypeAlias

from groundwire.contracts.audit import Chain
from groundwire.contracts.errors import StoreError
from groundwire.contracts.records import CallRecord, Closing
from groundwire.store.memory_chain import MemoryChain
from groundwire.store.memory_tables import bound

CallKey: TypeAlias = tuple[str, str, str]


class MemoryRecords:
    def __init__(self, chain: Chain, max_rows: int) -> None:
        self._max_rows = max_rows
        self.calls: dict[CallKey, CallRecord] = {}
        """In the order in which they ended."""
        self.chain = MemoryChain(chain, max_rows)

    def add(self, closing: Closing) -> None:
        """Take it, or fail because it cannot be stored."""
        self.chain.append(closing.entry)
        call = closing.call
        if call is not None:
            self.calls.setdefault((call.tenant, call.session_id, call.call_id), call)
            if len(self.calls) > self._max_rows:
                bound(self.calls, self._max_rows)

    def note(self, closing: Closing) -> None:
        """The same for what nobody waits for: if it cannot be stored, the next flush says so."""
        try:
            self.add(closing)
        except StoreError:
            self.chain.refuse(closing.entry)
