"""The content of a tool folder as digests: what makes a version.

Independent of where the folder lies, of file times, of line ends and of git. Knows nothing of what the files mean,
apart from the two names that are not code.
"""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

from groundwire.contracts.canonical import digest, digest_bytes

SCHEMA_FILE = "schema.json"
GUIDE_FILE = "guide.md"
HANDLER_FILE = "handler.py"


def read_digests(folder: Path) -> dict[str, str]:
    """The digest of each file, by its path inside the folder; OSError when one cannot be read."""
    return {
        show_path(path.relative_to(folder).as_posix()): digest_bytes(normalise(path.read_bytes()))
        for path in _files(folder)
    }


def content_hash(digests: dict[str, str]) -> str:
    return digest(dict(digests))


def handler_hash(digests: dict[str, str]) -> str:
    """Hash the code and its data. A better guide makes a new version, but not other code."""
    return digest({path: value for path, value in digests.items() if path not in (SCHEMA_FILE, GUIDE_FILE)})


def show_path(path: str) -> str:
    """A path as text, whatever bytes the file system holds."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def normalise(data: bytes) -> bytes:
    """Undo what a checkout on another system does to text; what holds a zero byte is no text."""
    return data if b"\0" in data else data.replace(b"\r\n", b"\n")


def leads_outside(path: Path, folder: Path) -> bool:
    """Whether a file is a link out of the folder, whose target a copy of the folder would not contain."""
    return path.is_symlink() and not path.resolve().is_relative_to(folder.resolve())


def _files(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and name != "__pycache__"]
        linked = [name for name in folders if Path(parent, name).is_symlink()]
        if linked:  # its code could be imported, but would not be part of the version
            raise OSError(errno.ELOOP, f"{linked[0]} is a link to another folder")
        for name in names:
            path = Path(parent, name)
            if leads_outside(path, folder):
                raise OSError(errno.ELOOP, f"{name} is a link that leads out of the folder")
            if not name.startswith(".") and not name.endswith((".pyc", ".pyo")) and path.is_file():
                yield path
