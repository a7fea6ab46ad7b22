"""What commands read from standard input."""

import os
import sys
from io import BytesIO
from typing import BinaryIO


def reserved_stdin() -> BinaryIO:
    """Standard input for the command alone; whatever else the process, or a child of it, reads there is at its end."""
    if sys.stdin is None or sys.stdin is not sys.__stdin__:  # closed, or replaced as test runners do
        return BytesIO() if sys.stdin is None else sys.stdin.buffer
    own, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return os.fdopen(own, "rb")


def read_stdin() -> bytes:
    """All of it; nothing at all is an error of its own, because a pipe that was forgotten should not look like bad JSON."""
    from groundwire.contracts.errors import InvalidJson

    data = b"" if sys.stdin is None else sys.stdin.buffer.read()
    if not data.strip():
        error = InvalidJson("There was nothing on standard input.")
        error.hint = "pipe it in, or name a file behind <"
        raise error
    return data
