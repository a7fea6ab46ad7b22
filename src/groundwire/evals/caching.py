"""Results of trials by what they depend on, in a folder: a trial whose conditions are the same need not be run again."""

import contextlib
import os
from pathlib import Path

import msgspec

from groundwire.evals.records import TrialRecord, decode_record, encode_record


class FolderCache:
    """One file per result. A file that cannot be read counts as none."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)

    def find(self, digest: str) -> TrialRecord | None:
        try:
            record = decode_record(self._file(digest).read_bytes())
        except (OSError, msgspec.DecodeError, UnicodeError, RecursionError):
            return None
        return record if record.digest == digest else None

    def keep(self, record: TrialRecord) -> None:
        file = self._file(record.digest)
        file.parent.mkdir(exist_ok=True)
        unfinished = file.with_suffix(f".{os.getpid()}")
        unfinished.write_bytes(encode_record(record))
        with contextlib.suppress(FileExistsError):
            unfinished.replace(file)

    def _file(self, digest: str) -> Path:
        return self._folder / digest[:2] / f"{digest}.json"
