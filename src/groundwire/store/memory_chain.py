"""The audit chain of the memory store: hashed late, shortened in coarse steps, verifiable all the time."""

from collections.abc import Sequence

from groundwire.contracts.audit import RETENTION_KIND, Chain, entry_body
from groundwire.contracts.errors import StoreError
from groundwire.contracts.records import AuditEntry, AuditHead, AuditRecord, Closing
from groundwire.store.rules import NOT_STORABLE, retention_entry, storable

_LINK_AT = 256


class MemoryChain:
    """Records in their order. What was appended gets its hash before anything is read."""

    def __init__(self, chain: Chain, max_rows: int) -> None:
        self._chain = chain
        self._max_rows = max_rows
        self._records: dict[int, AuditRecord] = {}
        self._head = AuditHead()
        self._unlinked: list[tuple[AuditEntry, bytes]] = []
        self._refused: list[str] = []

    def append(self, entry: AuditEntry) -> None:
        """Take an entry, or fail because it cannot be stored. It is hashed later, together with others."""
        try:
            encoded = entry_body(entry)
        except NOT_STORABLE:
            entry = storable(Closing(call=None, entry=entry)).entry
            try:
                encoded = entry_body(entry)
            except NOT_STORABLE as error:
                raise StoreError(f"the audit entry {entry.id} cannot be stored: {error}") from error
        self._unlinked.append((entry, encoded))
        if len(self._unlinked) >= _LINK_AT:
            self.link()

    def refuse(self, entry: AuditEntry) -> None:
        """Name an entry that could not be stored at the next flush."""
        self._refused.append(entry.id)

    def link(self) -> AuditHead:
        if not self._unlinked:
            return self._head
        entries, self._unlinked = self._unlinked, []
        records = self._chain.link_all(self._head, entries)
        self._records.update({record.seq: record for record in records})
        self._head = AuditHead(seq=records[-1].seq, hash=records[-1].hash)
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
        record = self._chain.link(self._head, retention_entry(entry, removed_to, len(old)))
        self._records[record.seq] = record
        self._head = AuditHead(seq=record.seq, hash=record.hash)
        for record in old:
            del self._records[record.seq]
