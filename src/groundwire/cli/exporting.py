"""The audit chain as JSON lines, written as it is read."""

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click
import msgspec

from groundwire.cli.opening import read
from groundwire.contracts.records import UnreadableRecord
from groundwire.runtime.showing import show_audit

if TYPE_CHECKING:
    from groundwire.assembly import Runtime

_STEP = 1_000


def export_records(output: str | None) -> tuple[int, int]:
    """Write every record to a file or to stdout; how many, and how many of them could not be read."""

    async def export(runtime: "Runtime") -> tuple[int, int]:
        exported = unreadable = 0
        await runtime.open()
        length = (await runtime.store.audit_head()).seq
        with _destination(output) as file, _progress(length, to_file=output is not None) as advance:
            async for record in runtime.store.audit_records():
                file.write(msgspec.json.encode(show_audit(record)) + b"\n")
                exported += 1
                unreadable += isinstance(record, UnreadableRecord)
                if exported % _STEP == 0:
                    advance(_STEP)
            advance(exported % _STEP)
        return exported, unreadable

    return read(export)


@contextlib.contextmanager
def _destination(output: str | None) -> Iterator[BinaryIO]:
    """The place to write to. A file appears under its name only when it is whole."""
    if output is None:
        if sys.stdout is None:
            raise OSError(errno.EBADF, "standard output is closed")
        yield sys.stdout.buffer
        return
    if Path(output).exists() and not Path(output).is_file():  # a device or a pipe is written to, never replaced
        with Path(output).open("wb") as file:
            yield file
        return
    partial = Path(f"{output}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(output)
    finally:
        with contextlib.suppress(FileNotFoundError):
            partial.unlink()


@contextlib.contextmanager
def _progress(length: int, *, to_file: bool) -> Iterator[Callable[[int], None]]:
    """A bar on stderr, where a person looks and it does not mix with the records."""
    mixes = not to_file and sys.stdout is not None and sys.stdout.isatty()
    if sys.stderr is None or not sys.stderr.isatty() or mixes:
        yield lambda _: None
        return
    with click.progressbar(length=length, label="Exporting", file=sys.stderr) as bar:
        yield bar.update
