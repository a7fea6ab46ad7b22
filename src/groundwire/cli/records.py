"""Times of stored records as commands show them to people."""

from groundwire.runtime.clock import to_iso


def show_time(seconds: float | None) -> str:
    """A moment, or a dash for none."""
    return to_iso(seconds) if seconds else "-"
