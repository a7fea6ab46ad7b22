"""The folder that an evaluation writes to, and how it is read back: any bytes give records or a named error.

Trials are appended line by line and forced to the disk, so a killed run loses at most the trial that it was writing.
It knows where the forms of a report lie, and not how they are made.
"""

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Self

import msgspec

from groundwire.contracts.errors import NotFound, ReportBusy, ReportDamaged
from groundwire.evals.records import EvalRun, TrialRecord, decode_record, decode_run, encode_record, encode_run

_NAME = re.compile(r"(?P<time>\d{8}T\d{6}Z)(?:-(?P<number>[1-9]\d*))?", re.ASCII)
_UNREADABLE = (msgspec.DecodeError, UnicodeError, RecursionError)


def write_file(path: Path, data: bytes) -> None:
    """Whoever reads meanwhile sees the old file or the new one, whole."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


class ReportFolder:
    """One report: `run.json` and `trials.jsonl` are what happened, every other file is made from them."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    @classmethod
    def create(cls, reports: str | os.PathLike[str], run: EvalRun, *, now: datetime) -> "ReportFolder":
        """Make a folder that is named by the time; a second report of the same second gets a number."""
        stamp = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
        Path(reports).mkdir(parents=True, exist_ok=True)
        number = 1
        while True:
            path = Path(reports, stamp if number == 1 else f"{stamp}-{number}")
            try:
                path.mkdir()
            except FileExistsError:
                number += 1
                continue
            folder = cls(path)
            folder.trials_file.touch()
            write_file(folder.run_file, msgspec.json.format(encode_run(run), indent=2) + b"\n")
            return folder

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def run_file(self) -> Path:
        return self.path / "run.json"

    @property
    def trials_file(self) -> Path:
        return self.path / "trials.jsonl"

    @property
    def summary_file(self) -> Path:
        return self.path / "summary.json"

    @property
    def markdown_file(self) -> Path:
        return self.path / "report.md"

    @property
    def junit_file(self) -> Path:
        return self.path / "junit.xml"

    @property
    def page_file(self) -> Path:
        return self.path / "report.html"

    def read_run(self) -> EvalRun:
        data = self._read(self.run_file)
        try:
            return decode_run(data)
        except _UNREADABLE as error:
            raise ReportDamaged(f"{self.run_file} cannot be read: {error}") from None

    def read_records(self) -> tuple[TrialRecord, ...]:
        """Every trial that is on record. A last line that was cut by a kill is as if it had not been written."""
        return tuple(_decode_lines(self._read(self.trials_file), self.trials_file))

    def open_trials(self) -> "TrialWriter":
        """Go on writing where the file ends; a last line that was cut is taken away first. Only one may write at a time."""
        return TrialWriter(self.trials_file)

    def _read(self, file: Path) -> bytes:
        try:
            return file.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            raise NotFound(
                f"{self.path} is not a report: it has no {file.name}.",
                hint="A report is a folder that `groundwire eval` wrote.",
            ) from None


class TrialWriter:
    """Appends records to `trials.jsonl`, each in one write that is on the disk when `append` returns."""

    def __init__(self, file: Path) -> None:
        self._file: BinaryIO = file.open("a+b", buffering=0)
        try:
            _lock(self._file, file)
            self._mend(file)
        except BaseException:
            self._file.close()
            raise

    def append(self, record: TrialRecord) -> None:
        line = memoryview(encode_record(record) + b"\n")
        end = self._file.seek(0, os.SEEK_END)
        try:
            while line:  # a write may be shorter than asked for, and is then gone on with
                line = line[self._file.write(line) :]
        except OSError:
            self._file.truncate(end)  # nothing may be written behind half a line
            raise
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _mend(self, file: Path) -> None:
        self._file.seek(0)
        data = self._file.read()
        end = data.rfind(b"\n") + 1
        tail = data[end:]
        if not tail:
            return
        try:
            decode_record(tail)
        except _UNREADABLE:
            os.truncate(file, end)
        else:
            self._file.write(b"\n")


def _lock(file: BinaryIO, path: Path) -> None:
    """Until it is closed, or the process ends in whatever way. Where there are no such locks, nobody is kept out."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ReportBusy(
            f"Somebody else is writing into {path.parent}.", hint="Wait until that evaluation has ended."
        ) from None


def _decode_lines(data: bytes, file: Path) -> Iterator[TrialRecord]:
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        try:
            yield decode_record(line)
        except _UNREADABLE as error:
            if number < len(lines):  # what follows the last line break is empty, or was cut
                raise ReportDamaged(
                    f"{file}, line {number} is not the record of a trial: {error}",
                    line=number,
                    hint="Restore the file, or delete this line: its trial then counts as not run.",
                ) from None


def list_reports(reports: str | os.PathLike[str]) -> list[ReportFolder]:
    """All reports in a folder, oldest first; what else lies there is passed over."""
    paths = Path(reports).iterdir() if Path(reports).is_dir() else ()
    found = [
        (name["time"], int(name["number"] or 1), path)
        for path in paths
        if (name := _NAME.fullmatch(path.name)) and (path / "run.json").is_file()
    ]
    return [ReportFolder(path) for *_, path in sorted(found)]


def newest_report(reports: str | os.PathLike[str]) -> ReportFolder:
    found = list_reports(reports)
    if not found:
        raise NotFound(f"There is no report in {os.fspath(reports)}.", hint="`groundwire eval smoke` makes one.")
    return found[-1]
