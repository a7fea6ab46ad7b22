"""Heads of the audit chain in a file of their own, so that a cut tail does not go unseen."""

import os
from collections.abc import Sequence
from pathlib import Path

from groundwire.contracts.canonical import dump_json, parse_json
from groundwire.contracts.errors import InvalidJson, StoreError, StoreUnavailable
from groundwire.contracts.records import AuditHead


class CheckpointFile:
    """One JSON line per head. Several processes may append to the same file; each line is written at once."""

    def __init__(self, path: str | os.PathLike[str], *, fsync: bool = False) -> None:
        self._path = Path(path)
        self._fsync = fsync
        self._noted = AuditHead()

    def append(self, head: AuditHead) -> None:
        """Note a head, unless it is the one noted last or there is none yet."""
        if head == self._noted:
            return
        line = dump_json({"seq": head.seq, "hash": head.hash}) + b"\n"
        try:
            file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                os.write(file, line if _ends_whole(file) else b"\n" + line)
                if self._fsync:
                    os.fsync(file)
            finally:
                os.close(file)
        except OSError as error:
            raise StoreUnavailable(
                f"the checkpoint file {self._path.name} cannot be written: {error.strerror}",
                hint="Check that its folder exists and may be written.",
            ) from error
        self._noted = head

    def read(self) -> Sequence[AuditHead]:
        """All heads noted. A line that a crash tore off is passed over; any other damage is an error."""
        try:
            lines = self._path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreUnavailable(f"the checkpoint file {self._path.name} cannot be read: {error.strerror}") from error
        heads: list[AuditHead] = []
        for number, line in enumerate(lines, 1):
            head = _head_of(line)
            if head is not None:
                heads.append(head)
            elif line.strip() and (line.endswith(b"}") or not line.startswith(b"{")):
                raise StoreError(
                    f"line {number} of the checkpoint file {self._path.name} is damaged",
                    hint="Compare it with a copy: a checkpoint that cannot be read proves nothing.",
                )
        return heads


def _ends_whole(file: int) -> bool:
    size = os.fstat(file).st_size
    return size == 0 or os.pread(file, 1, size - 1) == b"\n"


def _head_of(line: bytes) -> AuditHead | None:
    try:
        value = parse_json(line)
    except InvalidJson:
        return None
    if not isinstance(value, dict):
        return None
    seq, hash_ = value.get("seq"), value.get("hash")
    return AuditHead(seq=seq, hash=hash_) if isinstance(seq, int) and isinstance(hash_, str) else None
