"""The audit chain: each record's hash covers its own fields and the hash before it.

Plain SHA-256 shows any change that was not followed by a rewrite of everything after it. With a key (HMAC) only its
holder can rewrite at all. Pure: who stores the records, and where heads are noted, is not known here.
"""

import hashlib
import hmac
from collections.abc import Iterable

import msgspec
from msgspec import Struct

from groundwire.contracts.canonical import parse_json
from groundwire.contracts.errors import InvalidJson
from groundwire.contracts.records import GENESIS, AuditEntry, AuditHead, AuditRecord, UnreadableRecord

RETENTION_KIND = "retention"
KEY_KIND = "key"
RUN_KIND = "run"
UNREADABLE = ""
"""Stands for the hash of a record that cannot be read, so that its successor is not blamed too."""


_encoder = msgspec.json.Encoder()
_sorting_encoder = msgspec.json.Encoder(order="sorted")


def record_body(seq: int, previous_hash: str, entry: AuditEntry) -> bytes:
    """What a record's hash covers: the canonical JSON of {entry, previous_hash, seq}."""
    return _body(seq, previous_hash, entry_body(entry))


def entry_body(entry: AuditEntry) -> bytes:
    """The canonical JSON of an entry; InvalidJson, ValueError or OverflowError where it has none."""
    if entry.duration_ms == int(entry.duration_ms):  # canonical JSON has no trailing .0
        entry = msgspec.structs.replace(entry, duration_ms=int(entry.duration_ms))
    try:
        # The fields of an entry stand in their canonical order; those of evidence do not.
        return _sorting_encoder.encode(entry) if entry.evidence else _encoder.encode(entry)
    except UnicodeError as error:
        raise InvalidJson(str(error)) from None


def _body(seq: int, previous_hash: str, encoded: bytes) -> bytes:
    return b'{"entry":%b,"previous_hash":"%b","seq":%d}' % (encoded, previous_hash.encode(), seq)


class Chain:
    """Links entries to their predecessors."""

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key

    @property
    def is_keyed(self) -> bool:
        return self._key is not None

    def link(self, head: AuditHead, entry: AuditEntry) -> AuditRecord:
        return self.link_all(head, ((entry, entry_body(entry)),))[0]

    def link_all(self, head: AuditHead, entries: Iterable[tuple[AuditEntry, bytes]]) -> list[AuditRecord]:
        """One after another, where the `entry_body` of each is known."""
        seq, last, records = head.seq, head.hash, []
        for entry, encoded in entries:
            seq += 1
            previous, last = last, self._hash(_body(seq, last, encoded))
            records.append(AuditRecord(seq=seq, previous_hash=previous, hash=last, entry=entry))
        return records

    def hash(self, seq: int, previous_hash: str, entry: AuditEntry) -> str:
        return self._hash(record_body(seq, previous_hash, entry))

    def _hash(self, body: bytes) -> str:
        if self._key is None:
            return hashlib.sha256(body).hexdigest()
        return hmac.new(self._key, body, hashlib.sha256).hexdigest()


class ChainProblem(Struct, frozen=True, kw_only=True):
    """The first thing wrong with a chain. `kind` is changed, missing, reordered, cut or unreadable."""

    kind: str
    seq: int
    record_id: str
    message: str


class ChainReport(Struct, frozen=True, kw_only=True):
    records: int
    head: AuditHead
    first_seq: int
    problems: tuple[ChainProblem, ...]
    keyed: bool
    checkpoint: str

    @property
    def ok(self) -> bool:
        return not self.problems


class ChainVerifier:
    """Reads a chain record by record, in the order of their numbers, and notes what does not fit."""

    def __init__(self, chain: Chain, *, checkpoints: Iterable[AuditHead] = (), head: AuditHead | None = None) -> None:
        """`head` is what the store itself holds to be the newest record."""
        self._chain = chain
        self._stored_head = head or AuditHead()
        self._noted: dict[int, set[str]] = {}
        for noted in checkpoints:
            self._noted.setdefault(noted.seq, set()).add(noted.hash)
        self._highest = max(self._noted, default=0)
        self._head = AuditHead()
        self._first: AuditRecord | None = None
        self._count = 0
        self._problems: list[ChainProblem] = []
        self._retained_from: tuple[int, str] | None = None

    def feed(self, record: AuditRecord | UnreadableRecord) -> None:
        if isinstance(record, UnreadableRecord):
            self._blame_unreadable(record)
            return
        if self._count == 0:
            self._first = record
            self._head = AuditHead(seq=record.seq - 1, hash=record.previous_hash)
        self._count += 1
        expected = self._head.seq + 1
        if record.seq != expected:
            missing = f"record {expected}" if record.seq == expected + 1 else f"records {expected} to {record.seq - 1}"
            self._blame(
                "missing",
                record,
                f"{missing} before it {'is' if record.seq == expected + 1 else 'are'} gone",
            )
        elif self._head.hash not in (record.previous_hash, UNREADABLE):
            self._blame("reordered", record, "it does not follow the record before it")
        if not hmac.compare_digest(record.hash, self._chain.hash(record.seq, record.previous_hash, record.entry)):
            self._blame("changed", record, "its content is not what was chained")
        if self._noted.get(record.seq, set()) - {record.hash}:
            self._blame("changed", record, "it is not the one that the checkpoint file noted")
        if record.entry.kind == RETENTION_KIND:
            self._retained_from = _retained_from(record.entry)
        self._head = AuditHead(seq=record.seq, hash=record.hash)

    def _blame_unreadable(self, record: UnreadableRecord) -> None:
        message = f"it cannot be read: {record.reason}"
        problem = ChainProblem(kind="unreadable", seq=record.seq, record_id=record.record_id, message=message)
        self._problems.append(problem)
        self._count += 1
        self._head = AuditHead(seq=record.seq, hash=UNREADABLE)

    def finish(self, head: AuditHead | None = None) -> ChainReport:
        """`head` is what the store holds to be its newest record after the last one was read."""
        first = self._first
        if first is not None and not self._begins_rightly(first):
            message = f"records 1 to {first.seq - 1} are gone, and no retention record says so"
            problem = ChainProblem(kind="missing", seq=first.seq, record_id=first.entry.id, message=message)
            self._problems.insert(0, problem)
        for noted, where in (
            (self._highest, "the checkpoint file"),
            (self._stored_head.seq, "the store's own note of its head"),
        ):
            if self._head.seq < noted:
                message = f"the chain ends at record {self._head.seq}, but {where} names record {noted}"
                self._problems.append(ChainProblem(kind="cut", seq=noted, record_id="", message=message))
                break
        if head is not None and head.seq < self._head.seq:
            message = (
                f"the store's own note of its head names record {head.seq}, but the chain goes on to {self._head.seq}"
            )
            self._problems.append(ChainProblem(kind="changed", seq=head.seq, record_id="", message=message))
        if self._head.seq == self._stored_head.seq and self._head.hash not in (self._stored_head.hash, UNREADABLE):
            message = "it is not the one that the store holds to be its newest"
            self._problems.append(ChainProblem(kind="changed", seq=self._head.seq, record_id="", message=message))
        return ChainReport(
            records=self._count,
            head=self._head,
            first_seq=first.seq if first else 0,
            problems=tuple(self._problems),
            keyed=self._chain.is_keyed,
            checkpoint="checked" if self._noted else "none",
        )

    def _begins_rightly(self, first: AuditRecord) -> bool:
        """At the beginning, or right after what the newest retention record says was removed."""
        if first.seq == 1 and first.previous_hash == GENESIS:
            return True
        return self._retained_from == (first.seq - 1, first.previous_hash)

    def _blame(self, kind: str, record: AuditRecord, message: str) -> None:
        self._problems.append(ChainProblem(kind=kind, seq=record.seq, record_id=record.entry.id, message=message))


def _retained_from(entry: AuditEntry) -> tuple[int, str] | None:
    """What a retention record says was the last record removed: its number and hash."""
    try:
        reason = parse_json(entry.reason)
    except InvalidJson:
        return None
    if not isinstance(reason, dict):
        return None
    seq, hash_ = reason.get("removed_to"), reason.get("hash")
    return (seq, hash_) if isinstance(seq, int) and isinstance(hash_, str) else None
