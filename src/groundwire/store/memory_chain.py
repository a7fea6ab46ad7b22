"""The audit chain of the memory store: hashed late, shortened in coarse steps, verifiable all the time."""

from collections.abc import Sequence

from groundwire.contracts.audit import RETENTION_KIND, Chain
from groundwire.contracts.errors import StoreError
from groundwire.contracts.records import AuditEntry, AuditHead, AuditRecord, Closing
from groundwire.store.rules import NOT_STORABLE, retention_entry, storable

_LINK_AT = 256


class MemoryChain:
    """Records in their order. What was only deferred gets its place before anything else is read or appended."""

    def __init__(self, chain: Chain, max_rows: int) -> None:
        self._chain = chain
        self._max_rows = max_rows
        self._records: dict[int, AuditRecord] = {}
        self._head = AuditHead()
        self._deferred: list[AuditEntry] = []
        self._refused: list[str] = []

    def defer(self, entry: AuditEntry) -> None:
        self._deferred.append(entry)
        if len(self._deferred) >= _LINK_AT:
            self.link()

    def append(self, entry: AuditEntry) -> None:
        if self._deferred:
            self.link()
        try:
            self._append_cleaned(entry)
        except NOT_STORABLE as error:
            raise StoreError(f"the audit entry {entry.id} cannot be stored: {error}") from error
        if len(self._records) > self._max_rows:
            self._make_room()

    def link(self) -> AuditHead:
        if not self._deferred:
            return self._head
        entries, self._deferred = self._deferred, []
        for entry in entries:
            try:
                self._append_cleaned(entry)
            except NOT_STORABLE:
                self._refused.append(entry.id)
        if len(self._records) > self._max_rows:
            self._make_room()
        return self._head

    def flush(self) -> AuditHead:
        head = self.link()
        if self._refused:
            refused, self._refused = self._refused, []
            raise StoreError(f"audit entries that cannot be stored: {', '.join(refused)}", hint="They are not JSON.")
        return head

    def records(self) -> Sequence[AuditRecord]:
        self.link()
        return list(self._records.values())

    def prune(self, created_before: str, entry: AuditEntry) -> int:
        self.link()
        old: list[AuditRecord] = []
        for record in self._records.values():
            if record.entry.created_at >= created_before or record.seq == self._head.seq:
                break
            old.append(record)
        self._remove(old, entry)
        return len(old)

    def _append_cleaned(self, entry: AuditEntry) -> None:
        try:
            self._append(entry)
        except NOT_STORABLE:
            self._append(storable(Closing(call=None, entry=entry)).entry)

    def _append(self, entry: AuditEntry) -> None:
        record = self._chain.link(self._head, entry)
        self._records[record.seq] = record
        self._head = AuditHead(seq=record.seq, hash=record.hash)

    def _make_room(self) -> None:
        surplus = len(self._records) - self._max_rows
        old = list(self._records.values())[: surplus + self._max_rows // 10]
        notice = AuditEntry(
            id=f"retention-{self._head.seq + 1}",
            tenant="",
            request_id="",
            tool_name="",
            input_hash="",
            output_hash="",
            success=True,
            duration_ms=0.0,
            created_at=self._records[self._head.seq].entry.created_at,
            kind=RETENTION_KIND,
        )
        self._remove(old, notice)

    def _remove(self, old: Sequence[AuditRecord], entry: AuditEntry) -> None:
        if not old:
            return
        removed_to = AuditHead(seq=old[-1].seq, hash=old[-1].hash)
        self._append(retention_entry(entry, removed_to, len(old)))
        for record in old:
            del self._records[record.seq]
