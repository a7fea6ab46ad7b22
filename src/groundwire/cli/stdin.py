"""What commands read from standard input."""

import sys


def read_stdin() -> bytes:
    """All of it; nothing at all is an error of its own, because a pipe that was forgotten should not look like bad JSON."""
    from groundwire.contracts.errors import InvalidJson

    data = b"" if sys.stdin is None else sys.stdin.buffer.read()
    if not data.strip():
        error = InvalidJson("There was nothing on standard input.")
        error.hint = "pipe it in, or name a file behind <"
        raise error
    return data
